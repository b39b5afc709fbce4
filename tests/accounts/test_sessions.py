"""All sessions of an account end together, and no session of another account does."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from petservice.accounts import session_versions
from petservice.accounts.groups import PETS_AND_INVENTORY
from tests.accounts.pages import page_of
from tests.backoffice.login import LOGIN, PASSWORD
from tests.backoffice.pages import read
from tests.backoffice.staff import is_logged_in, logged_in

pytestmark = pytest.mark.django_db


def log_in(name: str = "ada") -> Client:
    client = Client()
    assert client.post(LOGIN, {"username": name, "password": PASSWORD}).status_code == 302
    return client


def test_a_person_stays_logged_in_who_changes_the_own_password_after_sessions_were_ended(ada: User) -> None:
    session_versions.end_all(ada)
    client, other = log_in(), log_in()
    new = "another long one"

    fields = {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
    assert client.post("/admin/password_change/", fields).status_code == 302

    assert is_logged_in(client)
    assert not is_logged_in(other)


def test_the_session_of_a_request_costs_one_query_for_the_account(ada: User, django_assert_num_queries: Any) -> None:
    session_versions.end_all(ada)
    client = log_in()

    with django_assert_num_queries(3) as queries:  # the session, the account with its version, and the second factor
        client.get("/admin/help/")

    assert "session_version" not in queries[0]["sql"]
    assert "accounts_sessionversion" in queries[1]["sql"]


def test_a_secret_key_can_be_replaced_after_sessions_were_ended(ada: User, settings: Any) -> None:
    session_versions.end_all(ada)
    settings.SECRET_KEY = "the first" * 5
    client = log_in()

    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "the second" * 5
    assert is_logged_in(client)
    session_versions.end_all(ada)
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
