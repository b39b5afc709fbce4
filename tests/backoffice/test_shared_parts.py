"""The parts that the pages of all models share: numbers, the question before a deletion, saves, the menu."""

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.urls import reverse

from pets.models import Pet
from petservice.accounts.groups import PETS_AND_INVENTORY
from petservice.admin_pages import bounded_paginator, mixins
from petservice.apikeys.models import APIKey
from petservice.journal.models import Event
from tests.backoffice.login import INDEX, LOGIN
from tests.backoffice.pages import messages, read, send, submit
from tests.backoffice.staff import granted
from tests.pets.admin.pet_pages import listed
from tests.service import ROOT

pytestmark = [pytest.mark.django_db, pytest.mark.once]


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL has many writers at a time")
@pytest.mark.django_db(transaction=True)
def test_forms_open_while_another_program_writes_to_sqlite(admin_client: Client, admin_user: User) -> None:
    names = [f"{model}_add" for model in ("pets_pet", "apikeys_apikey", "accounts_account")]
    urls = [*(reverse(f"admin:{name}") for name in names)]
    urls += [reverse(f"admin:accounts_account_{verb}", args=[admin_user.pk]) for verb in ("link", "deactivate")]
    admin_client.get(urls[0])

    with closing(sqlite3.connect(connection.settings_dict["NAME"], uri=True)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA busy_timeout = 0")
        for url in urls:
            assert admin_client.get(url).status_code in (200, 302), url


def test_the_question_before_a_deletion_and_its_event_name_the_record(admin_client: Client) -> None:
    group, _ = Group.objects.get_or_create(name="Cleaners")
    url = reverse("admin:auth_group_delete", args=[group.pk])

    page = admin_client.get(url).content.decode()
    assert "Delete the group “<bdi>Cleaners</bdi>”? This cannot be undone." in page
    assert "relationship" not in page
    admin_client.post(url, {"post": "yes"})
    assert not Group.objects.filter(pk=group.pk).exists()
    event = Event.objects.with_record().latest("pk")
    assert (event.kind, event.record_type, event.record_name) == ("deleted", "auth.group", "Cleaners")
    assert event.message == "Deleted."


def test_a_search_of_very_many_accounts_finds_no_more_than_it_counts(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A statement with the ids of very many rows is refused by SQLite, and ends a worker with PostgreSQL."""
    for module in (mixins, bounded_paginator):
        monkeypatch.setattr(module, "MAX_COUNTED", 2)
    User.objects.bulk_create(User(username=f"eve-{number}", is_staff=True) for number in range(5))

    found = listed(admin_client, reverse("admin:accounts_account_changelist"), q="EVE")

    assert (str(found.result_count), len(found.queryset)) == ("more than 2", 3)


def test_an_empty_list_says_what_it_is_for_and_has_one_button(admin_client: Client) -> None:
    for model, sentence, button in (
        ("pets_trashedpet", "A deleted pet stays here for 30 days", "Back to the dashboard"),
        ("pets_recentchange", "A change can be undone here for an hour", "Back to the dashboard"),
        ("pets_pet", "There are no pets yet", "Add pet"),
        ("apikeys_apikey", "There are no API keys yet", "Add API key"),
    ):
        page = admin_client.get(reverse(f"admin:{model}_changelist")).content.decode()
        (empty,) = re.findall(r'<div class="empty">(.*?)</div>', page, re.DOTALL)

        assert sentence in empty
        assert re.findall(r"<a [^>]*>([^<]*)</a>", empty) == [button]
        assert "action-toggle" not in page


RECORDS: dict[str, Callable[[], object]] = {
    "pets_pet": lambda: Pet.objects.create(name="Rex", tag="dog"),
    "apikeys_apikey": lambda: APIKey.objects.create_key(name="Acme")[0],
    "auth_user": lambda: User.objects.create_user("ada", is_staff=True),
    "auth_group": lambda: Group.objects.create(name="Vets"),
    "accounts_account": lambda: User.objects.create_user("ada", is_staff=True),
}


@pytest.mark.parametrize("page", RECORDS)
def test_a_save_without_a_change_is_recorded_nowhere(admin_client: Client, page: str) -> None:
    record = RECORDS[page]()
    url = reverse(f"admin:{page}_change", args=[record.pk])  # type: ignore[attr-defined]
    before = Event.objects.count()

    fields = read(admin_client, url, f"{page.partition('_')[2]}_form")
    for button, next_page in (("_save", reverse(f"admin:{page}_changelist")), ("_continue", url)):
        response = admin_client.post(url, fields | {button: "1"}, follow=True)
        assert messages(response) == [f"You changed nothing, so “{record}” is as before."]
        assert response.redirect_chain == [(next_page, 302)]
    assert Event.objects.count() == before
    assert "Changed." not in admin_client.get(INDEX).content.decode()


@pytest.mark.parametrize(
    ("page", "mine", "theirs", "late", "label"),
    [
        ("pets_pet", {"name": "Max"}, {"tag": "cat"}, "bird", "tag"),
        ("apikeys_apikey", {"name": "Acme Ltd"}, {"expires_at": "2098-01-01"}, "2099-01-01", "expiry"),
        ("accounts_account", {"full_name": "Ada"}, {"role": PETS_AND_INVENTORY}, "Administrator", "role"),
    ],
)
def test_two_people_keep_both_changes_of_a_record_and_see_a_conflict(
    admin_client: Client, page: str, mine: dict[str, str], theirs: dict[str, str], late: str, label: str
) -> None:
    url = reverse(f"admin:{page}_change", args=[RECORDS[page]().pk])  # type: ignore[attr-defined]
    ((field, value),) = theirs.items()
    form = read(admin_client, url, f"{page.partition('_')[2]}_form")
    send(admin_client, url, form | theirs)

    kept = send(admin_client, url, form | mine)
    refused = send(admin_client, url, form | {field: late})

    assert f"someone else changed the {label} to " in str(messages(kept))
    assert "someone else changed this field too. Nothing was saved." in refused.content.decode()
    saved = read(admin_client, url, f"{page.partition('_')[2]}_form")
    assert saved.items() >= (mine | {field: value}).items()


# The menu; the crawl looks at the menu of every page.


def test_the_pages_of_django_are_at_the_end_of_the_menu_which_needs_a_login(admin_client: Client) -> None:
    menus = re.findall(r'<ul class="menu">(.*?)</ul>', admin_client.get(INDEX).content.decode(), re.DOTALL)

    assert len(menus) == 2
    for menu in menus:
        first, _, advanced = menu.partition(">Advanced<")
        assert re.findall("<a [^>]*>([^<]*)</a>", advanced) == ["Groups", "Users", "Installation"]
        assert re.findall("<a [^>]*>([^<]*)</a>", first)[-2:] == ["Staff accounts", "Audit"]
    assert '<ul class="menu">' not in Client().get(LOGIN).content.decode()


# The badges. The browser tests check the contrast of all colours with axe, in both themes.
BADGES = ROOT / "petservice/static/petservice/badges.css"
STATES = {"active", "soon", "expired", "revoked", "replaced", "other", "invited", "locked", "deactivated"}


def test_every_status_has_a_badge_and_no_two_of_a_kind_have_the_same_shape() -> None:
    rules = re.findall(r"^([^{}@/]+)\{([^}]*)\}", BADGES.read_text(), re.MULTILINE)
    shapes = {
        name: shape for selector, shape in rules for name in re.findall(r"badge-([a-z]+)", selector) if "::" in selector
    }
    named = {name for selector, _ in rules for name in re.findall(r"badge-([a-z]+)", selector)}

    assert {*Pet.Status.values, *STATES} - named == set()
    for kind in (
        Pet.Status.values,
        STATES - {"invited", "locked", "deactivated"},
        {"active", "invited", "locked", "deactivated"},
    ):
        assert len({shapes.get(name, "disc") for name in kind}) == len(kind)


def test_pages_of_changes_do_not_lead_to_pages_that_the_account_may_not_see() -> None:
    client, pet = granted("add_apikey", "delete_pet"), Pet.objects.create(name="Rex")
    created = submit(client, reverse("admin:apikeys_apikey_add"), "apikey_form", {"name": "Acme", "lifetime": "90"})
    deletion = client.get(reverse("admin:pets_pet_delete", args=[pet.pk]))

    for page in (created, deletion):
        (content,) = re.findall(r"(?s)<main.*</main>", page.content.decode())
        links = {link for link in re.findall('href="(/[^"]*)"', content) if client.get(link).status_code == 403}
        assert (page.status_code, links) == (200, set())
    assert "Rotate" not in created.content.decode()
