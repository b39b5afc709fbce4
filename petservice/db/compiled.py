"""Statements of every request: worked out by the ORM once, and run from then on with other parameters.

Without it, a request takes two to four times the CPU. Of what the ORM spends on a small query nearly all goes into
building it again, and much of the rest into the cursor that Django wraps around the driver's. So these go to the driver
itself, unless Django's cursor is being watched, as tests do.
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from django.db import DEFAULT_DB_ALIAS, OperationalError, connections
from django.db.models import AutoField, CharField, Model, QuerySet
from django.db.models.base import ModelState
from django.db.models.constants import OnConflict
from django.db.models.sql import InsertQuery

from petservice.db.backend import Rows

ModelT = TypeVar("ModelT", bound=Model)


class _SQL(NamedTuple):
    """A statement as Django's cursor takes it, and as the driver does."""

    django: str
    driver: str | bytes


class _Compiled(NamedTuple):
    sql: _SQL
    parameters: list[Any]
    places: list[tuple[int, int]]  # of a parameter among those of the SQL, and among those of the query
    compiler: Any
    converters: dict[int, Any]


class CompiledQuery:
    """A queryset of tuples (`values_list`) for any parameters, of which `build` makes one from examples.

    An example is a text or, for a limit, a number, and occurs in the query for nothing else.
    """

    def __init__(self, build: Callable[..., QuerySet[Any, Any]], *examples: str | int) -> None:
        self._build = build
        self._examples = examples

    def rows(self, *parameters: str | int) -> Rows:
        """The rows of the queryset for these parameters."""
        connection: Any = connections[DEFAULT_DB_ALIAS]
        compiled = _cached(connection, self, self._compile)
        values = compiled.parameters
        if parameters:
            values = values.copy()
            for place, number in compiled.places:
                values[place] = parameters[number]
        was_connected = connection.connection is not None
        rows: Rows
        try:
            rows = _run(connection, connection.rows, compiled.sql, values)
        except OperationalError:
            # The connection may have died while nobody used it. A read may be tried again; a transaction is lost.
            if not was_connected or connection.in_atomic_block or connection.is_usable():
                raise
            connection.close()
            rows = _run(connection, connection.rows, compiled.sql, values)
        if compiled.converters:
            return list(compiled.compiler.apply_converters(rows, compiled.converters))
        return rows

    def _compile(self, connection: Any) -> _Compiled:
        compiler = self._build(*self._examples).query.get_compiler(connection=connection)
        sql, parameters = compiler.as_sql()
        parameters = list(parameters)
        places = []
        for example in self._examples:
            if isinstance(example, int):  # a limit, which Django writes into the SQL itself
                before, found, after = sql.partition(str(example))
                if found:
                    sql = f"{before}%s{after}"
                    parameters.insert(before.count("%s"), example)
        for number, example in enumerate(self._examples):
            its_places = [place for place, parameter in enumerate(parameters) if parameter == example]
            if not its_places:
                raise LookupError(f"{example!r} is no parameter of the query: {sql}")
            places += [(place, number) for place in its_places]
        converters = {}
        if not connection.returns_python_values:
            converters = compiler.get_converters([expression for expression, _, _ in compiler.select])
        return _Compiled(_SQL(sql, connection.driver_sql(sql)), parameters, places, compiler, converters)


class CompiledInsert(Generic[ModelT]):
    """The insertion of one record of `model`, whose key is known before or given by the database; sends no signals."""

    def __init__(self, model: type[ModelT]) -> None:
        self._model = model
        fields = [field for field in model._meta.concrete_fields if not isinstance(field, AutoField)]
        self._fields = {field.attname: field for field in fields}
        # With their places, those whose values are no text: text is taken by any database as it is.
        self._to_prepare = [
            (place, field) for place, field in enumerate(self._fields.values()) if not isinstance(field, CharField)
        ]

    def write(self, **given: Any) -> ModelT:
        """The record of the values that are `given`, of their fields' types, and the fields' defaults for others.

        It is inserted in a transaction of its own or in the one under way.
        """
        connection: Any = connections[DEFAULT_DB_ALIAS]
        sql = _cached(connection, self, self._compile)
        values = self.values(given)
        _run(connection, connection.insert, sql, self.prepared(values, connection))
        return self.record(values)

    def values(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the value of each field: the one that is given, or else its default; takes it out of `given`.

        Raises TypeError for a name that no field has.
        """
        values = {
            name: given.pop(name) if name in given else field.get_default() for name, field in self._fields.items()
        }
        if given:
            raise TypeError(f"{self._model.__name__} has no field {', '.join(given)}.")
        return values

    def prepared(self, values: dict[str, Any], connection: Any) -> list[Any]:
        """Return the values of the fields as the driver of a connection takes them."""
        prepared = [*values.values()]
        for place, field in self._to_prepare:
            prepared[place] = field.get_db_prep_value(prepared[place], connection, prepared=True)
        return prepared

    def record(self, values: dict[str, Any]) -> ModelT:
        """Return the record that has been inserted with these values."""
        # Without Model.__init__, as pickle does: it looks at each field again, and sends signals.
        record = self._model.__new__(self._model)
        vars(record).update(values, _state=ModelState())
        record._state.db, record._state.adding = DEFAULT_DB_ALIAS, False
        return record

    def sql(self, connection: Any, on_conflict: OnConflict | None = None) -> str:
        """Return the statement as Django's cursor takes it."""
        query = InsertQuery(self._model, on_conflict=on_conflict)
        query.insert_values(self._fields.values(), [self._model(**dict.fromkeys(self._fields))])
        ((sql, _),) = query.get_compiler(connection=connection).as_sql()
        return str(sql)

    def _compile(self, connection: Any) -> _SQL:
        sql = self.sql(connection)
        return _SQL(sql, connection.driver_sql(sql))


class CompiledGuardedInsert(Generic[ModelT]):
    """The insertion of one record of `model` together with one of `guard` that a unique constraint lets in only once.

    The guard has the other's primary key in its field `reference`. It goes past Django's cursor even if that is being
    watched.
    """

    def __init__(self, guard: type[Model], model: type[ModelT], reference: str) -> None:
        self._guard, self._insert, self._reference = CompiledInsert(guard), CompiledInsert(model), reference
        self._key = model._meta.pk.attname

    def write(self, guard: dict[str, Any], given: dict[str, Any], lock: tuple[str, int]) -> ModelT | None:
        """Return the record, or None if the guard was there already, or somebody else has the lock of this name.

        Both are inserted in a transaction of their own or in the one under way.
        """
        connection: Any = connections[DEFAULT_DB_ALIAS]
        statement = _cached(connection, self, self._compile)
        values = self._insert.values(given)
        guard_values = self._guard.values(guard | {self._reference: values[self._key]})
        rows = self._guard.prepared(guard_values, connection), self._insert.prepared(values, connection)
        if connection.connection is None:
            connection.ensure_connection()
        connection.validate_no_broken_transaction()
        with connection.wrap_database_errors:
            is_new = connection.insert_guarded(statement, *rows, values[self._key], lock)
        return self._insert.record(values) if is_new else None

    def _compile(self, connection: Any) -> Any:
        guard, insert = self._guard.sql(connection, OnConflict.IGNORE), self._insert.sql(connection)
        return connection.guarded_insert(guard, insert, self._reference)


def _cached(connection: Any, statement: Any, compile_: Callable[[Any], Any]) -> Any:
    """What has been compiled for this connection, whose own converters it may hold."""
    kept = vars(connection).setdefault("compiled_statements", {})
    compiled = kept.get(statement)
    if compiled is None:
        compiled = kept[statement] = compile_(connection)
    return compiled


def _run(connection: Any, run: Callable[[Any, Sequence[Any]], Any], sql: _SQL, values: Sequence[Any]) -> Any:
    """Run a statement by `run`, a method of the connection, or by Django's cursor if that is being watched."""
    if connection.connection is None:
        connection.ensure_connection()
    connection.validate_no_broken_transaction()
    if connection.queries_logged or connection.execute_wrappers:
        with connection.cursor() as cursor:
            cursor.execute(sql.django, values)
            return cursor.fetchall() if cursor.description else []
    with connection.wrap_database_errors:
        return run(sql.driver, values)
