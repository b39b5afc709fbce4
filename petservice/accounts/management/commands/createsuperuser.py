from django.contrib.auth.management.commands import createsuperuser

from petservice.accounts.recorded_command import RecordedCommand
from petservice.audit.models import AuditEntry


class Command(RecordedCommand, createsuperuser.Command):
    """Django's command, with an entry in the audit."""

    kind = AuditEntry.Kind.ACCOUNT_ADDED
    message = "Added by the command createsuperuser. Role: Administrator."
