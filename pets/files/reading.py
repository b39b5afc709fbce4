"""The reader of files of pets in every format."""

from collections.abc import Generator
from contextlib import closing
from itertools import islice
from typing import IO

from pets.files.csv_rows import csv_rows
from pets.files.json_pets import json_pets
from pets.files.rows import EXPORTED, BrokenFileError, Line, Rows, checked, word_of
from pets.files.table_columns import OWN, ColumnMapping, known_columns, values

# Maximum number of columns with a name, which people can read, and of all columns, because each row takes time and
# memory for every column of the header.
_MAX_NAMED, _MAX_COLUMNS = 60, 1000


def table_rows(file: IO[bytes], kind: str, mapping: ColumnMapping) -> Rows:
    """Yield the header and the rows of a table, which is "csv" or "xlsx". Raises BrokenFileError."""
    if kind == "xlsx":
        # Only here, because its library takes 10 MB of memory.
        from pets.files.workbook import workbook_rows

        found = workbook_rows(file, mapping.sheet, mapping.is_headerless)
    else:
        found = csv_rows(file, mapping.encoding, mapping.is_headerless)
    with closing(found):
        header = next(found)
        if len(header[1]) > _MAX_COLUMNS or sum(map(bool, map(word_of, header[1]))) > _MAX_NAMED:
            needed = "the name, tag, status and day of creation of the pets"
            raise BrokenFileError(header[0], f"more than {_MAX_NAMED} columns: delete all but {needed}.")
        yield header
        for number, first in islice(found, 1):
            # A pet of an export, which has statuses, may have any name.
            if known_columns(first) > 1 and not {"status"} <= {*map(word_of, header[1])} <= {"", *EXPORTED}:
                raise BrokenFileError(
                    number, "names columns as well as the line above it: delete one of the two lines."
                )
            yield number, first
        yield from found


def checked_lines(
    file: IO[bytes], kind: str, mapping: ColumnMapping = OWN, table: Rows | None = None
) -> Generator[Line]:
    """Yield the lines of a file, which is "csv", "xlsx", an array or lines of JSON, or of a table that was read.

    If the rest of the file cannot be split into rows, the last line has an error. Close the generator before the file,
    unless it is read to the end.
    """
    try:
        is_table = kind in ("csv", "xlsx")
        for number, found in values(table or table_rows(file, kind, mapping), mapping) if is_table else json_pets(file):
            yield Line(number, {}, [found]) if isinstance(found, str) else checked(number, found)
    except BrokenFileError as error:
        yield Line(error.line, {}, [error.problem])
    except UnicodeError:
        yield Line(0, {}, ["The text is not UTF-16, as its beginning says: save the file as UTF-8."])
