from dataclasses import replace

import pytest

from tests.contract.seed import new_keys, seed
from tests.contract.transports import ClientTransport, SocketTransport, Transport
from tests.service import Service


@pytest.fixture(scope="session")
def socket_transport(service: Service) -> SocketTransport:
    """A transport over sockets to the shared service."""
    with service.models():
        return SocketTransport(seed(new_keys()), service.url)


@pytest.fixture
def client_transport(db: None) -> ClientTransport:
    """A transport through Django's test client."""
    return ClientTransport(seed(new_keys()))


@pytest.fixture(scope="session")
def gunicorn_transport(socket_transport: SocketTransport, plain_gunicorn: Service) -> SocketTransport:
    """A transport over sockets to plain gunicorn, with the keys and the pets of the shared service."""
    return replace(socket_transport, url=plain_gunicorn.url)


@pytest.fixture(params=["socket", "gunicorn"])
def server_transport(request: pytest.FixtureRequest) -> SocketTransport:
    """A transport over sockets, for each server in turn."""
    transport: SocketTransport = request.getfixturevalue(f"{request.param}_transport")
    return transport


@pytest.fixture(params=["client", "socket", "gunicorn"])
def transport(request: pytest.FixtureRequest) -> Transport:
    """Each transport in turn; the test client needs no server."""
    transport: Transport = request.getfixturevalue(f"{request.param}_transport")
    return transport
