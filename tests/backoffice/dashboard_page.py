"""How tests read the dashboard, and the entries that they add to it."""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from petservice.journal.models import Event
from petservice.journal.recording import type_of
from tests.journal.events import create_event

INDEX = reverse("admin:index")
NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def page(client: Client) -> str:
    return client.get(INDEX).content.decode()


def log(kind: Event.Kind, records: Collection[Any], message: str = "") -> None:
    """Add an event about each record to the journal."""
    anna, _ = User.objects.get_or_create(username="anna")
    shared = {"kind": kind, "account": anna, "account_name": "anna", "message": message}
    for record in records:
        create_event(record_type=type_of(record), record_id=str(record.pk), record_name=str(record), **shared)
