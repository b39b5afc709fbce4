"""A model of the lists of pets: what the guide promises about searches, filters, orders and pages, in plain Python."""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import cache
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.db import connection

from pets.models import Pet

# The number of pets that a list counts at most, that it shows of more, and that a page shows.
MAX_COUNTED = 10_000
MAX_SHOWN = 1000
PAGE = 50
# The order of names has no model in Python, because each database has its own for signs and letters outside ASCII.
NAME_ORDER = {"sqlite": "name COLLATE NOCASE, id", "postgresql": 'upper(name) COLLATE "C", id'}[connection.vendor]
_ORDERS = {
    "name": NAME_ORDER,
    "status": "status, created_at, id",
    "created_at": "created_at, id",
    "sold_at": "status, sold_at NULLS FIRST, created_at, id",
}
_KINDS = {"api": "key ", "staff": "staff ", "import": "command "}


def folded(text: str) -> str:
    """Return a text in the form in which it equals the same text in other cases and forms of Unicode."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


@cache
def plain(text: str) -> str:
    """Return a text without cases, without the accents of Latin letters and without blanks beside others."""
    separate = unicodedata.normalize("NFD", folded(text))
    return " ".join(
        unicodedata.normalize(
            "NFC", re.sub("([a-z])[\N{COMBINING GRAVE ACCENT}-\N{COMBINING LATIN SMALL LETTER X}]+", r"\1", separate)
        ).split()
    )


@cache
def words(text: str) -> tuple[str, ...]:
    """Return the words of a text without cases and without the accents of Latin letters."""
    return tuple("".join(one if unicodedata.category(one)[0] in "LMN" else " " for one in plain(text)).split())


class ListModel:
    """The lists of these pets, for a store in a time zone."""

    def __init__(self, pets: list[Pet], zone: str) -> None:
        self._pets = {pet.pk: pet for pet in pets}
        self._words = {pet.pk: frozenset([*words(pet.name), *words(pet.tag or "")]) for pet in pets}
        self._days = {pet.pk: pet.created_at.astimezone(ZoneInfo(zone)).date() for pet in pets}
        self._sold_days = {pet.pk: pet.sold_at.astimezone(ZoneInfo(zone)).date() for pet in pets if pet.sold_at}
        self._ordered = {field: [*map(str, ordered("pets_pet", order))] for field, order in _ORDERS.items()}
        self._fitting = cache(self._fitting)  # type: ignore[method-assign]

    def ids(self, query: Mapping[str, str]) -> list[str]:
        """Return the ids of all pets of the list with these parameters, in order."""
        parts = [self._fitting(name, value) for name, value in query.items() if value and name not in ("o", "p")]
        found = set.intersection(set(self._pets), *parts)
        # The result of a search is in the order of names, that of a day of sale begins with the last sale, and other
        # lists begin with the newest pet.
        usual = "-sold_at" if query.get("sold_from") or query.get("sold_to") else "-created_at"
        order = query.get("o") or ("name" if query.get("q") else usual)
        ordered = self._ordered[order.removeprefix("-")]
        return [pk for pk in (reversed(ordered) if order.startswith("-") else ordered) if pk in found]

    def ends(self, query: Mapping[str, str]) -> tuple[Pet, Pet]:
        """Return the pets of the list that were written first and last."""
        found = {*self.ids(query)}
        first, *_, last = (pet for pk, pet in self._pets.items() if pk in found)
        return first, last

    def shown(self, query: Mapping[str, str]) -> tuple[str, list[str]]:
        """Return the count and the ids that a page of the list shows."""
        ids = self.ids(query)
        if len(ids) <= MAX_COUNTED:
            count, shown = f"{len(ids):,}", ids
        else:
            count, shown = f"more than {MAX_COUNTED:,}", ids[:MAX_SHOWN]
        pages = [shown[start : start + PAGE] for start in range(0, len(shown), PAGE)] or [[]]
        return count, pages[min(max(1, int(query.get("p") or 1)), len(pages)) - 1]

    def _fitting(self, name: str, value: str) -> set[str]:
        """Return the ids of the pets that fit one parameter."""
        fits: dict[str, Callable[[Pet], bool]] = {
            "q": lambda pet: self._is_found(pet, value),
            "status__exact": lambda pet: pet.status == value,
            "tag": lambda pet: pet.tag is not None and plain(pet.tag) == plain(value),
            "no_tag": lambda pet: pet.tag is None,
            "creator": lambda pet: (
                pet.created_by is None if value == "unknown" else (pet.created_by or "").startswith(_KINDS[value])
            ),
            "created_from": lambda pet: self._days[pet.pk] >= date.fromisoformat(value),
            "created_to": lambda pet: self._days[pet.pk] <= date.fromisoformat(value),
            "sold_from": lambda pet: self._sold_days.get(pet.pk, date.min) >= date.fromisoformat(value),
            "sold_to": lambda pet: pet.pk in self._sold_days and self._sold_days[pet.pk] <= date.fromisoformat(value),
        }
        return {pk for pk, pet in self._pets.items() if fits[name](pet)}

    def _is_found(self, pet: Pet, search: str) -> bool:
        """Return whether the search is the id of the pet, or each of its words begins a word of the pet."""
        if search.strip().lower() in self._pets:
            return pet.pk == search.strip().lower()
        return _begin(words(search), self._words[pet.pk])


def difference(
    query: Mapping[str, str], found: tuple[object, Sequence[Any]], expected: tuple[object, Sequence[Any]]
) -> list[str]:
    """Return a line about a list that shows another count or other rows than expected, or nothing."""
    if found == expected:
        return []
    wrong = len({*found[1]} ^ {*expected[1]})
    return [f"{urlencode(query)}: {found[0]}, not {expected[0]}; {wrong} of {len(expected[1])} rows are wrong"]


@cache
def _begin(wanted: tuple[str, ...], own: frozenset[str]) -> bool:
    """Return whether there are wanted words, and each begins one of a pet's own words."""
    return bool(wanted) and all(any(word.startswith(one) for word in own) for one in wanted)


def ordered(table: str, order: str) -> list[Any]:
    """Return the ids of all rows in an order of the database."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT id FROM {table} ORDER BY {order}")
        return [pk for (pk,) in cursor.fetchall()]
