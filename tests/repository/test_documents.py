"""All documents of the repository have valid links and paths, and short sentences."""

import re
import subprocess
from pathlib import Path

import pytest

from petservice.guides import anchor
from tests.service import ROOT

MAX_WORDS = 30
DOCUMENTS = subprocess.run(
    ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
    cwd=ROOT,
    capture_output=True,
    text=True,
    check=True,
).stdout.split()

pytestmark = pytest.mark.once


def text_of(document: Path) -> str:
    """Return a document without its code blocks and comments."""
    return re.sub(r"^```.*?^```$|<!--.*?-->", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)


def anchors_of(document: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", text_of(document), re.MULTILINE)
    return {anchor(heading.replace("`", "")) for heading in headings}


def links_of(document: Path) -> list[str]:
    return re.findall(r"\]\(([^)\s]+)\)", text_of(document))


def sentences_of(document: Path) -> list[str]:
    """Return the sentences of a document's prose: of its paragraphs, items of lists and cells of tables."""
    blocks = re.split(r"\n\s*\n|\n\s*(?:[-*]|\d+\.) |\n\||\||\n#+ ", "\n" + text_of(document))
    return [sentence for block in blocks for sentence in re.split(r"(?<=[.!?])[)\"*_`]*\s+", block) if sentence.strip()]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_link_has_a_target(name: str) -> None:
    document = ROOT / name
    for link in links_of(document):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, heading = link.partition("#")
        target = document.parent / path if path else document
        assert target.exists(), link
        assert not heading or heading in anchors_of(target), link


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_path_of_the_repository_exists(name: str) -> None:
    paths = re.findall(r"(?<![\w./])(?:petservice|pets|store|tests)/[\w/.]*\w", (ROOT / name).read_text())

    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_no_two_headings_have_the_same_anchor(name: str) -> None:
    headings = re.findall(r"^#+ (.*)$", text_of(ROOT / name), re.MULTILINE)

    assert len(headings) == len(anchors_of(ROOT / name))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_no_sentence_is_long(name: str) -> None:
    assert [one for one in sentences_of(ROOT / name) if len(one.split()) > MAX_WORDS] == []
