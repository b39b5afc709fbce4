"""The base class of the management commands that use the database, and the check of their account."""

import os
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from petservice.db.pending_migrations import missing_migrations, pending_migrations_message


class DatabaseCommand(BaseCommand):
    """A command that needs the service's tables, and ends with a clear error if they are missing."""

    requires_migrations_checks = True

    def check_migrations(self) -> None:
        """Raise CommandError if migrations are pending, or if the database does not respond."""
        try:
            missing = missing_migrations()
        except DatabaseError as error:
            raise CommandError(f"The database does not answer: {error}") from error
        if missing:
            raise CommandError(pending_migrations_message(missing))


def require_account_of(folder: Path) -> None:
    """Raise CommandError if root would leave files that the account of the service cannot use."""
    if os.geteuid() != 0 or not folder.exists() or folder.stat().st_uid == 0:
        return
    try:
        account = folder.owner()
    except KeyError:  # an account of a container, for example
        account = str(folder.stat().st_uid)
    raise CommandError(
        f"You are root, but {folder} belongs to {account}: run this command as that account, "
        f"for example with runuser -u {account} -- …"
    )
