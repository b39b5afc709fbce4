import io
from datetime import UTC, datetime, timedelta, timezone

import pytest

from pets.files.reading import read
from pets.files.rows import COLUMNS, FORMATS
from pets.files.writing import write
from tests.pets.lines import NOW, broken, errors, lines, row_with, rows

pytestmark = pytest.mark.once
ID = "01890a5d-ac96-774b-bcce-b302099a8057"


NEW = row_with(name="Rex", status="available", created_at=NOW, created_by="command x")
WHOLE = row_with(id=ID, name="Rex", tag="dog", status="sold", created_at=NOW, created_by="staff jo")


def test_only_the_name_is_required() -> None:
    assert rows("name\nRex\n") == rows('{"name": "Rex"}', "jsonl") == [NEW]


def test_columns_come_in_any_order() -> None:
    text = f"status,tag,name,created_by,created_at,id\nsold,dog,Rex,staff jo,2026-03-01T12:00:00Z,{ID}\n"

    assert rows(text) == [WHOLE]


@pytest.mark.parametrize("separator", [";", "\t", ","])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_file_may_have_the_separators_marks_and_line_ends_of_a_spreadsheet(separator: str, mark: str) -> None:
    text = mark + '" Name ";TAG;Status\r\nRex;"a;b,c\td"; Available \r\nTom;;SOLD\r\n'.replace(";", separator)

    assert [line.row and line.row[1:4] for line in lines(text)] == [
        ("Rex", f"a{separator}b,c\td", "available"),
        ("Tom", None, "sold"),
    ]


def test_the_fields_of_json_may_have_any_case() -> None:
    assert rows('{" Name": "Rex", "STATUS": "Available"}', "jsonl") == [NEW]
    assert errors('{"name": "Rex", "Name": "Tom"}', "jsonl") == [
        (1, "a field is named twice: upper and lower case are the same.")
    ]


def test_empty_cells_are_read_like_missing_ones() -> None:
    assert rows("id,name,tag,status,created_at\n,Rex,,,\n") == [NEW]
    assert rows('{"id": "", "name": "Rex", "tag": "", "status": "", "created_at": ""}', "jsonl") == [NEW]


def test_an_empty_creator_means_that_the_creator_is_unknown() -> None:
    unknown = [NEW._replace(created_by=None)]

    assert rows("name,created_by\nRex,\n") == unknown
    assert rows('{"name": "Rex", "created_by": null}', "jsonl") == unknown


def test_a_time_may_have_any_offset() -> None:
    (row,) = rows("name,created_at\nRex,2026-03-01T14:00:00+02:00\n")

    assert row is not None
    assert row.created_at == datetime(2026, 3, 1, 14, tzinfo=timezone(timedelta(hours=2)))
    assert row.created_at.tzinfo is UTC


def test_empty_lines_are_ignored() -> None:
    assert rows("name\n\nRex\n\n") == rows('\n{"name": "Rex"}\n\n', "jsonl") == [NEW]


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


@pytest.mark.parametrize("value", ["1", "true", "[]", '{"a": 1}', "1.5"])
@pytest.mark.parametrize("column", COLUMNS)
def test_a_json_value_of_another_type_is_rejected(column: str, value: str) -> None:
    others = "" if column == "name" else '"name": "Rex", '

    ((_, found),) = errors(f'{{{others}"{column}": {value}}}', "jsonl")

    assert found.startswith(f"{column} must be ")


DEEP = "[" * 1000 + "]" * 1000
LARGE = {
    DEEP: "got an array.",
    f'{{"a": {DEEP}}}': "got an object.",
    "1e300": "got a number.",
    "9" * 5000: "not JSON (number is infinity",
    "-" + "9" * 5000: "not JSON (number is infinity",
    "1e999": "not JSON (number is infinity",
}


@pytest.mark.parametrize("column", COLUMNS)
def test_a_value_that_is_large_or_nested_deeply_is_rejected_without_its_text(column: str) -> None:
    others = "" if column == "name" else '"name": "Rex", '
    for value, problem in LARGE.items():
        pet = f'{{{others}"{column}": {value}}}'

        for text in (pet, f"[{pet}]"):
            ((line, found),) = errors(text, "json")
            assert line == 1
            assert problem in found or (text != pet and found == "the JSON is nested too deeply.")


def test_all_errors_of_a_row_are_reported_together() -> None:
    assert [number for number, _ in errors("name,tag,status\n  ,  ,gone\nRex,,\n,dog,\n")] == [2, 2, 2, 4]


def test_a_name_is_required() -> None:
    assert errors("name,tag\n,dog\n") == [(2, "name is required.")]
    assert errors('{"tag": "dog"}\n{"name": null}', "jsonl") == [(1, "name is required."), (2, "name is required.")]


def test_unknown_columns_are_named() -> None:
    assert broken("name,tagg\nRex,dog\n") == (
        "line 1: the first line must name the columns, separated by commas, semicolons or tabs, out of "
        f"{', '.join(COLUMNS)}; not 'tagg'. --columns says what others mean."
    )
    assert errors('{"name": "Rex", "tagg": "dog"}', "jsonl") == [
        (1, f"unknown 'tagg': there are only {', '.join(COLUMNS)}.")
    ]


def test_only_the_first_unknown_columns_are_named() -> None:
    assert broken("a,b,c,d,e,f,name\n").endswith(
        "; not 'a', 'b', 'c', 'd', 'e' and more. --columns says what others mean."
    )


@pytest.mark.parametrize("header", ["", "tag\n", "name,name\n", "name,Name\n", ",\n", "name/tag\n", "\n"])
def test_the_error_for_an_invalid_header_lists_the_columns(header: str) -> None:
    assert "must name the columns, separated by commas, semicolons or tabs, out of id, name," in broken(header)


@pytest.mark.parametrize(("separator", "name"), [(",", "comma"), (";", "semicolon")])
@pytest.mark.parametrize(("row", "count"), [("Rex", 1), ("Rex,dog,brown", 3), ("Rex, the dog,dog", 3)])
def test_a_row_with_too_few_or_too_many_cells_is_rejected(row: str, count: int, separator: str, name: str) -> None:
    assert errors(f"name,tag\nTom,cat\n{row}\n".replace(",", separator)) == [
        (3, f"{count} cells, where the first line has 2: text with a {name} in it must be in quotes.")
    ]


@pytest.mark.parametrize("rest", ['"Rex', '"Rex\nTom\n', '"Rex"x\n', "x" * 200_000])
def test_broken_csv_is_rejected_with_the_line_on_which_the_row_begins(rest: str) -> None:
    assert broken(f"name\nTom\n{rest}").startswith("line 3: the CSV is broken (")


@pytest.mark.parametrize(("encoding", "line"), [("latin-1", 3), ("utf-16-le", 1), ("cp1252", 3)])
def test_another_encoding_than_utf_8_is_rejected_with_the_line(encoding: str, line: int) -> None:
    error = broken("name\nTom\nRené\n".encode(encoding))

    assert error.startswith(f"line {line}: the text is not UTF-8: save the file in this encoding")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
@pytest.mark.parametrize(
    ("text", "file_format"), [("name;tag\r\n狗;x\r\n", "csv"), ('[{"name": "狗", "tag": "x"}]', "json")]
)
def test_a_file_may_say_its_encoding_by_a_mark(text: str, file_format: str, encoding: str) -> None:
    assert [row and row[1:3] for row in rows(text.encode(encoding), file_format)] == [("狗", "x")]


@pytest.mark.parametrize(("text", "file_format"), [("name\nRex\n", "csv"), ('{"name": "Rex"}\n', "jsonl")])
def test_broken_utf_16_is_rejected(text: str, file_format: str) -> None:
    error = broken(text.encode("utf-16") + b"\x00\xd8A\x00", file_format)

    assert "the text is not utf-16" in error.lower()


@pytest.mark.parametrize("line", ["{", "Rex", '{"name": "\\ud800"}', '{"name": NaN}', b'{"name": "\xe9"}'])
def test_a_line_that_is_not_json_is_rejected(line: str | bytes) -> None:
    line = line.encode() if isinstance(line, str) else line

    ((number, error),) = errors(b'{"name": "Tom"}\n' + line + b'\n{"name": "Tom"}', "jsonl")

    assert number == 2
    assert error.startswith("not JSON (")


@pytest.mark.parametrize("line", ["[]", '"Rex"', "null", '[{"name": "Rex"}]'])
def test_a_line_that_is_no_object_is_rejected(line: str) -> None:
    assert errors(f'{{"name": "Rex"}}\n{line}', "jsonl") == [
        (2, 'not a pet: the file must be an array of pets, or have one pet on each line, for example {"name": "Rex"}.')
    ]


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

    (line,) = read(io.BufferedReader(source), file_format, now=NOW, created_by="command x")

    assert line.errors
    assert source.left > 60 << 20


def test_formulas_are_escaped_only_in_csv() -> None:
    formula = WHOLE._replace(name="=1+1", tag="-", created_by="@x")

    written = b"".join(write([formula], "csv"))
    assert b"'=1+1,'-," in written
    assert b",sold,2026-03-01T12:00:00+00:00,'@x\r\n" in written
    assert b'"=1+1"' in b"".join(write([formula], "jsonl"))


def test_a_line_of_json_has_less_than_a_mebibyte() -> None:
    longest = b'{"name": "Rex"}'.ljust(2**20 - 2) + b"\n"

    assert rows(longest, "jsonl") == [NEW]
    assert broken(b'{"name": "Rex"}\n ' + longest, "jsonl") == (
        "line 2: longer than 1,048,576 bytes: write each pet on a line of its own."
    )
