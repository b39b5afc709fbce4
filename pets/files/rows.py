"""The rows of a file of pets, and the checks of their values."""

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple
from unicodedata import normalize

from rest_framework.exceptions import ValidationError

from pets.fields import EDITABLE, OPTIONAL_TEXTS
from pets.models import Pet
from petservice.admin_pages.wording import first_names
from petservice.api.serializers import JSON_TYPES, TextField
from petservice.api.validators import is_id
from petservice.monitoring.redaction import echo


class Line(NamedTuple):
    """The values of a pet in a file, or their errors, and the number of the line on which it begins, counted from 1.

    A pet without an id is new. Missing columns have no value.
    """

    number: int
    values: dict[str, Any]
    errors: Sequence[str] = ()


class BrokenFileError(ValueError):
    """The error that the rest of the file, from this line on, cannot be split into pets. Line 0 means the file."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}" if line else problem)
        self.line = line
        self.problem = problem


# Pairs of a line number and the cells of the header, and then those of a row, or an error message.
Rows = Generator[tuple[int, list[str] | str]]
# Pairs of a line number and the values of its row, or an error message.
Values = Iterator[tuple[int, dict[str, Any] | str]]

COLUMNS = ("id", *EDITABLE, "created_at", "created_by")
# The columns of exports. Imports ignore the last one, because the database keeps the time of a sale.
EXPORTED = (*COLUMNS, "sold_at")
# The formats that are written. A file of JSON that is read may be an array as well, because the admin exports arrays.
FORMATS = ("csv", "jsonl")
FORMATS_BY_SUFFIX = {".csv": "csv", ".json": "jsonl", ".jsonl": "jsonl", ".ndjson": "jsonl"}
# The formats that are read.
IMPORTED_FORMATS_BY_SUFFIX = {".xlsx": "xlsx", ".tsv": "csv", ".txt": "csv"} | FORMATS_BY_SUFFIX
# The columns whose empty cells say that a pet has no value, where those of others say nothing.
_NULLABLE = (*OPTIONAL_TEXTS, "created_by")
# The columns that may contain any text, formulas included.
FREE_TEXT = ("name", *_NULLABLE)
_STATUSES = Pet.Status.values
# Invisible characters that are no white space: the mark of DOS for the end of a file, and characters without a width.
_INVISIBLE = "\x1a\u200b\u200c\u200d\u2060\ufeff"
_REMOVED = dict.fromkeys(map(ord, _INVISIBLE))
# All of them, for a set of characters in a regular expression.
INVISIBLE = rf"\s{_INVISIBLE}"
VISIBLE = re.compile(f"[^{INVISIBLE}]")
# Maximum number by which the lines without text may outnumber the others in a file of text: those of a whole sheet.
# The longest upload could have 40 million, which take a worker longer than it may be busy before it is replaced.
MAX_EMPTY_LINES = 1 << 20


def checked(number: int, found: Mapping[str, Any]) -> Line:
    """Return the line that has these values, or one sentence for each error."""
    values: dict[str, Any] = {}
    errors: list[str] = []
    for column in COLUMNS:
        value = found.get(column)
        if value is None or value == "":
            if column == "name":
                errors.append("name is required.")
            elif column in _NULLABLE and column in found:
                values[column] = None
            continue
        try:
            values[column] = _CHECKS[column](value)
        except ValidationError as error:
            errors += map(str, error.detail)
    return Line(number, {}, errors) if errors else Line(number, values)


def _got(value: Any) -> str:
    return echo(value) if isinstance(value, str) else JSON_TYPES[type(value)]


# Each check takes the value of a column, which is not empty, and returns the value to store.


def _id(value: Any) -> str:
    if isinstance(value, str) and is_id(value):
        return value
    raise ValidationError(f"id must be a UUID in lower case with hyphens, or empty for a new pet; got {_got(value)}.")


def _status(value: Any) -> str:
    # Also with a capital letter, as pages show it.
    status = word_of(value) if isinstance(value, str) else None
    if status in _STATUSES:
        return str(status)
    raise ValidationError(f"status must be one of {', '.join(_STATUSES)}; got {_got(value)}.")


def exact_time(value: Any) -> datetime | None:
    """Return a time that is written with its offset from UTC, or None for any other value."""
    try:
        time = datetime.fromisoformat(value)
        return time.astimezone(UTC) if time.tzinfo else None
    except (TypeError, ValueError, OverflowError):
        return None


def _created_at(value: Any) -> datetime:
    if time := exact_time(value):
        return time
    raise ValidationError(
        "created_at must be a time with its offset from UTC, for example 2026-03-01T12:00:00+00:00, or in a "
        f"spreadsheet a day like the others, in the format of a date; got {_got(value)}."
    )


def _check_of_text(column: str) -> Callable[[Any], str]:
    field = TextField()
    field.field_name = column
    return field.to_internal_value


_CHECKS: dict[str, Callable[[Any], Any]] = {column: _check_of_text(column) for column in FREE_TEXT}
_CHECKS |= {"id": _id, "status": _status, "created_at": _created_at}


def word_of(text: str) -> str:
    """Return the word that a text in a file is compared by, because people write `Name` or put a space before it."""
    # Some programs write an accent as a character of its own.
    return normalize("NFC", text.translate(_REMOVED).strip().lower())


def unknown_columns(names: Iterable[str]) -> str:
    """Return the names of the unknown columns among these, for a message."""
    return first_names([echo(name) for name in names if word_of(name) not in {"", *EXPORTED}])
