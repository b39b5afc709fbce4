"""Short ways to read the rows of a file of pets in tests."""

import io
from datetime import UTC, datetime
from typing import Any

from pets.files.reading import checked_lines
from pets.files.rows import COLUMNS, Line, Row

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def lines(text: str | bytes, file_format: str = "csv") -> list[Line]:
    content = text.encode() if isinstance(text, str) else text
    return list(checked_lines(io.BufferedReader(io.BytesIO(content)), file_format, now=NOW, created_by="command x"))


def rows(text: str | bytes, file_format: str = "csv") -> list[Row | None]:
    return [line.row for line in lines(text, file_format)]


def errors(text: str | bytes, file_format: str = "csv") -> list[tuple[int, str]]:
    return [(line.number, error) for line in lines(text, file_format) for error in line.errors]


def broken(text: str | bytes, file_format: str = "csv") -> str:
    """Return the last error, after which the reader stops."""
    number, error = errors(text, file_format)[-1]
    return f"line {number}: {error}"


def row_with(**values: Any) -> Row:
    return Row(**dict.fromkeys(COLUMNS) | values)
