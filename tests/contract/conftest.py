from dataclasses import replace

import pytest
from pytest_django import DjangoDbBlocker

from tests.contract.seed import seed
from tests.contract.transports import ClientWire, SocketWire, Wire
from tests.service import Service


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
def sync_wire(socket_wire: SocketWire, sync_service: Service) -> SocketWire:
    """Over a socket to plain gunicorn's sync worker."""
    return replace(socket_wire, url=sync_service.url)


@pytest.fixture(scope="session")
def gthread_wire(socket_wire: SocketWire, gthread_service: Service) -> SocketWire:
    """Over a socket to plain gunicorn's gthread worker."""
    return replace(socket_wire, url=gthread_service.url)


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
