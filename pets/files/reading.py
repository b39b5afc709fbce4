"""The readers of pet files: CSV with a header row, JSON lines, or a JSON array."""

import csv
import io
import re
from collections.abc import Generator, Iterable, Iterator
from datetime import datetime
from functools import partial
from itertools import chain, count
from typing import IO, Any

import orjson

from pets.files.json_array import BrokenFileError, elements
from pets.files.rows import COLUMNS, FREE_TEXT, INVISIBLE, Line, clean, column_of, unknown_columns
from petservice.exports.csv_files import BYTE_ORDER_MARK, unescape

# Maximum number of bytes of JSON, or characters of CSV, that are read of a line, so that no line fills the memory.
_MAX_LINE_LENGTH = 1 << 20
# Maximum number of columns, as in a spreadsheet, because each row takes time for every column of the first line.
_MAX_COLUMNS = 1 << 14
# Number of bytes of an array that are read in one step.
_PART_BYTES = 1 << 16
_NOT_UTF_8 = "the text is not UTF-8: save the file in this encoding, in a spreadsheet as “CSV UTF-8”."
# The separators of columns, by their names. German spreadsheets write semicolons, and copied cells have tabs.
_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab"}
# A first line that names the separator for a spreadsheet.
_SEPARATOR_LINE = re.compile(r'\ufeff*"?sep=([\t!#-~])"?[\s,;]*', re.IGNORECASE)
_VISIBLE = re.compile(f"[^{INVISIBLE}]")
# A character that a line before the header lacks. Its separator is not known yet.
_VISIBLE_TEXT = re.compile(f'[^{INVISIBLE},;"]')
_COLUMNS = frozenset(COLUMNS)
_SHAPE = 'the file must be an array of pets, or have one pet on each line, for example {"name": "Rex"}.'


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
    lines = _lines(text)
    number, line, delimiter = 1, "", ""
    try:
        for number, line in enumerate(lines, start=1):  # noqa: B007  # used after the loop
            if separator := _SEPARATOR_LINE.fullmatch(line):
                delimiter = separator[1]
            elif _VISIBLE_TEXT.search(line):
                break
        line = line.lstrip("\ufeff")
        before, delimiter = number - 1, delimiter or _delimiter_of(line)
        # A header with a blank after the separator comes from a program that writes one everywhere. An export has none.
        has_blanks = f"{delimiter} " in line
        rest = lines if has_blanks else _without_blanks_before_quotes(lines, number, delimiter)
        cells = csv.reader(chain([line], rest), strict=True, delimiter=delimiter, skipinitialspace=has_blanks)
        header = _checked_header(next(cells, []), number)
        number = before + cells.line_num + 1
        for row in cells:
            content = "".join(row)
            if _VISIBLE.search(content):
                yield number, _values(header, row, content, number, delimiter)
            number = before + cells.line_num + 1
    except csv.Error as error:
        raise BrokenFileError(number, f"the CSV is broken ({error}): is a quote missing or left over?") from None
    finally:
        text.detach()  # so that the wrapper does not close the file


def _lines(text: IO[str]) -> Iterator[str]:
    for number in count(1):
        line = text.readline(_MAX_LINE_LENGTH)
        if len(line) == _MAX_LINE_LENGTH:
            raise BrokenFileError(number, f"longer than {_MAX_LINE_LENGTH:,} characters.")
        if not line:
            return
        yield line


def _without_blanks_before_quotes(lines: Iterator[str], header: int, delimiter: str) -> Iterator[str]:
    """Yield the lines, which begin below the header. Raises BrokenFileError if quotes would become a part of a text."""
    separator = re.escape(delimiter)
    opening_quote = re.compile(f'(?:^|{separator}) +"(?!["{separator}\r\n]|$)')
    for number, line in enumerate(lines, start=header + 1):
        if ' "' in line and opening_quote.search(line):
            raise BrokenFileError(number, "there is a blank before a quote: remove the blank.")
        yield line


def _delimiter_of(header: str) -> str:
    """Return the separator of a file by its header, because spreadsheets write that of their language."""

    def known_columns(delimiter: str) -> int:
        return sum(column_of(cell.strip(' "')) in COLUMNS for cell in header.rstrip("\r\n").split(delimiter))

    return max(_DELIMITERS, key=known_columns)


def _checked_header(cells: list[str], number: int) -> list[str]:
    """Return the columns that the header names, with an empty string for each column without a name."""
    if not _is_utf_8("".join(cells)) or "\0" in "".join(cells):
        raise BrokenFileError(number, _NOT_UTF_8)
    if len(cells) > _MAX_COLUMNS:
        raise BrokenFileError(number, f"more than {_MAX_COLUMNS:,} columns: remove the empty ones.")
    header = [column_of(cell) for cell in cells]
    named = [column for column in header if column]
    columns = (
        f"the first line must name the columns, separated by commas, semicolons or tabs, out of {', '.join(COLUMNS)}"
    )
    if not set(named) <= _COLUMNS:
        raise BrokenFileError(number, f"{columns}; not {unknown_columns(cells)}.")
    if "name" not in named or len(set(named)) < len(named):
        raise BrokenFileError(number, f"{columns}; each once, and name always.")
    return header


def _values(header: list[str], row: list[str], content: str, number: int, delimiter: str) -> dict[str, Any] | str:
    if not _is_utf_8(content):
        raise BrokenFileError(number, _NOT_UTF_8)
    # Spreadsheets add empty cells to some rows, and leave out the last empty ones of columns without a name.
    if any(header[len(row) :]) or _VISIBLE.search("".join(row[len(header) :])):
        return (
            f"{len(row)} cells, where the first line has {len(header)}: text with a "
            f"{_DELIMITERS.get(delimiter, delimiter)} in it must be in quotes."
        )
    values = dict(zip(header, row, strict=False))
    if "" in values:
        for position, (column, cell) in enumerate(zip(header, row, strict=False), start=1):
            if not column and _VISIBLE.search(cell):
                return f"column {position} has no name: write one into the first line, or empty the column."
        del values[""]
    if "'" in content:
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
        if len(line) == _MAX_LINE_LENGTH:
            raise BrokenFileError(
                number, f"longer than {_MAX_LINE_LENGTH:,} bytes: write each pet on a line of its own."
            )
        if not line or line.isspace():
            continue
        try:
            values = orjson.loads(line.lstrip(BYTE_ORDER_MARK).rstrip())
        except orjson.JSONDecodeError as error:
            problem = f"not JSON ({error.msg} at character {error.colno}): {_SHAPE}"
            if 0 < error.pos == len(error.doc):  # the object continues on the next line
                raise BrokenFileError(number, problem) from None
            yield number, problem
        else:
            yield number, _object(values)


def _object(values: Any) -> dict[str, Any] | str:
    if not isinstance(values, dict):
        return f"not a pet: {_SHAPE}"
    if values.keys() <= _COLUMNS:
        return values
    columns = {column_of(name): value for name, value in values.items()}
    if not columns.keys() & _COLUMNS:
        return f"unknown {unknown_columns(values)}, and no field of a pet: {_SHAPE}"
    if not columns.keys() <= _COLUMNS:
        return f"unknown {unknown_columns(values)}: there are only {', '.join(COLUMNS)}."
    if len(columns) < len(values):
        return "a field is named twice: upper and lower case are the same."
    return columns


def _read_json(file: IO[bytes]) -> Values:
    """Read a JSON array if the first character is `[`, or else JSON lines."""
    number, line = 1, b""
    lines = iter(partial(file.readline, _MAX_LINE_LENGTH), b"")
    for number, line in enumerate(lines, start=1):  # noqa: B007  # used after the loop
        line = line.lstrip(BYTE_ORDER_MARK)  # also several of them, because JSON begins with none of its bytes
        if line and not line.isspace():
            break
    if line.lstrip().startswith(b"["):
        return _read_json_array(chain([line], iter(partial(file.read, _PART_BYTES), b"")), number)
    return _read_json_lines(chain([line], lines), number)


def _read_json_array(parts: Iterable[bytes], start: int) -> Values:
    for number, element in elements(parts, start):
        try:
            yield number, _object(orjson.loads(element))
        except orjson.JSONDecodeError as error:  # orjson is stricter than json: it refuses NaN and lone surrogates
            yield number + error.lineno - 1, f"not JSON ({error.msg})."
