import pytest
from hypothesis import given
from hypothesis import strategies as st

from pets.files.formulas import escape, unescape

pytestmark = pytest.mark.once

# What spreadsheets run, and what looks like it after it was escaped.
CELLS = st.text(st.sampled_from("'=+-@\t\r\n＝ a"), max_size=4) | st.text()  # full-width on purpose


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1+1"])
def test_what_a_spreadsheet_would_run_is_escaped(text: str) -> None:
    assert escape(text) == f"'{text}"


@pytest.mark.parametrize("text", ["Rex", "Rex-2", "1", "'Rex'", " =1", "O'Hara", ""])
def test_other_text_is_left_as_it_is(text: str) -> None:
    assert escape(text) == unescape(text) == text


@given(CELLS)
def test_every_text_comes_back(text: str) -> None:
    assert unescape(escape(text)) == text
