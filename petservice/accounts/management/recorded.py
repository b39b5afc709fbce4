"""The audit of the commands that save an account in the middle of their questions."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.db.models.signals import post_save, pre_save

from petservice.journal.models import Event
from petservice.journal.recording import add_event_of_command


@contextmanager
def recorded(command: BaseCommand, kind: Event.Kind, message: str) -> Iterator[None]:
    """Record the account that Django's command saves, in the transaction of the change, which follows its questions."""
    with ExitStack() as stack:

        def begin(*, instance: User, **kwargs: Any) -> None:
            stack.enter_context(transaction.atomic())
            if instance.pk:  # others may have changed the account meanwhile, for example deactivated it
                password = instance.password
                try:
                    instance.refresh_from_db(from_queryset=User.objects.select_for_update())
                except User.DoesNotExist:
                    raise CommandError("The account does not exist any more. Nothing was changed.") from None
                instance.password = password

        def record(*, instance: User, **kwargs: Any) -> None:
            add_event_of_command(command, kind, "The account is saved.", target=instance, message=message)

        for signal, receiver in ((pre_save, begin), (post_save, record)):
            signal.connect(receiver, sender=User)
            stack.callback(signal.disconnect, receiver, sender=User)
        yield
