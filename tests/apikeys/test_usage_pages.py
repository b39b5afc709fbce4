"""The use of API keys on the admin's pages: the chart of a key, and its last use before a revocation."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from petservice.admin_pages.wording import relative
from petservice.apikeys.models import APIKey, KeyDay
from tests.apikeys.forms import page_of
from tests.backoffice.clock import Clock

pytestmark = pytest.mark.once

DAY = timedelta(days=1)
NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)


def page(client: Client, name: str, api_key: APIKey) -> str:
    return client.get(page_of(api_key, name)).content.decode()


def test_the_page_of_a_key_shows_its_requests_and_errors_per_day(admin_client: Client, clock: Clock) -> None:
    now = clock.now
    used = {"last_used_at": now - timedelta(minutes=3), "last_used_address": "2001:db8::7"}
    api_key, _ = APIKey.objects.create_key(name="Acme", **used)
    other, _ = APIKey.objects.create_key(name="Other")
    for ago, requests, client_errors, server_errors in ((0, 10, 2, 0), (29, 1990, 0, 5), (30, 7, 7, 7)):
        numbers = {"requests": requests, "client_errors": client_errors, "server_errors": server_errors}
        KeyDay.objects.create(api_key=api_key, day=now.date() - ago * DAY, **numbers)

    shown = page(admin_client, "change", api_key)

    assert re.search("Last used: <time .*>3\N{NO-BREAK SPACE}minutes ago</time>, from 2001:db8::7.</p>", shown)
    assert "2,000 requests in the last 30 days (UTC)" in shown
    assert "2 were rejected (status 4xx, an error of the client)" in shown
    assert "5 failed (status 5xx, an error of the service)" in shown
    assert f"<title>1,990 requests, 5 failed on {now - 29 * DAY:%Y-%m-%d}</title>" in shown
    # Errors are drawn in the scale of all requests, and are visible beside very many.
    assert re.findall('<rect class="part" [^>]* height="([0-9]+)"', shown) == ["14482", "12993"]
    row = f'<tr><th scope="row">{now:%Y-%m-%d}</th><td>10</td><td>2</td><td>0</td></tr>'
    assert row in shown
    assert shown.count('<tr><th scope="row">') == 30
    unused = page(admin_client, "change", other)
    assert "No requests in the last 30 days." in unused
    assert "Last used: never." in unused
    APIKey.objects.filter(pk=other.pk).update(revoked_at=now)
    KeyDay.objects.create(api_key=other, day=now.date(), requests=1, client_errors=1)
    assert "1 request in the last 30 days (UTC).\n1 was rejected" in page(admin_client, "change", other)


def test_revoking_shows_the_last_use_first(admin_client: Client) -> None:
    now = timezone.now()
    used, _ = APIKey.objects.create_key(name="Acme", last_used_at=now, last_used_address="192.0.2.7")
    unused, _ = APIKey.objects.create_key(name="Zoo")

    question = page(admin_client, "revoke", used)

    assert re.search("Last used: <time .*>now</time>, from 192.0.2.7.</strong>", question)
    assert "Last used: never." in page(admin_client, "revoke", unused)
    assert 'value="Revoke" class="danger"' in question, "the button is not red"
    assert "None" not in question, "the page shows an empty form"


@pytest.mark.parametrize(
    ("distance", "text"),
    [
        (timedelta(days=95), "in 3\xa0months"),
        (timedelta(minutes=1), "in 1\xa0minute"),
        (timedelta(seconds=59), "now"),
        (timedelta(seconds=-59), "now"),
        (timedelta(minutes=-2, seconds=-30), "2\xa0minutes ago"),
        (timedelta(days=-800), "2\xa0years ago"),
    ],
)
def test_a_time_is_told_in_its_largest_unit(distance: timedelta, text: str) -> None:
    assert f">{text}</time>" in relative(NOW + distance, NOW)
