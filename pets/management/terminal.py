"""File formats, progress bars and failures of the commands that read and write files or whole databases."""

import signal
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.db import DatabaseError
from tqdm import tqdm

from pets.files.rows import FORMATS_BY_SUFFIX

STANDARD_STREAM = "-"


def format_of(file: str, chosen: str | None, by_suffix: Mapping[str, str] = FORMATS_BY_SUFFIX) -> str:
    """Return the chosen file format, or else the format for the file's extension. Raises CommandError."""
    file_format = chosen or by_suffix.get(Path(file).suffix.lower())
    if file_format is None:
        options = " or --format ".join(sorted({*by_suffix.values()}))
        raise CommandError(f"The format of {file} is unknown: add --format {options}.")
    return file_format


def progress(description: str, total: int | None = None, unit: str = " pets") -> "tqdm[Any]":
    """Return a progress bar, which is shown while standard error is a terminal and erased at the end."""
    return tqdm(desc=description, total=total, unit=unit, unit_scale=True, disable=None, leave=False)


def end_like_ctrl_c() -> None:
    """Let SIGTERM, and the end of the terminal's connection, end the command like Ctrl-C, so that no file remains."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
            signal.signal(number, signal.default_int_handler)


@contextmanager
def all_or_nothing(done: str) -> Iterator[None]:
    """Raise CommandError, which says that nothing was done, in place of the errors that can end a command."""
    try:
        yield
    except KeyboardInterrupt:
        raise CommandError(f"Interrupted: nothing was {done}.", returncode=130) from None
    except OSError as error:
        reason = f"{error.filename}: {error.strerror}" if error.filename else error.strerror or error
        raise CommandError(f"{reason}. Nothing was {done}.") from None
    except (DatabaseError, sqlite3.Error) as error:
        reason = str(error).strip()
        if "locked" in reason:
            reason += ", because another program writes, such as a move or an import: wait for its end"
        raise CommandError(f"Database error: {reason}. Nothing was {done}.") from None
