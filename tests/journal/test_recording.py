"""Entries of the audit name the account, the address and the record, and pages that change records write them."""

import os
import pwd
from pathlib import Path

import pytest
from django.contrib import admin
from django.contrib.auth.models import AnonymousUser
from django.test import RequestFactory

from pets.models import Pet
from petservice.journal.models import Event
from petservice.journal.pages import JournalPages
from petservice.journal.recording import add_event
from store.models import InventoryItem

pytestmark = pytest.mark.django_db

RUN_BY = f"Run by the operating system user {Path(f'/proc/{os.getpid()}').owner()}."


def test_an_entry_names_the_account_the_address_behind_a_trusted_proxy_and_the_record(admin_user):
    request = RequestFactory().get("/admin/", REMOTE_ADDR="127.0.0.1", HTTP_X_FORWARDED_FOR="192.0.2.7")
    request.user = admin_user

    add_event(request, Event.Kind.CHANGED, target=admin_user, message="Email changed.")

    entry = Event.with_record(Event.objects.all()).get()
    assert (entry.account, entry.account_name, entry.address) == (admin_user, "admin", "192.0.2.7")
    assert (entry.record_type, entry.record_id, entry.record_name) == ("auth.user", str(admin_user.pk), "admin")
    admin_user.delete()
    assert Event.objects.values_list("account", "account_name").get() == (None, "admin")


def test_an_event_without_an_account_has_no_name():
    request = RequestFactory().get("/admin/", REMOTE_ADDR="not an address")
    request.user = AnonymousUser()

    add_event(request, Event.Kind.LOGIN_FAILED)

    entry = Event.objects.get()
    assert (entry.account, entry.account_name, entry.address) == (None, "", None)


def test_an_event_of_a_command_has_the_account_name_command_and_the_system_user():
    entry = add_event(None, Event.Kind.EXPORTED, target=Pet, message="Exported.", count=3)

    assert entry.message == f"Exported. {RUN_BY}"
    assert (entry.account, entry.account_name, entry.address) == (None, "command", None)
    assert (entry.record_type, entry.items.count(), entry.count) == ("pets.pet", 0, 3)


def test_a_system_user_without_a_name_is_recorded_by_its_number(monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: 2_000_000_001)
    with pytest.raises(KeyError):
        pwd.getpwuid(os.getuid())

    entry = add_event(None, Event.Kind.EXPORTED, target=Pet)

    assert entry.message == "Run by the operating system user 2000000001."


def test_a_pet_has_the_same_entries_on_the_pages_of_pets_and_of_the_inventory():
    pet = Pet.objects.create(name="Rex")

    entry = add_event(None, Event.Kind.CHANGED, target=InventoryItem.objects.get())

    assert (entry.record_type, entry.items.get().record_id) == ("pets.pet", pet.pk)


def test_every_page_that_changes_records_has_the_part_that_writes_the_journal() -> None:
    read_only = {"journal.event", "pets.recentchange", "pets.trashedpet"}

    others = {
        model._meta.label_lower for model, pages in admin.site._registry.items() if not isinstance(pages, JournalPages)
    }

    assert others == read_only
