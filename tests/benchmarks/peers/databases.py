"""The databases of the comparison: filled once for each kind of server, and copied for each start of one."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg

from tests.benchmarks.databases import empty_database
from tests.benchmarks.peers.pets import Pet, key_rows

_SCHEMA = Path(__file__).with_name("schema.sql").read_text()
_COPY = "run"


class SQLite:
    """SQLite files in a folder: a template for each kind of server, and the copy that the running server uses."""

    name = "SQLite"
    # The process of the database server, if there is one.
    pid = None

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.sqlite3"

    def create(self, template: str) -> str:
        """Create an empty database and return its URL."""
        return f"sqlite:///{self._path(template)}"

    def copy(self, template: str) -> str:
        """Replace the previous copy by a new one of a filled database, and return its URL."""
        with closing(sqlite3.connect(self._path(template))) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for old in self._folder.glob(f"{_COPY}.sqlite3*"):
            old.unlink()
        shutil.copyfile(self._path(template), self._path(_COPY))
        return f"sqlite:///{self._path(_COPY)}"

    def fill(self, template: str, pets: list[Pet]) -> None:
        """Write the tables of the peers into an empty database."""
        with closing(sqlite3.connect(self._path(template))) as database, database:
            database.execute("PRAGMA journal_mode = WAL")
            database.executescript(_SCHEMA)
            _insert(database, "?", pets)

    def settings(self) -> str:
        """Describe the version and the durability settings."""
        return f"SQLite {sqlite3.sqlite_version}, `journal_mode=WAL`, `synchronous=FULL` for every server"


class PostgreSQL:
    """Databases of one PostgreSQL server, which has its default settings; it has the methods of `SQLite`."""

    name = "PostgreSQL"

    def __init__(self, url: str, pid: int) -> None:
        self._server = urlsplit(url)
        self.pid = pid

    def _url(self, name: str) -> str:
        return self._server._replace(path=f"/{name}").geturl()

    def _connect(self, name: str = "postgres") -> psycopg.Connection:
        return psycopg.connect(self._url(name), autocommit=True)

    def create(self, template: str) -> str:
        with self._connect() as connection:
            connection.execute(f"CREATE DATABASE {template}")
        return self._url(template)

    def copy(self, template: str) -> str:
        with self._connect() as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {_COPY} WITH (FORCE)")
        with self._connect(template) as connection:
            connection.execute("VACUUM ANALYZE")
        with self._connect() as connection:
            connection.execute(f"CREATE DATABASE {_COPY} TEMPLATE {template}")
            connection.execute("CHECKPOINT")
        return self._url(_COPY)

    def fill(self, template: str, pets: list[Pet]) -> None:
        with self._connect(template) as connection, connection.transaction(), connection.cursor() as cursor:
            cursor.execute(_SCHEMA)
            _insert(cursor, "%s", pets)

    def settings(self) -> str:
        with self._connect() as connection:
            names = ("server_version", "synchronous_commit", "fsync", "shared_buffers")
            version, *values = (connection.execute(f"SHOW {name}").fetchall()[0][0] for name in names)
        shown = ", ".join(f"`{name}={value}`" for name, value in zip(names[1:], values, strict=True))
        return f"PostgreSQL {version} on the same machine, {shown}"


Database = SQLite | PostgreSQL


def _insert(cursor: Any, mark: str, pets: list[Pet]) -> None:
    cursor.executemany(f"INSERT INTO pet VALUES ({', '.join([mark] * 4)})", pets)
    cursor.executemany(f"INSERT INTO api_key VALUES ({', '.join([mark] * 3)})", list(key_rows()))


@contextmanager
def open_database(name: str) -> Iterator[Database]:
    """Provide a folder for SQLite, or start a PostgreSQL server, until the end."""
    with empty_database(name) as (folder, url, server):
        yield SQLite(folder) if server is None else PostgreSQL(url, server)
