"""Recording of what management commands did, which does not fail them."""

from typing import Any

from django.core.management.base import BaseCommand
from django.db import DatabaseError, transaction

from petservice.journal.models import Event
from petservice.journal.recording import record


def record_done(command: BaseCommand, kind: Event.Kind, done: str, **event: Any) -> None:
    """Record what a command has done, or write to the terminal that the audit cannot be written, but that it is done.

    A full disk does not fail the command, because its result may be needed for repairs.
    """
    try:
        with transaction.atomic():
            record(None, kind, **event)
    except DatabaseError as error:
        command.stderr.write(f"The audit cannot be written ({str(error).strip()}). {done}")
