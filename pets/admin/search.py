"""The search of the lists of pets: by id, by words of the name, and by tag."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from django.db.models import F, Q

from pets import search_index
from pets.admin.ordering import FIRST_NAME_FIRST
from pets.case_insensitive import CaseInsensitive, starts_with
from pets.models import Pet
from pets.search_index import Recorded
from pets.search_terms import matches, words
from petservice.admin_pages.bounded_paginator import MAX_COUNTED
from petservice.api.validators import is_id
from petservice.db.lookups import Among, IDText

# Maximum number of words of a search that are looked up in the index; the others are compared with the names found.
_MAX_WORDS = 2


class Found(NamedTuple):
    """The ids of the pets that a search finds, at most one more than MAX_COUNTED, and whether these are all."""

    ids: list[str]
    is_complete: bool


def search(text: str) -> Found:
    """Return the pets with this id, with a tag that begins with the text, or with all of its words in the name."""
    if is_id(text.lower()) and Pet.objects.filter(pk=text.lower()).exists():
        return Found([text.lower()], True)
    recorded = Recorded()
    wanted = sorted(set(words(text)), key=len, reverse=True)
    named = _named(text, wanted, recorded) if wanted else _beginning(text)
    return _together(named, _tagged(text, recorded))


def _named(text: str, wanted: list[str], recorded: Recorded) -> Found:
    """Return the pets whose names have all these words, the longest first."""
    for word in wanted[:_MAX_WORDS]:
        found = _with_word(word, recorded)
        if found.is_complete:
            break
    if len(wanted) == 1:
        return found
    if not found.is_complete and text.isascii():  # names that begin with the text are what is most likely meant
        found = _together(_beginning(text), found)
    names = Pet.objects.filter(Among("pk", found.ids)).values_list(IDText("pk"), "name")
    return Found([pk for pk, name in names if matches(wanted, name)], found.is_complete)


def _with_word(word: str, recorded: Recorded) -> Found:
    indexed = search_index.pets_with_word(word, _limit())
    current = [pk for pk in indexed if pk not in recorded.ids]
    # The index of names finds names of one ASCII word, which have no terms.
    first = _beginning(word) if word.isascii() else Found([], True)
    return _together(first, Found(current, len(indexed) < _limit()), Found(recorded.with_words([word]), True))


def _beginning(text: str) -> Found:
    """Return the pets whose names begin with the text."""
    return _first(starts_with("name", text), FIRST_NAME_FIRST.indexed)


def _tagged(text: str, recorded: Recorded) -> Found:
    indexed = search_index.pets_with_tag(text, _limit())
    current = [pk for pk in indexed if pk not in recorded.ids]
    # The index of tags finds tags of ASCII characters, which have no terms.
    order = (CaseInsensitive(F("tag")), "created_at", "pk")
    ascii_tags = _first(starts_with("tag", text), order) if text.isascii() else Found([], True)
    return _together(ascii_tags, Found(current, len(indexed) < _limit()), Found(recorded.with_tag(text), True))


def _first(condition: Q, order: Iterable[Any]) -> Found:
    pets = Pet.objects.filter(condition).order_by(*order)
    ids = list(pets.values_list(IDText("pk"), flat=True)[: _limit()])
    return Found(ids, len(ids) < _limit())


def _together(*parts: Found) -> Found:
    ids = list(dict.fromkeys(pk for part in parts for pk in part.ids))
    is_complete = all(part.is_complete for part in parts) and len(ids) < _limit()
    return Found(ids[: _limit()], is_complete)


def _limit() -> int:
    return MAX_COUNTED + 1
