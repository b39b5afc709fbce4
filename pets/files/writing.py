"""The writers of files of pets, in the formats that pets.files.reading reads."""

import io
import re
from collections.abc import Callable, Generator, Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import Any

import orjson
from django.utils import timezone

from pets.files.rows import EXPORTED, FREE_TEXT
from petservice.admin_pages import csv_files

# The media type of workbooks.
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
# Characters that XML cannot have. The expression of openpyxl lacks the last two.
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
# The beginning of a text that spreadsheets would read as another character.
_LIKE_AN_ESCAPE = re.compile("_(?=x[0-9A-Fa-f]{4}_)")


def write(rows: Iterable[Any], file_format: str, columns: Sequence[str] = EXPORTED) -> Generator[bytes]:
    """Yield the parts of a file of one of FORMATS. Each row is a named tuple of these columns."""
    if file_format == "csv":
        return csv_files.parts(columns, map(_cells, rows))
    return (orjson.dumps(row._asdict(), option=orjson.OPT_APPEND_NEWLINE) for row in rows)


def _cells(row: Any) -> list[str | None]:
    cells = row._asdict()
    for column, value in cells.items():
        if isinstance(value, datetime):
            cells[column] = value.isoformat()
        elif value and column in FREE_TEXT:
            cells[column] = csv_files.escape(value)
    return list(cells.values())


def exported_workbook(rows: Iterable[Any], columns: Sequence[str]) -> bytes:
    """Return a workbook (.xlsx) for people, with these columns and the times of the store's time zone.

    Characters that a workbook cannot have are replaced.
    """
    # Only here, because this library takes 10 MB of memory.
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell

    book = Workbook(write_only=True)
    sheet = book.create_sheet("Pets")
    new_cell = partial(WriteOnlyCell, sheet)
    sheet.freeze_panes = "A2"
    sheet.append([column.replace("_", " ").capitalize() for column in columns])
    for row in rows:
        sheet.append([_cell(new_cell, getattr(row, column)) for column in columns])
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def _cell(new_cell: Callable[[Any], Any], value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, datetime):
        cell = new_cell(timezone.localtime(value).replace(tzinfo=None, microsecond=0))
        cell.number_format = "yyyy-mm-dd hh:mm"
    else:
        # An import removes the apostrophe before a formula, which a CSV file has that was saved as a workbook.
        value = value if csv_files.unescape(value) == value else csv_files.escape(value)
        text = _LIKE_AN_ESCAPE.sub("_x005F_", _NO_XML.sub("\ufffd", value))
        # Readers of XML take a carriage return for a part of a line feed.
        cell = new_cell(text.replace("\r", "_x000D_"))
        cell.data_type = "s"  # a text that begins with = is no formula
    return cell
