"""The search of the lists of pets: by id, and by the beginnings of the words of name and tag."""

import json
import re
import sqlite3
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import lru_cache
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from petservice.api.validators import is_id
from petservice.db.folding import fold

# The conditions for the index of words that triggers write (pets/migrations/0010_full_text_search.py, and
# 0025_shorter_search.py on SQLite, and 0028_all_signs_in_search.py).
_HAS_WORDS = "pets_pet.search @@ pets_search_query(%s)"
# The sign + rules out another order of the steps.
_FOUND_BY_WORDS = "pets_search MATCH %s AND pets_pet.number = +pets_search.rowid"
# Reads them all at first, and then pets in the order of a list, while the other form ends with the last pet that a list
# needs if it has no order. With the sign +, an index of the order or of another condition finds the pets.
_FOUND_BY_WORDS_BETWEEN = """
    +pets_pet.number IN (SELECT rowid FROM pets_search WHERE pets_search MATCH %s AND rowid BETWEEN %s AND %s)
"""
# Numbers of pets between which are all.
ALL_NUMBERS = 0, 2**63 - 1
# Begins each value of a filter in the index, and no word.
_FILTER = "\ue000"
# Finds nothing.
_NO_WORD = '""'
# The full-width forms of letters, digits and signs of ASCII.
_FULL_WIDTH = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
# The index and the trigger that fills it.
_INDEX = "SELECT sql FROM sqlite_master WHERE name IN ('pets_search', 'pets_search_insert') ORDER BY type"
# They are of no use for few texts.
_LISTS_OF_FIRST_LETTERS = re.compile(r"prefix = '[\d ]+',")
_FILL = """
    INSERT INTO pets_pet (number, name, tag, status)
    SELECT key, json_extract(value, '$[0]'), json_extract(value, '$[1]'), '' FROM json_each(?)
"""
_WORDS_OF_TEXTS = "SELECT doc, term FROM words WHERE substr(term, 1, 1) != ?"


def search(
    pets: QuerySet[Any],
    text: str,
    tags: Sequence[str] = (),
    filters: Iterable[str] = (),
    excluded: Iterable[str] = (),
    numbers: tuple[int, int] | None = None,
) -> QuerySet[Any]:
    """Return the pet with this id, or the pets whose names or tags have a word that begins with each word of the text.

    SQLite reads all pets that the words find, in the order of their numbers, which takes 0.2 µs for each. The words of
    tags, the values of other filters, those that are excluded, and the first and the last number that the pets can have
    leave pets out of these.
    """
    if is_id(text.lower()) and (with_id := pets.filter(pk=text.lower())).exists():
        return with_id
    if not (words := words_of(text)):
        return pets.none()
    if connection.vendor == "sqlite":
        return _in_index(pets, [_match(text), *_of_filters(tags, filters)], excluded, numbers)
    return pets.extra(where=[_HAS_WORDS], params=[" ".join(words)])  # noqa: S610  # the SQL is constant


def having(
    pets: QuerySet[Any],
    tags: Sequence[str],
    filters: Iterable[str],
    excluded: Sequence[str],
    numbers: tuple[int, int] | None = None,
) -> QuerySet[Any]:
    """Return pets with one of the tags and values of filters, by SQLite's index of words if it has several of them.

    It skips the pets that have one of them alone, or an excluded one, while another index would read all of these. With
    numbers, see search, it is used for one of them as well. Otherwise the pets are returned as they are.
    """
    conditions = _of_filters(tags, filters)
    is_used = len(conditions) + bool(excluded) > 1 or (numbers and conditions)
    return _in_index(pets, conditions, excluded, numbers) if is_used else pets


def _in_index(
    pets: QuerySet[Any], conditions: Iterable[str], excluded: Iterable[str], numbers: tuple[int, int] | None = None
) -> QuerySet[Any]:
    words = " AND ".join(conditions) + "".join(f' NOT "{_FILTER}{one}"' for one in excluded)
    if numbers:
        return pets.extra(where=[_FOUND_BY_WORDS_BETWEEN], params=[words, *numbers])  # noqa: S610  # as above
    return pets.extra(tables=["pets_search"], where=[_FOUND_BY_WORDS], params=[words])  # noqa: S610  # as above


def found_among(texts: Sequence[tuple[str, str | None]], text: str) -> list[int]:
    """Return the positions of the names and tags that a search on SQLite finds, which takes 4 µs for each.

    The index of the database answers this only for all pets. So these get an index of their own, in memory.
    """
    if not words_of(text):
        return []
    with _index_of(texts) as index:
        found = index.execute("SELECT rowid FROM pets_search WHERE pets_search MATCH ? ORDER BY rowid", [_match(text)])
        return [position for (position,) in found]


@contextmanager
def _index_of(texts: Sequence[tuple[str, str | None]]) -> Iterator[sqlite3.Connection]:
    """Provide an index of these names and tags in memory, which is filled as that of the database."""
    with connection.cursor() as cursor, closing(sqlite3.connect(":memory:")) as memory:
        memory.execute("CREATE TABLE pets_pet (number, name, tag, status, created_through)")
        for (statement,) in cursor.execute(_INDEX).fetchall():
            memory.execute(_LISTS_OF_FIRST_LETTERS.sub("", statement))
        memory.execute(_FILL, [json.dumps(texts)])
        yield memory


def words_of(text: str) -> list[str]:
    """Return the words of a text, which are the runs of letters, digits and their marks."""
    spaced = [
        character if unicodedata.category(character)[0] in "LMN" and character != "\ufe0f" else " "
        for character in text
    ]
    return sorted(set("".join(spaced).split()))


@lru_cache
def _match(text: str) -> str:
    """Return the condition of FTS5 for the words of a text."""
    # FTS5 folds no other forms of characters than the accents of Latin letters: neither full-width letters, nor that й
    # can be one character or two.
    words = words_of(text)
    folded = [fold(word) for word in words]
    full_width = [word.translate(_FULL_WIDTH) for word in folded]
    decomposed = [unicodedata.normalize("NFD", word) for word in folded]
    found = _all_of([*words, *folded, *full_width, *decomposed], "*")
    forms = [{*found[number :: len(words)]} - {_NO_WORD} for number in range(len(words))]
    return " AND ".join(f"({' OR '.join(sorted(one))})" for one in forms if one) or _NO_WORD


def _of_filters(tags: Sequence[str], filters: Iterable[str]) -> list[str]:
    """Return the conditions of FTS5 that all pets with one of the tags and values of filters fit."""
    conditions = [f'"{_FILTER}{one}"' for one in filters]
    if tags and _NO_WORD not in (of_tags := _all_of(tags)):
        conditions.append(f"({' OR '.join(of_tags)})")
    return conditions


def _all_of(texts: Sequence[str], beginning: str = "") -> list[str]:
    """Return the condition of FTS5 for all words of each text as it knows them, which may be fewer than Python does."""
    words: list[list[str]] = [[] for _ in texts]
    with _index_of([(text, None) for text in texts]) as index:
        index.execute("CREATE VIRTUAL TABLE words USING fts5vocab(pets_search, instance)")
        for position, word in index.execute(_WORDS_OF_TEXTS, [_FILTER]):
            words[position].append(f'"{word}"{beginning}')
    return [" AND ".join(sorted({*of_text})) or _NO_WORD for of_text in words]
