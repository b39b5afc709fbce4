"""Server-side prepared statements through psycopg's lower-level interface.

Without this module, a request takes a quarter to a half more CPU, because a psycopg cursor spends more time on a
statement than the server does. The module uses psycopg internals, so pyproject.toml pins the minor version.
tests/server/test_private_members.py names these internals.
"""

from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg.abc import PQGen
from psycopg.adapt import AdaptersMap, PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.generators import execute
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGconn, PGresult
from psycopg.types.string import TextLoader

Rows = list[tuple[Any, ...]]


class _Adaptation:
    """The conversion of values from and to PostgreSQL: UUIDs are strings, as in the API, and times are in UTC."""

    connection = None
    adapters = AdaptersMap(psycopg.adapters)
    adapters.register_loader("uuid", TextLoader)


class PreparedStatement:
    """A statement that PostgreSQL has prepared for one connection."""

    def __init__(self, pgconn: PGconn, name: bytes) -> None:
        self._pgconn = pgconn
        self._name = name
        self._transformer = Transformer(_Adaptation())

    @classmethod
    def prepare(cls, pgconn: PGconn, sql: bytes, name: bytes) -> PQGen["PreparedStatement"]:
        """Prepare `sql`, which has parameters `$1`, `$2`…, under a name that is unused on this connection.

        Returns a generator for `psycopg.Connection.wait`, as `rows` does. Both raise psycopg's errors.
        """
        pgconn.send_prepare(name, sql)
        yield from _result(pgconn)
        return cls(pgconn, name)

    def rows(self, parameters: Sequence[Any]) -> PQGen[Rows]:
        """Run the statement with these parameters and return its rows, if it has any."""
        # As text, because the server knows the parameters' types from the statement.
        written = self._transformer.dump_sequence(parameters, [PyFormat.TEXT] * len(parameters))
        self._pgconn.send_query_prepared(self._name, written)
        result = yield from _result(self._pgconn)
        self._transformer.set_pgresult(result)
        return self._transformer.load_rows(0, result.ntuples, tuple)


def _result(pgconn: PGconn) -> PQGen[PGresult]:
    result: PGresult
    # A statement can succeed and its implicit transaction fail. The failure is then a further result.
    *_, result = yield from execute(pgconn)
    if result.status not in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
        raise error_from_result(result)
    return result
