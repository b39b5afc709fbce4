"""The lock of a SQLite database's services, in a file next to the database.

A service shares the lock with its worker processes and with other services. A restore excludes all of them.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def hold(database: Path) -> None:
    """Take the shared lock for as long as this process or a fork of it runs. Waits for the end of a restore.

    The kernel releases the lock, also after SIGKILL.
    """
    fcntl.flock(_open(database), fcntl.LOCK_SH)


@contextmanager
def exclude_services(database: Path) -> Iterator[None]:
    """Let no service start. Raises BlockingIOError if one runs, or if another process is in this context."""
    lock = _open(database)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(lock)


def _open(database: Path) -> int:
    return os.open(f"{database.resolve()}.service", os.O_RDONLY | os.O_CREAT, mode=0o600)
