from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.server.connections import Client, Connect
from tests.server.services import service_with_test_endpoints
from tests.service import Service


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """With a deadline of two seconds for requests."""
    with service_with_test_endpoints(tmp_path_factory.mktemp("impatient"), TEST_REQUEST_TIMEOUT="2") as service:
        yield service


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Connects to a service until the test is over."""
    with ExitStack() as stack:
        yield lambda service: stack.enter_context(Client(service))


@pytest.fixture
def no_traceback(service: Service) -> object:
    """Nothing is logged as a crash during the test."""
    before = service.log.read_text().count("Traceback")
    yield
    assert service.log.read_text().count("Traceback") == before
