"""The files of the commands: a SQLite database that appears when it is complete."""

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from petservice.db.sqlite.base import create_for_owner, exclude_services

# SQLite's files next to a database that it has not closed.
LOGS = ("-wal", "-shm", "-journal")


@contextmanager
def new_file(target: Path) -> Iterator[Path]:
    """Yield an empty file, which gets the name of the target at the end without an error.

    Raises FileExistsError if the target exists.
    """
    _require_missing(target)
    with TemporaryDirectory(prefix=f"{target.name}.", dir=target.parent) as folder:
        part = Path(folder) / target.name
        create_for_owner(part)
        yield part
        _require_missing(target)
        _synchronize(part)
        os.link(part, target)  # unlike a rename, this replaces no existing file
        _synchronize(target.parent)


def copy_database(source: Path, target: Path, *, is_in_use: bool) -> None:
    """Copy a database of this service to a new file.

    Raises FileExistsError if the target exists, and OSError or sqlite3.Error if the source is missing or damaged.
    """
    if not source.is_file():
        raise FileNotFoundError(f"there is no file {source}")
    # Immutable: SQLite takes no lock, and makes no file next to the source.
    uri = f"{source.absolute().as_uri()}?mode={'rw' if is_in_use else 'ro&immutable=1'}"
    with (
        new_file(target) as part,
        closing(sqlite3.connect(uri, uri=True)) as database,
        closing(sqlite3.connect(part)) as copy,
    ):
        database.backup(copy)  # one read transaction: writers continue, and their changes are not copied
        (verdict,) = copy.execute("PRAGMA integrity_check").fetchone()
        if verdict != "ok":
            raise sqlite3.DatabaseError(f"{source} is damaged ({verdict})")
        copy.execute("SELECT 1 FROM pets_pet LIMIT 1")


@contextmanager
def filled_at_once(database: Any) -> Iterator[None]:
    """Let the connection fill another file, which gets the name of the database at the end without an error.

    Raises FileExistsError if the database exists, and BlockingIOError if a service or another move uses it.
    """
    target = Path(database.settings_dict["NAME"]).resolve()
    with exclude_services(target), new_file(target) as part:
        database.settings_dict["NAME"] = part
        try:
            yield
            close_log(database)
        finally:
            database.close()


def close_log(database: Any) -> None:
    """Put what the log of a database has into its file, and close the connection."""
    with database.cursor() as cursor:
        cursor.execute("PRAGMA journal_mode = DELETE")
    database.close()


def _require_missing(target: Path) -> None:
    for path in (target, *(Path(f"{target}{log}") for log in LOGS)):
        if path.exists():
            what_to_do = "it exists and is not replaced: move it away together with its -wal, or name another place"
            raise FileExistsError(errno.EEXIST, what_to_do, str(path))


def _synchronize(path: Path) -> None:
    """Make a file, or the names of a folder's files, survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
