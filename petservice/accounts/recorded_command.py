"""The base class of Django's commands that change accounts, so that their changes are in the audit."""

from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand
from django.db.models.signals import post_save

from petservice.journal.models import Event
from petservice.journal.recording import record_done


class RecordedCommand(BaseCommand):
    """A part of a command that records each account that the command saves."""

    kind: Event.Kind
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
        record_done(self, self.kind, "The account is saved.", target=instance, message=self.message)
