"""The corpus of request smuggling: raw requests, each with a second request hidden where no server may run it.

The hidden request stands in a body, after a malformed part, or after a request that ends its connection. It creates a
pet with a name that depends on the row, which names the row in messages as well.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from hashlib import blake2b

# A placeholder for an API key. It is as long as a key, because the lengths in the requests include it.
KEY = b"pets_test_" + b"0" * 49
# A placeholder for the name of the pet, as long as each name.
PET = b"n" * 16
# Size in bytes of a body that exceeds the service's limit.
TOO_LARGE = 70_000
CHUNKED = b"Transfer-Encoding: chunked"
# The paths of the outer request: one of the API on the event loop, and a page on a thread.
PATHS = ["/v1/pets", "/admin/login/"]


class Result(Enum):
    """A result that a row must have."""

    REJECTED = "400, and the end of the connection"
    SERVED = "one response, and another to the next request"
    ENDED = "one response, and the end of the connection"
    ALONE = "one response, whether or not the connection ends"
    CUT = "at most one response, because the client has left"


@dataclass(frozen=True)
class Row:
    """A raw request of the corpus."""

    result: Result
    request: bytes
    # The name of the pet that the hidden request creates.
    pet: str
    # The action of the client after the request: `half-close` or `reset`, or by default the next request.
    end: str = ""


def row(result: Result, request: bytes, end: str = "") -> Row:
    """Return a row whose hidden request creates a pet with a name of its own."""
    pet = blake2b(request + end.encode(), digest_size=len(PET) // 2).hexdigest()
    return Row(result, request.replace(PET, pet.encode()), pet, end)


def head(method: str, target: str, *lines: bytes, version: str = "HTTP/1.1") -> bytes:
    start = f"{method} {target} {version}\r\nHost: localhost\r\n".encode("latin-1")
    return start + b"".join(line + b"\r\n" for line in lines) + b"\r\n"


def length(body: bytes) -> bytes:
    return b"Content-Length: %d" % len(body)


_BODY = b'{"name":"%s"}' % PET
# The request that no row may make the service run.
HIDDEN = head("POST", "/v1/pets", b"X-API-Key: " + KEY, b"Content-Type: application/json", length(_BODY)) + _BODY


def chunked(body: bytes) -> bytes:
    return b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)


def post(result: Result, path: str, *lines: bytes, body: bytes = HIDDEN) -> Row:
    """Return a row that sends a POST with these header lines, by default with the hidden request as its body."""
    return row(result, head("POST", path, *lines) + body)


def fill(template: bytes, number: int) -> bytes:
    return template % number if b"%" in template else template


# Malformed lengths; %d stands for the length of the hidden request.
MALFORMED_LENGTHS = [
    *(b"+%d", b"-%d", b"-0", b"0x%x", b"%d.0", b"%de0", b"0_%d", b"%d 0", b"0\t%d", b'"%d"', b"%d;"),
    *(b"\0%d", b"%d\0", b"\x0b%d", b"%d\x0c", b"five", b"%d, 0", b"0, %d", b"0, 0", b"%d,", b"", b"  "),
    *("٠".encode(), b"\xb2", b"%d\xa0", b"\x85%d", b"inf", b"nan", b"-1", b"0" * 4300 + b"%d"),
]


def lengths(path: str) -> Iterator[Row]:
    """Yield signed, spaced, overflowing and otherwise malformed lengths."""
    for value in MALFORMED_LENGTHS:
        yield post(Result.REJECTED, path, b"Content-Length: " + fill(value, len(HIDDEN)))
    for power in (31, 32, 63, 64, 100):  # truncated to fewer bits, each length is 0
        result = Result.ENDED if power < 63 else Result.REJECTED
        yield post(result, path, b"Content-Length: %d" % 2**power)
    yield post(Result.SERVED, path, b"Content-Length: 000%d" % len(HIDDEN))


# Pairs of headers; a lenient server uses one or the other.
REPEATED_LENGTHS = [
    *((b"Content-Length: %d", b"Content-Length: 0"), (b"Content-Length: 0", b"Content-Length: %d")),
    *((b"Content-Length: %d", b"Content-Length: %d"), (b"Content-Length : 0", b"CONTENT-LENGTH: %d")),
    *((b"Content-Length: %d", b" Content-Length: 0"), (b"Content-Length: %d", b"Content-Length\0: 0")),
    *((b"Content-Length: %d", b"Content-Length 0"), (b"Content-Length: %d", b": 0")),
    *((b"Content-Length: %d", b"X: x\rContent-Length: 0"), (b"Content-Length: %d", b"X: x\nContent-Length: 0")),
]


def repeated_lengths(path: str) -> Iterator[Row]:
    """Yield requests with two length headers, equal or different."""
    for pair in REPEATED_LENGTHS:
        yield post(Result.REJECTED, path, *(fill(line, len(HIDDEN)) for line in pair))
    yield post(Result.SERVED, path, length(HIDDEN), b"Content_Length: 0")


CODINGS = [
    *(CHUNKED, b"transfer-encoding: CHUNKED", CHUNKED + b"\r\n" + CHUNKED, b"Transfer-Encoding : chunked"),
    *(b"Transfer-Encoding\t: chunked", b" Transfer-Encoding: chunked", b"Transfer-Encoding\0: chunked"),
    *(b"Transfer-Encoding\n: chunked", b"X: x\nTransfer-Encoding: chunked"),
    *(b"X: x\rTransfer-Encoding: chunked", b"Transfer-Encoding:\r\n chunked"),
    *(b"Transfer-Encoding: \x0bchunked", b"Transfer-Encoding: chunked\0", b"Transfer-Encoding: identity"),
    *(b"Transfer-Encoding: xchunked", b"Transfer-Encoding:", b'Transfer-Encoding: "chunked"'),
    *(b"Transfer-Encoding: chunked;q=1", b"Transfer-Encoding: chunked, identity"),
    *(b"Transfer-Encoding: chunked, chunked", b"Transfer-Encoding: gzip, chunked"),
    *(b"Transfer-Encoding: , chunked", CHUNKED + b"\r\nTransfer-Encoding: identity"),
    "Transfer-Encoding: chunKed".encode(),  # whose K is another character
]
# Valid transfer codings of a body without a length.
CHUNKED_CODINGS = [CHUNKED, b"transfer-encoding: CHUNKED", b"Transfer-Encoding: gzip, chunked"]


def codings(path: str) -> Iterator[Row]:
    """Yield transfer codings with and without a length. Read as chunks, the body ends before the hidden request."""
    body = b"0\r\n\r\n" + HIDDEN
    for line in CODINGS:
        yield post(Result.REJECTED, path, line, length(body), body=body)
        yield post(Result.REJECTED, path, length(body), line, body=body)
        if line not in CHUNKED_CODINGS:
            yield post(Result.REJECTED, path, line, body=body)
    # The length is that of the first line of the chunks.
    yield post(Result.REJECTED, path, length(b"%x\r\n" % len(HIDDEN)), CHUNKED, body=chunked(HIDDEN))
    yield post(Result.SERVED, path, length(body), b"Transfer_Encoding: chunked", body=body)


MALFORMED_CHUNKS = [
    *(b"g\r\nabc\r\n", b"0x3\r\nabc\r\n", b"+3\r\nabc\r\n", b"-3\r\nabc\r\n", b"-0\r\n\r\n"),
    *(b" 3\r\nabc\r\n", b"\r\nabc\r\n", b"0_3\r\nabc\r\n", b"3.0\r\nabc\r\n", b"3\0\r\nabc\r\n"),
    *(b"10000000000000003\r\nabc\r\n", b"0" * 40 + b"10000000000000000\r\nabc\r\n", b"3 3\r\nabc\r\n"),
    *(b"3\nabc\r\n", b"3\rabc\r\n", b"3\r\nabc\n", b"3\r\nabc\r", b"3\r\nabc"),
    *(b"0\r\nContent-Length: 5\r\n\r\n", b"0\r\nTransfer-Encoding: chunked\r\n\r\n", b"3\r\nabcd\r\n"),
    *(b"3\r\nab\r\n", b"0\n\r\n", b"0\r\r\n", b"3;a\nb\r\nabc\r\n", b"3;a\rb\r\nabc\r\n"),
    *(b"3;a\0b\r\nabc\r\n", b'3;a="\n"\r\nabc\r\n', b'3;a="\r\n0\r\n\r\n"\r\nabc\r\n'),
    *(b"0\r\nX: a\rb\r\n\r\n", b"0\r\nX: a\nY: b\r\n\r\n", b"0\r\nX: a\r\n\n", b"0\r\n\n"),
]
# %x is the size of the hidden request, %s the request. The parser does not validate trailers, but they end at the blank
# line in any case.
WELL_FORMED_CHUNKS = [
    *(b"%x\r\n%s\r\n0\r\n\r\n", b"%X\r\n%s\r\n0\r\n\r\n", b"000%x\r\n%s\r\n00\r\n\r\n"),
    *(b"%x;a=b\r\n%s\r\n0;c\r\n\r\n", b'%x;a="; \\""\r\n%s\r\n0\r\n\r\n', b"%x\r\n%s\r\n0\r\nX: x\r\n\r\n"),
    *(b"%x\r\n%s\r\n0\r\nno colon\r\n\r\n", b"%x\r\n%s\r\n0\r\nX: a\0b\r\n\r\n"),
    *(b"%x\r\n%s\r\n0\r\nX : a\r\n\r\n", b"%x\r\n%s\r\n0\r\nX: a\r\n b\r\n\r\n"),
    *(b"%x\r\n%s\r\n0\r\nX-API-Key: " + KEY + b"\r\n\r\n",),
]


def chunks(path: str) -> Iterator[Row]:
    """Yield malformed chunks before the hidden request, and well-formed chunks around it."""
    for malformed in MALFORMED_CHUNKS:
        yield post(Result.REJECTED, path, CHUNKED, body=malformed + HIDDEN)
    for template in WELL_FORMED_CHUNKS:
        yield post(Result.SERVED, path, CHUNKED, body=template % (len(HIDDEN), HIDDEN))
    # A server that ends the body at the last chunk would run its trailers.
    yield post(Result.REJECTED, path, CHUNKED, body=b"0\r\n" + HIDDEN)


# Pairs of a part of a request and its replacement.
MALFORMED_HEADS = [
    *((b" HTTP/1.1\r\n", b" HTTP/1.1\n"), (b" HTTP/1.1\r\n", b" HTTP/1.1\r")),
    *((b" HTTP/1.1\r\n", b" HTTP/1.1\r\r\n"), (b"\r\n", b"\n"), (b"\r\n", b"\r")),
    *((b"\r\n\r\n", b"\r\n\n"), (b"\r\n\r\n", b"\r\n\r\r\n"), (b"localhost\r\n", b"localhost\n")),
    *((b"localhost\r\n", b"localhost\r\n X: x\r\n"), (b"localhost\r\n", b"localhost\r\n \r\n")),
    *((b"POST", b"PO\0ST"), (b" /", b" /\0"), (b"HTTP/1.1", b"HTTP/\x001.1"), (b"Host", b"X\0: x\r\nHost")),
    *((b"Host", b"X: a\0b\r\nHost"), (b"Host", b"X: a\rb\r\nHost"), (b"Host", b"X Y: x\r\nHost")),
    *((b"Host", b": x\r\nHost"), (b"Host", b"X\r\nHost"), (b"POST", b"PO:ST"), (b"POST", b"")),
    *((b"POST", b" POST"), (b"POST", b"post"), (b"POST ", b"POST\t"), (b" /", b" x /"), (b" /", b" / ")),
    *((b"HTTP/1.1", b"HTTP/1.1 "), (b"HTTP/1.1", b"http/1.1"), (b"HTTP/1.1", b"HTTP/2.0")),
    *((b"HTTP/1.1", b"HTTP/1.10"), (b" HTTP/1.1", b""), (b"HTTP/1.1", b"ICY/1.1")),
    (b"POST", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nPOST"),
    *((b"Host", b"Host: localhost\r\nHost"), (b"Host", b"X: \x01\r\nHost")),
    *((b"POST", b"\r\n\r\nPOST"), (b"POST", b"\nPOST")),
]
UNUSUAL_HEADS = [
    *((b"POST ", b"POST  "), (b"Host", b"X"), (b"localhost", b"local host"), (b"POST", b"\r\nPOST")),
    (b"localhost", b"example.com"),
]


def heads(path: str) -> Iterator[Row]:
    """Yield malformed and unusual request lines and headers, with the hidden request as their body."""
    usual_head = head("POST", path, length(HIDDEN))
    for replaced, result in ((MALFORMED_HEADS, Result.REJECTED), (UNUSUAL_HEADS, Result.SERVED)):
        for usual, odd in replaced:
            yield row(result, usual_head.replace(usual, odd) + HIDDEN)


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


def targets() -> Iterator[Row]:
    """Yield absolute and authority forms and odd percent-encodings, with the hidden request as a body."""
    cases = [("GET", target, Result.SERVED) for target in TARGETS]
    cases += [("GET", target, Result.REJECTED) for target in MALFORMED_TARGETS]
    # After CONNECT, the connection is no longer HTTP.
    cases += [("CONNECT", target, Result.ENDED) for target in ("localhost:80", "/v1/health", "http://localhost/")]
    cases += [("OPTIONS", "*", Result.SERVED)]
    for method, target, result in cases:
        yield row(result, head(method, target, length(HIDDEN)) + HIDDEN)


def methods() -> Iterator[Row]:
    """Yield methods that rarely have a body, with the hidden request as one."""
    for method in ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"]:
        for path in ["/v1/pets", "/nowhere", "/static/backoffice/admin.css", "/ready"]:
            yield row(Result.SERVED, head(method, path, length(HIDDEN)) + HIDDEN)
            yield row(Result.SERVED, head(method, path, CHUNKED) + chunked(HIDDEN))


HTTP2 = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__"
WEBSOCKET = b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAA"
HEADERS = [
    *(b"Expect: 100-continue", b"Expect: 100-Continue", b"Upgrade: websocket", b"Upgrade: TLS/1.0", HTTP2, WEBSOCKET),
    *(b"Connection: Content-Length", b"Connection: keep-alive, Transfer-Encoding", b"Proxy-Connection: close"),
    *(b"TE: trailers", b"Trailer: Content-Length", b"X-Forwarded-Proto: https", b"X-HTTP-Method-Override: DELETE"),
    *(b"Expect: 200-ok", b"Expect: 100-continue, 100-continue", b"Expect:"),
]


def headers() -> Iterator[Row]:
    """Yield expectations, upgrades and other headers about the connection, with the hidden request as a body."""
    for line in HEADERS:
        yield post(Result.SERVED, "/v1/pets", line, length(HIDDEN))


def ended() -> Iterator[Row]:
    """Yield requests after which the connection ends, before the hidden request."""
    lines = [b"Connection: close", b"Connection: Keep-Alive, Close", b"connection: CLOSE"]
    lines += [b"Connection: close\r\nConnection: keep-alive"]
    for version, line in [*(("HTTP/1.1", line) for line in lines), ("HTTP/1.0", b"X: x")]:
        yield row(Result.ENDED, head("GET", "/v1/health", line, version=version) + HIDDEN)
    # A client of HTTP/1.0 takes no connection for kept that the response does not name so.
    for line in (b"Connection: keep-alive", b"Expect: 100-continue"):
        yield row(Result.ENDED, head("POST", "/v1/pets", line, length(HIDDEN), version="HTTP/1.0") + HIDDEN)
    chunks_of_1_0 = head("POST", "/v1/pets", b"Connection: keep-alive", CHUNKED, version="HTTP/1.0") + b"0\r\n\r\n"
    yield row(Result.REJECTED, chunks_of_1_0 + HIDDEN)


def too_large(path: str) -> Iterator[Row]:
    """Yield bodies that the service does not read to their end, with the hidden request there."""
    body = b"x" * TOO_LARGE
    yield post(Result.ALONE, path, length(body + HIDDEN), body=body + HIDDEN)
    yield post(Result.ENDED, path, CHUNKED, body=b"%x\r\n%s\r\n" % (TOO_LARGE, body) + HIDDEN)


def departures(path: str) -> Iterator[Row]:
    """Yield requests that are incomplete when their client half-closes or resets its connection."""
    in_chunks = head("POST", path, CHUNKED) + chunked(HIDDEN)
    for end in ["half-close", "reset"]:
        yield row(Result.CUT, head("GET", path, b"X: " + HIDDEN.replace(b"\r\n", b" "))[:-2], end)
        yield row(Result.CUT, head("POST", path, length(HIDDEN + b"x")) + HIDDEN, end)
        yield row(Result.CUT, in_chunks[:-8], end)
        yield row(Result.CUT, in_chunks[:-4], end)  # in the last chunk


BY_PATH = [lengths, repeated_lengths, codings, chunks, heads, too_large, departures]
FURTHER = [targets, methods, headers, ended]
CORPUS = [row for rows in BY_PATH for path in PATHS for row in rows(path)] + [row for rows in FURTHER for row in rows()]
