"""The files of a SQLite database: its own, which only its owner may read, and the lock of its services next to it.

A service shares the lock with its worker processes and with other services. A restore excludes all of them.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from django.db import OperationalError

# The suffix of the file of a database whose data has moved.
MOVED = ".moved"


def create_for_owner(path: Path) -> None:
    """Create a missing file that only its owner may read, because it gets digests and secrets of second factors."""
    with suppress(FileExistsError):
        # O_EXCL opens no existing file: closing one would release the locks that SQLite has on it in this process.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode=0o600))


def require_not_moved(path: Path) -> None:
    """Raise OperationalError if SQLite would make an empty file in the place of a database whose data has moved."""
    moved = Path(f"{path.resolve()}{MOVED}")
    if moved.exists() and not path.exists():
        raise OperationalError(
            f"the data of {path} has moved to another database. Set DATABASE_URL to that one, "
            f"or move {moved} away to begin with an empty database"
        )


def hold_service_lock(database: Path) -> None:
    """Take the shared lock for as long as this process or a fork of it runs. Waits for the end of a restore.

    The kernel releases the lock, also after SIGKILL.
    """
    fcntl.flock(_open_lock(database), fcntl.LOCK_SH)


@contextmanager
def exclude_services(database: Path) -> Iterator[None]:
    """Let no service start. Raises BlockingIOError if one runs, or if another process is in this context."""
    lock = _open_lock(database)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(lock)


def _open_lock(database: Path) -> int:
    return os.open(f"{database.resolve()}.service", os.O_RDONLY | os.O_CREAT, mode=0o600)
