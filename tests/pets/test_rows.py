"""The rows of files as spreadsheets, editors and scripts write them, and the errors in them."""

import io
import json
import tracemalloc
from datetime import UTC, datetime
from html import unescape
from typing import Any

import pytest
from django.test import Client

from pets.files import json_pets
from pets.files.csv_rows import csv_rows
from pets.files.reading import checked_lines
from pets.files.rows import COLUMNS, FORMATS, Line
from tests.pets.admin.import_export.import_pages import cells, upload
from tests.pets.spreadsheet_files import READ, REJECTED, Pets

pytestmark = pytest.mark.once
ID = "01890a5d-ac96-774b-bcce-b302099a8057"


def lines(text: str | bytes, file_format: str = "csv") -> list[Line]:
    content = text.encode() if isinstance(text, str) else text
    return list(checked_lines(io.BytesIO(content), file_format))


def errors(text: str | bytes, file_format: str = "csv") -> list[tuple[int, str]]:
    return [(line.number, error) for line in lines(text, file_format) for error in line.errors]


NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
REX = {"name": "Rex"}
WHOLE = {"id": ID, "name": "Rex", "tag": "dog", "status": "sold", "created_at": NOW, "created_by": "staff jo"}
ANY_ORDER = f"status,tag,name,created_by,created_at,id\nsold,dog,Rex,staff jo,2026-03-01T12:00:00Z,{ID}\n"
EMPTY = '{"id": "", "name": "Rex", "tag": "", "status": "", "created_at": ""}'


@pytest.mark.parametrize(
    ("text", "file_format", "values"),
    [
        (ANY_ORDER, "csv", WHOLE),
        ('{" Name": "Rex", "STATUS": "Available"}', "jsonl", REX | {"status": "available"}),
        # An empty tag removes a tag, and an empty creator means that the creator is unknown.
        ("id,name,tag,status,created_at\n,Rex,,,\n", "csv", REX | {"tag": None}),
        (EMPTY, "jsonl", REX | {"tag": None}),
        ('{"name": "Rex"}'.ljust(2**20 - 2) + "\n", "jsonl", REX),
        ("name,created_at\nRex,2026-03-01T14:00:00+02:00\n", "csv", REX | {"created_at": NOW}),
    ],
)
def test_a_line_has_the_values_that_its_file_gives(text: str, file_format: str, values: dict[str, Any]) -> None:
    assert [line.values for line in lines(text, file_format)] == [values]


def test_an_interrupted_reader_may_be_closed_after_its_file() -> None:
    file = io.BytesIO(b"name\nRex\n")
    rows = csv_rows(file)
    next(rows)
    file.close()
    rows.close()


@pytest.mark.parametrize(
    ("column", "value", "error"),
    [
        ("id", "1", "id must be a UUID in lower case with hyphens, or empty for a new pet; got '1'."),
        ("name", "x" * 256, "name must have at most 255 characters; got 256."),
        ("name", "Re\0x", "name must not contain the NUL character"),
        ("status", "Gone", "status must be one of available, pending, sold; got 'Gone'."),
        ("created_at", "2026-03-01T12:00:00", "created_at must be a time with its offset from UTC, for example 2026-"),
        (
            "created_at",
            "46351",  # as a spreadsheet keeps a day in a cell that is formatted as a number
            "created_at must be a time with its offset from UTC, for example 2026-03-01T12:00:00+00:00, or in a "
            "spreadsheet a day like the others, in the format of a date; got '46351'.",
        ),
        ("created_at", "0001-01-01T00:00:00+01:00", "created_at must be a time"),
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


NAMES = "this line must name the columns, separated by commas, semicolons or tabs, out of " + ", ".join(COLUMNS)
OTHERS = "--columns says what others mean."
NO_OBJECT = 'not a pet: the file must be an array of pets, or have one pet on each line, for example {"name": "Rex"}.'
IN_QUOTES = "cells instead of 2: text with a {} in it must be in quotes."
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
        ("a,b,c,d,e,f,g,h,i,j,k,name\n", "csv", [(1, f"{NAMES}; not {str([*'abcdefghij'])[1:-1]} and 1 more. ")]),
        ('{"name": "Rex", "Name": "Tom"}', "jsonl", [(1, "a field is named twice: upper and lower case are")]),
        ("name,tag,status\n  ,  ,gone\nRex,,\n,dog,\n", "csv", [(2, "name"), (2, "tag"), (2, "status"), (4, "name")]),
        ("name,tag\nTom,cat\nRex\n", "csv", [(3, "1 of 2 cells: add the missing commas, ")]),
        ("name;tag\nTom;cat\nRex;dog;brown\n", "csv", [(3, "3 " + IN_QUOTES.format("semicolon"))]),
        *(
            (f"name\nTom\n{rest}", "csv", [(3, "the CSV is broken (")])
            for rest in ('"Rex', '"Rex\nTom\n', '"Rex"x\n', "x" * 200_000)
        ),
        ("name\nTom\nRené\n".encode("cp1252"), "csv", [(0, "The text is not UTF-8: ")]),
        ("Имя;Вид\nРекс;пёс\n".encode("utf-16-le"), "csv", [(0, "The text is not UTF-8: ")]),
        *(
            (b'{"name": "Tom"}\n' + line + b'\n{"name": "Tom"}', "jsonl", [(2, "not JSON (")])
            for line in (b"{", b"Rex", b'{"name": "\\ud800"}', b'{"name": NaN}')
        ),
        ("name\nRex\n".encode("utf-16") + b"\x00\xd8A\x00", "csv", [(0, "The text is not UTF-16: choose")]),
        ('{"name": "Rex"}\n'.encode("utf-16") + b"\x00\xd8A\x00", "jsonl", [(0, "The text is not UTF-16, as its")]),
        (b'{"name": "Tom"}\n{"name": "\xe9"}\n{"name": "Rex"}', "jsonl", [(2, "the text is not UTF-8: save the file")]),
        (
            b"PK\x03\x04",
            "csv",
            [(0, "The file is a workbook or an archive, and no text: give its name")],
        ),
        (b'[{"name": "Ren\xe9"}]', "json", [(1, "the text is not UTF-8: save the file")]),
        ('[{"name": ""},\n{"name": Rex},\n{}]', "json", [(1, "name is required."), (2, "not JSON (Expecting value).")]),
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


@pytest.mark.parametrize(("encoding", "file_format"), [("utf-8", "csv"), ("utf-8", "jsonl"), ("utf-16", "jsonl")])
def test_very_many_empty_lines_are_rejected(encoding: str, file_format: str) -> None:
    (found,) = errors(("\n" * 1_100_000).encode(encoding), file_format)

    assert "more than 1,048,576 empty" in found[1]


def test_an_object_of_very_many_fields_is_rejected_without_their_names() -> None:
    wide = json.dumps(dict.fromkeys(map(str, range(1001)), 1))
    assert errors(wide, "jsonl")[0][1].startswith("more than 1,000 fields: ")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
@pytest.mark.parametrize(
    ("text", "file_format"), [("name;tag\r\n狗;x\r\n", "csv"), ('[{"name": "狗", "tag": "x"}]', "json")]
)
def test_a_file_says_its_encoding_by_a_mark_or_by_its_first_letters(text: str, file_format: str, encoding: str) -> None:
    assert [line.values for line in lines(text.encode(encoding), file_format)] == [{"name": "狗", "tag": "x"}]


@pytest.mark.parametrize("file_format", FORMATS)
def test_an_endless_line_is_not_read_into_memory(file_format: str) -> None:
    source = io.BytesIO(b"," * (64 << 20))

    (line,) = checked_lines(source, file_format)

    assert line.errors
    assert source.tell() < 4 << 20


@pytest.mark.parametrize(("text", "pets"), READ.values(), ids=READ)
def test_a_page_shows_the_pets_that_people_see_in_a_file(text: str, pets: Pets, admin_client: Client) -> None:
    rows = [[line, unescape(name), unescape(tag)] for line, _, name, tag, _ in cells(upload(admin_client, text))]

    assert rows == [[str(line), name, tag or ""] for line, name, tag in pets]


# Arrays of JSON.


def test_a_json_array_is_read_with_the_lines_on_which_its_elements_begin() -> None:
    array = """\ufeff
    [ {"name": "Rex"}, {"name":
        "Tom\\n,["},

      [], {
        "name": "Mia" }
      , 1 ]
    """

    expected = [(2, "Rex"), (2, "Tom\n,["), (5, None), (5, "Mia"), (7, None)]
    assert [(line.number, line.values.get("name")) for line in lines(array, "json")] == expected


@pytest.mark.parametrize(
    "array",
    [
        *("[", "[1,]", '[\n{"name": "Rex"}\n{"name": "Tom"}]', "[] []", "[] x", '[{"name": "Rex"', "[1", "[1 2]"),
        *('[{"name": "Rex"}', "[NaN]", '[{"name": "\\ud800"}]', f"[{'1' * 5000}]", "[{},,{}]"),
    ],
)
def test_a_broken_json_array_is_rejected(array: str) -> None:
    assert errors(array, "json")[-1][1].startswith("not JSON (")


def test_an_array_that_is_too_large_for_the_memory_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    array = '[{"name": "Rex"},\n{"name": "Tom"}]'
    for encoding, size in (("utf-8", len(array)), ("utf-16", 2 * len(array) + 2)):
        monkeypatch.setattr(json_pets, "MAX_ARRAY_BYTES", size)
        assert [line.number for line in lines(array.encode(encoding), "json")] == [1, 2]

        ((number, error),) = errors(f"{array}\n{' ' * size}".encode(encoding), "json")
        assert (number, error[:8]) == (0, "an array")


def test_the_elements_of_an_array_are_read_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    array = b"[" + b"{}," * 300_000 + b"{}]"
    monkeypatch.setattr(json_pets, "MAX_ARRAY_BYTES", len(array))  # so much is allocated at once
    tracemalloc.start()
    try:
        next(json_pets.json_pets(io.BytesIO(array)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 10 * len(array)
