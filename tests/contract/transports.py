"""Send a request unchanged, either through Django's test client or over a socket to any server.

Values of the seed replace the names in braces in targets and headers, such as `{write}` and `{pet}`.
"""

import json
import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, unquote_to_bytes, urlsplit

from django.test import Client

from tests.described import assert_described

Headers = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Reply:
    """A response, independent of the transport."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        """Return the value of a header, in any letter case, and fail if the response repeats the header."""
        values = [value for known, value in self.headers if known.lower() == name.lower()]
        assert len(values) <= 1, f"{name} is there {len(values)} times"
        return values[0] if values else None

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> dict[str, str]:
        error: dict[str, str] = self.json()["error"]
        return error


@dataclass(frozen=True)
class ClientTransport:
    """A transport through Django's test client that normalises nothing in the request."""

    seed: dict[str, str] = field(repr=False)

    def send(self, method: str, target: str, headers: Headers = (), body: bytes = b"") -> Reply:
        path, _, query = target.format(**self.seed).partition("?")
        environ = {"PATH_INFO": unquote_to_bytes(path).decode("latin-1"), "QUERY_STRING": query}
        for name, value in headers:
            variable = name.upper().replace("-", "_")
            if variable not in ("CONTENT_TYPE", "CONTENT_LENGTH"):
                variable = f"HTTP_{variable}"
            value = value.format(**self.seed)
            # Servers join the values of a repeated header in this way.
            environ[variable] = f"{environ[variable]},{value}" if variable in environ else value
        response = Client(raise_request_exception=False).generic(method, "/", body, content_type="", **environ)
        fields = [*response.items(), *(("Set-Cookie", cookie.OutputString()) for cookie in response.cookies.values())]
        return Reply(response.status_code, fields, response.getvalue())


@dataclass(frozen=True)
class SocketTransport:
    """A transport to a running service, with a new connection for each request."""

    seed: dict[str, str] = field(repr=False)
    url: str

    def send(self, method: str, target: str, headers: Headers = (), body: bytes = b"", *, ends: bool = False) -> Reply:
        reply = self.send_bytes(
            as_bytes(method, target, headers, body, seed=self.seed, host=urlsplit(self.url).netloc), ends=ends
        )
        path = unquote(urlsplit(target.format(**self.seed)).path)
        assert_described(method, path, reply.status, dict(reply.headers), reply.body)
        return reply

    def send_bytes(self, request: bytes, *, ends: bool = False) -> Reply:
        """Send these bytes, then close the sending half of the connection if `ends`, and return the response."""
        address = urlsplit(self.url)
        with socket.create_connection((address.hostname, address.port), timeout=20) as connection:
            # The server may reject the request and close the connection before it has all of it.
            with suppress(OSError):
                connection.sendall(request)
                if ends:
                    connection.shutdown(socket.SHUT_WR)
            received = b"".join(iter(lambda: connection.recv(65536), b""))
        return reply_of(received)


def as_bytes(method: str, target: str, headers: Headers, body: bytes, *, seed: dict[str, str], host: str) -> bytes:
    """Return a request after whose response the connection ends, with what HTTP requires of each request."""
    lines = [f"{method} {target.format(**seed)} HTTP/1.1", "Connection: close"]
    names = [name.lower() for name, _ in headers]
    if "host" not in names:
        lines.append(f"Host: {host}")
    if body and not {"content-length", "transfer-encoding"} & set(names):
        lines.append(f"Content-Length: {len(body)}")
    lines += [f"{name}: {value.format(**seed)}" for name, value in headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def reply_of(received: bytes) -> Reply:
    """Return the only response on a connection."""
    head, _, content = received.partition(b"\r\n\r\n")
    status_line, *lines = head.decode("latin-1").split("\r\n")
    fields = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    return Reply(int(status_line.split(" ")[1]), fields, content)


Transport = ClientTransport | SocketTransport
