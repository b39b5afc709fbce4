"""The SQL of the usual requests. The names of tables and columns come from the models.

Statements have Django's placeholders, `%s`.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import NOT_PROVIDED, AutoField, CharField, Field, Model
from django.utils import timezone

from pets.fields import SHOWN
from pets.models import Pet
from petservice.api.pagination import Page
from petservice.apikeys import keys
from petservice.apikeys.models import APIKey
from store.models import InventoryCounter

Rows = list[tuple[Any, ...]]
Statement = tuple[str, Sequence[Any]]

# A usable key needs no further check, because it is valid here and now and has no request limit.
_KEY = """SELECT {id} AS id, {access} = 'write' AS may_write, {prefix} AS prefix, {name} AS name,
{revoked_at} IS NULL AND ({expires_at} IS NULL OR {expires_at} > %s) AND {environment} = %s
AND {requests_per_minute} IS NULL AS usable FROM {table} WHERE {digest} = %s"""
# The name of the table, because the column of the result has the same name, and PostgreSQL would sort all pets by it.
_PETS = "SELECT {shown} FROM {table} {condition} ORDER BY {table}.{id} LIMIT %s"
_INVENTORY = "SELECT {status}, SUM({count}) FROM {table} GROUP BY {status}"


class Found(NamedTuple):
    """The result of a statement: the key's id, whether the key is usable, and the rows if it is."""

    key_id: int
    is_usable: bool
    rows: Rows


class Statements:
    """The statements that read, for one database engine."""

    def __init__(self, connection: Any) -> None:
        self._adapted_time = connection.ops.adapt_datetimefield_value
        self.key = _KEY.format_map(names(APIKey, connection))
        pet = names(Pet, connection)
        # The driver for PostgreSQL would make an object of each UUID.
        as_text = "{}::text" if connection.features.has_native_uuid_field else "{}"
        pet["shown"] = ", ".join(as_text.format(pet[name]) for name in SHOWN)
        self._pet, self._first_page, self._page = (
            _PETS.format_map({**pet, "condition": f"WHERE {pet['id']} {condition}" if condition else ""})
            for condition in ("= %s", "", "> %s")
        )
        self._inventory = _INVENTORY.format_map(names(InventoryCounter, connection))

    def key_values(self, key: str) -> Sequence[Any]:
        """Return the parameters of `key`, the statement that finds an API key."""
        return self._adapted_time(timezone.now()), settings.ENVIRONMENT, keys.digest(key)

    def pet(self, pet_id: str) -> Statement:
        """Return the statement whose row has the columns of pets.fields.SHOWN."""
        return self._pet, (pet_id, 1)

    def page(self, page: Page) -> Statement:
        """Return the statement whose rows have the columns of SHOWN; one more than the page, if there are more."""
        if page.after is None:
            return self._first_page, (page.limit + 1,)
        return self._page, (page.after, page.limit + 1)

    def inventory(self) -> Statement:
        """Return the statement whose rows have a status and its number of pets."""
        return self._inventory, ()


class Insert:
    """An INSERT of one record, whose fields have their defaults unless they are given.

    `expressions` are SQL expressions for some fields, by their names.
    """

    def __init__(self, model: type[Model], connection: Any, expressions: dict[str, str] | None = None) -> None:
        self._connection = connection
        fields: list[Field[Any, Any]] = [field for field in model._meta.concrete_fields if _is_written(field)]
        expressions = expressions or {}
        column = names(model, connection)
        self.into = f"INSERT INTO {column['table']} ({', '.join(column[field.attname] for field in fields)})"
        self.expressions = ", ".join(expressions.get(field.attname, "%s") for field in fields)
        self._parameters = [field for field in fields if field.attname not in expressions]

    def values(self, given: dict[str, Any]) -> list[Any]:
        """Return the parameters of the expressions, in their order."""
        return [
            self._prepared(field, given[field.attname] if field.attname in given else field.get_default())
            for field in self._parameters
        ]

    def _prepared(self, field: "Field[Any, Any]", value: Any) -> Any:
        # Every driver takes strings as they are.
        return value if isinstance(field, CharField) else field.get_db_prep_save(value, self._connection)


def names(model: type[Model], connection: Any) -> dict[str, str]:
    """Return the quoted names of a model's columns, by field, and that of its table."""
    quoted = connection.ops.quote_name
    columns = {field.attname: quoted(field.column) for field in model._meta.concrete_fields}
    return columns | {"table": quoted(model._meta.db_table)}


def _is_written(field: "Field[Any, Any]") -> bool:
    """Return whether the program gives the field its value, and not the database."""
    return not (isinstance(field, AutoField) or field.generated or field.db_default is not NOT_PROVIDED)
