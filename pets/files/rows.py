"""Pets as the rows of a file, written, read and checked. A file is CSV with a header line, or JSON lines."""

import csv
import io
import json
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import IO, Any, NamedTuple

import orjson
from rest_framework.exceptions import ValidationError

from pets.files.formulas import escape, unescape
from pets.models import Pet
from petservice.api.fields import TextField
from petservice.api.pagination import is_id
from petservice.monitoring.redaction import echo


class Row(NamedTuple):
    """A pet in a file; one without an id is new."""

    id: str | None
    name: str
    tag: str | None
    status: str
    created_at: datetime
    created_through: str | None


class Line(NamedTuple):
    """The line of the file on which a row begins, the first being 1; and the row, or what is wrong with it."""

    number: int
    row: Row | None
    problems: list[str]
    values: Mapping[str, Any] = {}  # as they are in the file


COLUMNS = Row._fields
KINDS = ("csv", "jsonl")
_STATUSES = Pet.Status.values
_AVAILABLE = Pet.Status.AVAILABLE.value
# Those in which anything may be written, a formula too.
_FREE_TEXT = ("name", "tag", "created_through")
# Longer than any line with a row that can be read: csv refuses cells of more than 131,072 characters. What is longer
# is read in parts, so that no line fills the memory.
_LONGEST_LINE = 1 << 20
# Of what is unknown; there may be any number in a file that is none of pets.
_MOST_NAMED = 5
# How much is written at a time, in characters.
_PART = 1 << 16
_NOT_UTF_8 = "the text is not UTF-8: save the file in this encoding, in a spreadsheet as “CSV UTF-8 (comma delimited)”."
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BETWEEN_ELEMENTS = re.compile(r"[,\s]*")
_NOT_AN_OBJECT = 'not an object: write each pet as one on a line of its own, for example {"name": "Rex"}.'


# Checking.


def clean(values: Mapping[str, Any], *, now: datetime, created_through: str) -> tuple[Row | None, list[str]]:
    """The row with these values, or a sentence about each that is wrong.

    A pet of which the values tell no time was created at `now`, and one whose maker they pass over in silence through
    `created_through`.
    """
    value = values.get
    try:
        row = Row(
            _id(value("id")),
            _name(value("name")),
            _tag(value("tag")),
            _status(value("status")),
            _created_at(value("created_at")) or now,
            _created_through(value("created_through")) if "created_through" in values else created_through,
        )
    except ValueError:
        return None, list(_problems(values))
    return row, []


def _problems(values: Mapping[str, Any]) -> Iterator[str]:
    for column, check in _CHECKS.items():
        try:
            check(values.get(column))
        except ValueError as error:
            yield str(error)


# Each takes the value of a column, or None or an empty cell where there is none, and returns what is stored for it.


def _id(value: Any) -> str | None:
    if value is None or value == "":
        return None
    if isinstance(value, str) and is_id(value):
        return value
    raise ValueError(f"id must be a UUID in lower case with hyphens, or empty for a new pet; got {echo(str(value))}.")


def _text(column: str) -> Callable[[Any], str | None]:
    field = TextField()
    field.field_name = column

    def check(value: Any) -> str | None:
        if value is None or value == "":
            return None
        try:
            return field.to_internal_value(value)
        except ValidationError as error:
            raise ValueError(error.detail[0]) from None  # type: ignore[index]  # of a field it is a list

    return check


_given_name, _tag, _created_through = map(_text, _FREE_TEXT)


def _name(value: Any) -> str:
    name = _given_name(value)
    if name is None:
        raise ValueError("name is required.")
    return name


def _status(value: Any) -> str:
    if value is None or value == "":
        return _AVAILABLE
    if value in _STATUSES:
        return str(value)
    raise ValueError(f"status must be one of {', '.join(_STATUSES)}; got {echo(str(value))}.")


def _created_at(value: Any) -> datetime | None:
    if value is None or value == "":
        return None
    try:
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is not None:
            return moment.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(
        "created_at must be a time with its offset from UTC, for example 2026-03-01T12:00:00+00:00; "
        f"got {echo(str(value))}."
    )


_CHECKS: dict[str, Callable[[Any], Any]] = {
    "id": _id,
    "name": _name,
    "tag": _tag,
    "status": _status,
    "created_at": _created_at,
    "created_through": _created_through,
}


def _unknown(columns: Iterable[str]) -> str:
    unknown = [echo(column) for column in columns if column not in _CHECKS]
    return ", ".join(unknown[:_MOST_NAMED]) + (" and more" if len(unknown) > _MOST_NAMED else "")


# Reading.


def read(file: IO[bytes], kind: str, *, now: datetime, created_through: str) -> Generator[Line]:
    """The rows of a file of one of KINDS, or of a JSON array if `kind` is "json"; see `clean` for what they leave out.

    Where there is no telling rows from each other any more, the last line says so. To be closed before the file is,
    unless it is read to the end.
    """
    try:
        for number, values in _READERS[kind](file):
            if isinstance(values, str):
                yield Line(number, None, [values])
            else:
                yield Line(number, *clean(values, now=now, created_through=created_through), values)
    except _BrokenFileError as error:
        yield Line(error.number, None, [error.problem])


class _BrokenFileError(Exception):
    def __init__(self, number: int, problem: str) -> None:
        super().__init__(f"line {number}: {problem}")
        self.number = number
        self.problem = problem


# By line, the values of a row, or what is wrong with it.
Values = Iterator[tuple[int, dict[str, Any] | str]]


def _read_csv(file: IO[bytes]) -> Values:
    # What is not UTF-8 is let through as lone surrogates, so that the line that has it can be named.
    text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="")
    cells = csv.reader(iter(partial(text.readline, _LONGEST_LINE), ""), strict=True)
    number = 1
    try:
        header = next(cells, [])
        _check_header(header)
        number = cells.line_num + 1
        for row in cells:
            if row:  # not an empty line
                yield number, _values(header, row, number)
            number = cells.line_num + 1
    except csv.Error as error:
        raise _BrokenFileError(number, f"the CSV is broken ({error}): is a quote missing or left over?") from None
    finally:
        text.detach()  # so that the file is left for others to close


def _check_header(header: list[str]) -> None:
    if not _is_utf_8("".join(header)) or "\0" in "".join(header):
        raise _BrokenFileError(1, _NOT_UTF_8)
    columns = f"the first line must name the columns, separated by commas, out of {', '.join(COLUMNS)}"
    if not set(header) <= _CHECKS.keys():
        raise _BrokenFileError(1, f"{columns}; not {_unknown(header)}.")
    if "name" not in header or len(set(header)) < len(header):
        raise _BrokenFileError(1, f"{columns}; each once, and name always.")


def _values(header: list[str], row: list[str], number: int) -> dict[str, Any] | str:
    text = "".join(row)
    if not _is_utf_8(text):
        raise _BrokenFileError(number, _NOT_UTF_8)
    if len(row) != len(header):
        return f"{len(row)} cells, where the first line has {len(header)}: text with a comma in it must be in quotes."
    values = dict(zip(header, row, strict=True))
    if "'" in text:
        for column in _FREE_TEXT:
            if column in values:
                values[column] = unescape(values[column])
    return values


def _is_utf_8(text: str) -> bool:
    try:
        return text.isascii() or bool(text.encode())  # which is slower
    except UnicodeEncodeError:
        return False


def _read_json_lines(file: IO[bytes]) -> Values:
    for number, line in enumerate(iter(partial(file.readline, _LONGEST_LINE), b""), start=1):
        if len(line) == _LONGEST_LINE:
            raise _BrokenFileError(number, f"longer than {_LONGEST_LINE:,} bytes: write each pet on a line of its own.")
        if line.isspace():
            continue
        try:
            values = orjson.loads(line.removeprefix(_BYTE_ORDER_MARK))
        except orjson.JSONDecodeError as error:
            yield number, f"not JSON ({error}): write each pet as an object on a line of its own."
        else:
            yield number, _object(values)


def _object(values: Any) -> dict[str, Any] | str:
    if not isinstance(values, dict):
        return _NOT_AN_OBJECT
    if not values.keys() <= _CHECKS.keys():
        return f"unknown {_unknown(values)}: there are only {', '.join(COLUMNS)}."
    return values


def _read_json(file: IO[bytes]) -> Values:
    content = file.read().removeprefix(_BYTE_ORDER_MARK)
    if not content.lstrip().startswith(b"["):
        yield from _read_json_lines(io.BytesIO(content))
        return
    try:
        pets = orjson.loads(content)
        numbers = _lines_of_elements(content.decode())
    except orjson.JSONDecodeError as error:
        raise _BrokenFileError(error.lineno, f"not JSON ({error}).") from None
    except RecursionError:  # json gives up a little earlier than orjson
        raise _BrokenFileError(1, "the pets are nested too deeply.") from None
    for number, values in zip(numbers, pets, strict=True):
        yield number, _object(values)


def _lines_of_elements(array: str) -> list[int]:
    """On which line each element of a JSON array begins."""
    decoder = json.JSONDecoder()
    numbers: list[int] = []
    position = array.index("[") + 1
    number = 1 + array.count("\n", 0, position)
    while (begin := _BETWEEN_ELEMENTS.match(array, position)) and array[begin.end()] != "]":
        number += array.count("\n", position, begin.end())
        numbers.append(number)
        _, position = decoder.raw_decode(array, begin.end())
        number += array.count("\n", begin.end(), position)
    return numbers


_READERS: dict[str, Callable[[IO[bytes]], Values]] = {
    "csv": _read_csv,
    "jsonl": _read_json_lines,
    "json": _read_json,  # which takes a memory that holds it
}


# Writing.


def write(rows: Iterable[Row], kind: str, columns: Sequence[str] = COLUMNS) -> Iterator[bytes]:
    """A file of one of KINDS, in parts, as `read` takes it."""
    return _WRITERS[kind](rows, columns)


def _write_csv(rows: Iterable[Row], columns: Sequence[str]) -> Iterator[bytes]:
    part = io.StringIO(newline="")
    writer = csv.writer(part)
    writer.writerow(columns)
    for row in rows:
        writer.writerow(_cells(row)[: len(columns)])
        if part.tell() > _PART:
            yield part.getvalue().encode()
            part.seek(0)
            part.truncate()
    yield part.getvalue().encode()


def _cells(row: Row) -> tuple[str | None, ...]:
    return (
        row.id,
        escape(row.name),
        row.tag and escape(row.tag),
        row.status,
        row.created_at.isoformat(),
        row.created_through and escape(row.created_through),
    )


def _write_json_lines(rows: Iterable[Row], columns: Sequence[str]) -> Iterator[bytes]:
    for row in rows:
        yield orjson.dumps(dict(zip(columns, row, strict=False)), option=orjson.OPT_APPEND_NEWLINE)


_WRITERS: dict[str, Callable[[Iterable[Row], Sequence[str]], Iterator[bytes]]] = {
    "csv": _write_csv,
    "jsonl": _write_json_lines,
}
