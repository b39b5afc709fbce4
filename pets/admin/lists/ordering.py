"""The orders of the lists of pets. Each has an index, in both directions."""

from typing import Any, NamedTuple

from django.db.models import F

from pets.search.case_insensitive import CaseInsensitive

# The columns of the indexes, by the field of the list's column.
_INDEXED: dict[str, tuple[Any, ...]] = {
    "name": (CaseInsensitive("name"), F("id")),
    "status": (F("status"), F("created_at"), F("id")),
    "created_at": (F("created_at"), F("id")),
    "sold_at": (F("status"), F("sold_at"), F("id")),  # sold pets have the last status
}


class Order(NamedTuple):
    """An order of a list: a field of a column, and whether the last value comes first."""

    field: str
    is_descending: bool = False

    @property
    def indexed(self) -> list[Any]:
        """Return the order for a query, as an index has it."""
        ordered = []
        for column in _INDEXED[self.field]:
            # Pets that are not sold are the last ones after the last sale.
            nulls = {"nulls_last" if self.is_descending else "nulls_first": True} if column == F("sold_at") else {}
            ordered.append(column.desc(**nulls) if self.is_descending else column.asc(**nulls))
        return ordered

    @property
    def parameter(self) -> str:
        """Return the value of the parameter of a URL that selects this order in every list."""
        return f"{'-' if self.is_descending else ''}{self.field}"


NEWEST_FIRST = Order("created_at", is_descending=True)
FIRST_NAME_FIRST = Order("name")
LAST_SOLD_FIRST = Order("sold_at", is_descending=True)
# The fields by which a list can be sorted.
SORTABLE = tuple(_INDEXED)


def order_of(parameter: str) -> Order | None:
    """Return the order with this parameter, or None if there is none."""
    field = parameter.removeprefix("-")
    return Order(field, parameter.startswith("-")) if field in SORTABLE else None
