import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from petservice.admin_pages.csv_files import escape, parts, unescape

pytestmark = pytest.mark.once

# Texts that spreadsheets run as formulas, and texts that look like escaped formulas.
CELLS = st.text(st.sampled_from("'=+-@\t\r\n＝＋－＠ a;,\""), max_size=6) | st.text()  # full-width on purpose


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("Rex,+1,-2", "Rex,'+1,'-2"),
        ('Rex;"=1"', 'Rex;\'"=1"'),
        # Other texts are unchanged.
        *((text, text) for text in ("Rex", "Rex-2", "Rex, the dog", "a,b;c\td\r\ne", "Rex, -2", "Rex;'2'", "1")),
        *((text, text) for text in ("'Rex'", " =1", "O'Hara", "")),
    ],
)
def test_formulas_after_a_separator_are_escaped_and_other_texts_are_not(text: str, escaped: str) -> None:
    assert escape(text) == escaped
    assert unescape(escaped) == text


@settings(deadline=None)
@given(CELLS, CELLS)
def test_no_spreadsheet_finds_a_formula_in_an_export_and_an_import_returns_the_texts(first: str, second: str) -> None:
    cells = [escape(first), escape(second)]
    content = b"".join(parts(["id", "name", "tag"], [["1", *cells]])).decode()

    assert [*map(unescape, cells)] == [first, second]
    for separator in ",;\t":
        for row in csv.reader(io.StringIO(content, newline=""), delimiter=separator):
            for cell in row:
                assert not cell.lstrip("\t\r\n").startswith(tuple("=+-@＝＋－＠"))


def test_the_time_for_a_long_cell_is_proportional_to_its_length() -> None:
    """A quadratic time would be hours, which stops the test."""
    text = "\t" * 2_000_000

    assert unescape(escape(text)) == text
