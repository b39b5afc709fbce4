from copy import copy
from typing import Any

from django.contrib.auth.management.commands import createsuperuser

from petservice.accounts.forms import validate_new_name
from petservice.accounts.recorded_command import RecordedCommand
from petservice.journal.models import Event


class Command(RecordedCommand, createsuperuser.Command):
    """Django's command, with an entry in the audit."""

    kind = Event.Kind.ACCOUNT_ADDED
    message = "Added by the command createsuperuser. Role: Administrator."

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Django's command validates the name by the field of the model.
        self.username_field = copy(self.username_field)
        self.username_field.validators = [*self.username_field.validators, validate_new_name]
