"""The file of a SQLite database that appears when it is complete, and the file of one whose data has moved."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from django.db import OperationalError

from petservice.db.sqlite.service_lock import exclude_services

# SQLite's files next to a database that it has not closed.
LOGS = ("-wal", "-shm", "-journal")
# The suffix of the file of a database whose data has moved.
_MOVED = ".moved"


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
            with database.cursor() as cursor:
                cursor.execute("PRAGMA journal_mode = DELETE")  # puts what the log has into the file
            database.close()
            _require_missing(target)
            os.link(part, target)  # unlike a rename, this replaces no existing file
            synchronize(target.parent)
        finally:
            database.close()
            _remove(part)


def retire(database: Any) -> str:
    """Add `.moved` to the name of the database's file, and return the new name. Replaces an older such file."""
    with database.cursor() as cursor:
        cursor.execute("PRAGMA journal_mode = DELETE")
    database.close()
    path = Path(database.settings_dict["NAME"]).resolve()
    return str(path.rename(f"{path}{_MOVED}"))


def create_for_owner(path: Path) -> None:
    """Create a missing file that only its owner may read, because it gets digests and secrets of second factors."""
    with suppress(FileExistsError):
        # O_EXCL opens no existing file: closing one would release the locks that SQLite has on it in this process.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode=0o600))


def require_not_moved(path: Path) -> None:
    """Raise OperationalError if SQLite would make an empty file in the place of a database whose data has moved."""
    moved = Path(f"{path.resolve()}{_MOVED}")
    if moved.exists() and not path.exists():
        raise OperationalError(
            f"the data of {path} has moved to another database. Set DATABASE_URL to that one, "
            f"or move {moved} away to begin with an empty database"
        )


def _require_missing(target: Path) -> None:
    for path in (target, *(Path(f"{target}{log}") for log in LOGS)):
        if path.exists():
            raise FileExistsError(None, None, str(path))


def _remove(part: Path) -> None:
    for name in ("", *LOGS, ".lock"):
        with suppress(FileNotFoundError):
            Path(f"{part}{name}").unlink()


def synchronize(folder: Path) -> None:
    """Make the names of a folder's files survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
