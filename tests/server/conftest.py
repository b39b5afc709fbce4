from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from django.conf import settings

from tests.databases import migrated_database_url
from tests.server.connections import Client, Connect
from tests.server.services import service_with_test_endpoints
from tests.service import Service, running_service


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The event loop of tests that are coroutines, which the pytest plugin of anyio runs. httpx brings it."""
    return "asyncio"


@pytest.fixture(scope="session")
def with_short_timeout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that gives each request two seconds to arrive, and little time to idle and to refused clients."""
    folder, timeouts = tmp_path_factory.mktemp("short-timeout"), {"TEST_REQUEST_TIMEOUT": "2", "TEST_LINGER": "1"}
    with service_with_test_endpoints(folder, "--keep-alive", "3", **timeouts) as service:
        yield service


@pytest.fixture(scope="module")
def one_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with one worker, for which this process can sign sessions."""
    folder, variables = tmp_path_factory.mktemp("one-worker"), {"SECRET_KEY": settings.SECRET_KEY}
    with (
        migrated_database_url(folder) as url,
        running_service(folder, DATABASE_URL=url, WEB_CONCURRENCY="1", **variables) as service,
    ):
        yield service


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Return a function that connects to a service until the end of the test."""
    with ExitStack() as stack:
        yield lambda service: stack.enter_context(Client(service))
