"""The servers of the comparison: how each is filled and started."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks.databases import Database, connected
from tests.benchmarks.sample_records import write_csv
from tests.programs import running_program
from tests.running.checkout import unpack_revision
from tests.service import ROOT, free_port, responds

HERE = Path(__file__).parent
SCHEMA = (HERE / "schema.sql").read_text()
CORES = os.cpu_count() or 1
BASELINE = "bare WSGI"
# Prefixes of variables that configure the service and must not reach a server from the shell.
_SETTINGS = ("PETSERVICE_", "DJANGO_", "GUNICORN_", "TLS_", "DEBUG", "REDIS_", "WEB_", "ALLOWED_", "CSRF_", "PYTHON")
_GUNICORN = "{python} -m gunicorn --bind 127.0.0.1:{port} --log-level warning"
_SERVE = "{python} manage.py serve --bind 127.0.0.1:{port}"


@dataclass(frozen=True)
class Server:
    """A program with the API, a peer or a version of the service, which `command` starts in `folder`."""

    name: str
    folder: Path
    command: str
    is_service: bool = False


class Access(NamedTuple):
    """An API key that works, and one that has been revoked."""

    key: str
    revoked_key: str


# The number of worker processes is the one that gunicorn's documentation recommends, 2 x cores + 1. The bare callable
# does little but compute, so it has one more than there are cores.
SERVERS = [
    Server("this service", ROOT, _SERVE, is_service=True),
    Server("this service without the fast path", ROOT, f"env PETSERVICE_FAST_PATH=off {_SERVE}", is_service=True),
    Server("this service with metrics", ROOT, f"env METRICS_BIND=127.0.0.1:{{other}} {_SERVE}", is_service=True),
    Server(
        BASELINE,
        HERE / "bare_wsgi",
        f"{_GUNICORN} --workers {CORES + 1} --http-parser fast --worker-tmp-dir /dev/shm app:app",
    ),
    Server(
        "Django REST framework",
        HERE / "django_rest_framework",
        f"{_GUNICORN} --workers {2 * CORES + 1} --env DJANGO_SETTINGS_MODULE=config"
        " django.core.wsgi:get_wsgi_application()",
    ),
]


def earlier_service(revision: str, folder: Path) -> Server:
    """Return the service at a git revision in a new folder, with the packages that are installed here."""
    unpack_revision(revision, folder)
    return Server(revision, folder, _SERVE, is_service=True)


def fill(folder: Path, database: Database, pets: int) -> Access:
    """Fill the database that copies are made of by the service in a folder, and return its API keys."""
    manage = partial(database.run, "manage.py", folder=folder)
    manage("migrate", "--verbosity", "0")
    file = database.folder / "pets.csv"
    write_csv(file, pets)
    manage("import_pets", file)
    access = Access(manage("create_api_key", "Benchmark"), manage("create_api_key", "Revoked"))
    manage("revoke_api_key", access.revoked_key)
    with connected(database) as connection:
        for statement in SCHEMA.split(";")[:-1]:
            connection.execute(statement)
        connection.execute("VACUUM")
        connection.execute("ANALYZE")
    return access


@contextmanager
def running(server: Server, database: Database) -> Iterator[tuple[str, int]]:
    """Start a server with a database, yield its base URL and its process id, and stop it at the end."""
    port = free_port()
    command = server.command.format(python=sys.executable, port=port, other=free_port()).split()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_SETTINGS)}
    environment |= {"DATABASE_URL": database.url, "PETSERVICE_DATA_DIR": str(database.folder)}
    environment["SECRET_KEY"] = "of-a-benchmark"
    base_url, options = f"http://127.0.0.1:{port}", {"cwd": server.folder, "env": environment}
    with running_program(command, database.folder / "log", lambda: responds(base_url), **options) as process:
        yield base_url, process.pid


def settings(database: Database) -> str:
    """Describe the version and the durability settings, which are the same for every server."""
    with connected(database) as connection:
        if database.server is None:
            [(version,)] = connection.execute("SELECT sqlite_version()").fetchall()
            return f"SQLite {version}, `journal_mode=WAL`, `synchronous=FULL` for every server"
        names = ("server_version", "synchronous_commit", "fsync", "shared_buffers")
        version, *values = (connection.execute(f"SHOW {name}").fetchall()[0][0] for name in names)
    shown = ", ".join(f"`{name}={value}`" for name, value in zip(names[1:], values, strict=True))
    return f"PostgreSQL {version} on the same machine, {shown}"
