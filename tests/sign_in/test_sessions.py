"""The end of sessions: 12 hours after the login, and after 30 minutes without use on shared computers."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from tests.backoffice.clock import Clock
from tests.backoffice.login import INDEX, log_in
from tests.backoffice.staff import is_logged_in
from tests.sign_in.authenticator import MINUTE, with_factor

pytestmark = [pytest.mark.django_db, pytest.mark.once, pytest.mark.usefixtures("ada")]


@pytest.mark.parametrize(("sent", "minutes"), [({}, 12 * 60), ({"is_shared": "on"}, 30)])
def test_a_session_ends_12_hours_after_the_login_although_it_is_used(
    clock: Clock, sent: dict[str, str], minutes: int
) -> None:
    client = log_in(**sent).client
    assert client.cookies["sessionid"]["max-age"] == minutes * 60

    for _ in range(24):
        clock.advance(29 * MINUTE)
        session = client.session
        session["anything"] = str(timezone.now())  # a write, which would prolong Django's own sessions
        session.save()
        assert is_logged_in(client)
    clock.advance(23 * MINUTE)
    assert is_logged_in(client)
    clock.advance(MINUTE)
    assert not is_logged_in(client)


def test_on_a_shared_computer_a_session_ends_after_30_minutes_without_use(ada: User, clock: Clock) -> None:
    client = log_in(is_shared="on").client
    clock.advance(30 * MINUTE)
    assert not is_logged_in(client)

    client = log_in(is_shared="on", code=with_factor(ada).code()).client
    assert is_logged_in(client)
    clock.advance(30 * MINUTE)
    assert not is_logged_in(client), "a login with a code forgets that the computer is shared"


def test_a_new_login_begins_a_new_session_that_is_not_shared(clock: Clock) -> None:
    client = log_in(is_shared="on").client
    log_in(client=client)
    clock.advance(120 * MINUTE)

    assert is_logged_in(client)


@pytest.mark.parametrize("sent", [{}, {"is_shared": "on"}])
def test_requests_do_not_write_the_session(sent: dict[str, str], django_assert_num_queries: Any) -> None:
    client = log_in(**sent).client
    client.get(INDEX)

    with django_assert_num_queries(5) as queries:  # session, account, second factor, two for the menu
        client.get("/admin/help/")

    assert all(query["sql"].startswith("SELECT") for query in queries.captured_queries)
