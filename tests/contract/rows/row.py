"""A row of the contract, and the checks that a row makes of the response's body."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.contract.transports import Headers, Reply

MAX_BODY = 64 * 1024
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")

Check = Callable[[Reply, dict[str, str]], None]


@dataclass(frozen=True)
class Row:
    """A request and the response that the contract requires."""

    id: str
    method: str
    target: str
    headers: Headers
    body: bytes
    status: int
    check: Check | None = None


WRITE: Headers = [("X-API-Key", "{write}")]
READ: Headers = [("X-API-Key", "{read}")]
TYPE = ("Content-Type", "application/json")
# Charsets that Python has and that decode no text, and parameters that the email package of Python cannot read.
ODD_TYPES = (
    *(f"text/plain; charset={name}" for name in ("rot13", "hex", "zlib", "punycode", "undefined", "idna", "nonsense")),
    *(f"text/plain; {text}" for text in ("x*=nonsense''a", "x*=undefined''%41", "x*=idna''%ff", "x*1*;x*")),
)
UNKNOWN_ID = "01890a5d-ac96-774b-bcce-b302099a8057"
CODES = {400: "bad_request", 401: "unauthorized", 403: "forbidden", 404: "not_found", 500: "internal_error"}


def key(name: str) -> Headers:
    return [("X-API-Key", "{" + name + "}")]


def get(
    id: str, target: str, status: int = 200, check: Check | None = None, headers: Headers = WRITE, method: str = "GET"
) -> Row:
    return Row(id, method, target, headers, b"", status, check)


def post(id: str, body: Any, status: int = 201, check: Check | None = None, headers: Headers | None = None) -> Row:
    """Return a row for POST /v1/pets, by default with JSON as the content type and a read-and-write key.

    A body that is not bytes is sent as JSON.
    """
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = [*WRITE, TYPE] if headers is None else headers
    return Row(id, "POST", "/v1/pets", headers, content, status, check)


# Checks of the body.


def creates(**fields: str) -> Check:
    """Return a check that the body is exactly a new pet with these fields and a generated id."""

    def check(reply: Reply, seed: dict[str, str]) -> None:
        pet = reply.json()
        assert ID.fullmatch(pet.pop("id"))
        assert pet == fields

    return check


def says(*parts: str) -> Check:
    """Return a check that the error message contains all of these parts."""

    def check(reply: Reply, seed: dict[str, str]) -> None:
        for part in parts:
            assert part in reply.error["message"]

    return check


def has_at_most(count: int) -> Check:
    """Return a check that the body is a list of at most `count` pets, and of at least two if `count` permits."""

    def check(reply: Reply, seed: dict[str, str]) -> None:
        assert min(count, 2) <= len(reply.json()) <= count

    return check


def is_rex(reply: Reply, seed: dict[str, str]) -> None:
    assert reply.json() == {"id": seed["pet"], "name": "Rex", "tag": "dog"}


def is_tom(reply: Reply, seed: dict[str, str]) -> None:
    assert reply.json() == {"id": seed["tagless"], "name": "Tom"}


def are_pets(reply: Reply, seed: dict[str, str]) -> None:
    pets = reply.json()
    assert {"id": seed["pet"], "name": "Rex", "tag": "dog"} in pets
    assert {"id": seed["tagless"], "name": "Tom"} in pets
    assert [pet["id"] for pet in pets] == sorted(pet["id"] for pet in pets)


def are_counts(reply: Reply, seed: dict[str, str]) -> None:
    counts = reply.json()
    assert sorted(counts) == ["available", "pending", "sold"]
    assert all(type(count) is int and count >= 0 for count in counts.values())
    assert counts["available"] >= 2


def is_ok(reply: Reply, seed: dict[str, str]) -> None:
    assert reply.json() == {"status": "ok"}


def is_empty(reply: Reply, seed: dict[str, str]) -> None:
    assert reply.json() == []
