"""The statements of API requests: the ORM compiles each one once per connection, and later requests reuse its SQL.

Without this module, a request takes two to four times the CPU. The ORM spends most of the time of a small query on
building it. Much of the rest goes into the cursor that Django wraps around the driver's. These statements go directly
to the driver. Where Django's cursor is observed, for example by a test that counts queries, they go through it.
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
    """A statement in the form that Django's cursor takes, and in the form that the driver takes."""

    django: str
    driver: str | bytes


class _Compiled(NamedTuple):
    sql: _SQL
    parameters: list[Any]
    places: list[tuple[int, int]]  # the position of each parameter in the SQL, and in the query's examples
    compiler: Any
    converters: dict[int, Any]


class CompiledQuery:
    """A compiled queryset of tuples (`values_list`) that can be run with any parameters.

    `build` makes the queryset from example values. An example is a string, or a number where it is a limit. It must
    not occur in the query as anything but its parameter.
    """

    def __init__(self, build: Callable[..., QuerySet[Any, Any]], *examples: str | int) -> None:
        self._build = build
        self._examples = examples

    def rows(self, *parameters: str | int) -> Rows:
        """Return the rows of the queryset for these parameters; reconnect once if the idle connection had died."""
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
            # The connection may have died while it was idle. A read can be repeated; a transaction cannot.
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
            if isinstance(example, int):  # a limit: Django writes its value into the SQL instead of a placeholder
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
    """A compiled INSERT of one record of `model`, which sends no signals."""

    def __init__(self, model: type[ModelT]) -> None:
        self._model = model
        fields = [field for field in model._meta.concrete_fields if not isinstance(field, AutoField)]
        self._fields = {field.attname: field for field in fields}
        # Positions of the fields that need conversion. Every database takes strings as they are.
        self._to_prepare = [
            (place, field) for place, field in enumerate(self._fields.values()) if not isinstance(field, CharField)
        ]

    def write(self, **given: Any) -> ModelT:
        """Insert a record and return it. Fields that are not `given` have their defaults.

        The insert is part of the current transaction, or else has its own.
        """
        connection: Any = connections[DEFAULT_DB_ALIAS]
        sql = _cached(connection, self, self._compile)
        values = self.values(given)
        _run(connection, connection.insert, sql, self.prepared(values, connection))
        return self.record(values)

    def values(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the value of each field: the given one, or else the field's default. Empties `given`.

        Raises TypeError if a given name is not a field.
        """
        values = {
            name: given.pop(name) if name in given else field.get_default() for name, field in self._fields.items()
        }
        if given:
            raise TypeError(f"{self._model.__name__} has no field {', '.join(given)}.")
        return values

    def prepared(self, values: dict[str, Any], connection: Any) -> list[Any]:
        """Return the values of the fields in the form that the connection's driver takes."""
        prepared = [*values.values()]
        for place, field in self._to_prepare:
            prepared[place] = field.get_db_prep_value(prepared[place], connection, prepared=True)
        return prepared

    def record(self, values: dict[str, Any]) -> ModelT:
        """Return the model instance for a row that has been inserted with these values."""
        # Without Model.__init__, as in unpickling, because that processes each field again and sends signals.
        record = self._model.__new__(self._model)
        vars(record).update(values, _state=ModelState())
        record._state.db, record._state.adding = DEFAULT_DB_ALIAS, False
        return record

    def sql(self, connection: Any, on_conflict: OnConflict | None = None) -> str:
        """Return the statement in the form that Django's cursor takes."""
        query = InsertQuery(self._model, on_conflict=on_conflict)
        query.insert_values(self._fields.values(), [self._model(**dict.fromkeys(self._fields))])
        ((sql, _),) = query.get_compiler(connection=connection).as_sql()
        return str(sql)

    def _compile(self, connection: Any) -> _SQL:
        sql = self.sql(connection)
        return _SQL(sql, connection.driver_sql(sql))


class CompiledGuardedInsert(Generic[ModelT]):
    """A compiled INSERT of one record of `model` and one of `guard`, of which a unique constraint allows only one.

    The guard's field `reference` holds the primary key of the other record. The statement never goes through Django's
    cursor, even where that is observed.
    """

    def __init__(self, guard: type[Model], model: type[ModelT], reference: str) -> None:
        self._guard, self._insert, self._reference = CompiledInsert(guard), CompiledInsert(model), reference
        self._key = model._meta.pk.attname

    def write(self, guard: dict[str, Any], given: dict[str, Any], lock: tuple[str, int]) -> ModelT | None:
        """Insert both and return the record, or return None if the guard exists or the named lock is taken.

        Both inserts are part of the current transaction, or else have one of their own.
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
    """Return the compiled form of a statement for this connection, because it can hold the connection's converters."""
    kept = vars(connection).setdefault("compiled_statements", {})
    compiled = kept.get(statement)
    if compiled is None:
        compiled = kept[statement] = compile_(connection)
    return compiled


def _run(connection: Any, run: Callable[[Any, Sequence[Any]], Any], sql: _SQL, values: Sequence[Any]) -> Any:
    """Run a statement by `run`, a method of the connection, or by Django's cursor if that is observed."""
    if connection.connection is None:
        connection.ensure_connection()
    connection.validate_no_broken_transaction()
    if connection.queries_logged or connection.execute_wrappers:
        with connection.cursor() as cursor:
            cursor.execute(sql.django, values)
            return cursor.fetchall() if cursor.description else []
    with connection.wrap_database_errors:
        return run(sql.driver, values)
