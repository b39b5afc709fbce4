"""Entries of the audit name the account, the address and the record, and pages that change records write them."""

import os
import pwd

import pytest
from django.contrib import admin
from django.test import RequestFactory

from pets.models import Pet
from petservice.journal.models import Event
from petservice.journal.pages import JournalPages
from petservice.journal.recording import add_event

pytestmark = pytest.mark.django_db


def test_an_entry_names_the_account_the_address_behind_a_trusted_proxy_and_the_record(admin_user):
    request = RequestFactory().get("/admin/", REMOTE_ADDR="127.0.0.1", HTTP_X_FORWARDED_FOR="192.0.2.7")
    request.user = admin_user

    add_event(request, Event.Kind.CHANGED, target=admin_user, message="Email changed.")

    entry = Event.with_record(Event.objects.all()).get()
    assert (entry.account, entry.account_name, entry.address) == (admin_user, "admin", "192.0.2.7")
    assert (entry.record_type, entry.record_id, entry.record_name) == ("auth.user", str(admin_user.pk), "admin")
    admin_user.delete()
    assert Event.objects.values_list("account", "account_name").get() == (None, "admin")


def test_a_system_user_without_a_name_is_recorded_by_its_number(monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: 2_000_000_001)
    with pytest.raises(KeyError):
        pwd.getpwuid(os.getuid())

    entry = add_event(None, Event.Kind.EXPORTED, target=Pet)

    assert entry.message == "Run by the operating system user 2000000001."


def test_every_page_that_changes_records_has_the_part_that_writes_the_journal() -> None:
    read_only = {"journal.event", "pets.recentchange", "pets.trashedpet"}

    others = {
        model._meta.label_lower for model, pages in admin.site._registry.items() if not isinstance(pages, JournalPages)
    }

    assert others == read_only
