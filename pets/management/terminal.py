"""File formats, progress bars and messages of the commands that import and export pets."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from tqdm import tqdm

from pets.files.rows import FORMATS_BY_SUFFIX


def format_of(file: str, chosen: str | None, by_suffix: Mapping[str, str] = FORMATS_BY_SUFFIX) -> str:
    """Return the chosen file format, or else the format for the file's extension. Raises CommandError."""
    file_format = chosen or by_suffix.get(Path(file).suffix.lower())
    if file_format is None:
        options = " or --format ".join(sorted({*by_suffix.values()}))
        raise CommandError(f"The format of {file} is unknown: add --format {options}.")
    return file_format


def progress(description: str, total: int | None = None) -> "tqdm[Any]":
    """Return a progress bar that counts pets, shown while standard error is a terminal and erased at the end."""
    return tqdm(desc=description, total=total, unit=" pets", unit_scale=True, disable=None, leave=False)


def count_of_pets(count: int) -> str:
    """Return a number of pets in words."""
    return f"{count:,} {'pet' if count == 1 else 'pets'}"
