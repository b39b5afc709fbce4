from collections.abc import Callable
from dataclasses import replace

import pytest
from pytest_django import DjangoDbBlocker

from tests.contract.seed import seed
from tests.contract.transports import ClientTransport, SocketTransport, Transport
from tests.service import GUNICORN, Service


@pytest.fixture(scope="session")
def socket_transport(service: Service, django_db_blocker: DjangoDbBlocker) -> SocketTransport:
    """A transport over sockets to the shared service."""
    with django_db_blocker.unblock(), service.models():
        return SocketTransport(seed(), service.url)


@pytest.fixture
def client_transport(db: None) -> ClientTransport:
    """A transport through Django's test client."""
    return ClientTransport(seed())


@pytest.fixture(params=GUNICORN)
def wsgi_transport(
    request: pytest.FixtureRequest, socket_transport: SocketTransport, plain_gunicorn: Callable[[str], Service]
) -> SocketTransport:
    """A transport over sockets to plain gunicorn, for each of its WSGI workers in turn."""
    return replace(socket_transport, url=plain_gunicorn(request.param).url)


@pytest.fixture(params=["socket", *GUNICORN])
def server_transport(
    request: pytest.FixtureRequest, socket_transport: SocketTransport, plain_gunicorn: Callable[[str], Service]
) -> SocketTransport:
    """A transport over sockets, for each server in turn."""
    url = socket_transport.url if request.param == "socket" else plain_gunicorn(request.param).url
    return replace(socket_transport, url=url)


@pytest.fixture(params=["client", "socket", *GUNICORN])
def transport(
    request: pytest.FixtureRequest, socket_transport: SocketTransport, plain_gunicorn: Callable[[str], Service]
) -> Transport:
    """Each transport in turn."""
    if request.param in GUNICORN:
        return replace(socket_transport, url=plain_gunicorn(request.param).url)
    transport: Transport = request.getfixturevalue(f"{request.param}_transport")
    return transport
