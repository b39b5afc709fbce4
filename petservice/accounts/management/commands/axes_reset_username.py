from typing import Any

from axes.management.commands import axes_reset_username
from django.contrib.auth.models import User
from django.db import transaction

from petservice.journal.models import Event
from petservice.journal.recording import add_event_of_command
from petservice.sign_in.login_limits import lockouts


class Command(axes_reset_username.Command):  # type: ignore[misc]  # axes has no types
    """The command of django-axes, with an entry in the audit for each account that it unlocks."""

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        locked = lockouts().filter(username__in=options["username"]).values_list("username", flat=True)
        accounts = [*User.objects.filter(username__in=[*locked])]
        super().handle(*args, **options)
        message = "Unlocked by the command axes_reset_username."
        for account in accounts:
            add_event_of_command(
                self, Event.Kind.ACCOUNT_CHANGED, "The account is unlocked.", target=account, message=message
            )
