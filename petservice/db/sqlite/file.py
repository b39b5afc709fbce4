"""The file of a SQLite database: who may read it, and whether its data has moved to another database."""

import os
from contextlib import suppress
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
