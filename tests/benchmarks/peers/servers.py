"""The servers of the comparison: how each is filled and started."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.databases import Database
from tests.benchmarks.peers import databases
from tests.benchmarks.peers.pets import Access, Pet, as_csv, peer_access
from tests.service import ROOT, free_port, responds
from tests.waiting import wait_until

HERE = Path(__file__).parent
CORES = os.cpu_count() or 1
SERVICE = "this service"
BASELINE = "bare WSGI"
# Prefixes of variables that configure the service and must not reach a server from the shell.
_SETTINGS = ("PETSERVICE_", "DJANGO_", "GUNICORN_", "TLS_", "DEBUG", "REDIS_", "WEB_", "ALLOWED_", "CSRF_", "PYTHON")
_GUNICORN = "-m gunicorn --bind 127.0.0.1:{port} --log-level warning"


@dataclass(frozen=True)
class Server:
    """A program with the API, a peer or a version of the service, which `command` starts in `folder`."""

    name: str
    folder: Path
    command: str
    is_service: bool = False


# The number of worker processes is the one that gunicorn's documentation recommends, 2 x cores + 1. The bare callable
# does little but compute, so it has one more than there are cores.
PEERS = [
    Server(
        BASELINE,
        HERE / "bare_wsgi",
        f"{{python}} {_GUNICORN} --workers {CORES + 1} --http-parser fast --worker-tmp-dir /dev/shm app:app",
    ),
    Server(
        "Django REST framework",
        HERE / "django_rest_framework",
        f"{{python}} {_GUNICORN} --workers {2 * CORES + 1} --env DJANGO_SETTINGS_MODULE=config"
        " django.core.wsgi:get_wsgi_application()",
    ),
]


def service(name: str = SERVICE, folder: Path = ROOT) -> Server:
    """Return the service in a checkout."""
    return Server(name, folder, "{python} manage.py serve --bind 127.0.0.1:{port}", is_service=True)


@contextmanager
def earlier_service(revision: str) -> Iterator[Server]:
    """Provide the service at a git revision, in a temporary worktree, with the packages that are installed here."""
    with tempfile.TemporaryDirectory() as folder:
        checkout = Path(folder) / "checkout"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", checkout, revision], check=True)
        try:
            yield service(revision, checkout)
        finally:
            subprocess.run([*git, "remove", "--force", checkout], check=True)


def fill(server: Server, database: Database, pets: list[Pet]) -> Access:
    """Fill the database that copies are made of, and return its API keys."""
    if not server.is_service:
        databases.fill(database, pets)
        return peer_access()

    def manage(*arguments: str, text: str | None = None) -> str:
        command = [sys.executable, "manage.py", *arguments]
        environment = _environment(database)
        ended = subprocess.run(
            command, cwd=server.folder, env=environment, input=text, stdout=subprocess.PIPE, text=True, check=True
        )
        return ended.stdout.strip()

    manage("migrate", "--verbosity", "0")
    manage("import_pets", "--format", "csv", "-", text=as_csv(pets))
    access = Access(manage("create_api_key", "Benchmark"), manage("create_api_key", "Revoked"))
    manage("revoke_api_key", access.revoked_key)
    return access


@contextmanager
def running(server: Server, database: Database) -> Iterator[tuple[str, int]]:
    """Start a server with a database, yield its base URL and its process id, and stop it at the end."""
    port = free_port()
    command = server.command.format(python=sys.executable, port=port).split()
    with (database.folder / "log").open("w+") as log:
        process = subprocess.Popen(command, cwd=server.folder, env=_environment(database), stdout=log, stderr=log)
        base_url = f"http://127.0.0.1:{port}"
        try:
            wait_until(lambda: process.poll() is not None or responds(base_url))
            if process.poll() is not None:
                raise RuntimeError(f"{server.name} does not start:\n{Path(log.name).read_text()}")
            yield base_url, process.pid
        finally:
            process.terminate()
            process.wait(timeout=40)


def _environment(database: Database) -> dict[str, str]:
    """Return the environment variables of a server."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_SETTINGS)}
    own = {"DATABASE_URL": database.url, "PETSERVICE_DATA_DIR": str(database.folder)}
    return environment | own | {"SECRET_KEY": "of-a-benchmark"}
