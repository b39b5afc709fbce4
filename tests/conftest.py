"""Fixtures that several parts of the suite use."""

import asyncio
import os
import random
import re
import shutil
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
import redis
from django.conf import settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.core.cache import cache as django_cache
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.test import Client, client
from whitenoise.middleware import WhiteNoiseMiddleware

from petservice import health
from petservice.apikeys import keys, request_counter
from petservice.apikeys.models import APIKey
from petservice.db.url import database_settings
from petservice.handler import APIHandlerMixin
from tests.described import assert_described


class ClientHandler(APIHandlerMixin, client.ClientHandler):
    """The test client's way to the views is the service's."""


client.ClientHandler = ClientHandler  # type: ignore[misc]

ROOT = Path(__file__).resolve().parent.parent
SERVE = ("manage.py", "serve", "--migrate")
# The same application under plain gunicorn, with the workers that call WSGI.
GUNICORN = {
    "sync": ("-m", "gunicorn", "petservice.wsgi"),
    "gthread": ("-m", "gunicorn", "petservice.wsgi", "--worker-class", "gthread", "--threads", "4"),
}
REDIS_PASSWORD = "8e03978e40d5"
# What comes before the name of a database in a URL, the name, and what comes after it.
_NAME = r"^(postgresql://[^/]*/)([^?]*)(.*)$"
# httpx loads the system's certificates for each client that is given no context of its own, which takes 20 ms.
TLS = ssl.create_default_context()
_NAME_OF_THE_REAL_DATABASE = str(connection.settings_dict["NAME"])


@pytest.fixture(autouse=True, scope="session")
def django_db_setup(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """The test database, if a test needs it, and the template of the services' databases."""
    folder = tmp_path_factory.mktemp("template")
    with django_db_blocker.unblock():
        connection.close()  # PostgreSQL copies and drops only what nobody has open
        with fresh_database_url(folder, template=_url_of_the_test_database()) as url:
            _templates.append(_Template(url, folder))
            yield
        if connection.vendor == "postgresql":
            name = connection.settings_dict["NAME"]
            connection.close()
            with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as server:
                others = "SELECT 1 FROM pg_stat_activity WHERE datname = %s"
                wait_until(lambda: not server.execute(others, [name]).fetchone())


@pytest.fixture(autouse=True, scope="session")
def described_answers() -> Iterator[None]:
    """Whatever the API answers to the test client must be in the OpenAPI document."""
    send = Client.request

    def send_and_check(client: Client, **environ: Any) -> Any:
        response = send(client, **environ)
        request = response.wsgi_request
        assert_described(request.method, request.path, response.status_code, response.headers, response.getvalue())
        return response

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Client, "request", send_and_check)
        yield


@pytest.fixture(autouse=True, scope="session")
def static_files_are_found_once() -> Iterator[None]:
    """A service looks for the static files as it starts; here each test's client would, and do nearly nothing else."""
    look = WhiteNoiseMiddleware.add_files_from_finders
    found: dict[str, Any] = {}

    def look_once(middleware: WhiteNoiseMiddleware) -> None:
        if not found:
            look(middleware)
            found.update(middleware.files)
        middleware.files.update(found)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WhiteNoiseMiddleware, "add_files_from_finders", look_once)
        yield


@pytest.fixture(autouse=True)
def quick_passwords(settings: Any) -> None:
    """The real hasher is slow on purpose; no test here is about it."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an earlier test has left in the cache, or as the database's readiness, is no longer true."""
    django_cache.clear()
    monkeypatch.setattr(health, "readiness", health.Readiness())


@pytest.fixture
def create_key(db: None) -> Callable[..., str]:
    """Makes an API key in the test database and returns it in plain."""

    def create(**fields: object) -> str:
        return APIKey.objects.create_key(**{"name": "Acme", **fields})[1]  # type: ignore[arg-type]

    return create


@pytest.fixture
def api(create_key: Callable[..., str]) -> Client:
    """A client of the API that sends a read-and-write key."""
    return Client(headers={"X-API-Key": create_key()})


@dataclass(frozen=True)
class Service:
    """A running `manage.py serve` with a database of its own."""

    url: str
    process: subprocess.Popen[str]
    log: Path
    environment: dict[str, str]

    def manage(self, *arguments: str) -> str:
        """Run a management command against the same database; its standard output."""
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self.environment,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout

    def create_key(self, *arguments: str) -> str:
        """A new read-and-write key: with `arguments` of the command, else without that process."""
        if arguments:
            return self.manage("create_api_key", "Acme", *arguments).strip()
        plain = keys.generate("test")
        self.execute(
            "INSERT INTO apikeys_apikey (name, prefix, digest, environment, access, created_at)"
            " VALUES (%s, %s, %s, %s, %s, %s)",
            *("Acme", keys.prefix(plain), keys.digest(plain), "test", "write", datetime.now(UTC)),
        )
        return plain

    def create_staff(self, name: str, password: str, *, is_superuser: bool = True) -> None:
        """An administrator of the admin, or staff without rights, without the second that a command takes."""
        # One round of hashing: the service does as many as the stored password says.
        hashed = PBKDF2PasswordHasher().encode(password, "salt", iterations=1)
        values = (name, hashed, True, True, is_superuser, "", "", "", datetime.now(UTC))
        self.execute(
            "INSERT INTO auth_user (username, password, is_active, is_staff, is_superuser, first_name, last_name,"
            " email, date_joined) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)",
            *values,
        )

    def execute(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a statement with `%s` for each value, if it has any."""
        with self.database() as database:
            if isinstance(database, sqlite3.Connection):
                statement = statement.replace("%s", "?")
                values = tuple(_as_django_writes_it(value) for value in values)
            cursor = database.execute(statement, *([values] if values else []))
            return cursor.fetchall() if cursor.description else []

    @contextmanager
    def database(self) -> Iterator[Any]:
        """Its database, by the driver alone; what is written is committed at the end."""
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
        """Django's models in this process are those of its database."""
        own = connections[DEFAULT_DB_ALIAS]
        url, folder = self.environment["DATABASE_URL"], Path(self.environment["PETSERVICE_DATA_DIR"])
        connections[DEFAULT_DB_ALIAS] = type(own)(own.settings_dict | database_settings(url, data_dir=folder))
        try:
            yield
        finally:
            connections[DEFAULT_DB_ALIAS].close()
            connections[DEFAULT_DB_ALIAS] = own

    def client(self, key: str | None = None) -> httpx.Client:
        """A client whose answers must be in the OpenAPI document, save for the pages that there are with DEBUG."""
        headers = {"X-API-Key": key} if key else {}
        hooks = {} if "DEBUG" in self.environment else {"response": [_check]}
        return httpx.Client(
            base_url=self.url, headers=headers, timeout=30, trust_env=False, verify=TLS, event_hooks=hooks
        )


def _as_django_writes_it(value: object) -> object:
    """A value for SQLite, which has no type for times."""
    return str(value.astimezone(UTC).replace(tzinfo=None)) if isinstance(value, datetime) else value


def log_in(client: httpx.Client, name: str, password: str) -> None:
    """Log a client of a service in, as a member of staff."""
    token = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', client.get("/admin/login/").text)[0]
    form = {"username": name, "password": password, "csrfmiddlewaretoken": token}
    assert client.post("/admin/login/", data=form).status_code == 302


def _check(response: httpx.Response) -> None:
    request = response.request
    assert_described(request.method, request.url.path, response.status_code, response.headers, response.read())


def free_port() -> int:
    """One that no connection gets meanwhile: those have a port that the system chooses, from 32768 on."""
    while True:
        port = random.SystemRandom().randrange(10_000, 32_000)
        with socket.socket() as free:
            free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                free.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


@contextmanager
def running_service(
    folder: Path, *, port: int | None = None, command: Sequence[str] = SERVE, **variables: str
) -> Iterator[Service]:
    """`command` on a free loopback port, stopped at the end; its database and log are in `folder`."""
    port = port or free_port()
    environment = os.environ | {"PETSERVICE_DATA_DIR": str(folder)} | variables
    log = folder / "log"
    with log.open("a") as output:
        process = subprocess.Popen(
            [sys.executable, *command, "--bind", f"127.0.0.1:{port}"],
            cwd=ROOT,
            env=environment,
            stdout=output,
            stderr=output,
            text=True,
        )
    scheme = "https" if "TLS_CERTFILE" in variables else "http"
    service = Service(f"{scheme}://127.0.0.1:{port}", process, log, environment)
    try:
        wait_until(lambda: process.poll() is not None or _answers(service.url))
        if process.poll() is not None:
            pytest.fail(f"serve ended with {process.returncode}:\n{log.read_text()}")
        yield service
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=40)


def make_certificate(folder: Path, host: str = "DNS:localhost") -> tuple[Path, Path]:
    """The files of a certificate for `host` that vouches for itself, and of its key."""
    certificate, key = folder / "cert.pem", folder / "key.pem"
    command = f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test -addext subjectAltName={host}"
    arguments = [*command.split(), "-out", certificate, "-keyout", key]
    subprocess.run(arguments, check=True, capture_output=True)
    return certificate, key


class RedisServer:
    """A redis-server of its own, with a password and nothing on the disk; it can be ended and started again."""

    def __init__(self, *options: str | Path) -> None:
        self._port = free_port()
        self._options = options
        self.url = f"redis://:{REDIS_PASSWORD}@127.0.0.1:{self._port}/0"
        self.client = redis.Redis.from_url(self.url)
        self.process: subprocess.Popen[bytes]

    def start(self) -> None:
        options = ["--bind", "127.0.0.1", "--port", str(self._port), "--save", "", "--requirepass", REDIS_PASSWORD]
        try:
            self.process = subprocess.Popen(["redis-server", *options, *self._options], stdout=subprocess.DEVNULL)
        except FileNotFoundError:
            pytest.fail("redis-server is missing: the README's section Develop says how to install it")
        wait_until(self._answers)

    def kill(self) -> None:
        self.process.kill()  # which ends it even while it is stopped
        self.process.wait()

    def _answers(self) -> bool:
        try:
            return bool(self.client.ping())
        except redis.ConnectionError:
            return False


@contextmanager
def running_redis(*options: str | Path) -> Iterator[RedisServer]:
    """A redis-server with further options."""
    server = RedisServer(*options)
    server.start()
    try:
        yield server
    finally:
        server.client.close()
        server.kill()


@contextmanager
def redis_used_by(settings: Any, url: str) -> Iterator[None]:
    """The service here uses the Redis at `url`, and lets go of it at the end."""
    settings.REDIS_URL = url
    yield
    loop = request_counter._background_loop()
    connections = request_counter._counter(loop, url).connections
    asyncio.run_coroutine_threadsafe(connections.disconnect(), loop).result()


@pytest.fixture
def redis_server() -> Iterator[RedisServer]:
    with running_redis() as server:
        yield server


@pytest.fixture
def redis_in_use(redis_server: RedisServer, settings: Any, db: None) -> Iterator[RedisServer]:
    """A running Redis, which the service here uses."""
    with redis_used_by(settings, redis_server.url):
        yield redis_server


def wait_until(condition: Callable[[], object], seconds: float = 30) -> None:
    """Wait for `condition` to hold; fails after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"not within {seconds} seconds")
        time.sleep(0.02)  # between looks at the condition, not instead of it


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/v1/health", trust_env=False, verify=False).status_code == 200
    except httpx.TransportError:
        return False


@contextmanager
def fresh_database_url(folder: Path, *, template: str = "") -> Iterator[str]:
    """The URL of a new database of the kind that the suite runs on: empty, or a copy of the one at `template`."""
    database = settings.DATABASES["default"]
    if database["ENGINE"] == "petservice.db.sqlite":
        if template:
            shutil.copyfile(template.removeprefix("sqlite:///"), folder / "petservice.sqlite3")
        yield f"sqlite:///{folder}/petservice.sqlite3"
        return
    name = f"service_{os.getpid()}_{time.monotonic_ns()}"
    copied = " TEMPLATE " + re.sub(_NAME, r"\g<2>", template) if template else ""
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}{copied}")
        yield _url_on_the_server(name)
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def migrated_database_url(folder: Path) -> AbstractContextManager[str]:
    """The URL of a new database with all migrations and an API key: `serve` need not set it up, which takes long."""
    return fresh_database_url(folder, template=_templates[-1].migrated_url)


class _Template:
    """The database that others are copies of."""

    def __init__(self, url: str, folder: Path) -> None:
        self._service = Service("", None, folder / "log", os.environ | {"DATABASE_URL": url})

    @cached_property
    def migrated_url(self) -> str:
        if not _url_of_the_test_database():  # of which this is a copy otherwise
            self._service.manage("migrate", "--verbosity", "0")
        self._service.create_key()
        return self._service.environment["DATABASE_URL"]


_templates: list[_Template] = []


def _url_of_the_test_database() -> str:
    """An empty one if no test of this run needs it."""
    name = str(connection.settings_dict["NAME"])
    if name == _NAME_OF_THE_REAL_DATABASE:
        return ""
    return f"sqlite:///{name}" if connection.vendor == "sqlite" else _url_on_the_server(name)


def _url_on_the_server(name: str) -> str:
    """The URL of another database of PostgreSQL's."""
    url = re.sub(r"^postgres(ql)?://", "postgresql://", os.environ["DATABASE_URL"])
    return re.sub(_NAME, rf"\g<1>{name}\g<3>", url)


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that tests share: they leave its keys and processes as they are."""
    folder = tmp_path_factory.mktemp("service")
    with migrated_database_url(folder) as url, running_service(folder, DATABASE_URL=url) as running:
        yield running


@pytest.fixture(scope="session")
def service_key(service: Service) -> str:
    """A read-and-write key of the shared service."""
    return service.create_key()


@pytest.fixture(scope="session")
def sync_service(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Plain gunicorn with its sync worker, on the database of the shared service."""
    with _gunicorn("sync", service, tmp_path_factory) as running:
        yield running


@pytest.fixture(scope="session")
def gthread_service(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Plain gunicorn with its gthread worker, on the database of the shared service."""
    with _gunicorn("gthread", service, tmp_path_factory) as running:
        yield running


def _gunicorn(
    worker: str, service: Service, tmp_path_factory: pytest.TempPathFactory
) -> AbstractContextManager[Service]:
    url, folder = service.environment["DATABASE_URL"], tmp_path_factory.mktemp(worker)
    return running_service(folder, command=(*GUNICORN[worker], "--bind", f"unix:{folder}/socket"), DATABASE_URL=url)
