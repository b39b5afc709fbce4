"""Files to which commands export rows of the database."""

import os
import sys
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO

from django.core.management.base import CommandError
from django.db import DatabaseError

from petservice.db.backend import backend

STANDARD_STREAM = "-"


def export(parts: Generator[bytes], file: str) -> bool:
    """Write parts, which read one state of the database, to a file or to standard output.

    An existing file is replaced once the new one is complete. Returns False if the reader of standard output has left,
    and raises CommandError for any other failure.
    """
    try:
        # The generator is closed with its cursor, while the database can still be used.
        with _opened(file) as target, backend().read_consistently(), closing(parts):
            for part in parts:
                target.write(part)
    except BrokenPipeError:
        # Python would report an error when it closes standard output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    except KeyboardInterrupt:
        raise CommandError("Interrupted: nothing was exported.", returncode=130) from None
    except OSError as error:
        raise CommandError(f"{reason(error)}. Nothing was exported.") from None
    except DatabaseError as error:
        raise CommandError(f"Database error: {str(error).strip()}. Nothing was exported.") from None
    return True


def reason(error: OSError) -> str:
    """Return the message of an error, with the name of the file if the error has one."""
    return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)


@contextmanager
def _opened(file: str) -> Iterator[IO[bytes]]:
    """Yield standard output, or a temporary file that replaces `file` once it is complete."""
    if file == STANDARD_STREAM:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(file).resolve()
    # As root, the rename at the end would replace a device, for example /dev/stdout.
    if path.exists() and not path.is_file():
        raise CommandError(f"{file} is not a regular file. Use - for standard output.")
    if not path.parent.is_dir():
        raise CommandError(f"{file}: the folder does not exist.")
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        # Only its owner may read the file, as a backup.
        with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode=0o600), "wb") as target:
            yield target
            target.flush()
            os.fsync(target.fileno())
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
