"""Workbooks that tests make, as spreadsheets and other programs write them."""

import io
import zipfile
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from openpyxl import Workbook

from pets.files.reading import table_rows
from pets.files.rows import BrokenFileError
from pets.files.table_columns import OWN

Cells = Iterable[Sequence[Any]]


def workbook(cells: Cells, change: Callable[[Any], object] | None = None) -> bytes:
    """Return a workbook with one sheet, which `change` may change before it is saved."""
    book = sheets(Sheet=cells)
    if change:
        change(book["Sheet"])
    return saved(book)


def sheets(**cells: Cells) -> Workbook:
    """Return a workbook with these sheets."""
    book = Workbook()
    book.remove(book["Sheet"])
    for name, lines in cells.items():
        sheet = book.create_sheet(name)
        for line in lines:
            sheet.append(line)
    return book


def saved(book: Workbook) -> bytes:
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def with_part(content: bytes, name: str, change: Callable[[bytes], bytes]) -> bytes:
    """Return a workbook in which one of the files that it consists of is changed, or added."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
        for other in old.namelist():
            if other != name:
                new.writestr(other, old.read(other))
        new.writestr(name, change(old.read(name) if name in old.namelist() else b""))
    return file.getvalue()


def cells(content: bytes, kind: str = "xlsx") -> list[tuple[int, Any]]:
    """Return the header and the rows with their numbers."""
    return list(table_rows(io.BufferedReader(io.BytesIO(content)), kind, OWN))  # type: ignore[arg-type]


def problem(content: bytes) -> str:
    """Return why a workbook is rejected."""
    try:
        found = [row for _, row in cells(content) if isinstance(row, str)]
    except BrokenFileError as error:
        return str(error)
    return found[0]
