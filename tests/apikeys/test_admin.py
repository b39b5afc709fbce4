"""The admin pages of API keys: creating, listing and changing keys, and the entries about them in the audit."""

import re
from datetime import timedelta
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from petservice.apikeys.models import APIKey
from petservice.journal.models import Event
from tests.apikeys.forms import ADD, FORM, LIST, ROTATE, page_of, shown_key, status_with
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

    response = admin_client.post(url, form | {"form_token": f" {form['form_token']} "}, follow=True)

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


def test_a_key_that_was_revoked_while_its_page_was_open_is_not_changed(admin_client: Client) -> None:
    key, _ = APIKey.objects.create_key(name="Acme")
    form = read(admin_client, page_of(key), "apikey_form")
    key.revoke()

    for client in (admin_client, granted("view_apikey")):
        assert send(client, page_of(key), form | {"name": "Other"}).status_code == 403
    assert APIKey.objects.get().name == "Acme"


def test_the_list_has_the_prefix_the_expiry_and_the_last_use_of_keys_with_the_same_name(admin_client: Client) -> None:
    now = timezone.now()
    times = {"expires_at": now + timedelta(days=13), "last_used_at": now - timedelta(hours=2)}
    made = [APIKey.objects.create_key(name="Acme", **times)[0] for _ in range(2)]

    shown = admin_client.get(LIST).content.decode()

    for api_key in made:
        assert f'Acme <span class="key-prefix">{api_key.prefix}…</span></a>' in shown
    assert shown.count('<span class="badge badge-soon">Expires soon</span>') == 2
    found = re.findall(r'<time datetime="[^"]*" title="\d{4}-\d\d-\d\d \d\d:\d\d UTC">([^<]*)</time>', shown)
    assert found == ["in 1\xa0week", "2\xa0hours ago"] * 2


Kind = Event.Kind


def entries() -> list[tuple[str, str, str, int]]:
    """Return kind, account, name of the record and number of each entry about keys, oldest first, and forget them."""
    found = Event.objects.filter(kind__startswith="key_").order_by("pk")
    rows = [*Event.with_record(found).values_list("kind", "account_name", "record_name", "count")]
    found.delete()
    return rows


def message() -> str:
    return str(Event.objects.filter(kind__startswith="key_").latest("pk").message)


def test_events_of_a_key_are_recorded_with_old_and_new_values(admin_client: Client) -> None:
    admin_client.post(ADD, FORM | {"access": "read"})
    key = APIKey.objects.get()
    assert message() == "Read only, no limit, does not expire."
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
    assert message().startswith(f"Replaced by {replacement}. The old key works until ")
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
        colleague.post(page_of(key, other), forms[other] | {"form_token": str(uuid4())})

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
