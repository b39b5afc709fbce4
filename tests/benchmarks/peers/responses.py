"""Check that every server gives the same responses before it is measured."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple
from uuid import uuid4

import httpx

from tests.benchmarks.peers.pets import STATUSES, Access, Pet

_UNKNOWN_KEY = "pets_test_unknown"
_UNKNOWN_PET = "/pets/00000000-0000-7000-8000-000000000000"
_DOG = {"name": "Rex", "tag": "dog"}


class Check(NamedTuple):
    """A response to a request, and the expected response."""

    request: str
    got: Any
    expected: Any


def wrong_responses(base_url: str, access: Access, pets: list[Pet], *, idempotent: bool) -> list[str]:
    """Return a line for each response that violates the API's contract. The database must contain exactly `pets`."""
    headers = {"X-API-Key": access.key}
    with httpx.Client(base_url=f"{base_url}/v1", headers=headers, trust_env=False, timeout=30) as client:
        checks = [*_reads(client, pets), *_errors(client), *_refused_keys(client, access), *_writes(client, pets)]
        if idempotent:
            checks += _repeated(client)
    return [f"{check.request}: {check.got}, not {check.expected}" for check in checks if check.got != check.expected]


def _content(response: httpx.Response) -> tuple[int, Any]:
    """Return the status and the body, or only the error code of an error because the messages differ."""
    body = response.json()
    return response.status_code, body["error"]["code"] if response.is_error else body


def _reads(client: httpx.Client, pets: list[Pet]) -> Iterator[Check]:
    everything = [pet.as_json() for pet in pets]
    expected = {
        "/health": {"status": "ok"},
        "/pets": everything[:100],
        "/pets?limit=100": everything[:100],
        "/pets?limit=3": everything[:3],
        "/pets?limit=0": [],
        "/store/inventory": _inventory(pets),
    }
    expected |= {f"/pets/{pet['id']}": pet for pet in everything[:20]}
    for path, body in expected.items():
        yield Check(f"GET {path}", _content(client.get(path)), (200, body))


def _inventory(pets: list[Pet]) -> dict[str, int]:
    return dict.fromkeys(STATUSES, 0) | Counter(pet.status for pet in pets)


def _errors(client: httpx.Client) -> Iterator[Check]:
    yield Check("GET an unknown pet", _content(client.get(_UNKNOWN_PET)), (404, "not_found"))
    for limit in ("abc", "-1"):
        yield Check(f"limit={limit}", _content(client.get(f"/pets?limit={limit}")), (400, "bad_request"))
    for body in ('{"tag": "dog"}', '{"name":', '{"name": ""}', '{"name": {}}', "[]"):
        response = client.post("/pets", content=body, headers={"Content-Type": "application/json"})
        yield Check(f"POST {body}", _content(response), (400, "bad_request"))


def _refused_keys(client: httpx.Client, access: Access) -> Iterator[Check]:
    for key in ("", _UNKNOWN_KEY, access.revoked_key):
        for method, path in (("GET", "/pets"), ("GET", _UNKNOWN_PET), ("GET", "/store/inventory"), ("POST", "/pets")):
            response = client.request(method, path, headers={"X-API-Key": key}, json=_DOG if method == "POST" else None)
            yield Check(f"{method} {path} with the key {key!r}", _content(response), (401, "unauthorized"))


def _writes(client: httpx.Client, pets: list[Pet]) -> Iterator[Check]:
    created = []
    for body in (_DOG, {"name": "Bella"}):
        status, pet = _content(client.post("/pets", json=body))
        yield Check(f"POST {body}", (status, pet), (201, {"id": pet["id"], **body}))
        yield Check("GET the new pet", _content(client.get(f"/pets/{pet['id']}")), (200, pet))
        created.append(pet)
    inventory = _inventory(pets)
    inventory["available"] += len(created)
    yield Check("GET the inventory with new pets", _content(client.get("/store/inventory")), (200, inventory))
    if len(pets) <= 900:
        yield Check("the newest pets of the list", client.get("/pets?limit=1000").json()[len(pets) :], created)


def _repeated(client: httpx.Client) -> Iterator[Check]:
    key = {"Idempotency-Key": str(uuid4())}
    first, again = (client.post("/pets", json=_DOG, headers=key) for _ in range(2))
    other = client.post("/pets", json=_DOG, headers={"Idempotency-Key": str(uuid4())})
    yield Check("POST with the same idempotency key", _content(again), (201, first.json()))
    yield Check("the header of a replay", again.headers.get("Idempotency-Replayed"), "true")
    yield Check("POST with another idempotency key is a new pet", other.json() == first.json(), False)
