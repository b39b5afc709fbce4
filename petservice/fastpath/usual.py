"""The decision which requests are usual. A request that is not recognised here goes to Django, which has all the rules.

So a mistake here makes a request slower, as long as no request is called usual that Django would read differently.
"""

import re
from collections.abc import Iterable
from enum import StrEnum, auto
from functools import lru_cache
from typing import Any, NamedTuple

from django.conf import settings
from django.http.request import split_domain_port, validate_host
from rest_framework.exceptions import ParseError

from pets.views import IDEMPOTENCY_KEY
from petservice.api.pagination import DEFAULT_LIMIT, Page
from petservice.api.parsers import MAX_BODY_BYTES, JSONParser
from petservice.api.validators import ID_PATTERN
from petservice.client_address import forwarded_scheme, shown_address
from petservice.middleware import request_id_of
from petservice.paths import HEALTH

_PETS = b"/v1/pets"
_ID_IN_PATH = re.compile(rb"%b/(%b)" % (_PETS, ID_PATTERN.encode()), re.ASCII)
# Values of limit and after that need no decoding.
_PLAIN_VALUE = re.compile(rb"[0-9a-f-]+", re.ASCII)
_LENGTH = re.compile(r"[0-9]{1,5}", re.ASCII)
_NO_PAGE = Page(DEFAULT_LIMIT, None)

# The headers that Django's views and middleware read. A request that repeats one of them is not usual.
_READ = frozenset({b"host", b"x-api-key", b"x-request-id", b"content-type", b"content-length", b"idempotency-key"})
# The headers that change how a body is read.
_UNUSUAL = frozenset({b"transfer-encoding", b"expect", b"content-encoding", b"trailer", b"upgrade"})
# The headers of proxies, of which each may add one of its own.
_FORWARDED_FOR, _FORWARDED_PROTO = b"x-forwarded-for", b"x-forwarded-proto"


class Operation(StrEnum):
    """An operation of the API. Metrics have these names."""

    HEALTH = auto()
    PET = auto()
    PETS = auto()
    INVENTORY = auto()
    CREATE = auto()


# The operations of a method and a path without a query or an id.
_OPERATIONS = {
    ("GET", HEALTH.encode()): Operation.HEALTH,
    ("GET", b"/v1/store/inventory"): Operation.INVENTORY,
    ("POST", _PETS): Operation.CREATE,
}


class UsualRequest(NamedTuple):
    """A request that the fast path may answer."""

    operation: Operation
    id: str
    # The URL without its query, and its path.
    url: str
    path: str
    # The plain API key, or None without one.
    key: str | None
    # That of the client, or None if it is unknown.
    address: str | None
    # For PET and PETS.
    pet_id: str
    page: Page
    # For CREATE.
    body_bytes: int
    idempotency_key: str | None


def usual(scope: Any) -> UsualRequest | None:
    """Return a received request in the form that the fast path takes, or None if it is not usual."""
    found = _operation(scope.method, scope.raw_path, scope.query_string)
    if found is None or (headers := _headers(scope.headers)) is None:
        return None
    operation, pet_id, page = found
    creates = operation is Operation.CREATE
    length = headers.get(b"content-length", "0")
    media_type = headers.get(b"content-type", "").partition(";")[0].strip().lower()
    if not _LENGTH.fullmatch(length) or (creates and media_type != JSONParser.media_type):
        return None
    body_bytes = int(length)
    if not (0 < body_bytes <= MAX_BODY_BYTES if creates else body_bytes == 0):
        return None
    idempotency_key = headers.get(b"idempotency-key")
    if creates and idempotency_key is not None and not IDEMPOTENCY_KEY.fullmatch(idempotency_key):
        return None
    peer = scope.client[0] if scope.client else None
    scheme, host, path = scope.scheme, headers.get(b"host", ""), scope.raw_path.decode()
    if _FORWARDED_PROTO in headers:
        meta = {"REMOTE_ADDR": peer, "HTTP_X_FORWARDED_PROTO": headers[_FORWARDED_PROTO]}
        scheme = forwarded_scheme(meta, settings.TRUSTED_PROXIES) or scheme
    # Probes may have any host, and come without TLS.
    is_served = _is_served(host, tuple(settings.ALLOWED_HOSTS)) and (scheme == "https" or not settings.REQUIRE_HTTPS)
    if not is_served and operation is not Operation.HEALTH:
        return None
    return UsualRequest(
        operation,
        request_id_of({"HTTP_X_REQUEST_ID": headers.get(b"x-request-id", "")}),
        f"{scheme}://{host}{path}",
        path,
        headers.get(b"x-api-key"),
        shown_address(peer, headers.get(_FORWARDED_FOR, "")),
        pet_id,
        page,
        body_bytes,
        idempotency_key,
    )


@lru_cache(maxsize=100)  # most requests have one of few hosts
def _is_served(host: str, allowed: tuple[str, ...]) -> bool:
    domain, _ = split_domain_port(host)  # no domain if the host is malformed, which `*` would allow
    return bool(domain) and validate_host(domain, allowed)


def _operation(method: str, path: bytes, query: bytes) -> tuple[Operation, str, Page] | None:
    """Return the operation of a request line with the id or the page that it names, or None if it is not usual."""
    if method == "GET" and path == _PETS:
        page = _page(query)
        return None if page is None else (Operation.PETS, "", page)
    if query:
        return None
    if method == "GET" and (match := _ID_IN_PATH.fullmatch(path)):
        return Operation.PET, match[1].decode(), _NO_PAGE
    operation = _OPERATIONS.get((method, path))
    return None if operation is None else (operation, "", _NO_PAGE)


def _page(query: bytes) -> Page | None:
    """Return the page that a query string names, or None if it has anything but plain values of limit and after."""
    values: dict[bytes, str] = {}
    for parameter in query.split(b"&") if query else ():
        name, _, value = parameter.partition(b"=")
        if name not in (b"limit", b"after") or not _PLAIN_VALUE.fullmatch(value):
            return None
        values[name] = value.decode()
    try:
        return Page.parse(values.get(b"limit"), values.get(b"after"))
    except ParseError:
        return None


def _headers(sent: Iterable[tuple[bytes, bytes]]) -> dict[bytes, str] | None:
    """Return the headers that Django reads, or None if one of them is repeated or the body is coded."""
    headers: dict[bytes, str] = {}
    for name, value in sent:
        if name in _READ:
            if name in headers:
                return None
            headers[name] = value.decode("latin-1")
        elif name in (_FORWARDED_FOR, _FORWARDED_PROTO):
            text = value.decode("latin-1")
            headers[name] = f"{headers[name]},{text}" if name in headers else text
        elif name in _UNUSUAL:
            return None
    return headers
