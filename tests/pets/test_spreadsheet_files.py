"""Files of pets as spreadsheets write them: read by the reader and the page alike."""

import csv
import io
from html import unescape

import pytest
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pets.admin.import_export.import_pages import cells, upload
from tests.pets.lines import errors, lines
from tests.pets.spreadsheet_files import ASKED, READ, REJECTED, Pets


@pytest.mark.once
@pytest.mark.parametrize(("text", "pets"), READ.values(), ids=READ)
def test_a_file_has_the_pets_that_people_see(text: str, pets: Pets) -> None:
    found = lines(text)

    assert [error for line in found for error in line.errors] == []
    assert [(line.number, line.row.name, line.row.tag) for line in found if line.row] == pets


TEXTS = st.text(st.sampled_from(' ",;\n\r\tx'), min_size=1, max_size=7).filter(str.strip)


@pytest.mark.once
@settings(deadline=None)
@given(st.lists(st.tuples(TEXTS, TEXTS)), st.sampled_from(",;\t"))
def test_blanks_quotes_and_separators_in_quotes_are_read_as_they_are(
    pets: list[tuple[str, str]], separator: str
) -> None:
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=separator).writerows([("name", "tag"), *pets])

    assert [line.row and line.row[1:3] for line in lines(file.getvalue())] == pets


@pytest.mark.once
@pytest.mark.parametrize(("text", "suffix", "expected"), REJECTED.values(), ids=REJECTED)
def test_the_errors_of_a_file_say_what_is_wrong(text: str, suffix: str, expected: list[tuple[int, str]]) -> None:
    found = errors(text, suffix)

    assert [number for number, _ in found] == [number for number, _ in expected]
    for (_, error), (_, beginning) in zip(found, expected, strict=True):
        assert error.startswith(beginning)


def test_the_page_reads_such_files(admin_client: Client) -> None:
    for text, pets in READ.values():
        rows = [[line, unescape(name), unescape(tag)] for line, _, name, tag, _ in cells(upload(admin_client, text))]
        assert rows == [[str(line), name, tag or ""] for line, name, tag in pets]
    for text, suffix, expected in (file for name, file in REJECTED.items() if name not in ASKED):
        page = unescape(upload(admin_client, text, f"pets.{suffix}").content.decode())
        assert all(f"Line {line}: {error}" in page for line, error in expected)
