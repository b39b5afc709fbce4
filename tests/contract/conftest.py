from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from django.db import transaction
from pytest_django import DjangoDbBlocker

from tests.contract.seed import seed
from tests.contract.transports import ClientTransport, SocketTransport, Transport
from tests.service import GUNICORN, Service


@pytest.fixture(scope="session")
def socket_transport(service: Service, django_db_blocker: DjangoDbBlocker) -> SocketTransport:
    """A transport over sockets to the shared service."""
    with django_db_blocker.unblock(), service.models():
        return SocketTransport(seed(), service.url)


@pytest.fixture(scope="module")
def seeded(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[dict[str, str]]:
    """The seed, which is in the test database while the tests of a module run."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield seed()
        transaction.set_rollback(True)


@pytest.fixture
def client_transport(seeded: dict[str, str], db: None) -> ClientTransport:
    """A transport through Django's test client."""
    return ClientTransport(seeded)


@pytest.fixture(scope="session")
def server_transports(
    socket_transport: SocketTransport, plain_gunicorn: Callable[[str], Service]
) -> dict[str, SocketTransport]:
    """A transport over sockets to each server, by its name."""
    others = {name: replace(socket_transport, url=plain_gunicorn(name).url) for name in GUNICORN}
    return {"socket": socket_transport, **others}


@pytest.fixture(params=GUNICORN)
def wsgi_transport(request: pytest.FixtureRequest, server_transports: dict[str, SocketTransport]) -> SocketTransport:
    """A transport over sockets to plain gunicorn, for each of its WSGI workers in turn."""
    return server_transports[request.param]


@pytest.fixture(params=["socket", *GUNICORN])
def server_transport(request: pytest.FixtureRequest, server_transports: dict[str, SocketTransport]) -> SocketTransport:
    """A transport over sockets, for each server in turn."""
    return server_transports[request.param]


@pytest.fixture(params=[pytest.param("client", marks=pytest.mark.django_db), "socket", *GUNICORN])
def transport(request: pytest.FixtureRequest) -> Transport:
    """Each transport in turn; the test client needs no server."""
    if request.param == "client":
        return ClientTransport(request.getfixturevalue("seeded"))
    transports: dict[str, SocketTransport] = request.getfixturevalue("server_transports")
    return transports[request.param]
