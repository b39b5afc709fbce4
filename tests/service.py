"""Start a service in processes of its own, and use its database and its HTTP interface."""

import os
import random
import signal
import socket
import sqlite3
import ssl
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest
from django.apps import apps
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.utils import load_backend
from pytest_django import DjangoDbBlocker

from petservice.db.url import database_settings
from tests.described import assert_described
from tests.processes import Process, start
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parent.parent
SERVE = ("manage.py", "serve", "--migrate")
# Runs the application under plain gunicorn: on SQLite by its default worker, and on PostgreSQL by one with threads,
# which have a connection each.
_ON_POSTGRESQL = os.environ.get("DATABASE_URL", "").startswith("postgres")
_THREADS = ("--worker-class", "gthread", "--threads", "4") if _ON_POSTGRESQL else ()
GUNICORN = ("-m", "gunicorn", "petservice.wsgi", *_THREADS)


# The sockets of the ports that `free_port` has returned.
_KEPT_PORTS: list[socket.socket] = []
# Shared by all clients, because loading the system's certificates for each client would take 20 ms.
TLS = ssl.create_default_context()
# Seconds for a response, because a busy machine may need longer than the five that httpx allows.
_TIMEOUT = 30


@dataclass(frozen=True)
class Service:
    """A running `manage.py serve` with a database of its own."""

    url: str
    process: Process
    log: Path
    environment: dict[str, str]
    # Trusts the certificate of the service, if it has one.
    tls: ssl.SSLContext = TLS
    # Prevents the use of databases by Django in tests that do not ask for the test database.
    blocker: ClassVar[DjangoDbBlocker]

    def workers(self) -> list[int]:
        """Return the process ids of the running workers."""
        master = self.process.pid
        return [int(pid) for pid in Path(f"/proc/{master}/task/{master}/children").read_text().split()]

    def manage(self, *arguments: str) -> str:
        """Run a management command on the service's database, and return its standard output."""
        ended = manage(*arguments, **self.environment)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    def create_key(self) -> str:
        """Create a read-and-write API key, and return the plain key."""
        with self.models():
            plain: str = apps.get_model("apikeys", "APIKey").objects.create_key(name="Acme")[1]
        return plain

    def create_staff(self, name: str, password: str, *, is_superuser: bool = True) -> None:
        """Create a staff account, either a superuser or one without permissions."""
        # One round of hashing is enough: the service reads the number of rounds from the stored password.
        hashed = PBKDF2PasswordHasher().encode(password, "salt", iterations=1)
        with self.models():
            users = apps.get_model("auth", "User").objects
            users.create(username=name, password=hashed, is_staff=True, is_superuser=is_superuser)

    def execute(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Run a statement with `%s` for each value, and return its rows."""
        with self.database() as database:
            if isinstance(database, sqlite3.Connection):
                statement = statement.replace("%s", "?")
                values = tuple(as_django_stores_it(value) for value in values)
            cursor = database.execute(statement, *([values] if values else []))
            return cursor.fetchall() if cursor.description else []

    @contextmanager
    def database(self) -> Iterator[Any]:
        """Connect to the service's database with its driver, and commit at the end."""
        url = self.environment["DATABASE_URL"]
        if url.startswith("postgres"):
            with psycopg.connect(url, target_session_attrs="read-write") as database:
                yield database
            return
        path = url.removeprefix("sqlite:///") or f"{self.environment['PETSERVICE_DATA_DIR']}/petservice.sqlite3"
        with closing(sqlite3.connect(path, timeout=30)) as database, database:
            yield database

    @contextmanager
    def models(self) -> Iterator[None]:
        """Let Django's models in this process use the service's database."""
        own = connections[DEFAULT_DB_ALIAS]
        url, folder = self.environment["DATABASE_URL"], Path(self.environment["PETSERVICE_DATA_DIR"])
        settings = own.settings_dict | database_settings(url, data_dir=folder)
        connections[DEFAULT_DB_ALIAS] = load_backend(settings["ENGINE"]).DatabaseWrapper(settings)
        try:
            with self.blocker.unblock():
                yield
        finally:
            connections[DEFAULT_DB_ALIAS].close()
            connections[DEFAULT_DB_ALIAS] = own

    def client(self, key: str | None = None) -> httpx.Client:
        """Return an HTTP client that fails on a response which the OpenAPI document does not describe.

        With DEBUG nothing is checked, because the document does not describe the HTML pages of the API.
        """
        headers = {"X-API-Key": key} if key else {}
        hooks = {} if "DEBUG" in self.environment else {"response": [_assert_response_is_described]}
        limits = httpx.Limits(max_connections=None)
        return httpx.Client(
            base_url=self.url,
            headers=headers,
            timeout=_TIMEOUT,
            trust_env=False,
            verify=self.tls,
            event_hooks=hooks,
            limits=limits,
        )


def stopped_service(folder: Path, url: str = "") -> Service:
    """Return a service that does not run, whose database and commands a test uses."""
    environment = os.environ | {"DATABASE_URL": url, "PETSERVICE_DATA_DIR": str(folder)}
    return Service("", None, folder / "log", environment)  # type: ignore[arg-type]


def manage(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a management command with these environment variables, and return the ended process."""
    with tempfile.TemporaryDirectory() as folder:
        output, errors = Path(folder) / "output", Path(folder) / "errors"
        code = start(["manage.py", *arguments], os.environ | variables, output, errors).wait(timeout=300)
        return subprocess.CompletedProcess(arguments, code, output.read_text(), errors.read_text())


def as_django_stores_it(value: object) -> object:
    """Return a time as the string that Django stores in SQLite, and any other value unchanged."""
    return str(value.astimezone(UTC).replace(tzinfo=None)) if isinstance(value, datetime) else value


def log_in(client: httpx.Client, name: str, password: str, status: int = 302) -> None:
    """Log in to the admin with a client of a service, and expect this status."""
    client.get("/admin/login/")
    form = {"username": name, "password": password, "csrfmiddlewaretoken": client.cookies["csrftoken"]}
    assert client.post("/admin/login/", data=form).status_code == status


def _assert_response_is_described(response: httpx.Response) -> None:
    request = response.request
    assert_described(request.method, request.url.path, response.status_code, response.headers, response.read())


def free_port() -> int:
    """Return a port that no other call returns, in this process or in another one, as long as this process lives.

    It is below 32768, because the system gives the ports from there on to outgoing connections, and above 10080, which
    is the last port that browsers and Node.js refuse.
    """
    while True:
        port = random.SystemRandom().randrange(10_081, 32_000)
        kept = socket.socket()
        try:
            kept.bind(("127.0.0.1", port))
        except OSError:
            kept.close()
            continue
        # A server, which sets this option too, can listen beside a socket that only keeps the port from other calls.
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        _KEPT_PORTS.append(kept)
        return port


@contextmanager
def running_service(
    folder: Path, *, port: int | None = None, command: Sequence[str] = SERVE, **variables: str
) -> Iterator[Service]:
    """Run `command` on a free loopback port, with database and log in `folder`, and stop it at the end."""
    port = port or free_port()
    environment = os.environ | {"PETSERVICE_DATA_DIR": str(folder)} | variables
    log = folder / "log"
    process = start([*command, "--bind", f"127.0.0.1:{port}"], environment, log, log)
    scheme = "https" if "TLS_CERTFILE" in variables else "http"
    tls = ssl.create_default_context(cafile=variables["TLS_CERTFILE"]) if scheme == "https" else TLS
    service = Service(f"{scheme}://127.0.0.1:{port}", process, log, environment, tls)
    try:
        wait_until(lambda: process.poll() is not None or responds(service.url))
        if process.poll() is not None:
            pytest.fail(f"serve ended with {process.returncode}:\n{log.read_text()}")
        yield service
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=40)
        except subprocess.TimeoutExpired:
            process.kill()  # its workers end when they notice that it has
            process.wait()
            raise


def refusal(folder: Path, *, serve: Sequence[str] = SERVE, bind: str = "", **variables: str) -> str:
    """Start `serve` with only these environment variables, fail unless it refuses to run, and return its output."""
    environment = {"PATH": os.environ["PATH"], "PETSERVICE_DATA_DIR": str(folder)} | variables
    environment |= {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
    with tempfile.NamedTemporaryFile("r") as file:
        command = [*serve, "--bind", bind or f"127.0.0.1:{free_port()}"]
        status = start(command, environment, Path(file.name), Path(file.name)).wait(timeout=60)
        output = file.read()
    assert status != 0, output
    assert "Traceback" not in output
    return output


def make_certificate(folder: Path, host: str = "DNS:localhost", days: int = 2) -> tuple[Path, Path]:
    """Create a self-signed certificate for `host`, and return its file and the file of its private key."""
    folder.mkdir(exist_ok=True)
    certificate, key = folder / "cert.pem", folder / "key.pem"
    command = f"openssl req -x509 -newkey rsa:2048 -nodes -days {days} -subj /CN=test -addext subjectAltName={host}"
    arguments = [*command.split(), "-out", certificate, "-keyout", key]
    subprocess.run(arguments, check=True, capture_output=True)
    return certificate, key


def fetch(url: str) -> httpx.Response:
    """Return the response to a GET request, for which a busy machine has as long as for the requests of a client."""
    return httpx.get(url, trust_env=False, verify=TLS, timeout=_TIMEOUT)


def responds(url: str) -> bool:
    """Return whether the service at a URL responds to health checks."""
    place = urlsplit(url)
    try:
        # First, because a client for each of many attempts would take much of the processor.
        socket.create_connection((place.hostname, place.port)).close()
        return httpx.get(f"{url}/v1/health", trust_env=False, verify=False).status_code == 200
    except (OSError, httpx.TransportError):
        return False
