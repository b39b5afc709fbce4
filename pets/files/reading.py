"""The readers of pet files: CSV with a header row, JSON lines, or a JSON array."""

import csv
import io
from collections.abc import Generator, Iterable, Iterator
from datetime import datetime
from functools import partial
from itertools import chain
from typing import IO, Any

import orjson

from pets.files.json_array import BrokenFileError, elements
from pets.files.rows import COLUMNS, FREE_TEXT, Line, clean, column_of, unknown_columns
from petservice.exports.csv_files import BYTE_ORDER_MARK, unescape

# Maximum number of bytes that are read of a line, so that no line fills the memory. A valid row is shorter, because csv
# refuses cells of more than 131,072 characters.
_MAX_LINE_BYTES = 1 << 20
# Number of bytes of an array that are read in one step.
_PART_BYTES = 1 << 16
_NOT_UTF_8 = "the text is not UTF-8: save the file in this encoding, in a spreadsheet as “CSV UTF-8”."
# The separators of columns, by their names. German spreadsheets write semicolons, and copied cells have tabs.
_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab"}
_COLUMNS = frozenset(COLUMNS)
_NOT_AN_OBJECT = 'not an object: write each pet as one on a line of its own, for example {"name": "Rex"}.'


def read(file: IO[bytes], kind: str, *, now: datetime, created_by: str) -> Generator[Line]:
    """Yield the lines of a file, which is "csv", or else an array or lines of JSON.

    `clean` describes the defaults of missing values. If the rest of the file cannot be split into rows, the last line
    has an error. Close the generator before the file, unless it is read to the end.
    """
    try:
        for number, values in (_read_csv if kind == "csv" else _read_json)(file):
            if isinstance(values, str):
                yield Line(number, None, [values])
            else:
                yield Line(number, *clean(values, now=now, created_by=created_by), values)
    except BrokenFileError as error:
        yield Line(error.line, None, [error.problem])


# Pairs of a line number and the values of its row, or an error message.
Values = Iterator[tuple[int, dict[str, Any] | str]]


def _read_csv(file: IO[bytes]) -> Values:
    # Bytes that are not UTF-8 become lone surrogates, so that a later check can name their line.
    text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="")
    first = text.readline(_MAX_LINE_BYTES)
    delimiter = _delimiter_of(first)
    rest = iter(partial(text.readline, _MAX_LINE_BYTES), "")
    cells = csv.reader(chain([first] if first else [], rest), strict=True, delimiter=delimiter)
    number = 1
    try:
        header = _checked_header(next(cells, []))
        number = cells.line_num + 1
        for row in cells:
            if row:  # not an empty line
                yield number, _values(header, row, number, delimiter)
            number = cells.line_num + 1
    except csv.Error as error:
        raise BrokenFileError(number, f"the CSV is broken ({error}): is a quote missing or left over?") from None
    finally:
        text.detach()  # so that the wrapper does not close the file


def _delimiter_of(header: str) -> str:
    """Return the separator of a file by its header, because spreadsheets write that of their language."""

    def known_columns(delimiter: str) -> int:
        return sum(column_of(cell.strip('"')) in COLUMNS for cell in header.rstrip("\r\n").split(delimiter))

    return max(_DELIMITERS, key=known_columns)


def _checked_header(cells: list[str]) -> list[str]:
    """Return the columns that the header names."""
    if not _is_utf_8("".join(cells)) or "\0" in "".join(cells):
        raise BrokenFileError(1, _NOT_UTF_8)
    header = [column_of(cell) for cell in cells]
    columns = (
        f"the first line must name the columns, separated by commas, semicolons or tabs, out of {', '.join(COLUMNS)}"
    )
    if not set(header) <= set(COLUMNS):
        raise BrokenFileError(1, f"{columns}; not {unknown_columns(cells)}.")
    if "name" not in header or len(set(header)) < len(header):
        raise BrokenFileError(1, f"{columns}; each once, and name always.")
    return header


def _values(header: list[str], row: list[str], number: int, delimiter: str) -> dict[str, Any] | str:
    text = "".join(row)
    if not _is_utf_8(text):
        raise BrokenFileError(number, _NOT_UTF_8)
    if len(row) != len(header):
        return (
            f"{len(row)} cells, where the first line has {len(header)}: text with a {_DELIMITERS[delimiter]} in it "
            "must be in quotes."
        )
    values = dict(zip(header, row, strict=True))
    if "'" in text:
        for column in FREE_TEXT:
            if column in values:
                values[column] = unescape(values[column])
    return values


def _is_utf_8(text: str) -> bool:
    try:
        return text.isascii() or bool(text.encode())  # which is slower
    except UnicodeEncodeError:
        return False


def _read_json_lines(lines: Iterable[bytes], start: int) -> Values:
    for number, line in enumerate(lines, start=start):
        if len(line) == _MAX_LINE_BYTES:
            raise BrokenFileError(
                number, f"longer than {_MAX_LINE_BYTES:,} bytes: write each pet on a line of its own."
            )
        if not line or line.isspace():
            continue
        try:
            values = orjson.loads(line.removeprefix(BYTE_ORDER_MARK))
        except orjson.JSONDecodeError as error:
            yield number, f"not JSON ({error}): write each pet as an object on a line of its own."
        else:
            yield number, _object(values)


def _object(values: Any) -> dict[str, Any] | str:
    if not isinstance(values, dict):
        return _NOT_AN_OBJECT
    if values.keys() <= _COLUMNS:
        return values
    columns = {column_of(name): value for name, value in values.items()}
    if not columns.keys() <= _COLUMNS:
        return f"unknown {unknown_columns(values)}: there are only {', '.join(COLUMNS)}."
    if len(columns) < len(values):
        return "a field is named twice: upper and lower case are the same."
    return columns


def _read_json(file: IO[bytes]) -> Values:
    """Read a JSON array if the first character is `[`, or else JSON lines."""
    number, line = 1, b""
    lines = iter(partial(file.readline, _MAX_LINE_BYTES), b"")
    for number, line in enumerate(lines, start=1):  # noqa: B007  # used after the loop
        line = line.removeprefix(BYTE_ORDER_MARK)
        if line and not line.isspace():
            break
    if line.lstrip().startswith(b"["):
        return _read_json_array(chain([line], iter(partial(file.read, _PART_BYTES), b"")), number)
    return _read_json_lines(chain([line], lines), number)


def _read_json_array(parts: Iterable[bytes], start: int) -> Values:
    number = start
    try:
        for number, element in elements(parts, start):
            yield number, _object(orjson.loads(element))
    except orjson.JSONDecodeError as error:  # orjson is stricter than json: it refuses NaN and lone surrogates
        raise BrokenFileError(number + error.lineno - 1, f"not JSON ({error.msg}).") from None
