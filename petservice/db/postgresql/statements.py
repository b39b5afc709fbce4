"""Prepared statements at the driver's lower level.

Without it, a request takes a quarter to a half more CPU: a cursor of psycopg's spends more on a statement than the
server does. It relies on parts of psycopg that may change, hence the narrow pin in pyproject.toml;
tests/server/test_private_members.py names them.
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
    """How values are written and read: ids as text, which is what the API shows; times in UTC, as without a
    connection there is no other zone.
    """

    connection = None
    adapters = AdaptersMap(psycopg.adapters)
    adapters.register_loader("uuid", TextLoader)


class PreparedStatement:
    """A statement that the server has prepared for one connection."""

    def __init__(self, pgconn: PGconn, name: bytes) -> None:
        self._pgconn = pgconn
        self._name = name
        self._transformer = Transformer(_Adaptation())

    @classmethod
    def prepare(cls, pgconn: PGconn, sql: bytes, name: bytes) -> PQGen["PreparedStatement"]:
        """Have the server prepare `sql`, with parameters `$1`, `$2`…, under a name that is new on this connection.

        A generator for `psycopg.Connection.wait`, as that of `rows`; both raise psycopg's errors.
        """
        pgconn.send_prepare(name, sql)
        yield from _result(pgconn)
        return cls(pgconn, name)

    def rows(self, parameters: Sequence[Any]) -> PQGen[Rows]:
        """The rows for these parameters; none if it gives none."""
        # As text: what it means the server knows from the statement.
        written = self._transformer.dump_sequence(parameters, [PyFormat.TEXT] * len(parameters))
        self._pgconn.send_query_prepared(self._name, written)
        result = yield from _result(self._pgconn)
        self._transformer.set_pgresult(result)
        return self._transformer.load_rows(0, result.ntuples, tuple)


def _result(pgconn: PGconn) -> PQGen[PGresult]:
    result: PGresult
    # A statement that is done may still fail as its transaction ends; then the failure is another result.
    *_, result = yield from execute(pgconn)
    if result.status not in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
        raise error_from_result(result)
    return result
