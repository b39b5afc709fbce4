"""The index of search terms: how pets get into it, and which pets it finds.

Triggers record each new, changed or deleted pet that needs terms (pets.search_triggers). The requests that create pets
index some of the recorded pets, because no other process of the service does. A search reads the rest directly.
"""

import logging
import re
from collections.abc import Iterable
from functools import partial
from itertools import count, islice
from typing import Any

from django.db import Error, connection
from django.db.models import QuerySet

from pets.models import Pet, SearchTerm, UnindexedPet
from pets.search_terms import matches, term_of_name, term_of_tag, terms_of_name
from petservice.db.backend import backend
from petservice.db.lookups import Among, IDText

logger = logging.getLogger(__name__)

# Number of creations in a process after which one of them indexes recorded pets, and the number of pets in one step.
# A step indexes more than were created since the last one, so the number of recorded pets does not grow.
_INTERVAL = 100
_STEP = 400
# Number of terms that count as one creation, below _MAX_TERMS / _INTERVAL, so that a step stores more than were added.
_TERMS_OF_CREATION = 30
# Number of added and removed terms after which a step ends, because a name of 255 characters can have as many terms.
_MAX_TERMS = 4000
# Maximum number of recorded pets that a search reads directly.
_MAX_READ = 5000
# Number of recorded pets above which a search first indexes some.
_MANY = 1000
# Seconds that a step waits for other writers of SQLite.
_LOCK_TIMEOUT = 0.2
# Number of parameters of one statement.
_BATCH = 1000
# The last code point. It sorts after every character of a term.
_LAST = chr(0x10FFFF)

# The database finds these names by its index of names.
_ONE_ASCII_WORD = re.compile(r"[a-zA-Z0-9]+", re.ASCII)

_creations = count(1)


def after_creation(name: str, tag: str | None) -> None:
    """Index some pets, if it is time to do so after the creation of a pet."""
    if _ONE_ASCII_WORD.fullmatch(name) and (not tag or tag.isascii()):
        return
    # A name with many terms counts as several creations, because a step indexes fewer of them.
    weight = 1 if name.isascii() and len(name) < _TERMS_OF_CREATION else 1 + len(terms(name, tag)) // _TERMS_OF_CREATION
    if any(next(_creations) % _INTERVAL == 0 for _ in range(weight)):
        try:
            backend().run_blocking(index_some)
        except Error as error:  # the pet exists already, so its client must not get an error and create it again
            logger.warning("Pets were not indexed for the search, and are next time: %s", error)


def index_some() -> bool:
    """Index some of the recorded pets, unless another process does. Return whether there may be more."""
    indexed: list[int] = []
    backend().write_unless_locked(partial(_index, indexed), timeout=_LOCK_TIMEOUT)
    return bool(indexed)


def index_all() -> None:
    """Index all recorded pets, in transactions that let other writers in between; end if another process does it."""
    while index_some():
        pass


def _index(indexed: list[int]) -> None:
    """Store the terms of some recorded pets and remove their old ones; add the numbers of the records to `indexed`."""
    # The lock lets one process index at a time. Otherwise a process could store the terms of a name that it has read
    # before a change, after another process has stored those of the new name.
    if not backend().try_lock("search index", 0):
        return
    records = list(UnindexedPet.objects.order_by("pk").values_list("pk", "pet_id", "old_name", "old_tag")[:_STEP])
    pets = {pk: (name, tag) for pk, name, tag in _texts(pet_id for _, pet_id, _, _ in records)}
    added: dict[tuple[bytes, str], None] = {}
    removed: dict[tuple[bytes, str], None] = {}
    for number, pet_id, old_name, old_tag in records:
        if old_name is not None:
            removed |= _rows(pet_id, old_name, old_tag)
        if pet_id in pets:
            added |= _rows(pet_id, *pets[pet_id])
        indexed.append(number)
        if len(added) + len(removed) > _MAX_TERMS:
            break
    _execute("DELETE FROM pets_searchterm WHERE (term, pet_id) IN (VALUES {})", removed.keys() - added.keys())
    _execute("INSERT INTO pets_searchterm (term, pet_id) VALUES {} ON CONFLICT DO NOTHING", added)
    UnindexedPet.objects.filter(Among("pk", indexed)).delete()


def terms(name: str, tag: str | None) -> set[str]:
    """Return the terms to store for a pet: none for a name or a tag that the database finds by an index of its own."""
    stored = set() if _ONE_ASCII_WORD.fullmatch(name) else terms_of_name(name)
    if tag and not tag.isascii():
        stored.add(term_of_tag(tag))
    return stored


def _rows(pet_id: str, name: str, tag: str | None) -> dict[tuple[bytes, str], None]:
    return {(term.encode(), pet_id): None for term in sorted(terms(name, tag))}


def _texts(ids: Iterable[str]) -> Any:
    return Pet.objects.filter(Among("pk", list(ids))).values_list("pk", "name", "tag")


def _execute(statement: str, rows: Iterable[tuple[bytes, str]]) -> None:
    """Run a statement for rows of the table of terms, in batches."""
    remaining = iter(rows)
    types = (SearchTerm._meta.get_field(name).db_type(connection) for name in ("term", "pet_id"))
    place = f"({', '.join(f'CAST(%s AS {kind})' for kind in types)})"
    with connection.cursor() as cursor:
        while batch := list(islice(remaining, _BATCH)):
            places = ", ".join([place] * len(batch))
            cursor.execute(statement.format(places), [value for row in batch for value in row])


class Recorded:
    """The pets that are recorded and not indexed yet, as they are now. Their terms in the index may be wrong."""

    def __init__(self) -> None:
        ids = UnindexedPet.objects.order_by("-pk").values_list(IDText("pet_id"), flat=True)
        if len(found := list(ids[: _MANY + 1])) > _MANY:
            index_some()
            found = list(ids[:_MAX_READ])
        self.ids = set(found)
        self._pets = list(_texts(self.ids)) if found else []

    def with_words(self, words: list[str]) -> list[str]:
        """Return the recorded pets whose names have words that begin with all of these folded words."""
        return [pk for pk, name, _ in self._pets if matches(words, name)]

    def with_tag(self, text: str) -> list[str]:
        """Return the recorded pets whose tag begins with a text."""
        beginning = term_of_tag(text)
        return [pk for pk, _, tag in self._pets if tag and term_of_tag(tag).startswith(beginning)]


def pets_with_word(word: str) -> QuerySet[SearchTerm, str]:
    """Return the ids of the indexed pets whose name has a word that begins with a folded word."""
    return _pets(term_of_name(word))


def pets_with_tag(text: str) -> QuerySet[SearchTerm, str]:
    """Return the ids of the indexed pets whose tag begins with a text and has characters outside ASCII."""
    return _pets(term_of_tag(text))


def _pets(beginning: str) -> QuerySet[SearchTerm, str]:
    found = SearchTerm.objects.filter(term__gte=beginning.encode(), term__lt=(beginning + _LAST).encode())
    return found.values_list("pet_id", flat=True)
