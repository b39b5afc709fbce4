"""The admin dashboard, and the records that it counts and shows."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse

INDEX = reverse("admin:index")
NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def page(client: Client) -> str:
    return client.get(INDEX).content.decode()


def log(flag: int, records: Iterable[Any], message: object = "") -> None:
    user, _ = get_user_model().objects.get_or_create(username="anna")
    LogEntry.objects.log_actions(user.pk, list(records), flag, message)
