from typing import Any

from django.contrib.auth.management.commands import changepassword

from petservice.accounts.management.recorded import recorded
from petservice.journal.models import Event


class Command(changepassword.Command):
    """Django's command, with an entry in the audit."""

    def handle(self, *args: Any, **options: Any) -> str | None:
        with recorded(self, Event.Kind.ACCOUNT_CHANGED, "Password changed by the command changepassword."):
            return super().handle(*args, **options)
