"""Case-insensitive text conditions that an index supports.

Django's own conditions scan all pets at each search, and on SQLite ignore the case of ASCII letters only.
"""

from collections.abc import Iterable
from typing import Any

from django.db import connection
from django.db.models import F, Func, Q, Value
from django.db.models.lookups import In, IsNull

# The last code point. It sorts after every character of a text, because Unicode assigns no character to it.
LAST = chr(0x10FFFF)
_SQL = {
    "sqlite": "{} COLLATE NOCASE",
    # With the collation "C", a range of code points is a range of the index in a database of any language.
    "postgresql": 'UPPER({}) COLLATE "C"',
}


def case_insensitive_sql(expression: str) -> str:
    """Return the SQL of CaseInsensitive for the SQL of a text."""
    return _SQL[connection.vendor].format(expression)


class CaseInsensitive(Func):
    """A text in a form in which "Rex" equals "rEX" and texts with a common prefix are neighbours in the index.

    SQLite ignores the case of ASCII letters only; pets.search.tags finds the spellings with others.
    """

    def as_sql(self, compiler: Any, connection: Any, *arguments: Any, **context: Any) -> Any:
        context["template"] = _SQL[connection.vendor].format("%(expressions)s")
        return super().as_sql(compiler, connection, *arguments, **context)


def equals_any(field: str, texts: Iterable[str]) -> Q:
    """Return the condition that `field` equals one of several texts, without regard to case as CaseInsensitive does."""
    return Q(In(CaseInsensitive(F(field)), [CaseInsensitive(Value(text)) for text in texts]))


def is_absent(field: str) -> Q:
    """Return the condition that `field` is null, for the same index as the other conditions."""
    return Q(IsNull(CaseInsensitive(F(field)), True))
