from dataclasses import replace

import pytest
from pytest_django import DjangoDbBlocker

from tests.contract.seed import seed
from tests.contract.transports import ClientTransport, SocketTransport, Transport
from tests.service import Service


@pytest.fixture(scope="session")
def socket_transport(service: Service, django_db_blocker: DjangoDbBlocker) -> SocketTransport:
    """A transport over sockets to the shared service."""
    with django_db_blocker.unblock(), service.models():
        return SocketTransport(seed(), service.url)


@pytest.fixture
def client_transport(db: None) -> ClientTransport:
    """A transport through Django's test client."""
    return ClientTransport(seed())


@pytest.fixture(scope="session")
def sync_transport(socket_transport: SocketTransport, sync_service: Service) -> SocketTransport:
    """A transport over sockets to plain gunicorn's sync worker."""
    return replace(socket_transport, url=sync_service.url)


@pytest.fixture(scope="session")
def gthread_transport(socket_transport: SocketTransport, gthread_service: Service) -> SocketTransport:
    """A transport over sockets to plain gunicorn's gthread worker."""
    return replace(socket_transport, url=gthread_service.url)


@pytest.fixture(params=["sync", "gthread"])
def wsgi_transport(request: pytest.FixtureRequest) -> SocketTransport:
    """A transport over sockets to plain gunicorn, for each of its WSGI workers in turn."""
    transport: SocketTransport = request.getfixturevalue(f"{request.param}_transport")
    return transport


@pytest.fixture(params=["socket", "sync", "gthread"])
def server_transport(request: pytest.FixtureRequest) -> SocketTransport:
    """A transport over sockets, for each server in turn."""
    transport: SocketTransport = request.getfixturevalue(f"{request.param}_transport")
    return transport


@pytest.fixture(params=["client", "socket", "sync", "gthread"])
def transport(request: pytest.FixtureRequest) -> Transport:
    """Each transport in turn."""
    transport: Transport = request.getfixturevalue(f"{request.param}_transport")
    return transport
