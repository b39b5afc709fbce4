from django.contrib.auth.management.commands import changepassword

from petservice.accounts.recorded_command import RecordedCommand
from petservice.journal.models import Event


class Command(RecordedCommand, changepassword.Command):
    """Django's command, with an entry in the audit."""

    kind = Event.Kind.ACCOUNT_CHANGED
    message = "Password changed by the command changepassword."
