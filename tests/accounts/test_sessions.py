"""All sessions of an account end together, and no session of another account does."""

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.backends.base import SessionBase
from django.test import Client

from petservice.accounts import services
from petservice.accounts.groups import PETS_AND_INVENTORY
from petservice.sign_in import sessions
from tests.accounts.pages import page_of
from tests.backoffice.pages import read
from tests.backoffice.staff import is_logged_in, logged_in

pytestmark = pytest.mark.django_db


def test_a_request_in_progress_does_not_keep_its_session(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client = logged_in(ada)

    def end(session: SessionBase) -> None:
        services.end_sessions(ada)
        session["changed"] = True

    monkeypatch.setattr(sessions, "continue_session", end)

    assert client.get("/admin/help/").status_code == 400
    assert not is_logged_in(client)


@pytest.mark.once
def test_the_sessions_of_an_account_that_becomes_staff_again_by_a_role_do_not_begin_again(
    admin_client: Client, ada: User
) -> None:
    session = logged_in(ada)
    User.objects.filter(pk=ada.pk).update(is_staff=False)

    admin_client.post(page_of(ada), read(admin_client, page_of(ada), "account_form") | {"role": PETS_AND_INVENTORY})

    assert User.objects.get(pk=ada.pk).is_staff
    assert not is_logged_in(session)
