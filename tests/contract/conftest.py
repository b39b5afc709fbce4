from collections.abc import Iterator
from dataclasses import replace

import pytest
from pytest_django import DjangoDbBlocker

from tests.conftest import GUNICORN, Service, running_service
from tests.contract.seed import seed
from tests.contract.wires import ClientWire, SocketWire, Wire


@pytest.fixture(scope="session")
def socket_wire(service: Service, django_db_blocker: DjangoDbBlocker) -> SocketWire:
    """Over a socket to the shared service."""
    with django_db_blocker.unblock(), service.models():
        return SocketWire(seed(), service.url)


@pytest.fixture
def client_wire(db: None) -> ClientWire:
    """Through Django's test client."""
    return ClientWire(seed())


@pytest.fixture(scope="session")
def sync_wire(
    service: Service, socket_wire: SocketWire, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SocketWire]:
    """Over a socket to plain gunicorn's sync worker, on the database of the shared service."""
    yield from _gunicorn_wire("sync", service, socket_wire, tmp_path_factory)


@pytest.fixture(scope="session")
def gthread_wire(
    service: Service, socket_wire: SocketWire, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SocketWire]:
    """Over a socket to plain gunicorn's gthread worker, on the database of the shared service."""
    yield from _gunicorn_wire("gthread", service, socket_wire, tmp_path_factory)


def _gunicorn_wire(
    worker: str, service: Service, socket_wire: SocketWire, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SocketWire]:
    folder = tmp_path_factory.mktemp(worker)
    url = service.environment["DATABASE_URL"]
    with running_service(folder, command=GUNICORN[worker], DATABASE_URL=url) as gunicorn:
        yield replace(socket_wire, url=gunicorn.url)


@pytest.fixture(params=["sync", "gthread"])
def wsgi_wire(request: pytest.FixtureRequest) -> SocketWire:
    """Over a socket to plain gunicorn, one worker after the other."""
    wire: SocketWire = request.getfixturevalue(f"{request.param}_wire")
    return wire


@pytest.fixture(params=["socket", "sync", "gthread"])
def server_wire(request: pytest.FixtureRequest) -> SocketWire:
    """Over a socket to each server, one after the other."""
    wire: SocketWire = request.getfixturevalue(f"{request.param}_wire")
    return wire


@pytest.fixture(params=["client", "socket", "sync", "gthread"])
def wire(request: pytest.FixtureRequest) -> Wire:
    """All ways, one after the other."""
    wire: Wire = request.getfixturevalue(f"{request.param}_wire")
    return wire
