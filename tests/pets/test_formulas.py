import pytest
from hypothesis import given
from hypothesis import strategies as st

from petservice.exports.csv_files import escape, unescape

pytestmark = pytest.mark.once

# Texts that spreadsheets run as formulas, and texts that look like escaped formulas.
CELLS = st.text(st.sampled_from("'=+-@\t\r\n＝ a"), max_size=4) | st.text()  # full-width on purpose


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", *"＝＋－＠"])
def test_formulas_are_escaped(text: str) -> None:
    assert escape(text) == f"'{text}"


@pytest.mark.parametrize("text", ["Rex", "Rex-2", "1", "'Rex'", " =1", "O'Hara", ""])
def test_other_text_is_unchanged(text: str) -> None:
    assert escape(text) == unescape(text) == text


@given(CELLS)
def test_unescaping_returns_the_original_text(text: str) -> None:
    assert unescape(escape(text)) == text
