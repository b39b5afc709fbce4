"""Short ways to read the rows of a file of pets in tests."""

import io

from pets.files.reading import checked_lines
from pets.files.rows import Line


def lines(text: str | bytes, file_format: str = "csv") -> list[Line]:
    content = text.encode() if isinstance(text, str) else text
    return list(checked_lines(io.BufferedReader(io.BytesIO(content)), file_format))


def errors(text: str | bytes, file_format: str = "csv") -> list[tuple[int, str]]:
    return [(line.number, error) for line in lines(text, file_format) for error in line.errors]


def broken(text: str | bytes, file_format: str = "csv") -> str:
    """Return the last error, after which the reader stops."""
    number, error = errors(text, file_format)[-1]
    return f"line {number}: {error}"
