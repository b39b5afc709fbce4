"""Workbooks: the texts of their cells, and the sentences that say why one is rejected."""

import re
from contextlib import suppress
from datetime import date, datetime, time
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pets.files import workbook as reader
from pets.files.rows import BrokenFileError
from pets.files.writing import exported_workbook
from pets.models import Pet
from tests.pets.workbooks import cells, problem, with_part, workbook

pytestmark = pytest.mark.once
SHEET = "xl/worksheets/sheet1.xml"
HEADER = ["name", "tag"]
NO_WORKBOOK = "The file is no workbook that can be read: save it in the spreadsheet as “Excel Workbook (.xlsx)” or “CSV"


# The values of cells, with the texts that people see in them.
SEEN: list[tuple[Any, str]] = [
    *[("Rex", "Rex"), (3, "3"), (276, "276"), (1.5, "1.5"), (276098102345678, "276098102345678"), (True, "TRUE")],
    *[(date(2026, 11, 25), "2026-11-25"), (time(9, 5), "09:05:00")],
    (datetime(2026, 11, 25, 18, 10), "2026-11-25 18:10:00"),  # noqa: DTZ001
    # LibreOffice writes a control character by its number, and saves an exported CSV file with its apostrophes.
    *[("a_x001A_b", "a\x1ab"), ("_x005F_x0041_", "_x0041_"), ("_xD83D_", "_xD83D_")],
    *[("'=1+1", "=1+1"), ("''@x", "'@x"), ("'Rex'", "'Rex'")],
]


def test_cells_have_the_texts_that_people_see() -> None:
    values, texts = zip(*SEEN, strict=True)
    content = workbook([["name", *range(len(SEEN) - 1)], values])

    # Some programs write a whole number with its decimals.
    assert cells(with_part(content, SHEET, lambda xml: xml.replace(b"<v>276<", b"<v>276.0<")))[1] == (2, [*texts])


def test_the_main_part_of_a_workbook_may_have_another_name() -> None:
    file = BytesIO()
    with ZipFile(BytesIO(workbook([HEADER]))) as old, ZipFile(file, "w") as new:
        for name in old.namelist():
            new.writestr(name.replace("workbook.xml", "book.xml"), old.read(name).replace(b"workbook.xml", b"book.xml"))

    assert cells(file.getvalue()) == [(1, HEADER)]


def test_a_number_has_the_zeros_that_its_format_shows() -> None:
    def format_numbers(sheet: Any) -> None:
        sheet["A2"].number_format, sheet["B2"].number_format = "000", "0.00"

    assert cells(workbook([HEADER, [7, 8.5]], format_numbers))[1] == (2, ["007", "8.5"])


@pytest.mark.parametrize("name", ["=1+1", "'=1+1", "''@", "_x0041_", "__x001A__x0041_", "'Rex", " a \nb", "a\r\nb\r"])
def test_a_name_of_an_exported_workbook_is_read_as_it_was(name: str) -> None:
    assert cells(exported_workbook([Pet(name=name)], ["name"])) == [(1, ["Name"]), (2, [name])]


def test_titles_empty_rows_and_empty_columns_are_skipped() -> None:
    rows = [["Our animals"], [], [None, "Name", None, "Art"], [], [None, "Rex"], [" "], [7, "Mia"]]

    assert cells(workbook(rows)) == [
        (3, ["", "Name", "", "Art"]),
        (5, ["", "Rex", "", ""]),
        (7, ["7", "Mia", "", ""]),
    ]
    assert cells(workbook([])) == [(1, [])]


@pytest.mark.filterwarnings("ignore:Cell B3 is marked as a date")
def test_an_error_in_a_cell_is_no_text_but_a_number_that_is_no_day_is_not_left_out() -> None:
    def fail(sheet: Any) -> None:
        sheet["B2"].value, sheet["B2"].data_type = "#N/A", "e"
        sheet["B3"].number_format = "yyyy-mm-dd"

    found = cells(workbook([HEADER, ["Rex", "dog"], ["Mia", 20260301]], fail))
    assert found == [(1, HEADER), (2, ["Rex", ""]), (3, ["Mia", "#VALUE!"])]


def test_a_formula_has_its_result_or_a_sentence() -> None:
    content = workbook([HEADER, ["Rex", '="d"&"og"'], ["Mia", '=IF(A1="","x","")']])
    assert problem(content) == "The formula in B2 has no result: open the file in the spreadsheet, and save it there."

    def calculate(xml: bytes) -> bytes:
        for cell, result in ((b"B2", b"dog"), (b"B3", b"")):
            xml = re.sub(rb'(<c r="%b")(>.*?</f>)<v ?(/>|></v>)' % cell, rb'\1 t="str"\2<v>%b</v>' % result, xml)
        return xml

    assert cells(with_part(content, SHEET, calculate))[1:] == [(2, ["Rex", "dog"]), (3, ["Mia", ""])]

    # As XlsxWriter writes it, which asks for a calculation like openpyxl; and as a spreadsheet that has calculated.
    zeros = with_part(content, SHEET, lambda xml: re.sub(rb"<v ?/>|<v></v>", b"<v>0</v>", xml))
    assert problem(zeros) == problem(content)
    calculated = with_part(zeros, "xl/workbook.xml", lambda xml: xml.replace(b' fullCalcOnLoad="1"', b""))
    assert cells(calculated)[1:] == [(2, ["Rex", "0"]), (3, ["Mia", "0"])]


def test_a_sheet_whose_tags_have_a_prefix_is_checked_like_others() -> None:
    def add_prefixes(xml: bytes) -> bytes:
        return re.sub(b"<(/?)", rb"<\1x:", xml).replace(b"xmlns=", b"xmlns:x=")

    rows, formula = [HEADER, ["Rex", "dog"], ["Mia", None]], [HEADER, ["Rex", '="d"&"og"']]
    merged = workbook(rows, lambda sheet: sheet.merge_cells("B2:B3"))

    assert cells(with_part(workbook(rows), SHEET, add_prefixes))[1] == (2, ["Rex", "dog"])
    for content in (workbook(formula), merged):
        assert problem(with_part(content, SHEET, add_prefixes)) == problem(content)


def test_only_merged_cells_below_the_header_are_rejected() -> None:
    rows = [["Our animals", None], HEADER, ["Rex", "dog"], ["Mia", None]]

    assert len(cells(workbook(rows, lambda sheet: sheet.merge_cells("A1:B1")))) == 3
    assert problem(workbook(rows, lambda sheet: sheet.merge_cells("B3:B4"))) == (
        "line 2: the cells B3:B4 are merged: unmerge them, fill in each one, and save the workbook."
    )


def test_a_second_header_is_rejected_unless_the_columns_are_those_of_an_export() -> None:
    rejected = "line 2: names columns as well as the line above it: delete one of the two lines."
    for header in (["Name", "Art"], HEADER):
        assert problem(workbook([header, ["Nom", "Espèce"], ["Rex", "dog"]])) == rejected
    assert len(cells(workbook([[*HEADER, "status"], ["Name", "Tag", "sold"]]))) == 2


def test_text_to_the_right_of_the_columns_and_very_many_empty_rows_are_rejected() -> None:
    def write_far(sheet: Any) -> None:
        sheet["XFD1048576"] = "x"

    content = workbook([HEADER, ["Rex", "dog"]])
    rejected = "line 3: more than 10,000 empty rows: delete them, and save the workbook."

    for rows in (b"<row/>", b'<row><c s="1"/><c s="1"/></row>'):
        end = rows * 11_000 + b"</sheetData>"
        assert problem(with_part(content, SHEET, lambda xml, end=end: xml.replace(b"</sheetData>", end))) == rejected
    assert problem(workbook([HEADER, ["Rex", "dog"]], write_far)) == rejected
    wide = workbook([HEADER, *[["Rex", "dog"]] * 30, ["Mia", "cat", "vaccinated"]])
    assert problem(wide) == "text to the right of the columns: write a name above it."


def test_a_workbook_that_unpacks_to_too_much_is_rejected_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "load_workbook", lambda *_, **__: pytest.fail("was read"))
    monkeypatch.setattr(reader, "MAX_BYTES", 1 << 20)
    content = workbook([HEADER, ["Rex", "dog"]])

    for name in (SHEET, "xl/sharedStrings.xml", "xl/styles.xml"):
        bomb = with_part(content, name, lambda xml: xml + b" " * (1 << 20))
        assert len(bomb) < 1 << 15
        assert problem(bomb).startswith("The workbook is too large when it is unpacked: ")


def attributes(number: int) -> bytes:
    return b" ".join(b'a%d=""' % one for one in range(number))


TOO_MUCH_XML = {
    "cells": (SHEET, b"<row>" + b"<c/>" * 1000 + b"</row>"),
    "comments": (SHEET, b"<row>" + (b"<c/>" * 900 + b"<!-- </row> -->") * 2 + b"</row>"),
    "blanks in a tag": (SHEET, b"<row" + b" " * 4_200_000 + b"/>"),
    "nested": (SHEET, b"<a>" * 500 + b"</a>" * 500),
    "styles": ("xl/styles.xml", b"<font/>" * 20_000),
    "attributes of a row": (SHEET, b"<row " + attributes(1000) + b"/>"),
    "attributes of a style": ("xl/styles.xml", b"<font " + attributes(20_001) + b"/>"),
}


@pytest.mark.parametrize(("name", "xml"), TOO_MUCH_XML.values(), ids=TOO_MUCH_XML)
def test_very_many_elements_or_attributes_are_rejected_unread(
    name: str, xml: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "MAX_TAGS", 20_000)
    monkeypatch.setattr(reader, "_MAX_TAGS_OF_ROW", 1000)
    with_elements = with_part(
        workbook([HEADER]),
        name,
        lambda old: old.replace(b"<fonts", xml + b"<fonts").replace(b"</sheetData>", xml + b"</sheetData>"),
    )
    assert problem(with_elements).startswith(("The workbook is too large", NO_WORKBOOK))


def test_a_picture_and_a_long_text_between_tags_are_no_long_tags() -> None:
    content = BytesIO(workbook([HEADER]))
    with ZipFile(content, "a") as archive:
        archive.writestr("xl/media/image1.bmp", b"BM<" + b"\xff" * 4_200_000)
        archive.writestr("customXml/item1.xml", f"<DataMashup>{'A' * 2_200_000}</DataMashup>".encode("utf-16"))

    assert cells(content.getvalue()) == [(1, HEADER)]


@pytest.mark.parametrize("name", [SHEET, "docProps/core.xml", "xl/workbook.xml"])
@pytest.mark.parametrize(
    ("declaration", "encoding"),
    [
        (b'<!DOCTYPE a [<!ENTITY b "c">]>', "utf-8"),
        (b"", "utf-16"),
        (b"\n\0", "utf-16-le"),
        (b"", "utf-16-be"),
        (b'<?xml version="1.0" encoding="cp500"?>', "cp500"),
    ],
)
def test_xml_that_could_hide_how_much_it_is_is_rejected_unread(
    monkeypatch: pytest.MonkeyPatch, name: str, declaration: bytes, encoding: str
) -> None:
    def rewritten(old: bytes) -> bytes:
        body = re.sub(r"^<\?xml.*?\?>\s*", "", old.decode())
        return declaration + body.encode(encoding)

    content = with_part(workbook([HEADER, ["Rex", "dog"]]), name, rewritten)
    monkeypatch.setattr(reader, "load_workbook", lambda *_, **__: pytest.fail("was read"))

    assert problem(content).startswith(NO_WORKBOOK)


@pytest.mark.parametrize("name", ["customXml/item1.xml", "xl/model/item.data"])
def test_what_power_query_and_power_pivot_keep_in_a_workbook_may_be_utf_16_but_no_sheet(name: str) -> None:
    content = workbook([HEADER, ["Rex", "dog"]])
    declared = '<?xml version="1.0" encoding="utf-16"?>'
    sheet = ZipFile(BytesIO(content)).read(SHEET).decode()

    def with_text(text: str) -> bytes:
        return with_part(content, name, lambda _: text.encode("utf-16"))

    assert cells(with_text(f"{declared}<DataMashup>AAAA==</DataMashup>")) == [(1, HEADER), (2, ["Rex", "dog"])]
    for hidden in ('<!DOCTYPE a [<!ENTITY b "c">]><a/>', '<?xml version="1.0" encoding="cp500"?><a/>'):
        assert problem(with_text(hidden)).startswith(NO_WORKBOOK)
    moved = with_part(
        with_text(sheet), "xl/_rels/workbook.xml.rels", lambda old: old.replace(SHEET.encode(), name.encode())
    )
    assert problem(moved).startswith(NO_WORKBOOK)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"name,tag\nRex,dog\n", NO_WORKBOOK),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 999, "The workbook is protected by a password, or of an old"),
        (with_part(workbook([HEADER]), "xl/workbook.xml", lambda _: b"<workbook/>"), NO_WORKBOOK),
        (with_part(workbook([HEADER]), SHEET, lambda xml: xml[:-20]), NO_WORKBOOK),
        # Rows and cells in another order, which spreadsheets read.
        (with_part(workbook([["a"]] * 3), SHEET, lambda xml: xml.replace(b'row r="2"', b'row r="4"')), NO_WORKBOOK),
        (with_part(workbook([HEADER, ["Rex", "dog"]]), SHEET, lambda xml: xml.replace(b'"A2"', b'"C2"')), NO_WORKBOOK),
    ],
)
def test_what_is_no_workbook_is_rejected_with_what_to_do(content: bytes, expected: str) -> None:
    assert problem(content).startswith(expected)


DAMAGED = workbook([[*HEADER, "date"], ["Rex", "=1+1", date(2026, 11, 25)], ["Mia", "cat", 3]])


@settings(deadline=None, max_examples=200)
@given(st.integers(0, len(DAMAGED) - 1), st.binary(min_size=1, max_size=4))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_damaged_workbook_is_read_or_rejected(position: int, damage: bytes) -> None:
    content = DAMAGED[:position] + damage + DAMAGED[position + len(damage) :]

    with suppress(BrokenFileError):
        assert cells(content)
