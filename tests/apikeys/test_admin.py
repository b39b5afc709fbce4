"""The admin pages of API keys: creating, listing and changing keys, their entries in the audit, and their use."""

import itertools
import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from petservice.apikeys.models import APIKey, KeyDay
from petservice.journal.models import Event
from tests.apikeys.forms import ADD, FORM, LIST, ROTATE, page_of, shown_key, status_with
from tests.backoffice.clock import Clock
from tests.backoffice.pages import messages, read, send, text_of
from tests.backoffice.staff import granted, logged_in
from tests.concurrent_write import only_on_postgresql, without_waiting, write_before

# PostgreSQL ends a transaction after an error, which SQLite does not.
pytestmark = pytest.mark.once(on="postgresql")


def test_the_response_shows_a_created_key_of_this_service_and_the_key_works(admin_client: Client) -> None:
    response = admin_client.post(ADD, FORM | {"environment": "live"})

    assert response.status_code == 200
    assert "no-store" in response["Cache-Control"]
    assert status_with(shown_key(response)) == 200
    assert "rejects" not in response.content.decode(), "the page warns of another environment"
    assert "curl" in response.content.decode()
    page = admin_client.get(page_of(APIKey.objects.get())).content.decode()
    assert '<div class="readonly">admin</div>' in page, "the page does not name the creator, without a link"
    APIKey.objects.update(created_by=None)
    page = admin_client.get(page_of(APIKey.objects.get())).content.decode()
    assert '<div class="readonly">-</div>' not in page, "a key of a command has another sign for nothing"


@pytest.mark.parametrize("page", ["add", "rotate"])
def test_sending_a_form_again_creates_no_second_key_and_shows_no_key(admin_client: Client, page: str) -> None:
    old, old_plain = APIKey.objects.create_key(name="Acme")
    url, form = (ADD, FORM) if page == "add" else (page_of(old, "rotate"), ROTATE | {"grace_period": "0"})
    plain = shown_key(admin_client.post(url, form))

    response = admin_client.post(url, form | {"form_token": f" {FORM['form_token']} "}, follow=True)

    (new,) = APIKey.objects.exclude(pk=old.pk)
    assert plain not in response.content.decode()
    assert "shown only once" in response.content.decode()
    assert response.request["PATH_INFO"] == page_of(new)
    assert status_with(old_plain) == (200 if page == "add" else 401), "there is no grace period"


@only_on_postgresql
def test_sending_a_form_twice_at_the_same_time_creates_one_key(admin_client: Client, admin_user: User) -> None:
    other = logged_in(admin_user)

    with write_before("SAVEPOINT", lambda: other.post(ADD, FORM)):
        response = admin_client.post(ADD, FORM)

    assert response.status_code == 302
    assert APIKey.objects.count() == 1


def test_the_replacement_of_a_key_that_the_service_rejects_has_a_warning(admin_client: Client) -> None:
    record, _ = APIKey.objects.create_key(name="Acme", environment="live")

    response = admin_client.post(page_of(record, "rotate"), ROTATE)

    assert status_with(shown_key(response)) == 403
    assert "This test service rejects live keys." in response.content.decode()
    assert "curl" not in response.content.decode()


@only_on_postgresql
def test_a_key_that_is_revoked_while_its_form_is_processed_is_not_changed(admin_client: Client) -> None:
    key, _ = APIKey.objects.create_key(name="Acme")

    with write_before("FOR NO KEY UPDATE", key.revoke):
        page = admin_client.post(page_of(key), FORM, follow=True)

    assert "This key was revoked on " in messages(page)[0]


def test_a_key_that_was_revoked_while_its_page_was_open_is_not_changed(admin_client: Client) -> None:
    key, _ = APIKey.objects.create_key(name="Acme")
    form = read(admin_client, page_of(key), "apikey_form")
    key.revoke()

    page = send(admin_client, page_of(key), form | {"name": "Other"})
    assert "This key was revoked on " in messages(page)[0]
    assert send(granted("view_apikey"), page_of(key), form | {"name": "Other"}).status_code == 403
    assert APIKey.objects.get().name == "Acme"


def test_the_list_has_the_prefix_the_expiry_and_the_last_use_of_keys_with_the_same_name(
    admin_client: Client, clock: Clock
) -> None:
    day, minute = timedelta(days=1), timedelta(minutes=1)
    times = {  # the expiry and the last use, from now, with what the list says
        (13 * day, -2.5 * minute): ["in 1\xa0week, 6\xa0days", "2\xa0minutes ago"],
        (95 * day, -800 * day): ["in 3\xa0months", "2\xa0years, 2\xa0months ago"],
        (minute, -timedelta(seconds=59)): ["in 1\xa0minute", "now"],
    }
    made = [
        APIKey.objects.create_key(name="Acme", expires_at=clock.now + expiry, last_used_at=clock.now + use)[0]
        for expiry, use in times
    ]

    shown = admin_client.get(LIST).content.decode()

    for api_key in made:
        assert f'Acme <span class="key-prefix">{api_key.prefix}…</span></a>' in shown
    assert shown.count('<span class="badge badge-soon">Expires soon</span>') == 2
    found = re.findall(r'<time datetime="[^"]*" title="\d{4}-\d\d-\d\d \d\d:\d\d UTC">([^<]*)</time>', shown)
    assert sorted(found) == sorted(itertools.chain(*times.values()))


Kind = Event.Kind


def entries() -> list[tuple[str, str, str, int]]:
    """Return kind, account, name of the record and number of each entry about keys, oldest first, and forget them."""
    found = Event.objects.filter(kind__startswith="key_").order_by("pk")
    rows = [*found.with_record().values_list("kind", "account_name", "record_name", "count")]
    found.delete()
    return rows


def message() -> str:
    return str(Event.objects.filter(kind__startswith="key_").latest("pk").message)


def test_events_of_a_key_are_recorded_with_old_and_new_values(admin_client: Client) -> None:
    admin_client.post(ADD, FORM | {"access": "read"})
    key = APIKey.objects.get()
    assert message() == "Created. Read only, no limit, does not expire."
    assert entries() == [(Kind.KEY_CREATED, "admin", str(key), 1)]

    admin_client.post(page_of(key), FORM | {"name": "Acme Ltd"})
    assert message() == "Name changed from “Acme” to “Acme Ltd”."
    assert message() in text_of(admin_client.get(page_of(key, "history")))
    key.refresh_from_db()
    assert entries() == [(Kind.KEY_CHANGED, "admin", str(key), 1)]
    admin_client.post(page_of(key), FORM | {"name": "Acme Ltd"})
    assert entries() == [], "nothing was changed"

    admin_client.post(page_of(key, "rotate"), ROTATE)
    replacement = APIKey.objects.get(replaces=key)
    assert message().startswith(f"{key} replaced by {replacement}. The old key works until ")
    assert entries() == [(Kind.KEY_ROTATED, "admin", str(key), 1)]

    admin_client.get(page_of(key, "revoke"))
    assert entries() == [], "the question alone revokes the key"
    revoked, again = (admin_client.post(page_of(key, "revoke"), follow=True) for _ in range(2))
    assert entries() == [(Kind.KEY_REVOKED, "admin", str(key), 1)]
    assert messages(revoked) == [f"Revoked {key}."]
    assert "This key was revoked on " in messages(again)[0]


@only_on_postgresql
@pytest.mark.parametrize("other", ["change", "rotate", "revoke"])
@pytest.mark.parametrize("page", ["change", "rotate", "revoke"])
def test_what_two_people_do_with_a_key_at_the_same_time_is_done_and_recorded_once(
    admin_client: Client, admin_user: User, page: str, other: str
) -> None:
    key, _ = APIKey.objects.create_key(name="Acme")
    renamed = read(admin_client, page_of(key), "apikey_form") | {"name": "Acme Ltd"}
    forms = {"change": renamed, "rotate": ROTATE, "revoke": {}}
    colleague, pages = logged_in(admin_user), {page, other}

    def act() -> None:
        colleague.post(page_of(key, other), forms[other])

    statement = 'INSERT INTO "apikeys_apikey"' if page == "rotate" else 'UPDATE "apikeys_apikey"'
    with write_before(statement, act):
        admin_client.post(page_of(key, page), forms[page])

    key.refresh_from_db()
    assert key.is_revoked == ("revoke" in pages)
    assert [*APIKey.objects.exclude(pk=key.pk)] == [key.replaced_by] * ("rotate" in pages)
    kinds = {"change": Kind.KEY_CHANGED, "rotate": Kind.KEY_ROTATED, "revoke": Kind.KEY_REVOKED}
    assert sorted(kind for kind, *_ in entries()) == sorted(kinds[one] for one in pages)


@only_on_postgresql
def test_a_client_adds_a_pet_once_while_its_key_is_changed(admin_client: Client) -> None:
    key, plain = APIKey.objects.create_key(name="Acme")

    def add_pet() -> None:
        headers = {"X-API-Key": plain, "Idempotency-Key": "one"}
        added = Client().post("/v1/pets", {"name": "Rex"}, "application/json", headers=headers)
        assert added.status_code == 201

    with write_before('UPDATE "apikeys_apikey"', lambda: without_waiting(add_pet)):
        admin_client.post(page_of(key), FORM | {"name": "Acme Ltd"})

    assert APIKey.objects.get().name == "Acme Ltd"


# The use of keys.


def page(client: Client, name: str, api_key: APIKey) -> str:
    return client.get(page_of(api_key, name)).content.decode()


def test_the_page_of_a_key_shows_its_requests_and_errors_per_day(admin_client: Client, clock: Clock) -> None:
    now, day = clock.now, timedelta(days=1)
    used = {"last_used_at": now - timedelta(minutes=3), "last_used_address": "2001:db8::7"}
    api_key, _ = APIKey.objects.create_key(name="Acme", **used)
    other, _ = APIKey.objects.create_key(name="Other")
    for ago, requests, client_errors, server_errors in ((0, 10, 2, 0), (29, 1990, 0, 5), (30, 7, 7, 7)):
        numbers = {"requests": requests, "client_errors": client_errors, "server_errors": server_errors}
        KeyDay.objects.create(api_key=api_key, day=now.date() - ago * day, **numbers)

    shown = page(admin_client, "change", api_key)

    assert re.search("Last used: <time .*>3\N{NO-BREAK SPACE}minutes ago</time>, from 2001:db8::7.</p>", shown)
    assert "2,000 requests in the last 30 days (UTC)" in shown
    assert "2 were rejected (status 4xx, an error of the client)" in shown
    assert "5 failed (status 5xx, an error of the service)" in shown
    assert f"<title>1,990 requests, 5 failed on {now - 29 * day:%Y-%m-%d}</title>" in shown
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
