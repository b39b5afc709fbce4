"""Requests of every kind, and the entry of each in the access log and the metrics."""

import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from tests.monitoring.observed import Observed, Seen
from tests.server.connections import Client, get, post
from tests.waiting import wait_until

PET = b'{"name": "Rex"}'


def line_of(observed: Observed, *parts: bytes) -> dict[str, object]:
    """Send one request, and return its line in the access log."""
    with Client(observed.service) as client:
        request_id = client.response_to(*parts, to_head=parts[0].startswith(b"HEAD")).header("X-Request-ID")

    def found() -> list[dict[str, object]]:
        return [line for line in observed.requests() if line["request_id"] == request_id]

    wait_until(found)
    (line,) = found()
    return line


def requests(key: str) -> dict[str, tuple[bytes, tuple[str, str, int]]]:
    """Return one request of each kind, with its method, route and status in the log and the metrics."""
    header = f"X-API-Key: {key}".encode()
    chunked = b"Transfer-Encoding: chunked"
    some_id = uuid.UUID(int=7)
    return {
        "health": (get("/v1/health"), ("GET", "/v1/health", 200)),
        "health by HEAD": (get("/v1/health", method="HEAD"), ("HEAD", "/v1/health", 200)),
        "list": (get("/v1/pets", header), ("GET", "/v1/pets", 200)),
        "bad query": (get("/v1/pets?limit=x", header), ("GET", "/v1/pets", 400)),
        "no pet": (get(f"/v1/pets/{some_id}", header), ("GET", "/v1/pets/{petId}", 404)),
        "inventory": (get("/v1/store/inventory", header), ("GET", "/v1/store/inventory", 200)),
        "create": (post(key, PET), ("POST", "/v1/pets", 201)),
        "create once": (post(key, PET, f"Idempotency-Key: {uuid.uuid4()}".encode()), ("POST", "/v1/pets", 201)),
        "no key": (get("/v1/pets"), ("GET", "/v1/pets", 401)),
        "unknown path": (get("/v1/dogs", header), ("GET", "no_route", 404)),
        "wrong method": (get("/v1/pets", header, method="DELETE"), ("DELETE", "/v1/pets", 404)),
        "unknown method": (get("/v1/pets", header, method="BREW"), ("other", "/v1/pets", 404)),
        "foreign host": (b"GET /v1/pets HTTP/1.1\r\nHost: example.com\r\n\r\n", ("GET", "no_route", 400)),
        "ready": (get("/ready"), ("GET", "/ready", 200)),
        "home page": (get("/"), ("GET", "/", 200)),
        "admin": (get("/admin/pets/pet/7/change/"), ("GET", "/admin/pets/pet/{object_id}/change/", 302)),
        "login": (get("/admin/login/"), ("GET", "/admin/login/", 200)),
        "static file": (get("/static/backoffice/admin.css"), ("GET", "/static/", 200)),
        "no HTTP": (b"HELO\r\n\r\n", ("other", "invalid_request", 400)),
        "long path": (get("/" + "x" * 9000), ("other", "invalid_request", 400)),
        "bad chunk": (get("/v1/pets", header, chunked, method="POST") + b"zz\r\n", ("other", "invalid_request", 400)),
    }


KINDS = list(requests("x" * 59))


def send(observed: Observed, kinds: list[str]) -> Counter[Seen]:
    """Send a request of each of these kinds, and return the expected entries.

    Four connections at a time spread the requests over the workers.
    """

    def send_one(kind: str) -> Seen:
        parts, seen = requests(observed.key)[kind]
        with Client(observed.service) as client:
            client.response_to(parts, to_head=parts.startswith(b"HEAD"))
        return seen

    with ThreadPoolExecutor(4) as pool:
        return Counter(pool.map(send_one, kinds))
