from copy import copy
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.management.commands import createsuperuser
from django.contrib.auth.models import User
from django.db.models.signals import post_save

from petservice.accounts.forms import validate_new_name
from petservice.journal.models import Event
from petservice.journal.recording import add_event_of_command


class Command(createsuperuser.Command):
    """Django's command, with an entry in the audit."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Django's command validates the name by the field of the model.
        self.username_field = copy(self.username_field)
        self.username_field.validators = [*self.username_field.validators, validate_new_name]

    def handle(self, *args: Any, **options: Any) -> None:
        # Django's command does not say whom it has created, and creates nobody without a terminal.
        post_save.connect(self._record, sender=get_user_model())
        try:
            super().handle(*args, **options)
        finally:
            post_save.disconnect(self._record, sender=get_user_model())

    def _record(self, *, instance: User, **kwargs: Any) -> None:
        message = "Added by the command createsuperuser. Role: Administrator."
        add_event_of_command(self, Event.Kind.ACCOUNT_ADDED, "The account is saved.", target=instance, message=message)
