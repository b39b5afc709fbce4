from copy import copy
from typing import Any

from django.contrib.auth.management.commands import createsuperuser

from petservice.accounts.forms import validate_new_name
from petservice.accounts.management.recorded import recorded
from petservice.journal.models import Event


class Command(createsuperuser.Command):
    """Django's command, with an entry in the audit."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Django's command validates the name by the field of the model.
        self.username_field = copy(self.username_field)
        self.username_field.validators = [*self.username_field.validators, validate_new_name]

    def handle(self, *args: Any, **options: Any) -> None:
        with recorded(self, Event.Kind.ACCOUNT_ADDED, "Added by the command createsuperuser. Role: Administrator."):
            super().handle(*args, **options)
