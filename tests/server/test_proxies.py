"""A server on all IPv4 addresses, on all IPv6 addresses and on a unix socket trusts the same proxies."""

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.connections import RESET, get
from tests.server.services import booted_workers, meta_of, service_with_test_endpoints, suspended
from tests.service import Service, running_service
from tests.waiting import wait_until

pytestmark = pytest.mark.once(on="postgresql")

PROXY, IN_A_TRUSTED_NETWORK, STRANGER = "127.0.0.1", "127.1.0.7", "127.0.0.2"
TRUSTED = f"{PROXY},127.1.0.0/16"
CLIENT = "192.0.2.7"
HTTPS = b"X-Forwarded-Proto: https"


@pytest.fixture(scope="module", params=["serve", "plain gunicorn"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("proxies")
    addresses = ("--bind", "0.0.0.0:0", "--bind", "[::]:0", "--bind", f"unix:{folder}/socket")
    variables = {"FORWARDED_ALLOW_IPS": TRUSTED, "TEST_ENDPOINTS_FOLDER": str(folder)}
    if request.param == "serve":
        running = service_with_test_endpoints(folder, *addresses, **variables)
    else:
        command = ("-m", "gunicorn", "tests.server.plain_gunicorn", *addresses)
        running = running_service(folder, command=command, **variables)
    with running as service:
        yield service


def connected(server: Service, listener: str, source: str) -> socket.socket:
    """Connect to a listener from a source: an address of this machine, or the name of a unix socket."""
    if listener == "unix":
        client = socket.socket(socket.AF_UNIX)
        if source:
            client.bind(f"{server.log.parent}/{source}")
        client.connect(f"{server.log.parent}/socket")
        return client
    port = int(re.findall(rf"http://{re.escape(listener)}:(\d+)", server.log.read_text())[0])
    target = "::1" if ":" in source else "127.0.0.1"
    return socket.create_connection((target, port), timeout=30, source_address=(source, 0))


IPV4 = ((PROXY, CLIENT), (IN_A_TRUSTED_NETWORK, CLIENT), (STRANGER, STRANGER))
PEERS = [
    *((listener, source, client) for listener in ("0.0.0.0", "[::]") for source, client in IPV4),
    ("[::]", "::1", "::"),  # which is not named
    *(("unix", name, CLIENT) for name in ("", "client")),
]


@pytest.mark.parametrize(("listener", "source", "client"), PEERS)
def test_named_peers_and_unix_sockets_are_trusted_and_no_others(
    server: Service, listener: str, source: str, client: str
) -> None:
    schemes = [b"X-Forwarded-Proto: HTTPS, https"] * 2
    addresses = f"X-Forwarded-For: ::ffff:{CLIENT}, [::ffff:127.1.0.9]:4711".encode()

    meta = meta_of(connected(server, listener, source), *schemes, addresses)

    assert (meta["scheme"], meta["client"]) == ("https" if client == CLIENT else "http", client)
    assert ("REMOTE_ADDR" in meta) == (listener != "unix")


def test_request_without_a_host_on_a_unix_socket_is_refused(server: Service) -> None:
    with connected(server, "unix", "") as client:
        client.sendall(b"GET /v1/pets HTTP/1.0\r\n\r\n")

        assert client.recv(1000).split()[1] == b"400"


@pytest.mark.parametrize("server", ["serve"], indirect=True)
@pytest.mark.parametrize(
    ("headers", "scheme"),
    [
        ([HTTPS, b"X-Forwarded-Proto: http"], "http"),
        ([HTTPS, b"X-Forwarded-Ssl: off"], "https"),
        ([b"X-Forwarded-Proto: http", b"X-Forwarded-Ssl: on"], "http"),
        ([b"X-Forwarded-Protocol: ssl"], "http"),
    ],
    ids=str,
)
def test_no_other_header_changes_the_scheme(server: Service, headers: list[bytes], scheme: str) -> None:
    """Plain gunicorn refuses some of these requests, as deployment.md says."""
    assert meta_of(connected(server, "0.0.0.0", PROXY), *headers)["scheme"] == scheme


@pytest.mark.parametrize("server", ["serve"], indirect=True)
def test_client_that_resets_its_connection_before_it_is_accepted_is_not_trusted(server: Service) -> None:
    """The socket no longer has an address, as if it were a unix socket."""
    (worker,) = booted_workers(server)
    with suspended(worker):
        wait_until(lambda: Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[0] == "T")
        for _ in range(20):
            with connected(server, "0.0.0.0", STRANGER) as client:
                client.sendall(get("/v1/recorded", HTTPS, f"X-Forwarded-For: {CLIENT}".encode()))
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)

    # Accepted after the reset connections.
    assert meta_of(connected(server, "0.0.0.0", STRANGER), HTTPS)["REMOTE_ADDR"] == STRANGER
    served = [json.loads(path.read_text()) for path in server.log.parent.glob("recorded-*")]
    assert {(meta.get("REMOTE_ADDR"), meta["scheme"]) for meta in served} <= {(STRANGER, "http")}
