"""The search of the lists of pets: by id, and by the beginnings of the words of name and tag."""

import re
import unicodedata
from typing import Any

from django.db import connection
from django.db.models import BooleanField, ExpressionWrapper, F, Func, Q

from pets.case_insensitive import full_width
from pets.models import Pet
from petservice.api.validators import is_id
from petservice.folding import fold

# Number of found pets above which SQLite reads a list in its order, and compares each pet with those that are found.
# Below it, reading these pets and sorting them is faster: it takes 3 µs for each, wherever they are in the order.
_MANY = 50_000


def search(text: str) -> Q:
    """Return the condition that a pet has this id, or a word in its name or tag for each word that begins with it."""
    if is_id(text.lower()) and Pet.objects.filter(pk=text.lower()).exists():
        return Q(pk=text.lower())
    return Q(_HasWords(text)) if _words(text) else Q(pk__in=[])


def _words(text: str) -> list[str]:
    """Return the words of a text, which are the runs of letters, digits and their marks."""
    spaced = "".join(
        character if unicodedata.category(character)[0] in "LMN" and character != "\ufe0f" else " "
        for character in text
    )
    return sorted(set(spaced.split()))


def _match(text: str) -> str:
    """Return the condition of FTS5 for the words of a text."""
    # FTS5 does not know that some characters are forms of others, such as full-width letters.
    usual = [f'("{word}"* OR "{full_width(word)}"*)' for word in _words(fold(text))]
    as_typed = [f'"{word}"*' for word in _words(text) if not text.isascii()]
    return " OR ".join(f"({' AND '.join(words)})" for words in (usual, as_typed) if words)


def _finds_many(match: str) -> bool:
    with connection.cursor() as cursor:
        found = "SELECT rowid FROM pets_search WHERE pets_search MATCH %s LIMIT %s"
        cursor.execute(f"SELECT count(*) FROM ({found})", [match, _MANY + 1])  # noqa: S608
        (count,) = cursor.fetchone()
    return bool(count > _MANY)


class Tested(ExpressionWrapper):
    """A condition for which SQLite uses no index, unless a search that is given finds many pets.

    SQLite does not know how many pets a condition finds. PostgreSQL does, and takes this as any condition.
    """

    def __init__(self, condition: Q, unless_many: str = "") -> None:
        super().__init__(condition, output_field=BooleanField())
        self.text = unless_many

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        sql, parameters = self.as_sql(compiler, connection, **context)
        has_index = self.text and _finds_many(_match(self.text))
        return f"({sql})" if has_index else f"+({sql})", parameters


class _HasWords(Func):
    """The condition that a pet has all words of a text, by the index that triggers write (pets/migrations/0010)."""

    output_field: Any = BooleanField()
    conditional = True

    def __init__(self, text: str) -> None:
        super().__init__(F("pk"))
        self.text = text

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        column, _ = compiler.compile(self.source_expressions[0])
        match = _match(self.text)
        found = "SELECT rowid FROM pets_search WHERE pets_search MATCH %s"
        some = f"{column} IN (SELECT pet_id FROM pets_searchedpet WHERE id IN ({{}}))"  # noqa: S608  # a column
        query = compiler.query
        if query.is_sliced and not query.order_by and len(query.where) == 1:
            # Any pets will do, so no more of them are found than the query counts.
            return some.format(f"{found} LIMIT {query.high_mark}"), [match]
        if _finds_many(match):
            number = f"SELECT id FROM pets_searchedpet WHERE pet_id = {column}"  # noqa: S608  # a column
            return f"({number}) IN ({found})", [match]
        return some.format(found), [match]

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        column, _ = compiler.compile(self.source_expressions[0])
        table = re.sub(r'\."id"$', "", column)
        return f"{table}.search @@ pets_search_query(%s)", [" ".join(_words(self.text))]
