"""The reader of tables of text, whose cells commas, semicolons, tabs or vertical bars separate."""

import csv
import io
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import chain, islice
from operator import itemgetter
from statistics import median_low
from typing import IO

from pets.files.rows import INVISIBLE, MAX_EMPTY_LINES, VISIBLE, BrokenFileError, Rows
from pets.files.table_columns import HEADER_WITHIN, known_columns, likely_header
from petservice.admin_pages.csv_files import unescape

# Maximum number of characters that are read of a line, so that no line fills the memory.
_MAX_LINE_LENGTH = 1 << 20
# Encodings of spreadsheets that have no mark in the file, by the names that pages show.
ENCODINGS = {"cp1252": "Western Europe (Windows-1252)", "cp1250": "Central Europe (Windows-1250)"}
_ARCHIVE = b"PK\x03\x04"
# The separators of columns, by their names. German spreadsheets write semicolons, and copied cells have tabs.
_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
# A first line that names the separator for a spreadsheet.
_SEPARATOR_LINE = re.compile(r'\ufeff*"?sep=([\t!#-~])"?[\s,;]*', re.IGNORECASE)
# A character that a line before the header lacks. Its separator is not known yet.
_VISIBLE_TEXT = re.compile(f'[^{INVISIBLE},;|"]')


def csv_rows(file: IO[bytes], encoding: str = "", is_headerless: bool = False) -> Rows:
    """Yield the header and the rows of a file, which is UTF-8 or UTF-16 unless an encoding is given.

    Lines above the header are left out. In a file without a header, each line is a row, also that in its place.
    """
    start = file.read(len(_ARCHIVE))
    file.seek(0)
    if start == _ARCHIVE:
        raise BrokenFileError(0, "The file is a workbook or an archive, and no text: give its name the ending .xlsx.")
    encoding = encoding or json.detect_encoding(start)  # a spreadsheet writes “Unicode text” in UTF-16
    text = io.TextIOWrapper(file, encoding=encoding, newline="")
    try:
        lines = _lines(text)
        visible = ((number, line) for number, line in enumerate(lines, start=1) if _VISIBLE_TEXT.search(line))
        number, first = next(visible, (1, ""))
        delimiters = [*_DELIMITERS]
        if separator := _SEPARATOR_LINE.fullmatch(first):
            delimiters = [separator[1]]
            number, first = next(visible, (number, first))
        start_lines = [first.lstrip("\ufeff"), *islice(lines, HEADER_WITHIN - 1)]
        position, delimiter = _header_of(start_lines, delimiters)
        header = start_lines[position]
        skipped = 0 if is_headerless else position
        last_skipped, number = number + skipped - 1, number + position
        if "\0" in header:  # UTF-16 without a mark, whose first letters are not Latin
            raise UnicodeError
        # A header with a blank after the separator comes from a program that writes one everywhere. An export has none.
        has_blanks = f"{delimiter} " in header
        rest: Iterator[str] = chain(start_lines[skipped:], lines)
        rest = rest if has_blanks else _without_blanks_before_quotes(rest, last_skipped, delimiter)
        records = partial(csv.reader, delimiter=delimiter, skipinitialspace=has_blanks)
        cells = records(rest, strict=True)
        columns = next(records(start_lines[position:]) if is_headerless else cells, [])
        yield number, columns
        number = last_skipped + cells.line_num + 1
        for row in cells:
            content = "".join(row)
            if VISIBLE.search(content):
                row = [unescape(cell) for cell in row] if "'" in content else row
                yield number, row if len(row) == len(columns) else _fitted(row, columns, delimiter)
            number = last_skipped + cells.line_num + 1
    except csv.Error as error:
        raise BrokenFileError(number, f"the CSV is broken ({error}): is a quote missing or left over?") from None
    except UnicodeError:
        name = ENCODINGS.get(encoding, encoding.upper().removesuffix("-SIG"))
        problem = f"The text is not {name}: choose its encoding, or save it in a spreadsheet as “CSV UTF-8”."
        raise BrokenFileError(0, problem) from None
    finally:
        if not text.closed:  # which the file of an interrupted command is
            text.detach()  # so that the wrapper does not close the file


def _lines(text: IO[str]) -> Iterator[str]:
    empty = 0
    for number, line in enumerate(iter(partial(text.readline, _MAX_LINE_LENGTH), ""), start=1):
        if len(line) == _MAX_LINE_LENGTH:
            raise BrokenFileError(number, f"longer than {_MAX_LINE_LENGTH:,} characters.")
        empty += -1 if _VISIBLE_TEXT.search(line) else 1
        if empty > MAX_EMPTY_LINES:
            raise BrokenFileError(number, f"more than {MAX_EMPTY_LINES:,} empty rows: delete them.")
        yield line


def _header_of(lines: list[str], delimiters: list[str]) -> tuple[int, str]:
    """Return the position of the header among the first lines, and which of the separators the file has."""
    ranked = []
    for delimiter in delimiters:
        records = _records(lines, delimiter)
        positions, rows = [*records], [*records.values()]
        header = likely_header(rows)
        known = known_columns(rows[header])
        width = len(rows[header]) if known else median_low(map(len, rows))
        ranked.append((known, width, positions[header], delimiter))
    _, _, position, delimiter = max(ranked, key=itemgetter(0, 1))
    return position, delimiter


def _records(lines: list[str], delimiter: str) -> dict[int, list[str]]:
    """Return the cells of the first line and of each other record that has text, by the positions of its first line."""
    records, position = {0: [""]}, 0
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    with suppress(csv.Error):  # for a cell that is too long, which the rows report
        for cells in reader:
            if _VISIBLE_TEXT.search("".join(cells)):
                records[position] = [cell.strip(' "') for cell in cells]
            position = reader.line_num
    return records


def _without_blanks_before_quotes(lines: Iterator[str], skipped: int, delimiter: str) -> Iterator[str]:
    """Yield the lines below the skipped ones. Raises BrokenFileError if quotes would become a part of a text."""
    separator = re.escape(delimiter)
    opening_quote = re.compile(f'(?:^|{separator}) +"(?!["{separator}\r\n]|$)')
    for number, line in enumerate(lines, start=skipped + 1):
        if ' "' in line and opening_quote.search(line):
            raise BrokenFileError(number, "there is a blank before a quote: remove the blank.")
        yield line


def _fitted(row: list[str], columns: list[str], delimiter: str) -> list[str] | str:
    """Return the row with a cell for each column, because spreadsheets add and leave out empty cells, or an error."""
    missing, name = columns[len(row) :], _DELIMITERS.get(delimiter, delimiter)
    if VISIBLE.search("".join(missing)):  # the rest of the text may be on the next line
        cells = f"{len(row)} of {len(columns)} cells"
        return f"{cells}: add the missing {name}s, or save it as a workbook. Text with a line break must be in quotes."
    if VISIBLE.search("".join(row[len(columns) :])):
        return f"{len(row)} cells instead of {len(columns)}: text with a {name} in it must be in quotes."
    return row[: len(columns)] + [""] * len(missing)
