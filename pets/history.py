"""The entries in the history of pets, which Django's admin keeps."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.utils import timezone

from pets.models import Pet
from petservice.db.backend import backend

_COLUMNS = ("action_time", "user_id", "content_type_id", "object_id", "object_repr", "action_flag", "change_message")
_STATUSES = frozenset(Pet.Status.values)


class Entry(NamedTuple):
    """A change of one pet: an action flag of LogEntry, and the change in words."""

    pet: Pet
    flag: int
    message: str


def write(user_id: Any, entries: Iterable[Entry]) -> None:
    """Add entries to the history of their pets, in the current transaction."""
    type_id = ContentType.objects.get_for_model(Pet).pk
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    rows = [(now, user_id, type_id, pet.pk, pet.name[:200], flag, message) for pet, flag, message in entries]
    # Ten thousand model instances would take longer than the statement.
    backend().copy_rows(LogEntry._meta.db_table, _COLUMNS, [rows], refresh_statistics=False)


def change(field: str, old: str | None, new: str | None) -> str:
    """Describe the change of a field in a sentence."""
    return f"{field.capitalize()} changed from {quoted(old)} to {quoted(new)}."


def quoted(value: str | None) -> str:
    """Return a value of a field for a sentence."""
    return "nothing" if value is None else value if value in _STATUSES else f"“{value}”"
