"""The generated secret key of a test environment, stored in the data directory."""

from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

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
        with NamedTemporaryFile("w", dir=data_dir, prefix="secret_key.") as draft:  # only its owner may read it
            draft.write(get_random_secret_key())
            draft.flush()
            with suppress(FileExistsError):
                path.hardlink_to(draft.name)
    return path.read_text()
