"""Requests as bytes on a socket, for what no HTTP client would do."""

import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from tests.service import Service

HOST = b"Host: localhost\r\n"
CHUNKED = b"Transfer-Encoding: chunked"
MALFORMED_CHUNK = b"no chunk\r\n"
PET = b'{"name":"Rex"}'


@dataclass(frozen=True)
class Answer:
    """One answer on a connection that may have more."""

    status: int
    headers: dict[str, str]
    body: bytes


class Client:
    """A connection to `service`; every wait on it ends after 40 seconds."""

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

    def answer(self, *, to_head: bool = False) -> Answer:
        """The next answer, the body of which is as long as its Content-Length says."""
        head = self._until(b"\r\n\r\n")
        status, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines if line)}
        assert len(headers) == len([line for line in lines if line]), f"a header is there twice: {head!r}"
        length = 0 if to_head else int(headers.get("content-length", 0))
        while len(self._received) < length:
            self._receive()
        body, self._received = self._received[:length], self._received[length:]
        return Answer(int(status.split(" ")[1]), headers, body)

    def is_closed(self) -> bool:
        """Whether the service ends the connection, with nothing more on it."""
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


def get(path: str, *headers: bytes, method: str = "GET") -> bytes:
    """A request without a body."""
    return f"{method} {path} HTTP/1.1\r\n".encode() + HOST + b"".join(line + b"\r\n" for line in headers) + b"\r\n"


def post(key: str, body: bytes, *headers: bytes, length: int | None = None) -> bytes:
    """A new pet."""
    lines = [
        f"X-API-Key: {key}".encode(),
        b"Content-Type: application/json",
        b"Content-Length: %d" % (len(body) if length is None else length),
        *headers,
    ]
    return get("/v1/pets", *lines, method="POST") + body


def assert_refused(answer: Answer, status: int = 400) -> None:
    assert answer.status == status
    assert b'{"error":{"code":' in answer.body
    assert answer.headers["content-type"] == "application/json"
