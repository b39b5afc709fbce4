"""The orders of the lists of pets. Each has an index, in both directions."""

from typing import Any

from django.db.models import F

from pets.search.case_insensitive import CaseInsensitive

# The columns of the indexes, by the field of the list's column.
_INDEXED: dict[str, tuple[Any, ...]] = {
    "name": (CaseInsensitive("name"), F("id")),
    "status": (F("status"), F("created_at"), F("id")),
    "created_at": (F("created_at"), F("id")),
    "sold_at": (F("status"), F("sold_at"), F("created_at"), F("id")),  # sold pets have the last status
}
NEWEST_FIRST, FIRST_NAME_FIRST, LAST_SOLD_FIRST = "-created_at", "name", "-sold_at"


def is_order(text: str) -> bool:
    """Return whether a list has this order: the name of a field, with a minus for its last value first."""
    return text.removeprefix("-") in _INDEXED


def indexed(order: str) -> list[Any]:
    """Return an order for a query, as an index has it."""
    is_descending = order.startswith("-")
    ordered = []
    for column in _INDEXED[order.removeprefix("-")]:
        # Pets that are not sold are the last ones after the last sale.
        nulls = {"nulls_last" if is_descending else "nulls_first": True} if column == F("sold_at") else {}
        ordered.append(column.desc(**nulls) if is_descending else column.asc(**nulls))
    return ordered
