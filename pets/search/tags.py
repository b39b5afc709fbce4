"""The tags in use, and the spellings of one."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import cache
from unicodedata import normalize

from django.db import connection

from pets.search.case_insensitive import LAST, case_insensitive_sql
from petservice.db.folding import fold, without_accents

# Maximum number of tags that a page suggests: more than a person reads.
_MAX_SUGGESTIONS = 20
# Number of the newest pets whose tags are counted, which takes some 20 ms.
_NEWEST = 10_000
# The blanks, and the letters, digits and signs of the scripts that have other forms of them than cases.
_LETTERS = (range(0x09, 0x600), range(0x1E00, 0x2500), [0x3000], range(0xFB00, 0xFB07), range(0xFF01, 0xFFE0))
# Maximum number of letters that are another form of one character.
_MAX_LIGATURE = 4
# The accents of Latin letters, of which a letter may have several: ọ̀ is no character of its own.
_ACCENTS = [*map(chr, range(0x300, 0x370))]
_BLANK = " "

_FIRST_TAGS = """
    SELECT value, (SELECT tag FROM pets_pet WHERE {tag} >= {value} AND {tag} < {end} ORDER BY {tag} LIMIT 1)
    FROM {values}
"""


def same_tag(text: str) -> str:
    """Return a form of a tag that is equal for tags that differ only in case, blanks or forms of their characters."""
    return _BLANK.join(fold(text).split())


def found_tag(text: str) -> str:
    """Return a form of a tag that is equal for all tags that the filter finds together; they may differ in accents."""
    return _BLANK.join(without_accents(text).split())


def tags_starting_with(text: str) -> list[str]:
    """Return some tags of the newest pets with the prefix `text`, in any spelling: most used first, then in order."""
    start = found_tag(text)
    tags: dict[str, str] = {}  # by the form in which all their spellings are equal
    counts: Counter[str] = Counter()
    for tag, count in tags_of_newest_pets().most_common():
        if (found := found_tag(tag)).startswith(start):
            tags.setdefault(found, tag)
            counts[found] += count
    return [tags[found] for found in sorted(tags, key=lambda found: (-counts[found], found))][:_MAX_SUGGESTIONS]


def spellings_in_use(text: str) -> list[str]:
    """Return the tags in use that the filter finds for `text`. Those that the database takes as equal are one.

    One query for each character finds which spellings of this character follow those of the characters before it.
    """
    wanted, forms = found_tag(text), _forms()
    tags = _first_tags([text])  # also with characters that have no other form here, such as ㈱
    reached = {"": 0}  # the spellings of a beginning of the text that begin tags, with the length of this beginning
    while reached:
        following: dict[str, int] = {}
        for beginning, position in reached.items():
            for end in range(position + 1, min(position + _MAX_LIGATURE, len(wanted)) + 1):
                part = wanted[position:end]
                others = {part, part.upper(), normalize("NFD", part)} if end == position + 1 else ()
                following |= {beginning + form: end for form in (*forms.get(part, ()), *others)}
            # More blanks than one count as one, and those at the beginning and at the end as none.
            if position in (0, len(wanted)) or wanted[position - 1] == _BLANK:
                following |= {beginning + blank: position for blank in forms[_BLANK]}
            if "a" <= wanted[position - 1 : position] <= "z":
                following |= {beginning + accent: position for accent in _ACCENTS}
        first = _first_tags(following)
        reached = {beginning: following[beginning] for beginning in first}
        tags |= {beginning: tag for beginning, tag in first.items() if reached[beginning] == len(wanted)}
    return [tag for tag in dict.fromkeys(tags[beginning] for beginning in sorted(tags)) if found_tag(tag) == wanted]


def tags_of_newest_pets() -> Counter[str]:
    """Return the tags of the newest pets, exactly as they are written, with the number of these pets."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT tag FROM pets_pet ORDER BY created_at DESC, id DESC LIMIT %s", [_NEWEST])
        return Counter(tag for (tag,) in cursor.fetchall() if tag is not None)


def several_spellings(counts: Counter[str]) -> list[list[str]]:
    """Return the tags that are written in several ways, each with its ways, the most frequent one first."""
    found = defaultdict(list)
    for tag, _ in counts.most_common():
        found[same_tag(tag)].append(tag)
    return [spellings for spellings in found.values() if len(spellings) > 1]


def _first_tags(beginnings: Iterable[str]) -> dict[str, str]:
    """Return those of the beginnings that tags in use have, each with the first of its tags in the index."""
    tag, value, end = map(case_insensitive_sql, ("tag", "value", "(value || %s)"))
    values = "json_each(%s)" if connection.vendor == "sqlite" else "json_array_elements_text(%s) AS value"
    with connection.cursor() as cursor:
        statement = _FIRST_TAGS.format(tag=tag, value=value, end=end, values=values)
        cursor.execute(statement, [LAST, json.dumps([*beginnings])])
        found: dict[tuple[str, int], str] = {}
        for text, first in cursor.fetchall():
            if first is not None:
                # The database takes texts of one length with the same first tag as equal.
                found.setdefault((first, len(text)), text)
        return {text: first for (first, _), text in found.items()}


@cache
def _forms() -> dict[str, list[str]]:
    """Return the characters that count as one or few others, composed and decomposed, by those others."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    letters = [chr(code) for codes in _LETTERS for code in codes]
    # Half-width kana have their marks behind them.
    letters += [kana + mark for kana in map(chr, range(0xFF66, 0xFF9E)) for mark in "\uff9e\uff9f"]
    for character in letters:
        text = _BLANK if character.isspace() else without_accents(character)
        if len(text) <= _MAX_LIGATURE:
            found[text] |= {character: None, normalize("NFD", character): None}
    return {text: [*forms] for text, forms in found.items()}
