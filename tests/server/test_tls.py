"""A service with TLS."""

import json
import signal
import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.contract.test_table import assert_failure
from tests.server.connections import Client, get
from tests.server.services import open_connections, service_with_test_endpoints
from tests.service import Service, make_certificate
from tests.waiting import wait_until

pytestmark = pytest.mark.once(on="postgresql")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment variables that name a certificate for localhost and its key."""
    file, key = make_certificate(tmp_path_factory.mktemp("certificate"))
    return {"TLS_CERTFILE": str(file), "TLS_KEYFILE": str(key)}


@pytest.fixture(scope="module")
def https(tmp_path_factory: pytest.TempPathFactory, certificate: dict[str, str]) -> Iterator[Service]:
    """A service with TLS that gives each request two seconds to arrive."""
    with service_with_test_endpoints(
        tmp_path_factory.mktemp("https"), TEST_REQUEST_TIMEOUT="2", **certificate
    ) as service:
        yield service


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")  # the old version is intended
def test_tls_is_accepted_from_version_1_2(https: Service, certificate: dict[str, str]) -> None:
    context = ssl.create_default_context(cafile=certificate["TLS_CERTFILE"])
    with Client(https, context=context) as client:
        assert json.loads(client.response_to(get("/v1/meta")).body)["scheme"] == "https"
        client.send(get("/export"))
        received = 0
        while received < 32 * 2**20:
            received += len(client.socket.recv(2**20))
    with Client(https, context=context) as client:
        assert_failure(client.response_to(b"no HTTP\r\n\r\n"), 400)

    context.set_ciphers("ALL:@SECLEVEL=0")  # otherwise this client would not offer TLS 1.1
    context.minimum_version = ssl.TLSVersion.TLSv1_1
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with Client(https, context=context) as client:
        assert client.socket.version() == "TLSv1.2", "with the same ciphers"
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    # Python 3.11 closes the connection without the TLS alert.
    with pytest.raises(ssl.SSLError, match=r"ALERT_PROTOCOL_VERSION|EOF"), Client(https, context=context):
        pass


def test_incomplete_handshake_blocks_no_other_client(https: Service, certificate: dict[str, str]) -> None:
    with ExitStack() as stack:
        for sent in (b"", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01"):
            stack.enter_context(Client(https)).send(sent)
        context = ssl.create_default_context(cafile=certificate["TLS_CERTFILE"])
        with Client(https, context=context) as client:
            assert client.response_to(get("/v1/meta")).status == 200
        silent = stack.enter_context(Client(https))
        assert silent.is_closed(), "after the timeout"
    with Client(https, context=context) as client:
        wait_until(lambda: open_connections(client) == 1)
    assert "Traceback" not in https.log.read_text()


@pytest.mark.long
def test_connection_that_is_accepted_before_the_stop_is_served(tmp_path: Path, certificate: dict[str, str]) -> None:
    context = ssl.create_default_context(cafile=certificate["TLS_CERTFILE"])
    with service_with_test_endpoints(tmp_path, **certificate) as service, Client(service) as early:
        with Client(service, context=context) as later:
            response = later.response_to(get("/v1/meta", b"Connection: close"))
            assert response.status == 200, "it has been accepted after the early connection"

        service.process.send_signal(signal.SIGTERM)
        wait_until(lambda: "Handling signal: term" in service.log.read_text())

        with context.wrap_socket(early.socket, server_hostname="localhost") as early.socket:
            assert early.response_to(get("/v1/meta")).status == 200
