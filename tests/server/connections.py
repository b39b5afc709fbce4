"""A client that sends requests as bytes on a socket, so that it can send what no HTTP library would send."""

import socket
import ssl
from collections.abc import Callable
from dataclasses import replace
from select import select
from urllib.parse import urlsplit

from gunicorn_h1c import H1CProtocol

from petservice.server.messages import Scope
from tests.contract.transports import Reply, reply_of
from tests.service import Service

HOST = b"Host: localhost\r\n"
CHUNKED = b"Transfer-Encoding: chunked"
MALFORMED_CHUNK = b"no chunk\r\n"
PET = b'{"name":"Rex"}'
# The value of SO_LINGER that closes a connection by a reset.
RESET = b"\1\0\0\0\0\0\0\0"


class Client:
    """A client with one connection to `service`, on which each operation times out after 40 seconds."""

    def __init__(self, service: Service, *, context: ssl.SSLContext | None = None) -> None:
        address = urlsplit(service.url)
        self.socket = socket.create_connection((address.hostname, address.port), timeout=40)
        if context:
            self.socket = context.wrap_socket(self.socket, server_hostname="localhost")
        self._received = b""

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *exception: object) -> None:
        self.socket.close()

    def send(self, *parts: bytes) -> None:
        self.socket.sendall(b"".join(parts))

    def response(self, *, to_head: bool = False) -> Reply:
        """Receive the next response, whose body is as long as its Content-Length says."""
        head = reply_of(self._until(b"\r\n\r\n"))
        names = [name.lower() for name, _ in head.headers]
        assert len(names) == len(set(names)), f"a header is repeated: {head}"
        length = 0 if to_head else int(head.header("Content-Length") or 0)
        while len(self._received) < length:
            self._receive()
        body, self._received = self._received[:length], self._received[length:]
        return replace(head, body=body)

    def response_to(self, *parts: bytes, to_head: bool = False) -> Reply:
        """Send a request, or the rest of one, and receive the next response."""
        self.send(*parts)
        return self.response(to_head=to_head)

    def is_waiting(self, seconds: float = 0.5) -> bool:
        """Return whether the service sends nothing within these seconds, and keeps the connection."""
        return not select([self.socket], [], [], seconds)[0]

    def is_closed(self) -> bool:
        """Return whether the service closes the connection without sending more data."""
        try:
            return self.socket.recv(1) == b"" and not self._received
        except ConnectionResetError:
            return not self._received

    def _until(self, end: bytes) -> bytes:
        while end not in self._received:
            self._receive()
        part, _, self._received = self._received.partition(end)
        return part

    def _receive(self) -> None:
        received = self.socket.recv(65536)
        assert received, f"the connection ended after {self._received!r}"
        self._received += received


Connect = Callable[[Service], Client]


def response_to(service: Service, *parts: bytes) -> Reply:
    """Send a request on a connection of its own, and return the response."""
    with Client(service) as client:
        return client.response_to(*parts)


def scope_of(request: bytes) -> Scope:
    """Return what the server reads of a request up to its body."""
    parser = H1CProtocol(limit_request_field_size=1 << 16)
    parser.feed(request)
    return Scope(parser, "http", None, None)


def get(path: str, *headers: bytes, method: str = "GET") -> bytes:
    """Return a request without a body."""
    return f"{method} {path} HTTP/1.1\r\n".encode() + HOST + b"".join(line + b"\r\n" for line in headers) + b"\r\n"


def post(key: str, body: bytes, *headers: bytes, length: int | None = None) -> bytes:
    """Return a request that creates a pet, with a Content-Length of `length` or of the body's length."""
    lines = [
        f"X-API-Key: {key}".encode(),
        b"Content-Type: application/json",
        b"Content-Length: %d" % (len(body) if length is None else length),
        *headers,
    ]
    return get("/v1/pets", *lines, method="POST") + body
