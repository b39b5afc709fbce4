"""What the commands that read and write files of pets have in common."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from tqdm import tqdm

from pets.files.rows import KINDS

STANDARD_STREAM = "-"
_KINDS_BY_SUFFIX = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl"}


def kind_of(file: str, chosen: str | None) -> str:
    """The kind of file that is chosen, or else told by its name; raises CommandError."""
    kind = chosen or _KINDS_BY_SUFFIX.get(Path(file).suffix.lower())
    if kind is None:
        raise CommandError(f"{file} may be CSV or JSON lines: add --format {' or --format '.join(KINDS)}.")
    return kind


def progress(description: str, total: int | None = None) -> "tqdm[Any]":
    """A bar that counts pets, on standard error if that is a terminal, and that leaves no trace."""
    return tqdm(desc=description, total=total, unit=" pets", unit_scale=True, disable=None, leave=False)


def throughput(verb: str, count: int, seconds: float) -> str:
    """How many pets, in which time, and how many a second to three figures."""
    rate = float(f"{count / max(seconds, 0.001):.3g}")
    return f"{verb} {count:,} {'pet' if count == 1 else 'pets'} in {seconds:.1f} s ({rate:,.0f} a second)."


def reason(error: OSError) -> str:
    """What went wrong, and with which file where the system tells."""
    return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)
