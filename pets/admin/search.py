"""The search of the lists of pets: by id, and by the beginnings of the words of name and tag."""

import re
import unicodedata
from typing import Any

from django.db.models import BooleanField, F, Func, Q

from pets.case_insensitive import full_width
from pets.models import Pet
from petservice.api.validators import is_id
from petservice.folding import fold

# Number of pets above which SQLite reads a list in its order, and compares each pet with those that a search finds.
# Below it, reading these pets and sorting them is faster.
_MANY = 10_000


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


class _HasWords(Func):
    """The condition that a pet has all words of a text, by the index that triggers write (pets/migrations/0010)."""

    output_field: Any = BooleanField()
    conditional = True

    def __init__(self, text: str) -> None:
        super().__init__(F("pk"))
        self.text = text

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        column, _ = compiler.compile(self.source_expressions[0])
        # FTS5 does not know that some characters are forms of others, such as full-width letters.
        usual = [f'("{word}"* OR "{full_width(word)}"*)' for word in _words(fold(self.text))]
        as_typed = [f'"{word}"*' for word in _words(self.text) if not self.text.isascii()]
        match = " OR ".join(f"({' AND '.join(words)})" for words in (usual, as_typed) if words)
        found = "SELECT rowid FROM pets_search WHERE pets_search MATCH %s"
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM ({found} LIMIT {_MANY + 1})", [match])  # noqa: S608
            (count,) = cursor.fetchone()
        if count > _MANY:
            number = f"SELECT id FROM pets_searchedpet WHERE pet_id = {column}"  # noqa: S608  # a column
            return f"({number}) IN ({found})", [match]
        return f"{column} IN (SELECT pet_id FROM pets_searchedpet WHERE id IN ({found}))", [match]  # noqa: S608

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        column, _ = compiler.compile(self.source_expressions[0])
        table = re.sub(r'\."id"$', "", column)
        return f"{table}.search @@ pets_search_query(%s)", [" ".join(_words(self.text))]
