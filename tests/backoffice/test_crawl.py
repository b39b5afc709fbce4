"""A crawl of every page of every registered model, with each kind of account."""

import re
from collections.abc import Iterator

import pytest
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.db import models
from django.test import Client
from django.urls import reverse

from pets.models import Pet
from pets.services import create_pet
from petservice.accounts import groups
from petservice.apikeys.models import APIKey
from tests.backoffice.staff import staff
from tests.pets.changes import delete

pytestmark = pytest.mark.django_db

PET_PAGES = {"pets_pet", "pets_trashedpet", "pets_recentchange"}
# These pages have no form to add a record, not even for superusers.
WITHOUT_ADD_FORM = {"pets_trashedpet", "pets_recentchange", "journal_event", "auth_user"}
KEY_PAGES = {"apikeys_apikey"}
ALL_PAGES = {f"{model._meta.app_label}_{model._meta.model_name}" for model in admin.site._registry}

WHO = {
    "superuser": (lambda: staff(is_superuser=True), ALL_PAGES),
    "pets and inventory": (lambda: staff(groups.PETS_AND_INVENTORY), PET_PAGES),
    "and keys": (lambda: staff(groups.PETS_INVENTORY_AND_KEYS), PET_PAGES | KEY_PAGES),
    "bare staff": (staff, set()),
}


def create_records() -> None:
    """Create a record of each model with pages in the admin."""
    create_pet(name="Rex <b>", tag="狗")
    APIKey.objects.create_key(name="Acme")
    Group.objects.get_or_create(name="Any")
    owner, _ = get_user_model().objects.get_or_create(username="any")
    delete(owner, Pet.objects.create(name="Rex"))


def urls() -> Iterator[tuple[str, str]]:
    """Yield the model and the URL of each page: list, search, add form, and the pages of one record."""
    create_records()
    for model in admin.site._registry:
        page = f"{model._meta.app_label}_{model._meta.model_name}"
        yield page, reverse(f"admin:{page}_changelist")
        yield page, reverse(f"admin:{page}_changelist") + "?q=Re"
        if page not in WITHOUT_ADD_FORM:
            yield page, reverse(f"admin:{page}_add")
        yield from ((page, url) for url in _record_urls(page, model))
    key = APIKey.objects.get()
    for verb in ("revoke", "rotate"):
        yield "apikeys_apikey", reverse(f"admin:apikeys_apikey_{verb}", args=[key.pk])


def _record_urls(page: str, model: type[models.Model]) -> Iterator[str]:
    record = model._default_manager.first()
    assert record is not None, f"create a {model.__name__} for the crawl"
    for kind in ("change", "history"):
        yield reverse(f"admin:{page}_{kind}", args=[record.pk])


@pytest.mark.parametrize(
    "who", ["superuser", *(pytest.param(who, marks=pytest.mark.once) for who in WHO if who != "superuser")]
)
def test_staff_open_only_the_pages_that_they_have_permission_for(who: str) -> None:
    make_client, allowed = WHO[who]
    client = make_client()

    for page, url in urls():
        response = client.get(url)
        assert response.status_code == (200 if page in allowed else 403), url
        assert not re.search(r'href="/admin/(?:pets|apikeys|accounts|auth|journal)/"', response.content.decode()), (
            f"{url} links to the page of an app"
        )


@pytest.mark.once
def test_every_page_redirects_anonymous_visitors_to_the_login() -> None:
    for _page, url in [("", reverse("admin:index")), *urls()]:
        response = Client().get(url)

        assert response.status_code == 302, url
        assert response["Location"].startswith(reverse("admin:login")), url


def test_the_admin_url_without_its_slash_redirects_to_the_dashboard() -> None:
    assert Client().get("/admin")["Location"] == reverse("admin:index")


def test_a_user_who_is_not_staff_is_redirected_to_the_login() -> None:
    client = Client()
    client.force_login(get_user_model().objects.create_user("customer"))

    assert client.get(reverse("admin:pets_pet_changelist")).status_code == 302


def test_even_a_superuser_cannot_add_records_to_lists_without_a_form() -> None:
    client = staff(is_superuser=True)

    for page in WITHOUT_ADD_FORM:
        assert client.get(reverse(f"admin:{page}_add")).status_code == 403


def test_the_groups_are_created_once_and_keep_the_changes_by_staff() -> None:
    group = Group.objects.get(name=groups.PETS_AND_INVENTORY)
    group.permissions.clear()

    call_command("migrate", verbosity=0)

    assert not group.permissions.exists()
