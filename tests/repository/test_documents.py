"""All documents of the repository have valid links and paths."""

import re
from pathlib import Path

import pytest

from petservice.guides.rendering import anchor
from tests.documents import ROOT
from tests.running.checkout import tracked

DOCUMENTS = [ROOT / name for name in tracked() if name.endswith(".md")]

pytestmark = [
    pytest.mark.once,
    pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT))),
]


def without_code(document: Path) -> str:
    return re.sub(r"^```.*?^```$|<!--.*?-->", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)


def anchors_of(document: Path) -> list[str]:
    headings = re.findall(r"^#+ (.*)$", without_code(document), re.MULTILINE)
    return [anchor(heading.replace("`", "")) for heading in headings]


def test_every_link_has_a_target(document: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", without_code(document)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, heading = link.partition("#")
        target = document.parent / path if path else document
        assert target.exists(), link
        assert not heading or heading in anchors_of(target), link


def test_every_path_of_the_repository_exists(document: Path) -> None:
    paths = re.findall(r"(?<![\w./])(?:petservice|pets|store|tests)/[\w/.]*\w", document.read_text())

    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_no_two_headings_have_the_same_anchor(document: Path) -> None:
    anchors = anchors_of(document)

    assert len(anchors) == len({*anchors})
