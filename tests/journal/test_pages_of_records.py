"""Additions, changes and deletions on pages of the admin are in the audit."""

from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group
from django.http import HttpRequest
from django.test import Client, RequestFactory
from django.urls import reverse

from pets.models import Pet
from petservice.journal.models import Event
from petservice.journal.pages import JournalPages
from tests.backoffice.pages import submit

pytestmark = [pytest.mark.django_db, pytest.mark.once]


def entries() -> list[tuple[str, str, str | None, str, int]]:
    rows = Event.with_record(Event.objects.exclude(kind="login").order_by("pk"))
    return [*rows.values_list("kind", "record_type", "record_id", "message", "count")]


@pytest.fixture
def request_of_admin(admin_user: Any) -> HttpRequest:
    request = RequestFactory().get("/")
    request.user = admin_user
    return request


def test_a_pet_that_staff_add_has_one_entry(admin_client: Client) -> None:
    submit(admin_client, reverse("admin:pets_pet_add"), "pet_form", {"name": "Rex"})

    assert entries() == [("added", "pets.pet", Pet.objects.get().pk, "“Rex” added.", 1)]


def test_a_deletion_of_many_records_is_one_entry(request_of_admin: HttpRequest) -> None:
    pages = JournalPages(Group, admin.site)
    first, *others = [Group.objects.create(name=f"group {number:02}") for number in range(30)]

    pages.log_deletions(request_of_admin, Group.objects.filter(pk=first.pk))
    pages.log_deletions(request_of_admin, Group.objects.filter(pk__in=[one.pk for one in others]).order_by("name"))

    named = ", ".join(f"“group {number:02}”" for number in range(1, 21))
    assert entries() == [
        ("deleted", "auth.group", str(first.pk), "Deleted: “group 00”.", 1),
        ("deleted", "auth.group", None, f"Deleted: {named} and 9 more.", 29),
    ]


def test_a_group_that_an_administrator_changes_has_one_entry(admin_client: Client) -> None:
    group = Group.objects.create(name="Any")

    admin_client.post(reverse("admin:auth_group_change", args=[group.pk]), {"name": "Other"})

    assert entries() == [("changed", "auth.group", str(group.pk), "Name changed from “Any” to “Other”.", 1)]


def test_every_page_that_changes_records_has_the_part_that_writes_the_journal() -> None:
    read_only = {"journal.event", "pets.recentchange", "pets.trashedpet"}

    others = {
        model._meta.label_lower for model, pages in admin.site._registry.items() if not isinstance(pages, JournalPages)
    }

    assert others == read_only
