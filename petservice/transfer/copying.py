"""The copy of all rows from one database to another, and the comparison of both, in constant memory."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from typing import Any

import orjson
from django.apps import apps
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.core.management.base import CommandError
from django.core.management.color import no_style
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import Model

from petservice.db.backend import backend
from store.models import InventoryCounter

# Number of rows that are read and written together.
_BATCH = 2000
_MODELS_OF_MIGRATIONS: tuple[type[Model], ...] = (ContentType, Permission, Group, Group.permissions.through)

Row = tuple[Any, ...]


@dataclass
class Summary:
    """The number of rows of a table, and the sum of their digests, because the databases have orders of their own."""

    table: str
    rows: int = 0
    digest: int = 0

    def add(self, row: Row) -> None:
        """Add a row. Values that are equal have the same JSON on both databases."""
        text = orjson.dumps(row, default=str, option=orjson.OPT_SORT_KEYS)
        self.rows += 1
        self.digest += int.from_bytes(blake2b(text, digest_size=8).digest())


def moved_models() -> list[type[Model]]:
    """Return the models of all tables except the counters of the inventory, which triggers write."""
    models = apps.get_models(include_auto_created=True)
    return [one for one in models if not one._meta.proxy and one is not InventoryCounter]


def prepare(alias: str, models: list[type[Model]]) -> None:
    """Create the tables in an empty database. Raises CommandError if it has rows or other tables."""
    database = connections[alias]
    ours = ("django_", *(f"{app.label}_" for app in apps.get_app_configs()))
    with database.cursor() as cursor:
        tables = database.introspection.table_names(cursor)
    if others := [table for table in tables if not table.startswith(ours)]:
        raise _not_empty(f"tables of another program, such as {others[0]}")
    _require_no_rows(alias, [model for model in models if model._meta.db_table in tables])
    # Models of migrations use the default connection, and would read and change the rows of the source.
    source = connections[DEFAULT_DB_ALIAS]
    connections[DEFAULT_DB_ALIAS] = database
    try:
        call_command("migrate", database=alias, verbosity=0)
    finally:
        connections[DEFAULT_DB_ALIAS] = source


def copy(source: str, target: str, models: list[type[Model]], on_rows: Callable[[int], object]) -> list[Summary]:
    """Copy all rows in the current transactions, and return a summary of each table of the source.

    Raises CommandError if the target has received rows in the meantime, or if it cannot store a value.
    """
    _require_no_rows(target, models)
    for model in _MODELS_OF_MIGRATIONS:
        rows_of(target, model).delete()
    summaries = []
    for model in models:
        summary = Summary(model._meta.db_table)
        columns = [str(field.column) for field in model._meta.concrete_fields]
        rows = _batches(source, model, summary, on_rows)
        try:
            backend(target).copy_rows(summary.table, columns, _stored(model, target, rows))
        except (TypeError, ValidationError, ValueError) as error:
            reason = " ".join(error.messages) if isinstance(error, ValidationError) else error
            raise CommandError(
                f"The database has a value in the table {summary.table} that it cannot move: {reason}. "
                "Nothing was moved: correct it."
            ) from None
        summaries.append(summary)
    database = connections[target]
    with database.cursor() as cursor:
        for statement in database.ops.sequence_reset_sql(no_style(), models):  # none on SQLite, which needs none
            cursor.execute(statement)
    return summaries


@contextmanager
def without_trigger(alias: str, model: type[Model], trigger: str) -> Iterator[None]:
    """Keep a trigger of a model's table from running, within a transaction."""
    database = connections[alias]
    table, name = map(database.ops.quote_name, (model._meta.db_table, trigger))
    off, on = f"ALTER TABLE {table} DISABLE TRIGGER {name}", f"ALTER TABLE {table} ENABLE TRIGGER {name}"
    with database.cursor() as cursor:
        if database.vendor == "sqlite":
            cursor.execute("SELECT sql FROM sqlite_master WHERE type = 'trigger' AND name = %s", [trigger])
            off, (on,) = f"DROP TRIGGER {name}", cursor.fetchone()
        cursor.execute(off, None)
        yield
        cursor.execute(on, None)


def summarise(alias: str, models: list[type[Model]], on_rows: Callable[[int], object]) -> list[Summary]:
    """Read all rows, and return a summary of each table."""
    summaries = []
    for model in models:
        summary = Summary(model._meta.db_table)
        for _ in _batches(alias, model, summary, on_rows):
            pass
        summaries.append(summary)
    return summaries


def _require_no_rows(alias: str, models: list[type[Model]]) -> None:
    for model in models:
        if model not in _MODELS_OF_MIGRATIONS and rows_of(alias, model).exists():
            raise _not_empty(f"records in the table {model._meta.db_table}")


def _not_empty(found: str) -> CommandError:
    return CommandError(f"The target has {found}. Nothing was moved: name an empty database.")


def rows_of(alias: str, model: type[Model]) -> Any:
    """Return the rows of a table, in any order."""
    return model._base_manager.using(alias).order_by()


def _batches(alias: str, model: type[Model], summary: Summary, on_rows: Callable[[int], object]) -> Iterator[list[Row]]:
    """Yield all rows in batches, which are added to the summary."""
    rows = rows_of(alias, model).values_list(*(field.attname for field in model._meta.concrete_fields))
    remaining = iter(rows.iterator(chunk_size=_BATCH))
    while batch := list(islice(remaining, _BATCH)):
        for row in batch:
            summary.add(row)
        yield batch
        on_rows(len(batch))


def _stored(model: type[Model], target: str, batches: Iterable[list[Row]]) -> Iterator[list[list[Any]]]:
    """Yield batches of rows as the target stores them."""
    fields, database = model._meta.concrete_fields, connections[target]
    for batch in batches:
        yield [
            [field.get_db_prep_save(value, database) for field, value in zip(fields, row, strict=True)] for row in batch
        ]
