"""The rows of files as spreadsheets, editors and scripts write them, and the errors in them."""

import csv
import io
from datetime import UTC, datetime
from html import unescape
from typing import Any

import pytest
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from pets.files.reading import checked_lines
from pets.files.rows import COLUMNS, FORMATS
from tests.pets.admin.import_export.import_pages import cells, upload
from tests.pets.lines import broken, errors, lines
from tests.pets.spreadsheet_files import READ, REJECTED, Pets

pytestmark = pytest.mark.once
ID = "01890a5d-ac96-774b-bcce-b302099a8057"


NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
REX = {"name": "Rex"}
WHOLE = {"id": ID, "name": "Rex", "tag": "dog", "status": "sold", "created_at": NOW, "created_by": "staff jo"}
ANY_ORDER = f"status,tag,name,created_by,created_at,id\nsold,dog,Rex,staff jo,2026-03-01T12:00:00Z,{ID}\n"
EMPTY = '{"id": "", "name": "Rex", "tag": "", "status": "", "created_at": ""}'


@pytest.mark.parametrize(
    ("text", "file_format", "values"),
    [
        ("name\nRex\n", "csv", REX),
        ('{"name": "Rex"}', "jsonl", REX),
        (ANY_ORDER, "csv", WHOLE),
        ('{" Name": "Rex", "STATUS": "Available"}', "jsonl", REX | {"status": "available"}),
        # An empty tag removes a tag, and an empty creator means that the creator is unknown.
        ("id,name,tag,status,created_at\n,Rex,,,\n", "csv", REX | {"tag": None}),
        (EMPTY, "jsonl", REX | {"tag": None}),
        ("name,created_by\nRex,\n", "csv", REX | {"created_by": None}),
        ('{"name": "Rex", "created_by": null}', "jsonl", REX | {"created_by": None}),
        ("name\n\nRex\n\n", "csv", REX),
        ('\n{"name": "Rex"}\n\n', "jsonl", REX),
        ('{"name": "Rex"}'.ljust(2**20 - 2) + "\n", "jsonl", REX),
        ("name,created_at\nRex,2026-03-01T14:00:00+02:00\n", "csv", REX | {"created_at": NOW}),
    ],
)
def test_a_line_has_the_values_that_its_file_gives(text: str, file_format: str, values: dict[str, Any]) -> None:
    assert [line.values for line in lines(text, file_format)] == [values]


def test_lines_are_counted_like_in_a_text_editor() -> None:
    assert [line.number for line in lines('name,tag\r\n"Rex\nthe\rfirst",dog\r\nTom,\r\n')] == [2, 5]


@pytest.mark.parametrize(
    ("column", "value", "error"),
    [
        ("id", "1", "id must be a UUID in lower case with hyphens, or empty for a new pet; got '1'."),
        ("id", ID.upper(), "id must be a UUID"),
        ("name", " \u3000", "name must not be blank."),
        ("name", "x" * 256, "name must have at most 255 characters; got 256."),
        ("name", "Re\0x", "name must not contain the NUL character"),
        ("tag", "x" * 300, "tag must have at most 255 characters; got 300."),
        ("tag", "  ", "tag must not be blank."),
        ("status", "Gone", "status must be one of available, pending, sold; got 'Gone'."),
        ("created_at", "2026-03-01T12:00:00", "created_at must be a time with its offset from UTC, for example 2026-"),
        ("created_at", "yesterday", "created_at must be a time"),
        ("created_at", "0001-01-01T00:00:00+01:00", "created_at must be a time"),
        ("created_by", "x" * 256, "created_by must have at most 255 characters; got 256."),
    ],
)
def test_the_error_for_an_invalid_value_has_its_column_and_line(column: str, value: str, error: str) -> None:
    header = "name,tag" if column == "name" else f"name,{column}"
    row = f'"{value}",dog' if column == "name" else f'Rex,"{value}"'

    ((number, found),) = errors(f"{header}\n{row}\n")

    assert number == 2
    assert found.startswith(error)


DEEP = "[" * 1000 + "]" * 1000
OTHER_TYPES = dict.fromkeys(["1", "true", "[]", '{"a": 1}', "1.5"], " must be ") | {
    DEEP: "got an array.",
    f'{{"a": {DEEP}}}': "got an object.",
    "1e300": "got a number.",
    "9" * 5000: "not JSON (number is infinity",
    "-" + "9" * 5000: "not JSON (number is infinity",
    "1e999": "not JSON (number is infinity",
}


@pytest.mark.parametrize("column", COLUMNS)
def test_a_json_value_of_another_type_is_rejected_and_a_large_one_without_its_text(column: str) -> None:
    others = "" if column == "name" else '"name": "Rex", '
    for value, problem in OTHER_TYPES.items():
        pet = f'{{{others}"{column}": {value}}}'

        for text in (pet, f"[{pet}]"):
            ((line, found),) = errors(text, "json")
            assert line == 1
            assert problem in found or (text != pet and found == "the JSON is nested too deeply.")


NAMES = "the first line must name the columns, separated by commas, semicolons or tabs, out of " + ", ".join(COLUMNS)
OTHERS = "--columns says what others mean."
NO_OBJECT = 'not a pet: the file must be an array of pets, or have one pet on each line, for example {"name": "Rex"}.'
IN_QUOTES = "cells, where the first line has 2: text with a {} in it must be in quotes."
LONG = "longer than 1,048,576 bytes: write each pet on a line of its own."


@pytest.mark.parametrize(
    ("text", "file_format", "expected"),
    [
        *REJECTED.values(),
        *(
            (header, "csv", [(1, NAMES)])
            for header in ("", "tag\n", "name,name\n", "name,Name\n", ",\n", "name/tag\n", "\n")
        ),
        ("name,tagg\nRex,dog\n", "csv", [(1, f"{NAMES}; not 'tagg'. {OTHERS}")]),
        ("a,b,c,d,e,f,name\n", "csv", [(1, f"{NAMES}; not 'a', 'b', 'c', 'd', 'e' and 1 more. {OTHERS}")]),
        ('{"name": "Rex", "tagg": "dog"}', "jsonl", [(1, f"unknown 'tagg': there are only {', '.join(COLUMNS)}.")]),
        ('{"name": "Rex", "Name": "Tom"}', "jsonl", [(1, "a field is named twice: upper and lower case are")]),
        ('{"tag": "dog"}\n{"name": null}', "jsonl", [(1, "name is required."), (2, "name is required.")]),
        ("name,tag,status\n  ,  ,gone\nRex,,\n,dog,\n", "csv", [(2, "name"), (2, "tag"), (2, "status"), (4, "name")]),
        ("name,tag\nTom,cat\nRex\n", "csv", [(3, "1 " + IN_QUOTES.format("comma"))]),
        ("name;tag\nTom;cat\nRex;dog;brown\n", "csv", [(3, "3 " + IN_QUOTES.format("semicolon"))]),
        ("name,tag\nTom,cat\nRex, the dog,dog\n", "csv", [(3, "3 " + IN_QUOTES.format("comma"))]),
        *(
            (f"name\nTom\n{rest}", "csv", [(3, "the CSV is broken (")])
            for rest in ('"Rex', '"Rex\nTom\n', '"Rex"x\n', "x" * 200_000)
        ),
        *(
            ("name\nTom\nRené\n".encode(encoding), "csv", [(0, "The text is not UTF-8: ")])
            for encoding in ("latin-1", "utf-16-le", "cp1252")
        ),
        *(
            (b'{"name": "Tom"}\n' + line + b'\n{"name": "Tom"}', "jsonl", [(2, "not JSON (")])
            for line in (b"{", b"Rex", b'{"name": "\\ud800"}', b'{"name": NaN}')
        ),
        (b'{"name": "Tom"}\n{"name": "\xe9"}\n{"name": "Rex"}', "jsonl", [(2, "the text is not UTF-8: save the file")]),
        *(
            (f'{{"name": "Rex"}}\n{line}', "jsonl", [(2, NO_OBJECT)])
            for line in ("[]", '"Rex"', "null", '[{"name": "Rex"}]')
        ),
        ('{"name": "Rex"}\n ' + '{"name": "Rex"}'.ljust(2**20), "jsonl", [(2, LONG)]),
    ],
)
def test_each_error_of_a_file_has_its_line_and_says_what_is_wrong(
    text: str | bytes, file_format: str, expected: list[tuple[int, str]]
) -> None:
    found = errors(text, file_format)

    assert [number for number, _ in found] == [number for number, _ in expected]
    for (_, error), (_, beginning) in zip(found, expected, strict=True):
        assert error.startswith(beginning)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
@pytest.mark.parametrize(
    ("text", "file_format"), [("name;tag\r\n狗;x\r\n", "csv"), ('[{"name": "狗", "tag": "x"}]', "json")]
)
def test_a_file_may_say_its_encoding_by_a_mark(text: str, file_format: str, encoding: str) -> None:
    assert [line.values for line in lines(text.encode(encoding), file_format)] == [{"name": "狗", "tag": "x"}]


@pytest.mark.parametrize(("text", "file_format"), [("name\nRex\n", "csv"), ('{"name": "Rex"}\n', "jsonl")])
def test_broken_utf_16_is_rejected(text: str, file_format: str) -> None:
    error = broken(text.encode("utf-16") + b"\x00\xd8A\x00", file_format)

    assert "the text is not utf-16" in error.lower()


@pytest.mark.long
@pytest.mark.parametrize("file_format", FORMATS)
def test_an_endless_line_is_not_read_into_memory(file_format: str) -> None:
    class Endless(io.RawIOBase):
        left = 64 << 20

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
            size = min(len(buffer), self.left)
            buffer[:size] = b"," * size
            self.left -= size
            return size

    source = Endless()

    (line,) = checked_lines(io.BufferedReader(source), file_format)

    assert line.errors
    assert source.left > 60 << 20


@pytest.mark.parametrize(("text", "pets"), READ.values(), ids=READ)
def test_a_file_has_the_pets_that_people_see(text: str, pets: Pets) -> None:
    found = lines(text)

    assert [error for line in found for error in line.errors] == []
    assert [(line.number, line.values["name"], line.values.get("tag")) for line in found] == pets


TEXTS = st.text(st.sampled_from(' ",;\n\r\tx'), min_size=1, max_size=7).filter(str.strip)


@settings(deadline=None)
@given(st.lists(st.tuples(TEXTS, TEXTS)), st.sampled_from(",;\t"))
def test_blanks_quotes_and_separators_in_quotes_are_read_as_they_are(
    pets: list[tuple[str, str]], separator: str
) -> None:
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=separator).writerows([("name", "tag"), *pets])

    assert [(line.values["name"], line.values["tag"]) for line in lines(file.getvalue())] == pets


def test_the_page_reads_such_files(admin_client: Client) -> None:
    for text, pets in READ.values():
        rows = [[line, unescape(name), unescape(tag)] for line, _, name, tag, _ in cells(upload(admin_client, text))]
        assert rows == [[str(line), name, tag or ""] for line, name, tag in pets]
