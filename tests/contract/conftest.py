from collections.abc import Callable
from dataclasses import replace
from typing import cast

import pytest
from django.db import connection

from tests.contract.seed import new_keys, seed
from tests.contract.transports import ClientTransport, SocketTransport, Transport
from tests.service import GUNICORN, Service


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
def transport_to(
    socket_transport: SocketTransport, plain_gunicorn: Callable[[str], Service]
) -> Callable[[str], SocketTransport]:
    """Return a function that returns a transport over sockets to a server, which it starts if need be."""

    def transport(server: str) -> SocketTransport:
        return socket_transport if server == "socket" else replace(socket_transport, url=plain_gunicorn(server).url)

    return transport


# The WSGI workers of plain gunicorn that the contract is tested with. On PostgreSQL it is the one whose threads have a
# connection each, because both call the same application.
WORKERS = [*GUNICORN] if connection.vendor == "sqlite" else ["gthread"]


@pytest.fixture(params=["socket", *WORKERS])
def server_transport(request: pytest.FixtureRequest, transport_to: Callable[[str], SocketTransport]) -> SocketTransport:
    """A transport over sockets, for each server in turn."""
    return transport_to(request.param)


@pytest.fixture(params=["client", "socket", *WORKERS])
def transport(request: pytest.FixtureRequest) -> Transport:
    """Each transport in turn; the test client needs no server."""
    if request.param == "client":
        return cast("Transport", request.getfixturevalue("client_transport"))
    transport_to: Callable[[str], SocketTransport] = request.getfixturevalue("transport_to")
    return transport_to(request.param)
