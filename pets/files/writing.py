"""Files of pets written, as pets.files.reading reads them."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence

import orjson

from pets.files.formulas import escape
from pets.files.rows import COLUMNS, Row

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


def _cells(row: Row) -> tuple[str | None, ...]:
    return (
        row.id,
        escape(row.name),
        row.tag and escape(row.tag),
        row.status,
        row.created_at.isoformat(),
        row.created_by and escape(row.created_by),
    )


def _write_json_lines(rows: Iterable[Row], columns: Sequence[str]) -> Iterator[bytes]:
    for row in rows:
        yield orjson.dumps(dict(zip(columns, row, strict=False)), option=orjson.OPT_APPEND_NEWLINE)


_WRITERS: dict[str, Callable[[Iterable[Row], Sequence[str]], Iterator[bytes]]] = {
    "csv": _write_csv,
    "jsonl": _write_json_lines,
}
