"""Text compared without regard to case, by what an index can find.

Without it, staff wait for a scan of all pets at each search, or find no name beyond ASCII in another case on SQLite.
"""

import itertools
import re
from typing import Any

from django.db import connection
from django.db.models import CharField, F, Func, Q, Value
from django.db.models.lookups import Exact, GreaterThanOrEqual, LessThan

# Sorts after all that follows a prefix: the last code point, which Unicode keeps free.
_LAST = chr(0x10FFFF)
# How many letters beyond ASCII are looked up in both cases, each of which doubles the number of ranges.
_MAX_LETTERS = 3


class AnyCase(Func):
    """A text so that "Rex" and "rEX" are equal, and so that texts with a common beginning are neighbours.

    SQLite knows the case of ASCII letters only, which `starts_with` and `equals` make up for.
    """

    arity = 1
    output_field = CharField()

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template="%(expressions)s COLLATE NOCASE", **context)

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        # In "C" a range of code points is a range of the index, whatever the database's language.
        return self.as_sql(compiler, connection, template='UPPER(%(expressions)s) COLLATE "C"', **context)


def starts_with(field: str, text: str) -> Q:
    """The condition that `field` begins with `text`, which is not empty."""
    found = Q()
    for first, end in ranges(text):
        found |= Q(GreaterThanOrEqual(AnyCase(F(field)), first)) & Q(LessThan(AnyCase(F(field)), end))
    if not _is_all_indexed(text):
        found &= Q(**{f"{field}__iregex": f"^{re.escape(text)}"})
    return found


def equals(field: str, text: str) -> Q:
    """The condition that `field` is `text`, which is not empty."""
    if not _is_all_indexed(text):
        return starts_with(field, text) & Q(**{f"{field}__iregex": rf"^{re.escape(text)}\Z"})
    found = Q()
    for spelling in _spellings(text):
        found |= Q(Exact(AnyCase(F(field)), AnyCase(Value(spelling))))
    return found


def ranges(text: str) -> list[tuple[AnyCase, AnyCase]]:
    """Where to look for what begins with `text`: from each first value on, below each second.

    With many letters beyond ASCII, on SQLite, it is what begins like them.
    """
    return [
        (AnyCase(Value(spelling)), AnyCase(Value(spelling + _LAST))) for spelling in _spellings(text[: _indexed(text)])
    ]


def _cases(character: str) -> list[str]:
    """A letter beyond ASCII in both cases; anything else as it is."""
    cases = {character, character.lower(), character.upper()} if not character.isascii() else {character}
    return sorted(case for case in cases if len(case) == 1)


def _indexed(text: str) -> int:
    """The length of the beginning of `text` that is looked up in all its spellings."""
    letters = 0
    for position, character in enumerate(text):
        letters += len(_cases(character)) > 1
        if letters > _MAX_LETTERS and _knows_case_of_ascii_only():
            return position
    return len(text)


def _knows_case_of_ascii_only() -> bool:
    features: Any = connection.features  # of petservice.db, which has more of them than Django
    return bool(features.knows_case_of_ascii_only)


def _is_all_indexed(text: str) -> bool:
    return _indexed(text) == len(text)


def _spellings(text: str) -> list[str]:
    """`text` in the cases that the database does not see as one."""
    if not _knows_case_of_ascii_only():
        return [text]
    return ["".join(characters) for characters in itertools.product(*map(_cases, text))]
