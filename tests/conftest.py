"""Fixtures that several parts of the suite use."""

import gc
import os
from collections.abc import Callable, Iterator
from math import inf
from pathlib import Path
from threading import current_thread
from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import User
from django.core.cache import cache as django_cache
from django.core.management import call_command
from django.db import connection
from django.test import Client, client
from django.test.utils import setup_databases, teardown_databases
from pytest_django import DjangoDbBlocker

from petservice import __main__ as command_line
from petservice.api.readiness import readiness
from petservice.apikeys import request_counter, usage
from petservice.apikeys.models import APIKey
from petservice.apikeys.usage import UsageRecorder
from petservice.wsgi import Handler
from tests import processes
from tests.backoffice.clock import Clock
from tests.backoffice.staff import PASSWORD
from tests.databases import fresh_database_url, migrated_database_url, templates, url_of_the_test_database
from tests.described import assert_described
from tests.monitoring.observed import Observed, observed_service
from tests.redis_server import RedisServer
from tests.service import GUNICORN, Service, running_service, stopped_service
from tests.waiting import wait_until

client.WSGIRequest = Handler.request_class  # type: ignore[misc]


def pytest_configure() -> None:
    """Collect garbage as rarely as the service does, because Python's default takes a seventh of the time of tests."""
    gc.set_threshold(command_line.COLLECTION_THRESHOLD)
    processes.fork_server = processes.ForkServer()


def pytest_unconfigure() -> None:
    if processes.fork_server:
        processes.fork_server.stop()


def pytest_sessionfinish() -> None:
    """Exempt the results of tests from garbage collection, because pytest collects garbage ten times at its end."""
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def django_db_setup(
    django_test_environment: None,
    django_db_modify_db_settings: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[None]:
    """Create the test database, also without a test that asks for it, as a template for the services' databases."""
    folder = tmp_path_factory.mktemp("template")
    Service.blocker = django_db_blocker
    with django_db_blocker.unblock():
        created = setup_databases(verbosity=0, interactive=False, serialized_aliases=set())
        connection.close()  # PostgreSQL neither copies nor drops a database that has connections
    with fresh_database_url(folder, template=url_of_the_test_database()) as url:
        templates.append(stopped_service(folder, url))
        yield
    with django_db_blocker.unblock():
        connection.close()
        if connection.vendor == "postgresql":
            with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as server:
                others = "SELECT 1 FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()"
                wait_until(lambda: not server.execute(others, [connection.settings_dict["NAME"]]).fetchone())
        teardown_databases(created, verbosity=0)


@pytest.fixture(autouse=True, scope="session")
def responses_are_documented() -> Iterator[None]:
    """Fail a test if the OpenAPI document does not describe a response of the API to the test client."""
    send = Client.request

    def send_and_check(client: Client, **environ: Any) -> Any:
        response = send(client, **environ)
        request = response.wsgi_request
        assert_described(request.method, request.path, response.status_code, response.headers, response.getvalue())
        return response

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Client, "request", send_and_check)
        yield


@pytest.fixture(autouse=True)
def quick_settings(settings: Any) -> None:
    """Replace the password hasher, which is slow on purpose, and let no test client search for all static files."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.WHITENOISE_AUTOREFRESH = True


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clear the cache and the recorded readiness, so that no test sees those of an earlier one."""
    django_cache.clear()
    monkeypatch.setattr(readiness, "_checked_at", -inf)
    monkeypatch.setattr(readiness, "_obstacle", "")


@pytest.fixture(autouse=True)
def key_usage(monkeypatch: pytest.MonkeyPatch) -> UsageRecorder:
    """A recorder of the use of keys that counts only this test, and that writes only when the test calls `write`."""
    monkeypatch.setattr(UsageRecorder, "_thread", current_thread())  # so that a recorder starts none
    recorder = UsageRecorder()
    monkeypatch.setattr(usage, "recorder", recorder)
    return recorder


@pytest.fixture
def create_key(db: None) -> Callable[..., str]:
    """Return a function that creates an API key in the test database and returns the plain key."""

    def create(**fields: object) -> str:
        return APIKey.objects.create_key(**{"name": "Acme", **fields})[1]  # type: ignore[arg-type]

    return create


@pytest.fixture
def api(create_key: Callable[..., str]) -> Client:
    """A test client that sends a read-and-write API key."""
    return Client(headers={"X-API-Key": create_key()})


@pytest.fixture
def ada(db: None) -> User:
    """A staff account with a password and no permissions."""
    return User.objects.create_user("ada", password=PASSWORD, is_staff=True)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of this process, which only the test moves."""
    return Clock(monkeypatch)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[str, str]]:
    """Return a function that runs a management command, and returns its standard output and standard error."""

    def run(*arguments: str) -> tuple[str, str]:
        call_command(*arguments)
        return capsys.readouterr()

    return run


@pytest.fixture
def redis_server() -> Iterator[RedisServer]:
    server = RedisServer()
    server.start()
    yield server
    server.client.close()
    server.kill()


@pytest.fixture
def redis_in_use(redis_server: RedisServer, settings: Any, db: None) -> Iterator[RedisServer]:
    """A running Redis server that the service in this process uses."""
    settings.REDIS_URL = redis_server.url
    yield redis_server
    request_counter.counter(redis_server.url).redis.close()


@pytest.fixture
def migrated_url(tmp_path: Path) -> Iterator[str]:
    """The URL of a database with all migrations and an API key."""
    with migrated_database_url(tmp_path) as url:
        yield url


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A running service that tests share; they must not change its API keys and processes."""
    folder = tmp_path_factory.mktemp("service")
    with migrated_database_url(folder) as url, running_service(folder, DATABASE_URL=url) as running:
        yield running


@pytest.fixture(scope="session")
def service_key(service: Service) -> str:
    """A read-and-write API key of the shared service."""
    return service.create_key()


@pytest.fixture(scope="session")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observed]:
    """A running service with two workers that writes a JSON log and metrics."""
    with observed_service(tmp_path_factory.mktemp("observed")) as observed:
        yield observed


@pytest.fixture(scope="session")
def plain_gunicorn(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The application under plain gunicorn, on the database of the shared service."""
    folder, url = tmp_path_factory.mktemp("gunicorn"), service.environment["DATABASE_URL"]
    with running_service(folder, command=GUNICORN, DATABASE_URL=url) as running:
        yield running
