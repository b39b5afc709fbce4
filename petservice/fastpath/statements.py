"""The SQL of the usual requests. The names of tables and columns come from the models."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.models import NOT_PROVIDED, AutoField, CharField, Field, Model
from django.utils import timezone

from pets.fields import SHOWN
from pets.models import Pet
from petservice.apikeys import keys
from petservice.apikeys.models import APIKey
from petservice.fastpath.usual import Operation, UsualRequest
from store.models import InventoryCounter

Rows = list[tuple[Any, ...]]

# A usable key needs no further check, because it is valid here and now and has no request limit.
_KEY = """SELECT {id} AS id, {access} = 'write' AS may_write, {prefix} AS prefix, {name} AS name,
{revoked_at} IS NULL AND ({expires_at} IS NULL OR {expires_at} > {value}) AND {environment} = {value}
AND {requests_per_minute} IS NULL AS usable FROM {table} WHERE {digest} = {sought}"""
_PETS = "SELECT {shown} FROM {table} {condition} ORDER BY {id} LIMIT {value}"
_INVENTORY = "SELECT {status}, SUM({count}) FROM {table} GROUP BY {status}"


class Statements:
    """The statements that find an API key and read, for the engine of the database."""

    def __init__(self, form: str = "{statement}") -> None:
        """Put each statement that reads into a form, at `{statement}`, and the one that finds a key at `{key}`."""
        self._adapted_time = connection.ops.adapt_datetimefield_value
        key = names(APIKey)
        self.key = _KEY.format_map(key | {"sought": key["value"]})
        # The statement that finds the API key whose digest another part of the same statement has.
        self.key_of_sent = _KEY.format_map(key | {"sought": "sent.digest"})
        pet = names(Pet)
        pet["shown"] = ", ".join(pet[name] for name in SHOWN)
        # Once, because psycopg would take a tenth of a request longer for a new text in each one.
        self._pet, self._first_page, self._page, self._inventory = (
            form.format(key=self.key, statement=statement)
            for statement in (
                _PETS.format_map({**pet, "condition": f"WHERE {pet['id']} = {pet['value']}"}),
                _PETS.format_map({**pet, "condition": ""}),
                _PETS.format_map({**pet, "condition": f"WHERE {pet['id']} > {pet['value']}"}),
                _INVENTORY.format_map(names(InventoryCounter)),
            )
        )

    def key_values(self, key: str) -> Sequence[Any]:
        """Return the parameters of `key`, the statement that finds an API key."""
        return *self.now_and_here(), keys.digest(key)

    def now_and_here(self) -> tuple[Any, str]:
        """Return the parameters of `key_of_sent`."""
        return self._adapted_time(timezone.now()), settings.ENVIRONMENT

    def reading(self, request: UsualRequest) -> tuple[str, Sequence[Any]]:
        """Return the statement whose rows have the columns of pets.fields.SHOWN, or a status and its number of pets.

        For a list there is one row more than on the page, if there are more.
        """
        if request.operation is Operation.PET:
            return self._pet, (request.pet_id, 1)
        if request.operation is Operation.INVENTORY:
            return self._inventory, ()
        page = request.page
        if page.after is None:
            return self._first_page, (page.limit + 1,)
        return self._page, (page.after, page.limit + 1)


class Insert:
    """An INSERT of records, whose fields have their defaults unless they are given."""

    def __init__(self, model: type[Model]) -> None:
        self._connection = connections[DEFAULT_DB_ALIAS]
        # The database gives the other fields their values.
        self.fields: list[Field[Any, Any]] = [
            field
            for field in model._meta.concrete_fields
            if not (isinstance(field, AutoField) or field.generated or field.db_default is not NOT_PROVIDED)
        ]
        column = names(model)
        self.into = f"INSERT INTO {column['table']} ({', '.join(column[field.attname] for field in self.fields)})"

    def complete(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the values of all fields by name."""
        return {
            field.attname: given[field.attname] if field.attname in given else field.get_default()
            for field in self.fields
        }

    def values(self, given: dict[str, Any]) -> list[Any]:
        """Return the values of all fields in their order, as parameters of the driver."""
        complete = self.complete(given)
        return [
            # Every driver takes strings as they are.
            complete[field.attname]
            if isinstance(field, CharField)
            else field.get_db_prep_save(complete[field.attname], self._connection)
            for field in self.fields
        ]


def names(model: type[Model]) -> dict[str, str]:
    """Return the quoted names of a model's columns, by field, that of its table, and the driver's mark of a value."""
    quoted: Any = connection.ops.quote_name
    columns = {field.attname: quoted(field.column) for field in model._meta.concrete_fields}
    return columns | {"table": quoted(model._meta.db_table), "value": "?" if connection.vendor == "sqlite" else "%s"}
