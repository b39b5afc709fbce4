import getpass
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.management.commands import changepassword

from petservice.journal.models import Event
from petservice.journal.recording import add_event_of_command


class Command(changepassword.Command):
    """Django's command, with an entry in the audit."""

    def handle(self, *args: Any, **options: Any) -> str | None:
        done = super().handle(*args, **options)
        user = get_user_model().objects.get_by_natural_key(options["username"] or getpass.getuser())
        message = "Password changed by the command changepassword."
        add_event_of_command(self, Event.Kind.ACCOUNT_CHANGED, "The account is saved.", target=user, message=message)
        return done
