"""The base class of Django's commands that change accounts, so that their changes are in the audit."""

from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand
from django.db import DatabaseError, transaction
from django.db.models.signals import post_save

from petservice.audit.models import AuditEntry
from petservice.audit.recording import record


class RecordedCommand(BaseCommand):
    """A part of a command that records each account that the command saves."""

    kind: AuditEntry.Kind
    message: str

    def execute(self, *args: Any, **options: Any) -> Any:
        # Django's commands have no place for further code next to the change.
        users = get_user_model()
        post_save.connect(self._record, sender=users)
        try:
            return super().execute(*args, **options)
        finally:
            post_save.disconnect(self._record, sender=users)

    def _record(self, instance: Any, **kwargs: Any) -> None:
        """Record a change. A full disk does not fail the command, because the account may be needed for repairs."""
        try:
            with transaction.atomic():
                record(None, self.kind, target=instance, message=self.message)
        except DatabaseError as error:
            self.stderr.write(f"The audit cannot be written ({str(error).strip()}). The account is saved.")
