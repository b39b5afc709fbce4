"""A crawl of every page of every registered model, with each kind of account, and the frame that all pages share."""

import re
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, Permission
from django.db import models
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape
from django.utils.text import capfirst

from pets import creator
from pets.models import Pet
from petservice.accounts import groups
from petservice.apikeys.models import APIKey
from petservice.configuration.time_zone import zone
from petservice.guides.rendering import ADMIN_GUIDE, guide
from petservice.journal.models import Event
from petservice.journal.recording import Change, add_event
from tests.backoffice.staff import PASSWORD, granted, staff
from tests.pets.changes import delete, request_of

pytestmark = pytest.mark.django_db

PET_PAGES = {"pets_pet", "pets_trashedpet", "pets_recentchange"}
# These pages have no form to add a record, not even for superusers.
WITHOUT_ADD_FORM = {"pets_trashedpet", "pets_recentchange", "journal_event", "auth_user"}
# Nobody deletes these records either: accounts are deactivated, keys are revoked, and the first group is a role.
WITHOUT_DELETION = WITHOUT_ADD_FORM | {"accounts_account", "apikeys_apikey", "auth_group"}
KEY_PAGES = {"apikeys_apikey"}
# The pages of each registered model, with the name that the model has in the menu.
ALL_PAGES = {
    f"{model._meta.app_label}_{model._meta.model_name}": capfirst(model._meta.verbose_name_plural)
    for model in admin.site._registry
}
# The pages that everyone has.
OWN = ("index", "help", "second_factor", "password_change", "password_change_done")

WHO = {
    "superuser": (lambda: staff(is_superuser=True), {*ALL_PAGES}),
    "pets and inventory": (lambda: staff(groups.PETS_AND_INVENTORY), PET_PAGES),
    "and keys": (lambda: staff(groups.PETS_INVENTORY_AND_KEYS), PET_PAGES | KEY_PAGES),
    # Only administrators use the pages of accounts, groups and the audit, whatever permission someone has.
    "every permission": (
        lambda: granted(*Permission.objects.values_list("codename", flat=True)),
        PET_PAGES | KEY_PAGES,
    ),
    "no permission": (staff, set()),
}
# An id of no record, for each type.
MISSING = {int: 10**6, str: "018f0000-0000-7000-8000-000000000000", uuid.UUID: uuid.UUID(int=1)}


# A name of markup, and of a script that is written from right to left.
NAME = "<i>سيمبا"


def create_records() -> None:
    """Create a record of each model with pages in the admin, and a change of a pet's tag."""
    pet = Pet.objects.create(name=NAME, tag=NAME, created_by=creator.of_key("pets_test_Ab12Cd34", NAME))
    now = timezone.now()
    APIKey.objects.create_key(name=NAME, expires_at=now, last_used_at=now)
    Group.objects.get_or_create(name=NAME)
    owner, _ = get_user_model().objects.get_or_create(username=NAME)
    delete(owner, Pet.objects.create(name=NAME, tag=NAME))
    changes = [Change(pet.pk, NAME, {"tag": NAME}, {"tag": "dog"})]
    message = f"“{NAME}”: Tag changed from “{NAME}” to “dog”."
    add_event(
        request_of(owner),
        Event.Kind.CHANGED,
        target=Pet,
        message=message,
        changes=changes,
        permissions=["pets.view_pet"],
    )


def urls() -> Iterator[tuple[str, str]]:
    """Yield the model and the URL of each page: list, search, add form, the pages of one record, and other views.

    A page that nobody may open has no model, and a page that everyone has is its own.
    """
    create_records()
    yield from ((page, reverse(f"admin:{page}")) for page in OWN)
    for model in admin.site._registry:
        page = f"{model._meta.app_label}_{model._meta.model_name}"
        yield page, reverse(f"admin:{page}_changelist")
        yield page, reverse(f"admin:{page}_changelist") + "?q=Re"
        yield "" if page in WITHOUT_ADD_FORM else page, reverse(f"admin:{page}_add")
        record = model._default_manager.first()
        assert record is not None, f"create a {model.__name__} for the crawl"
        for kind in ("change", "history", "delete"):
            is_refused = kind == "delete" and page in WITHOUT_DELETION
            yield "" if is_refused else page, reverse(f"admin:{page}_{kind}", args=[record.pk])
    for view in ("tags", "import", "export", "print"):
        yield "pets_pet", reverse(f"admin:pets_pet_{view}")
    key = APIKey.objects.get()
    for verb in ("revoke", "rotate"):
        yield "apikeys_apikey", reverse(f"admin:apikeys_apikey_{verb}", args=[key.pk])


@pytest.mark.once
@pytest.mark.parametrize("who", WHO)
def test_staff_open_only_the_pages_that_they_have_permission_for(who: str) -> None:
    make_client, allowed = WHO[who]
    client = make_client()

    for page, url in urls():
        response = client.get(url)
        assert response.status_code == (200 if page in {*allowed, *OWN} else 403), url
        if "password_change" not in page:  # Django lets these be cached
            assert "no-store" in response["Cache-Control"], f"others may get {url} from a cache"
        assert not re.search(r'href="/admin/(?:pets|apikeys|accounts|auth|journal)/"', response.content.decode()), (
            f"{url} links to the page of an app"
        )


def assert_crumbs(page: str, path: str, text: str) -> None:
    """Check that links lead to the pages above this one: the dashboard, the list, and the record."""
    if page == "index":
        return
    (crumbs,) = re.findall(r'<div class="breadcrumbs">(.*?)</div>', text, re.DOTALL)
    above = re.findall('<a href="([^"]*)">', crumbs)
    assert above[0] == reverse("admin:index"), path
    (current,) = re.findall('<span aria-current="page">([^<]+)</span>', crumbs)
    assert current in re.findall("<title>(.*?)</title>", text, re.DOTALL)[0], path
    # The page for paper is a list, and the history of a deleted pet is that of a pet.
    if page in ALL_PAGES and not path.endswith("/print/") and "trashedpet" not in path:
        record = [re.sub("[a-z]+/$", "change/", path)] if path.endswith(("/history/", "/delete/")) else []
        assert above[1:] == [url for url in (reverse(f"admin:{page}_changelist"), *record) if url != path], path


HEADER = ["Help", "Second factor", "Change password", "View site", "Log out"]


@pytest.mark.once(on="postgresql")  # so that each page is opened on both databases
def test_every_page_has_the_header_the_menus_its_section_of_the_guide_and_times_in_the_zone_of_the_store(
    settings: Any,
) -> None:
    settings.STORE_TIME_ZONE = zone("Asia/Kolkata")
    with_times = set()
    client = staff(is_superuser=True, password=PASSWORD)
    sections = re.findall(' id="([^"]+)"', guide(ADMIN_GUIDE).html)
    names = ALL_PAGES | {"index": "Dashboard"}

    for page, url in urls():
        text = client.get(url).content.decode()
        if not page or "<html" not in text:
            continue
        (header,) = re.findall(r'<div id="user-tools">(.*?)</div>', text, re.DOTALL)
        assert re.findall(r"<(?:a|button) [^>]*>([^<]+)</", header) == HEADER, url
        (section,) = re.findall(r'<a href="/admin/help/#?([^"]*)">Help</a>', header)
        assert section in (sections if page in {*names, "second_factor", "password_change"} else [""]), url
        menus = re.findall(r'<ul class="menu">(.*?)</ul>', text, re.DOTALL)
        current = [re.findall('<a [^>]*aria-current="page">([^<]*)</a>', menu) for menu in menus]
        assert current == [[names[page]] if page in names else []] * 2, url
        if url.endswith(f"/{page.replace('_', '/')}/") and page in ALL_PAGES:
            assert f"<h1>{names[page]}</h1>" in text, url
            assert f"<title>{names[page]} | Pet service</title>" in text, url
        assert_crumbs(page, url.partition("?")[0], text)
        zones = {*re.findall(r"\d\d:\d\d(?::\d\d)? ([A-Z]+)", text)}
        if zones and page != "help":
            assert zones == {"IST"}, url
            with_times.add(page)
    assert with_times >= {"index", "pets_pet", "pets_recentchange", "pets_trashedpet", "journal_event"}
    assert with_times >= {"apikeys_apikey", "accounts_account"}


@pytest.mark.once
def test_names_are_escaped_and_isolated_in_sentences() -> None:
    client = staff(is_superuser=True)
    # Without the pages of users, which are Django's, and without the suggested tags, which are JSON.
    pages = {url: client.get(url) for page, url in urls() if page not in ("", "auth_user") and "/tags/" not in url}
    pets, pet = reverse("admin:pets_pet_changelist"), Pet.objects.get().pk
    pages |= {url: client.get(pets + url, {"tag": NAME}) for url in ("?q=nothing", "export/", "print/")}
    pages["delete"] = client.get(reverse("admin:pets_pet_delete", args=[pet]))

    name = escape(NAME)
    # The style sheet isolates the texts of these elements.
    isolated = r'<(title|h1|h2|option|textarea)\b.*?</\1>|<div class="breadcrumbs">.*?</div>'
    isolated += rf'|<(t[dh]|div) class="(field-|readonly)[^>]*>(<a [^>]*>)?{name}|(?<==)"[^"]*"'
    for url, response in pages.items():
        page = response.content.decode()
        assert not re.search("<i>|&amp;lt;", page), url
        assert re.findall(f".*(?<!<bdi>){name}.*", re.sub(isolated, "", page, flags=re.DOTALL)) == [], url


def urls_of(model: type[models.Model], *pk: Any) -> list[str]:
    """Return the URLs of all pages of a record, or all others of its model."""
    patterns = [
        pattern
        for pattern in admin.site._registry[model].urls
        if pattern.name and len(re.findall(r"<(path:object_id|(\w+:)?(pk|id))>", str(pattern.pattern))) == len(pk)
    ]
    return [reverse(f"admin:{pattern.name}", args=pk) for pattern in patterns]


@pytest.mark.once
@pytest.mark.parametrize("who", ["every permission", "no permission"])
def test_staff_without_rights_send_no_form_and_cannot_find_out_which_records_exist(who: str) -> None:
    create_records()
    make_client, allowed = WHO[who]
    client = make_client()
    refused = [model for model in admin.site._registry if model._meta.label_lower.replace(".", "_") not in allowed]

    for model in refused:
        record: Any = model._default_manager.first()
        existing, missing = (urls_of(model, pk) for pk in (record.pk, MISSING[type(record.pk)]))
        assert len(existing) >= 3
        for send in (client.get, client.post):
            found = {url: send(url).status_code for url in (*urls_of(model), *existing, *missing)}
            assert {url: status for url, status in found.items() if status != 403} == {}
    if who == "every permission":
        menu = client.get(reverse("admin:index")).content.decode()
        assert [url for model in refused if (url := urls_of(model)[0]) in menu] == []


@pytest.mark.once
def test_every_page_redirects_anonymous_visitors_and_customers_to_the_login() -> None:
    customer = Client()
    customer.force_login(get_user_model().objects.create_user("customer"))
    pages = [(Client(), url) for _, url in urls()]

    for client, url in [*pages, (customer, reverse("admin:pets_pet_changelist"))]:
        response = client.get(url)
        assert response.status_code == 302, url
        assert response["Location"].startswith(reverse("admin:login")), url
    assert Client().get("/admin")["Location"] == reverse("admin:index")
