"""The writer of files of pets, in the formats that pets.files.reading reads."""

from collections.abc import Generator, Iterable, Sequence
from typing import Any

import orjson

from pets.files.rows import COLUMNS, FREE_TEXT, Row
from petservice.exports import csv_files

# The positions of columns in a row.
_CREATED_AT = COLUMNS.index("created_at")
_FREE_TEXT = [position for position, column in enumerate(COLUMNS) if column in FREE_TEXT]


def write(rows: Iterable[Row], file_format: str, columns: Sequence[str] = COLUMNS) -> Generator[bytes]:
    """Yield the parts of a file of one of FORMATS with these columns."""
    if file_format == "csv":
        return csv_files.parts(columns, (_cells(row)[: len(columns)] for row in rows))
    return (orjson.dumps(dict(zip(columns, row, strict=False)), option=orjson.OPT_APPEND_NEWLINE) for row in rows)


def _cells(row: Row) -> list[str | None]:
    cells: list[Any] = list(row)
    cells[_CREATED_AT] = row.created_at.isoformat()
    for position in _FREE_TEXT:
        cells[position] = cells[position] and csv_files.escape(cells[position])
    return cells
