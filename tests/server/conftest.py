import asyncio
import inspect
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.server.connections import Client, Connect
from tests.server.services import service_with_test_endpoints
from tests.service import Service


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine on an event loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture(scope="session")
def with_short_timeout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that gives each request two seconds to arrive, and little time to idle and to refused clients."""
    folder, timeouts = tmp_path_factory.mktemp("short-timeout"), {"TEST_REQUEST_TIMEOUT": "2", "TEST_LINGER": "1"}
    with service_with_test_endpoints(folder, "--keep-alive", "3", **timeouts) as service:
        yield service


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Return a function that connects to a service until the end of the test."""
    with ExitStack() as stack:
        yield lambda service: stack.enter_context(Client(service))


@pytest.fixture
def no_traceback(service: Service) -> object:
    """Fail the test if the shared service logs a traceback during it."""
    before = service.log.read_text().count("Traceback")
    yield
    assert service.log.read_text().count("Traceback") == before
