"""Files of pets written, as pets.files.reading reads them."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import orjson

from pets.files.formulas import escape
from pets.files.rows import COLUMNS, FREE_TEXT, Row

# The places of columns in a row.
_CREATED_AT = COLUMNS.index("created_at")
_FREE_TEXT = [place for place, column in enumerate(COLUMNS) if column in FREE_TEXT]
# Characters that are written at a time.
_PART = 1 << 16


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


def _cells(row: Row) -> list[str | None]:
    cells: list[Any] = list(row)
    cells[_CREATED_AT] = row.created_at.isoformat()
    for place in _FREE_TEXT:
        cells[place] = cells[place] and escape(cells[place])
    return cells


def _write_json_lines(rows: Iterable[Row], columns: Sequence[str]) -> Iterator[bytes]:
    for row in rows:
        yield orjson.dumps(dict(zip(columns, row, strict=False)), option=orjson.OPT_APPEND_NEWLINE)


_WRITERS: dict[str, Callable[[Iterable[Row], Sequence[str]], Iterator[bytes]]] = {
    "csv": _write_csv,
    "jsonl": _write_json_lines,
}
