"""The language rules of tests/README.md, as far as a program can check them."""

import re
from functools import cache

import pytest

from tests.repository import prose
from tests.repository.prose import Text

pytestmark = pytest.mark.once

MAX_WORDS = 30
BANNED = re.compile(
    r"\b(mend(s|ed|ing)?|tells|told|anew|beside|save for|as ever|likewise|whoever|whatever|nobody|somebody|meanwhile"
    r"|stands? still|standing still|(is|are|was|were) away|it is well|by chance|at once|has its worker replaced)\b",
    re.IGNORECASE,
)
# Words in names. The glossary has the terms to use instead.
BANNED_IN_NAMES = {
    *("mend", "mended", "tells", "told", "anew", "beside", "whoever", "whatever", "nobody", "somebody", "meanwhile"),
    *("lane", "lanes", "patience", "herd", "storm", "door", "doors", "wire", "wires", "planted", "standstill"),
    *("utils", "helpers"),
}
FRAGMENT = re.compile(r"(Of|What|Whoever|That of|The same)\b.*[^?]$")
# Files that the rules would refuse, and the reason why they stay as they are.
ALLOWED = {"tests/repository/test_prose.py": "it names the banned words and has samples of refused texts"}


@cache
def texts() -> list[Text]:
    """Return the texts of all files that are not allowed to break the rules."""
    return [text for text in prose.texts() if text.path not in ALLOWED]


def prose_of(texts: list[Text]) -> list[Text]:
    """Return the texts that consist of sentences."""
    return [text for text in texts if text.kind in ("document", "docstring", "comment")]


def with_banned_words(texts: list[Text]) -> list[str]:
    """Return the place and text of each sentence with a banned word."""
    return [f"{text.place}: {one}" for text in texts for one in text.sentences if BANNED.search(one)]


def fragments(texts: list[Text]) -> list[str]:
    """Return the place and text of each sentence that does not begin with its subject."""
    return [f"{text.place}: {one}" for text in prose_of(texts) for one in text.sentences if FRAGMENT.match(one)]


def too_long(texts: list[Text]) -> list[str]:
    """Return the place and text of each sentence with too many words."""
    sentences = [(text.place, one) for text in prose_of(texts) for one in text.sentences]
    return [f"{place}: {one}" for place, one in sentences if len(one.split()) > MAX_WORDS]


def with_banned_names(names: list[tuple[str, str]]) -> list[str]:
    """Return the place and the name of each name that has a banned word."""
    return [f"{place}: {name}" for name, place in names if BANNED_IN_NAMES & {*name.lower().split("_")}]


def test_texts_use_modern_words() -> None:
    assert with_banned_words(texts()) == []


def test_sentences_begin_with_their_subject() -> None:
    assert fragments(texts()) == []


def test_sentences_are_short() -> None:
    assert too_long(texts()) == []


def test_names_use_the_terms_of_the_glossary() -> None:
    assert with_banned_names([one for one in prose.names() if one[1].partition(":")[0] not in ALLOWED]) == []


@pytest.mark.parametrize("kind", ["document", "docstring", "comment", "message", "page"])
def test_every_kind_of_text_is_found(kind: str) -> None:
    assert any(text.kind == kind for text in texts())


def test_refused_texts_are_found() -> None:
    def sample(text: str, kind: str = "docstring") -> list[Text]:
        return [Text(kind, "sample.py", 1, text)]

    assert with_banned_words(sample("Somebody has mended it.", "message")) == ["sample.py:1: Somebody has mended it."]
    assert fragments(sample("What does it do? It works.")) == []
    assert fragments(sample("Close it. What is open stays open.")) == ["sample.py:1: What is open stays open."]
    assert too_long(sample("word " * (MAX_WORDS + 1))) != []
    assert too_long(sample("word " * MAX_WORDS)) == []
    assert with_banned_names([("read_lanes", "sample.py:1")]) == ["sample.py:1: read_lanes"]
