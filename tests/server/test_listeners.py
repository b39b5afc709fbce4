"""Clients that reset their connections before they are accepted, and TLS."""

import json
import signal
import socket
import ssl
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.server.connections import RESET, Client, assert_rejected, get
from tests.server.services import booted_workers, meta_of, open_connections, service_with_test_endpoints, suspended
from tests.service import Service, make_certificate
from tests.waiting import wait_until

pytestmark = pytest.mark.once(on="postgresql")


@pytest.fixture(scope="module")
def listening(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that trusts no proxy with an IP address of this machine."""
    folder = tmp_path_factory.mktemp("listening")
    with service_with_test_endpoints(folder, FORWARDED_ALLOW_IPS="192.0.2.1") as service:
        yield service


def test_client_that_resets_its_connection_before_it_is_accepted_is_no_trusted_proxy(listening: Service) -> None:
    """The socket no longer has an address, as if it were a unix socket."""
    address = urlsplit(listening.url)
    (worker,) = booted_workers(listening)
    with suspended(worker):
        wait_until(lambda: Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[0] == "T")
        for _ in range(20):
            with socket.create_connection((address.hostname, address.port)) as client:
                client.sendall(get("/v1/recorded", b"X-Forwarded-Proto: https", b"X-Forwarded-For: 198.51.100.77"))
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)

    with Client(listening) as client:  # accepted after the reset connections
        assert meta_of(client.socket, b"X-Forwarded-Proto: https")["REMOTE_ADDR"] == "127.0.0.1"
    served = [json.loads(path.read_text()) for path in listening.log.parent.glob("recorded-*")]
    assert {(meta.get("REMOTE_ADDR"), meta["scheme"]) for meta in served} <= {("127.0.0.1", "http")}


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


def test_tls_is_accepted_from_version_1_2(https: Service, certificate: dict[str, str]) -> None:
    context = ssl.create_default_context(cafile=certificate["TLS_CERTFILE"])
    with Client(https, context=context) as client:
        client.send(get("/v1/meta"))
        assert json.loads(client.response().body)["scheme"] == "https"
        client.send(get("/export"))
        received = 0
        while received < 32 * 2**20:
            received += len(client.socket.recv(2**20))
    with Client(https, context=context) as client:
        client.send(b"no HTTP\r\n\r\n")
        assert_rejected(client.response())

    context.set_ciphers("ALL:@SECLEVEL=0")  # otherwise this client would not offer TLS 1.1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the old version is intended
        context.minimum_version = ssl.TLSVersion.TLSv1_1
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with Client(https, context=context) as client:
        assert client.socket.version() == "TLSv1.2", "with the same ciphers"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
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
            client.send(get("/v1/meta"))
            assert client.response().status == 200
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
            later.send(get("/v1/meta", b"Connection: close"))
            assert later.response().status == 200, "it has been accepted after the early connection"

        service.process.send_signal(signal.SIGTERM)
        wait_until(lambda: "Handling signal: term" in service.log.read_text())

        with context.wrap_socket(early.socket, server_hostname="localhost") as early.socket:
            early.send(get("/v1/meta"))
            assert early.response().status == 200
