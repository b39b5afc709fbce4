"""The reader of workbooks (.xlsx): the values of one sheet as texts, without macros and parts from elsewhere."""

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime, time
from itertools import chain, islice, pairwise
from typing import IO, Any
from zipfile import ZipFile

from openpyxl import Workbook, load_workbook
from openpyxl.styles.numbers import is_date_format

from pets.files.rows import VISIBLE, BrokenFileError, Rows, word_of
from pets.files.table_columns import HEADER_WITHIN, likely_header
from petservice.admin_pages.csv_files import unescape

# Maximum number of bytes of all parts of a workbook, which may be compressed a thousandfold.
MAX_BYTES = 64 << 20
# Maximum number of parts, each of which takes time to open, also if it is empty.
_MAX_PARTS = 10_000
# Maximum number of tags, and of attributes, in a part of a workbook, and in a row, because an element takes 20 times
# the memory of its tag: some 150,000 pets with a name, a tag and a status.
MAX_TAGS = 3_000_000
_MAX_TAGS_OF_ROW = 100_000
# Minimum number of bytes of a tag that is found to be too long, because expat reads one again and again until its end.
_LONG_TAG = 2 << 20
# The bytes that may be before the first tag: marks of UTF-8 and UTF-16, and white space.
_BEFORE_XML = b"\xef\xbb\xbf\xff\xfe\0 \t\r\n"
# Maximum number of empty rows between two others, because formatted rows without pets take as long to read as pets.
MAX_EMPTY_ROWS = 10_000
# The beginning of encrypted workbooks, and of those of old spreadsheets.
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# A formula without a result in the XML of a sheet, as programs write it. A spreadsheet marks the empty text by t="str".
_FORMULA = re.compile(
    rb'<c (?![^>]{0,99}t="str")[^>]{0,99}r="([A-Z]+\d+)"[^>]{0,99}>'
    rb"<f[^>]{0,99}(?:/>|>[^<]{0,9999}</f>)(?:<v ?/>|<v></v>)?</c>"
)
# A character that XML cannot have, or the low line of a text that looks like one, as spreadsheets write it.
_ESCAPED = re.compile("_x(00[01][0-9A-Fa-f]|005[Ff])_")
# The format of numbers that are shown with zeros before them.
_ZEROS = re.compile("0{2,20}")
_MERGED = re.compile(rb'<mergeCell ref="([A-Z]+\d+:[A-Z]+(\d+))"')
# The column, empty for a row, and the row of the tags that have a place.
_PLACE = re.compile(rb'<(?:row|c) (?:[^>]{0,99} )??r="([A-Z]{0,3})(\d+)"')
_END_OF_ROW = re.compile(rb"</row>|(?=<row[^<>]*/>)")
# The prefix of a namespace, which some programs write before the name of each tag.
_PREFIX = re.compile(rb"(?<=<)\w+:|(?<=</)\w+:")
# XML in another encoding than UTF-8, whose tags are not counted, or with an entity, which can stand for a long text
# any number of times.
_OTHER_ENCODING = re.compile(
    rb"\xff\xfe|\xfe\xff|[\s<]\0|\0[\s<]|(?:\xef\xbb\xbf)?<\?xml[^>]*encoding\s*=\s*.(?!utf-(?:8|16)[\"'])",
    re.IGNORECASE,
)
_ENTITY = b"<!ENTITY"
# The folders of Power Query and Power Pivot, which write UTF-16. Its tags have the same bytes, and others between them.
_UTF_16_FOLDERS = ("customXml/", "xl/model/")
_NOT_A_WORKBOOK = (
    "The file is no workbook that can be read: save it in the spreadsheet as “Excel Workbook (.xlsx)” or “CSV UTF-8”."
)
_LOCKED = (
    "The workbook is protected by a password, or of an old spreadsheet (.xls): open it there, remove the password, and "
    "save it as “Excel Workbook (.xlsx)”."
)
_FORMULA_WITHOUT_RESULT = "The formula in {} has no result: open the file in the spreadsheet, and save it there."
_TOO_WIDE = "text to the right of the columns: write a name above it."
_LARGE = (
    "The workbook is too large when it is unpacked: delete the empty rows below the last pet and the other sheets, or "
    "save the sheet as “CSV UTF-8”."
)


def workbook_rows(file: IO[bytes], name: str = "", is_headerless: bool = False) -> Rows:
    """Yield the header and the rows of the first visible sheet, or of another one, as texts.

    Rows above the header are left out. In a sheet without a header, each row is one, also that in its place.
    """
    with _opened(file) as (workbook, archive):
        sheets = [sheet for sheet in workbook.worksheets if sheet.sheet_state == "visible"]
        sheet = next((sheet for sheet in sheets if word_of(name) in ("", word_of(sheet.title))), None)
        if sheet is None:
            names = ", ".join(repr(sheet.title) for sheet in sheets)
            problem = f"The workbook has no visible sheet {name!r}; there are {names}."
            raise BrokenFileError(0, problem if name else _NOT_A_WORKBOOK)
        xml = _PREFIX.sub(b"", archive.read(sheet._worksheet_path))  # noqa: SLF001  # openpyxl has no other name
        # Comments could hide the end of a row, and UTF-16 all of them.
        if b"<!" in xml or b"\0" in xml or any(_size(row) > _MAX_TAGS_OF_ROW for row in _END_OF_ROW.split(xml)):
            raise BrokenFileError(0, _NOT_A_WORKBOOK)
        # openpyxl leaves out rows and cells that come after later ones, which spreadsheets read.
        places = ((int(found[2]), len(found[1]), found[1]) for found in _PLACE.finditer(xml))
        if any(place >= following for place, following in pairwise(places)):
            raise BrokenFileError(0, _NOT_A_WORKBOOK)
        # XlsxWriter does not calculate: it writes 0 as each result, and asks the spreadsheet to calculate all of them.
        if "xl/workbook.xml" in archive.namelist() and b'fullCalcOnLoad="1"' in archive.read("xl/workbook.xml"):
            xml = xml.replace(b"</f><v>0</v>", b"</f>")
        if formula := _FORMULA.search(xml):
            raise BrokenFileError(0, _FORMULA_WITHOUT_RESULT.format(formula[1].decode()))
        sheet.reset_dimensions()  # some programs write wrong ones
        found = _visible_rows([_shown(cell) for cell in row] for row in sheet.rows)
        start = list(islice(found, HEADER_WITHIN))
        position = likely_header([row for _, row in start])
        number, header = start[position] if start else (1, [])
        last_skipped = 0 if is_headerless else number
        if merged := next((cells for cells, last_row in _MERGED.findall(xml) if int(last_row) > last_skipped), None):
            problem = f"the cells {merged.decode()} are merged: unmerge them, fill in each one, and save the workbook."
            raise BrokenFileError(number, problem)
        # Columns without a name count, so that people can leave them out.
        width = max((len(row) for _, row in start), default=0)
        yield number, header + [""] * (width - len(header))
        for number, row in chain(start[0 if is_headerless else position + 1 :], found):
            yield number, row + [""] * (width - len(row)) if len(row) <= width else _TOO_WIDE


@contextmanager
def _opened(file: IO[bytes]) -> Iterator[tuple[Workbook, ZipFile]]:
    start = file.read(len(_OLE))
    try:
        if start == _OLE:
            raise BrokenFileError(0, _LOCKED)
        with ZipFile(file) as archive:
            parts = archive.infolist()
            if len(parts) > _MAX_PARTS or sum(part.file_size for part in parts) > MAX_BYTES:
                raise BrokenFileError(0, _LARGE)
            for part in parts:
                content = archive.read(part)
                if _size(content) > MAX_TAGS or _has_long_tag(content):
                    raise BrokenFileError(0, _LARGE)
                if part.filename.startswith(_UTF_16_FOLDERS):
                    content = content.replace(b"\0", b"").lstrip(b"\xff\xfe")
                if _ENTITY in content or _OTHER_ENCODING.match(content):
                    raise BrokenFileError(0, _NOT_A_WORKBOOK)
            with closing(load_workbook(file, read_only=True, data_only=True, keep_links=False)) as workbook:
                yield workbook, archive
    except BrokenFileError:
        raise
    except Exception:  # zipfile, the parser of XML and openpyxl raise errors of any kind at a malformed file
        raise BrokenFileError(0, _NOT_A_WORKBOOK) from None


def _size(xml: bytes) -> int:
    """Return the number of tags or of attributes, whichever is greater."""
    return max(xml.count(b"<"), xml.count(b"="))


def _has_long_tag(content: bytes) -> bool:
    # Pictures are no XML, and Power Query writes megabytes of text between two tags.
    if not content.lstrip(_BEFORE_XML).startswith(b"<"):
        return False
    return any(
        content.find(b">", start, start + _LONG_TAG) < 0
        and content.rfind(b"<", 0, start) > content.rfind(b">", 0, start)
        for start in range(0, len(content) - _LONG_TAG, _LONG_TAG)
    )


def _shown(cell: Any) -> str:
    value = cell.value
    # openpyxl gives this error for a number that is no day, such as 20260301, in the format of a date.
    is_no_day = value == "#VALUE!" and is_date_format(cell.number_format)
    if value is None or (cell.data_type == "e" and not is_no_day):  # an error such as #N/A
        return ""
    if isinstance(value, str):
        # A CSV file of an export may have been saved as a workbook, with the apostrophes that it has before formulas.
        return unescape(_ESCAPED.sub(lambda found: chr(int(found[1], 16)), value))
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ", "seconds")
    if isinstance(value, bool):
        return str(value).upper()
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    return text.zfill(len(cell.number_format)) if _ZEROS.fullmatch(cell.number_format) else text


def _visible_rows(rows: Iterator[list[str]]) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that have text, without empty cells at the end, and their numbers."""
    last = 0
    for number, row in enumerate(rows, start=1):
        if VISIBLE.search("".join(row)):
            while not VISIBLE.search(row[-1]):
                row.pop()
            yield number, row
            last = number
        elif number - last > MAX_EMPTY_ROWS:
            raise BrokenFileError(
                last + 1, f"more than {MAX_EMPTY_ROWS:,} empty rows: delete them, and save the workbook."
            )
