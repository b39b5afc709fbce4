"""The secret key of a test set-up, made on first use and kept in the data directory."""

import os
from contextlib import suppress
from pathlib import Path

from django.core.management.utils import get_random_secret_key


def kept_secret_key(data_dir: Path) -> str:
    """The key in `data_dir`/secret_key, made at the first call; raises OSError when it cannot be read or written."""
    path = data_dir / "secret_key"
    data_dir.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        # Written under another name first, so that no other process finds half a key; of two that start together
        # one gives its key the name and the other reads that.
        draft = path.with_name(f"secret_key.{os.getpid()}")
        try:
            with open(draft, "w", opener=_owner_only) as file:
                file.write(get_random_secret_key())
            with suppress(FileExistsError):
                path.hardlink_to(draft)
        finally:  # on a full disk, too
            draft.unlink(missing_ok=True)
    return path.read_text()


def _owner_only(path: str, flags: int) -> int:
    return os.open(path, flags, mode=0o600)
