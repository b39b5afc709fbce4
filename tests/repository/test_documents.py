"""All documents of the repository have valid links and paths, and agree with the code and the tests."""

import re
from pathlib import Path

import pytest

from petservice.guides.rendering import anchor
from tests.documents import ROOT, block
from tests.running.checkout import tracked

DOCUMENTS = [ROOT / name for name in tracked() if name.endswith(".md")]

# The service shows these, and tests run parts of them.
PUBLISHED = [ROOT / "README.md", *(ROOT / "petservice" / "docs").glob("*.md")]

pytestmark = pytest.mark.once
each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


def without_code(document: Path) -> str:
    return re.sub(r"^```.*?^```$|<!--.*?-->", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)


def anchors_of(document: Path) -> list[str]:
    headings = re.findall(r"^#+ (.*)$", without_code(document), re.MULTILINE)
    return [anchor(heading.replace("`", "")) for heading in headings]


@each_document
def test_every_link_has_a_target(document: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", without_code(document)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, heading = link.partition("#")
        target = document.parent / path if path else document
        assert target.exists(), link
        assert not heading or heading in anchors_of(target), link


@each_document
def test_every_path_of_the_repository_exists(document: Path) -> None:
    paths = re.findall(r"(?<![\w./])(?:petservice|pets|store|tests)/[\w/.]*\w", document.read_text())

    assert [path for path in paths if not (ROOT / path).exists()] == []


@each_document
def test_no_two_headings_have_the_same_anchor(document: Path) -> None:
    anchors = anchors_of(document)

    assert len(anchors) == len({*anchors})


def test_each_marked_block_is_used_by_a_test() -> None:
    tests = "".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))
    marked = [
        (path.name, name) for path in PUBLISHED for name in re.findall(r"<!-- tested: (.*) -->", path.read_text())
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
