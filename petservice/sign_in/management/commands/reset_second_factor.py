from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import CommandError

from petservice.db.pending_migrations import DatabaseCommand
from petservice.sign_in import factors


class Command(DatabaseCommand):
    help = "Remove the second factor of an account, so that its next login needs only the password."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="user name of the account")

    def handle(self, *args: Any, name: str, **options: Any) -> None:
        users = get_user_model()
        try:
            user = users.objects.get_by_natural_key(name)
        except users.DoesNotExist:
            raise CommandError(f"There is no account {name!r}. Nothing was changed.") from None
        if not factors.remove(None, user, message="Reset by the command reset_second_factor."):
            raise CommandError(f"The account {name!r} has no second factor. Nothing was changed.")
        self.stdout.write(f"The second factor of {user} was reset. The next login needs only the password.")
