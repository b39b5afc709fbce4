"""The terms by which a search finds a pet: words of its name, and its tag, in a form without upper and lower case."""

import re
import unicodedata
from functools import lru_cache
from itertools import groupby

# Maximum length of a stored term, in characters. A longer word is found by its first characters.
MAX_LENGTH = 32
# The first character of a stored term, by the field that it comes from.
NAME, TAG = "n", "t"
_ASCII_WORDS = re.compile(r"[a-z0-9]+", re.ASCII)
# Ranges of scripts that put no spaces between words: Thai, Lao, Myanmar, Khmer, Japanese and Chinese.
_UNSPACED = ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x2E80, 0x312F), (0x3190, 0x9FFF))
_UNSPACED_SUPPLEMENTS = ((0xF900, 0xFAFF), (0x20000, 0x3FFFF))


def fold(text: str) -> str:
    """Return a text in a form that is equal for all cases and Unicode forms of its characters: STRASSE is straße."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def words(text: str) -> list[str]:
    """Return the folded words of a text in their order. A run of a script without spaces is one word."""
    folded = fold(text)
    if folded.isascii():
        return _ASCII_WORDS.findall(folded)
    runs = groupby(folded, key=_kind)
    return ["".join(characters) for kind, characters in runs if kind]


def terms_of_name(name: str) -> set[str]:
    """Return the stored terms of a name."""
    return {term_of_name(start) for word in words(name) for start in _starts(word)}


def term_of_name(word: str) -> str:
    """Return the stored term of a folded word of a name."""
    return NAME + word[:MAX_LENGTH]


def term_of_tag(tag: str) -> str:
    """Return the stored term of a tag."""
    return TAG + fold(tag)[:MAX_LENGTH]


def matches(wanted: list[str], name: str) -> bool:
    """Return whether each of the folded words is the beginning of a word of the name."""
    starts = [start for word in words(name) for start in _starts(word)]
    return all(any(start.startswith(word) for start in starts) for word in wanted)


def _starts(word: str) -> list[str]:
    """Return the texts that a search finds by their beginning: the word, or the rest from each unspaced character."""
    if _kind(word[0]) != "unspaced":
        return [word]
    return [word[position:] for position in range(len(word))]


@lru_cache(maxsize=10_000)
def _kind(character: str) -> str:
    """Return whether a character belongs to a word, and to which sort; an empty text if it separates words."""
    code = ord(character)
    if unicodedata.category(character)[0] not in "LMN":
        return ""
    is_unspaced = any(first <= code <= last for first, last in _UNSPACED + _UNSPACED_SUPPLEMENTS)
    return "unspaced" if is_unspaced else "spaced"
