"""The complete corpus of request smuggling, including the rows that are well-formed or end their connection."""

from collections.abc import Iterator

from tests.server.smuggling import (
    CHUNKED,
    HIDDEN,
    PATHS,
    TOO_LARGE,
    Result,
    Row,
    chunked,
    chunks,
    codings,
    head,
    heads,
    length,
    lengths,
    post,
    repeated_lengths,
    row,
)

ESCAPED_REQUEST = "/v1/health%20HTTP/1.1%0d%0aHost:%20localhost%0d%0a%0d%0aGET%20/v1/pets"
TARGETS = [
    *("http://localhost/v1/health", "https://localhost:1/v1/health", "HTTP://a@b/v1/health", "http:///v1/health"),
    *("//localhost/v1/health", "ftp://localhost/"),
    *(ESCAPED_REQUEST, "/v1/health?" + ESCAPED_REQUEST, "/v1/health%0a", "/v1/pets/%00", "/v1/pets/%", "/v1/pets/%zz"),
    *("/v1/pets/%ff", "/v1/pets/%c0%af", "/v1/pets/%u0041", "/v1/pets/%2500", "/v1/%2e%2e/admin/", "/v1%2fpets"),
    *("/static/..%2f..%2fpyproject.toml", "/v1/health;x", "/v1/health#%0d%0a", "/?%0d%0aSet-Cookie:x", "/admin?%0d%0a"),
]
MALFORMED_TARGETS = [
    *("localhost:80", "v1/health", "*", "/v1/pets/\xff", "?", "#", "\\v1\\pets"),
    *("http://[", "http://[]", "http://[v]/", "http://[::1/v1/health"),
]
# Targets of CONNECT requests, after which the connection is no longer HTTP.
TUNNELS = ["localhost:80", "[::1]:80", "/v1/health", "http://localhost/"]


def targets() -> Iterator[Row]:
    """Yield absolute and authority forms and odd percent-encodings, with the hidden request as a body."""
    cases = [("GET", target, Result.SERVED) for target in TARGETS]
    cases += [("GET", target, Result.REJECTED) for target in MALFORMED_TARGETS]
    cases += [("CONNECT", target, Result.ENDED) for target in TUNNELS]
    cases += [("OPTIONS", "*", Result.SERVED)]
    for method, target, result in cases:
        name = f"{method} {target}".encode("unicode_escape").decode()
        yield row(name, result, head(method, target, length(HIDDEN)) + HIDDEN)


def methods() -> Iterator[Row]:
    """Yield methods that rarely have a body, with the hidden request as one."""
    for method in ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"]:
        for path in ["/v1/pets", "/nowhere", "/static/backoffice/admin.css", "/ready"]:
            yield row(f"{method} {path} with a length", Result.SERVED, head(method, path, length(HIDDEN)) + HIDDEN)
            yield row(f"{method} {path} with chunks", Result.SERVED, head(method, path, CHUNKED) + chunked(HIDDEN))


HTTP2 = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__"
WEBSOCKET = b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s==" % (
    b"A" * 22
)
HEADERS = [
    *(b"Expect: 100-continue", b"Expect: 100-Continue", b"Upgrade: websocket", b"Upgrade: TLS/1.0", HTTP2, WEBSOCKET),
    *(b"Connection: Content-Length", b"Connection: keep-alive, Transfer-Encoding", b"Proxy-Connection: close"),
    *(b"TE: trailers", b"Trailer: Content-Length", b"X-Forwarded-Proto: https", b"X-HTTP-Method-Override: DELETE"),
    *(b"Expect: 200-ok", b"Expect: 100-continue, 100-continue", b"Expect:"),
]


def headers() -> Iterator[Row]:
    """Yield expectations, upgrades and other headers about the connection, with the hidden request as a body."""
    for line in HEADERS:
        request = head("POST", "/v1/pets", line, length(HIDDEN))
        yield row(line.decode().encode("unicode_escape").decode(), Result.SERVED, request + HIDDEN)


def ended() -> Iterator[Row]:
    """Yield requests after which the connection ends, before the hidden request."""
    for line in [b"Connection: close", b"Connection: keep-alive, close", b"connection: CLOSE"]:
        request = head("GET", "/v1/health", line)
        yield row(f"after {line.decode()}", Result.ENDED, request + HIDDEN)
    for version, line in [("HTTP/1.0", b"X: x"), ("HTTP/1.0", b"Connection: close")]:
        request = head("GET", "/v1/health", line, version=version)
        yield row(f"after {version}, {line.decode()}", Result.ENDED, request + HIDDEN)
    for line in (b"Connection: keep-alive", b"Expect: 100-continue"):
        request = head("POST", "/v1/pets", line, length(HIDDEN), version="HTTP/1.0")
        yield row(f"HTTP/1.0, {line.decode()}", Result.ENDED, request + HIDDEN)
    request = head("POST", "/v1/pets", b"Connection: keep-alive", CHUNKED, version="HTTP/1.0") + b"0\r\n\r\n"
    yield row("HTTP/1.0 with chunks", Result.REJECTED, request + HIDDEN)


def too_large(path: str) -> Iterator[Row]:
    """Yield bodies that the service does not read to their end, with the hidden request there."""
    before = b"x" * TOO_LARGE
    body = before + HIDDEN
    yield post("too large", Result.ALONE, path, length(body), body=body)
    body = b"%x\r\n%s\r\n" % (TOO_LARGE, before) + HIDDEN
    yield post("too large in chunks", Result.ENDED, path, CHUNKED, body=body)


def departures(path: str) -> Iterator[Row]:
    """Yield requests that are incomplete when their client half-closes or resets its connection."""
    for end in ["half-close", "reset"]:
        yield row(f"{end} in a body to {path}", Result.CUT, head("POST", path, length(HIDDEN + b"x")) + HIDDEN, end)
        for left, place in [(8, "in a chunk"), (5, "before the last chunk"), (2, "before the trailers")]:
            yield row(
                f"{end} {place} to {path}", Result.CUT, head("POST", path, CHUNKED) + chunked(HIDDEN)[:-left], end
            )
        yield row(
            f"{end} in the head to {path}",
            Result.CUT,
            head("GET", path, b"X: " + HIDDEN.replace(b"\r\n", b" "))[:-2],
            end,
        )


BY_PATH = [lengths, repeated_lengths, codings, chunks, heads, too_large, departures]
FURTHER = [targets, methods, headers, ended]
CORPUS = [row for rows in BY_PATH for path in PATHS for row in rows(path)] + [row for rows in FURTHER for row in rows()]
