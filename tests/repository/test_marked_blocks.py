"""The documents agree with the code and with the tests that run parts of them."""

import re

import pytest

from tests.documents import ROOT, block

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "petservice" / "docs").glob("*.md"))]

pytestmark = pytest.mark.once


def test_each_marked_block_is_used_by_a_test() -> None:
    tests = "".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))
    marked = [
        (path.name, name) for path in DOCUMENTS for name in re.findall(r"<!-- tested: (.*) -->", path.read_text())
    ]
    for document, name in marked:
        assert block(document, name)
        assert f'"{document}", "{name}"' in tests, f"no test uses the block {name} of {document}"


def test_each_log_line_and_message_that_operators_look_up_exists() -> None:
    """The section on troubleshooting quotes the beginnings of log lines and messages."""
    source = "".join(path.read_text() for app in ("petservice", "pets") for path in (ROOT / app).rglob("*.py"))
    quoted = re.findall("“([^”…]+)", (ROOT / "petservice" / "docs" / "operations.md").read_text())
    assert quoted
    assert [text for text in quoted if text.strip() not in source] == []


def test_readme_stays_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 200
