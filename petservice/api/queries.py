"""Queries that are asked at every request: worked out by the ORM once, and run from then on with other parameters.

Of what the ORM spends on a small query, building it anew is nearly all.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import QuerySet


class _Compiled(NamedTuple):
    sql: str
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

    def rows(self, *parameters: str | int) -> Sequence[Sequence[Any]]:
        """The rows of the queryset for these parameters."""
        connection = connections[DEFAULT_DB_ALIAS]
        # Kept with the connection, whose own converters it holds.
        known = vars(connection).setdefault("compiled_queries", {})
        compiled = known.get(self)
        if compiled is None:
            compiled = known[self] = self._compile(connection)
        values = compiled.parameters
        if parameters:
            values = values.copy()
            for place, number in compiled.places:
                values[place] = parameters[number]
        with connection.cursor() as cursor:
            cursor.execute(compiled.sql, values)
            rows: Sequence[Sequence[Any]] = cursor.fetchall()
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
        converters = compiler.get_converters([expression for expression, _, _ in compiler.select])
        return _Compiled(sql, parameters, places, compiler, converters)
