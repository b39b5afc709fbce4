"""Entries of the audit name the account, the client's address and the record."""

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import RequestFactory

from petservice.audit.models import AuditEntry
from petservice.audit.recording import record

pytestmark = pytest.mark.django_db


def test_an_entry_names_the_account_the_address_behind_a_trusted_proxy_and_the_record(admin_user):
    request = RequestFactory().get("/admin/", REMOTE_ADDR="127.0.0.1", HTTP_X_FORWARDED_FOR="192.0.2.7")
    request.user = admin_user

    record(request, AuditEntry.Kind.CHANGED, target=admin_user, message="Email changed.")

    entry = AuditEntry.objects.get()
    assert (entry.account, entry.account_name, entry.address) == (admin_user, "admin", "192.0.2.7")
    assert (entry.record_type, entry.record_id, entry.record_name) == ("auth.user", str(admin_user.pk), "admin")


def test_an_entry_keeps_the_name_of_a_deleted_account(admin_user):
    record(None, AuditEntry.Kind.LOGIN, account=admin_user)

    admin_user.delete()

    assert AuditEntry.objects.get().account_name == "admin"


def test_an_event_without_an_account_has_no_name():
    request = RequestFactory().get("/admin/", REMOTE_ADDR="not an address")
    request.user = AnonymousUser()

    record(request, AuditEntry.Kind.LOGIN_FAILED)

    entry = AuditEntry.objects.get()
    assert (entry.account, entry.account_name, entry.address) == (None, "", None)
