"""The entries in the history of pets, which Django's admin keeps."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType

from pets.models import Pet

# Number of entries that one statement inserts.
_BATCH = 1000


class Entry(NamedTuple):
    """A change of one pet: an action flag of LogEntry, and the change in words."""

    pet: Pet
    flag: int
    message: str


def write(user_id: Any, entries: Iterable[Entry]) -> list[LogEntry]:
    """Add entries to the history of their pets."""
    content_type = ContentType.objects.get_for_model(Pet)
    return LogEntry.objects.bulk_create(
        (
            LogEntry(
                user_id=user_id,
                content_type=content_type,
                object_id=pet.pk,
                object_repr=pet.name[:200],
                action_flag=flag,
                change_message=message,
            )
            for pet, flag, message in entries
        ),
        batch_size=_BATCH,
    )


def change(field: str, old: str | None, new: str | None) -> str:
    """Describe the change of a field in a sentence."""
    return f"{field.capitalize()} changed from {quoted(old)} to {quoted(new)}."


def quoted(value: str | None) -> str:
    """Return a value of a field for a sentence."""
    return "nothing" if value is None else value if value in Pet.Status.values else f"“{value}”"
