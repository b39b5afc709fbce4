"""The files of the commands: a SQLite database that appears when it is complete, and the account that owns it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from petservice.db.sqlite.base import create_for_owner, exclude_services

# SQLite's files next to a database that it has not closed.
LOGS = ("-wal", "-shm", "-journal")


@contextmanager
def filled_at_once(database: Any) -> Iterator[None]:
    """Let the connection fill another file, which gets the name of the database at the end without an error.

    Raises FileExistsError if the database exists, and BlockingIOError if a service or another move uses it.
    """
    target = Path(database.settings_dict["NAME"]).resolve()
    part = Path(f"{target}.moving")
    with exclude_services(target):
        _require_missing(target)
        _remove(part)  # what a killed move has left
        database.settings_dict["NAME"] = part
        try:
            create_for_owner(part)
            yield
            close_log(database)
            _require_missing(target)
            os.link(part, target)  # unlike a rename, this replaces no existing file
            _synchronize(target.parent)
        finally:
            database.close()
            _remove(part)


def close_log(database: Any) -> None:
    """Put what the log of a database has into its file, and close the connection."""
    with database.cursor() as cursor:
        cursor.execute("PRAGMA journal_mode = DELETE")
    database.close()


def _require_missing(target: Path) -> None:
    for path in (target, *(Path(f"{target}{log}") for log in LOGS)):
        if path.exists():
            raise FileExistsError(None, None, str(path))


def _remove(part: Path) -> None:
    for name in ("", *LOGS, ".lock"):
        with suppress(FileNotFoundError):
            Path(f"{part}{name}").unlink()


def _synchronize(folder: Path) -> None:
    """Make the names of a folder's files survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
