"""The generated secret key of a test environment, stored in the data directory."""

import os
from contextlib import suppress
from pathlib import Path

from django.core.management.utils import get_random_secret_key


def kept_secret_key(data_dir: Path) -> str:
    """Return the key in `data_dir`/secret_key, and create it first if it is missing.

    Raises OSError if the file cannot be read or written.
    """
    path = data_dir / "secret_key"
    data_dir.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        # The key is written to a temporary file first, so that no other process reads half a key. If two processes
        # start together, one of them links its file to the final name, and the other reads that file.
        draft = path.with_name(f"secret_key.{os.getpid()}")
        try:
            with open(draft, "w", opener=_owner_only) as file:
                file.write(get_random_secret_key())
            with suppress(FileExistsError):
                path.hardlink_to(draft)
        finally:  # also if the disk is full
            draft.unlink(missing_ok=True)
    return path.read_text()


def _owner_only(path: str, flags: int) -> int:
    return os.open(path, flags, mode=0o600)
