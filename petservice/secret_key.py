"""The secret key of a test set-up, made on first use and kept in the data directory."""

import os
from pathlib import Path

from django.core.management.utils import get_random_secret_key


def kept_secret_key(data_dir: Path) -> str:
    """The key in `data_dir`/secret_key, made at the first call; raises OSError when it cannot be read or written."""
    path = data_dir / "secret_key"
    data_dir.mkdir(parents=True, exist_ok=True)
    try:
        # Exclusive, so that of two processes starting together one makes the key and the other reads it.
        with open(path, "x", opener=_owner_only) as file:
            file.write(get_random_secret_key())
    except FileExistsError:
        pass
    return path.read_text()


def _owner_only(path: str, flags: int) -> int:
    return os.open(path, flags, mode=0o600)
