"""Case-insensitive text conditions that an index supports.

Django's own conditions scan all pets at each search, and on SQLite ignore the case of ASCII letters only.
"""

import itertools
import re
import unicodedata
from typing import Any

from django.db.models import CharField, F, Func, Q, Value
from django.db.models.lookups import Exact, GreaterThanOrEqual, IsNull, LessThan

from petservice.db.backend import backend

# The last code point. It sorts after every character of a text, because Unicode assigns no character to it.
_LAST = chr(0x10FFFF)
# Maximum number of non-ASCII letters that are looked up in both cases. Each letter doubles the number of ranges.
_MAX_LETTERS = 3
_FULL_WIDTH = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}


def fold(text: str) -> str:
    """Return a text in a form that is equal for all cases and Unicode forms of its characters: STRASSE is straße."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def full_width(text: str) -> str:
    """Return a text with full-width letters, digits and signs in place of those of ASCII."""
    return text.translate(_FULL_WIDTH)


class CaseInsensitive(Func):
    """A text in a form in which "Rex" equals "rEX" and texts with a common prefix are neighbours in the index.

    SQLite ignores the case of ASCII letters only. `starts_with` looks up other letters in both cases.
    """

    arity = 1
    output_field = CharField()

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template="%(expressions)s COLLATE NOCASE", **context)

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        # With the collation "C", a range of code points is a range of the index in a database of any language.
        return self.as_sql(compiler, connection, template='UPPER(%(expressions)s) COLLATE "C"', **context)


def starts_with(field: str, text: str) -> Q:
    """Return the condition that `field` begins with `text`, which must not be empty."""
    found = Q()
    for first, end in ranges(text):
        found |= Q(GreaterThanOrEqual(CaseInsensitive(F(field)), first)) & Q(LessThan(CaseInsensitive(F(field)), end))
    if _indexed(text) < len(text):
        found &= Q(**{f"{field}__iregex": f"^{re.escape(text)}"})
    return found


def equals(field: str, text: str) -> Q:
    """Return the condition that `field` equals `text`; on SQLite, with this spelling of letters outside ASCII."""
    return Q(Exact(CaseInsensitive(F(field)), CaseInsensitive(Value(text))))


def has_one_spelling(text: str) -> bool:
    """Return whether the database ignores the case of all letters of `text`."""
    return text.isascii() or not backend().knows_case_of_ascii_only


def is_absent(field: str) -> Q:
    """Return the condition that `field` is null, for the same index as the other conditions."""
    return Q(IsNull(CaseInsensitive(F(field)), True))


def ranges(text: str) -> list[tuple[CaseInsensitive, CaseInsensitive]]:
    """Return ranges, each as (first value, end), that contain all texts with the prefix `text`.

    On SQLite, the ranges of a prefix with many non-ASCII letters contain other texts as well.
    """
    return [
        (CaseInsensitive(Value(spelling)), CaseInsensitive(Value(spelling + _LAST)))
        for spelling in map("".join, itertools.product(*map(_cases, text[: _indexed(text)])))
    ]


def _cases(character: str) -> list[str]:
    """Return a letter in both cases if the database respects its case, and any other character unchanged."""
    if has_one_spelling(character):
        return [character]
    return sorted(case for case in {character, character.lower(), character.upper()} if len(case) == 1)


def _indexed(text: str) -> int:
    """Return the length of the prefix of `text` that is looked up in all its spellings."""
    letters = 0
    for position, character in enumerate(text):
        letters += len(_cases(character)) > 1
        if letters > _MAX_LETTERS:
            return position
    return len(text)
