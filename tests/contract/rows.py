"""The contract as a table. `{write}`, `{pet}` and the like in targets and headers are what tests.contract.seed made."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pets.fields import OPTIONAL_TEXTS
from tests.contract.transports import Headers, Reply

MAX_BODY = 64 * 1024
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")

Check = Callable[[Reply, dict[str, str]], None]


@dataclass(frozen=True)
class Row:
    """A request, and what is to be answered."""

    id: str
    method: str
    target: str
    headers: Headers
    body: bytes
    status: int
    code: str | None = None
    check: Check | None = None


WRITE: Headers = [("X-API-Key", "{write}")]
READ: Headers = [("X-API-Key", "{read}")]
TYPE = ("Content-Type", "application/json")
UNKNOWN_ID = "01890a5d-ac96-774b-bcce-b302099a8057"
CODES = {400: "bad_request", 401: "unauthorized", 403: "forbidden", 404: "not_found"}


def key(name: str) -> Headers:
    return [("X-API-Key", "{" + name + "}")]


def get(
    id: str, target: str, status: int = 200, check: Check | None = None, headers: Headers = WRITE, method: str = "GET"
) -> Row:
    return Row(id, method, target, headers, b"", status, CODES.get(status), check)


def post(
    id: str, body: bytes | dict[str, Any], status: int = 201, check: Check | None = None, headers: Headers | None = None
) -> Row:
    """POST /v1/pets, as JSON and with a key that may write unless `headers` say otherwise."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = [*WRITE, TYPE] if headers is None else headers
    return Row(id, "POST", "/v1/pets", headers, content, status, CODES.get(status), check)


# Checks of the body.


def creates(**members: str) -> Check:
    """The answer is the new pet with these members and an id of the service, and nothing else."""

    def check(reply: Reply, seed: dict[str, str]) -> None:
        pet = reply.json()
        assert ID.fullmatch(pet.pop("id"))
        assert pet == members

    return check


def says(*parts: str) -> Check:
    """The message names all of these."""

    def check(reply: Reply, seed: dict[str, str]) -> None:
        for part in parts:
            assert part in reply.error["message"]

    return check


def has_at_most(count: int) -> Check:
    """The answer is a list of pets, as many as there are (two at least) or this many."""

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


def challenges(reply: Reply, seed: dict[str, str]) -> None:
    assert "X-API-Key" in (reply.header("WWW-Authenticate") or "")
    assert not any(secret in reply.body.decode() for secret in seed.values())


EVIL_HOST = ("Host", "evil.example")

ROWS = [
    # The five operations.
    get("health", "/v1/health", check=is_ok, headers=[]),
    get("list", "/v1/pets", check=has_at_most(100)),
    get("list from the first", "/v1/pets?limit=1000", check=are_pets),
    get("list with a read-only key", "/v1/pets", check=has_at_most(100), headers=READ),
    get("pet", "/v1/pets/{pet}", check=is_rex),
    get("pet without a tag", "/v1/pets/{tagless}", check=is_tom),
    get("pet with a read-only key", "/v1/pets/{pet}", check=is_rex, headers=READ),
    get("inventory", "/v1/store/inventory", check=are_counts),
    get("inventory with a read-only key", "/v1/store/inventory", check=are_counts, headers=READ),
    get("inventory ignores parameters", "/v1/store/inventory?limit=x", check=are_counts),
    post("create", {"name": "Rex", "tag": "dog"}, check=creates(name="Rex", tag="dog")),
    post("create without a tag", {"name": "Rex"}, check=creates(name="Rex")),
    get("ready", "/ready", check=is_ok, headers=[]),
    # Order of judgement.
    get("no key, wrong path", "/v1/nope", 404, headers=[]),
    get("no key, wrong method", "/v1/pets", 404, headers=[], method="DELETE"),
    get("unknown key, wrong method", "/v1/pets", 404, headers=key("unknown"), method="DELETE"),
    get("no key, bad query", "/v1/pets?limit=x", 401, challenges, headers=[]),
    get("no key, unknown pet", f"/v1/pets/{UNKNOWN_ID}", 401, challenges, headers=[]),
    get("foreign key, bad query", "/v1/pets?limit=x", 403, headers=key("foreign")),
    get("foreign key, wrong path", "/v1/nope", 404, headers=key("foreign")),
    post("no key, bad body", b"{", 401, challenges, headers=[TYPE]),
    post("no key, bad content type", b"{", 401, challenges, headers=[("Content-Type", "text/plain")]),
    post("read-only key, bad body", b"{", 403, headers=[*READ, TYPE]),
    post("read-only key, bad content type", b"{", 403, headers=[*READ, ("Content-Type", "text/plain")]),
    post("read-only key, bad idempotency key", b"{}", 403, headers=[*READ, TYPE, ("Idempotency-Key", "é")]),
    Row("no key, wrong path, bad body", "POST", "/v1/nope", [TYPE], b"{", 404, "not_found"),
    Row("garbage with GET is not read", "GET", "/v1/pets/{pet}", WRITE, b"{", 200, None, is_rex),
    get("bad host, wrong path", "/v1/nope", 400, says("Host"), headers=[EVIL_HOST]),
    get("bad host, no key", "/v1/pets", 400, says("Host"), headers=[EVIL_HOST]),
    # Keys.
    get("no key", "/v1/pets", 401, challenges, headers=[]),
    get("empty key", "/v1/pets", 401, challenges, headers=[("X-API-Key", "")]),
    get("malformed key", "/v1/pets", 401, challenges, headers=[("X-API-Key", "guess")]),
    get("key that is not ASCII", "/v1/pets", 401, challenges, headers=[("X-API-Key", "clé")]),
    get("key of 4000 characters", "/v1/pets", 401, challenges, headers=[("X-API-Key", "k" * 4000)]),
    get("mistyped key", "/v1/pets", 401, challenges, headers=key("mistyped")),
    get("unknown key", "/v1/pets", 401, challenges, headers=key("unknown")),
    get("expired key", "/v1/pets", 401, challenges, headers=key("expired")),
    get("expired key is named as such", "/v1/pets", 401, says("expired"), headers=key("expired")),
    get("revoked key", "/v1/pets", 401, challenges, headers=key("revoked")),
    get("revoked key is named as such", "/v1/pets", 401, says("revoked"), headers=key("revoked")),
    get("foreign key", "/v1/pets", 403, says("live", "test"), headers=key("foreign")),
    get("the same key twice", "/v1/pets", 401, challenges, headers=[*WRITE, *WRITE]),
    get("two keys", "/v1/pets", 401, challenges, headers=[*WRITE, *READ]),
    get("key in another header", "/v1/pets", 401, challenges, headers=[("Authorization", "Bearer {write}")]),
    get("key in the query", "/v1/pets?X-API-Key={write}", 401, challenges, headers=[]),
    get("header in lower case", "/v1/pets", headers=[("x-api-key", "{write}")]),
    get("header in upper case", "/v1/pets", headers=[("X-API-KEY", "{write}")]),
    post("read-only key cannot write", {"name": "Rex"}, 403, says("read"), headers=[*READ, TYPE]),
    get("health with a bad key", "/v1/health", check=is_ok, headers=[("X-API-Key", "guess")]),
    # Hosts.
    get("bad host", "/v1/pets", 400, says("Host"), headers=[*WRITE, EVIL_HOST]),
    get("malformed host", "/v1/pets", 400, headers=[*WRITE, ("Host", "a b")]),
    get("bad host, health", "/v1/health", check=is_ok, headers=[EVIL_HOST]),
    get("bad host, ready", "/ready", check=is_ok, headers=[EVIL_HOST]),
    get("malformed host, health", "/v1/health", check=is_ok, headers=[("Host", "_")]),
    get("malformed host, ready", "/ready", check=is_ok, headers=[("Host", "_")]),
    # Accept.
    *(
        get(f"accept {kind}, {target}", target, status, headers=[*WRITE, ("Accept", kind)])
        for kind in ("text/html", "application/xml", "image/png;q=1", "nonsense", "")
        for target, status in [("/v1/pets", 200), ("/v1/health", 200), ("/v1/nope", 404), ("/v1/pets?limit=x", 400)]
    ),
    get("no other format", "/v1/pets?format=html", check=has_at_most(100)),
]

# Paths where there is nothing.
ROWS += [
    get(f"nothing at {path[:60]!r}, {who} key", path, 404, headers=headers)
    for path in (
        *("/v1", "/v1/", "/v1/nope", "/v1/pets/", "//v1/pets", "/v1//pets", "/V1/pets", "/v1/Pets", "/v2/pets"),
        *("/v1/pets.json", "/v1/pets;x=1", "/v1/pets%2F", "/v1/./pets", "/v1/x/../pets", "/v1/pets/{pet}/"),
        *("/v1/pets/{pet}/owner", "/v1/store", "/v1/store/", "/v1/store/inventory/", "/v1/store/nope", "/v1/health/"),
        *("/v1/docs", "/v1/openapi.json", "/v1/ready", "/health", "/pets", "/v1/%FF", "/ready/"),
    )
    for who, headers in [("with a", WRITE), ("without a", [])]
]

# Ids that no pet has.
ROWS += [
    get(f"pet {name}", f"/v1/pets/{text}", 404, headers=headers)
    for name, text in [
        ("unknown", UNKNOWN_ID),
        ("in upper case", UNKNOWN_ID.upper()),
        ("without hyphens", UNKNOWN_ID.replace("-", "")),
        ("in braces", "%7B" + UNKNOWN_ID + "%7D"),
        ("as a URN", f"urn:uuid:{UNKNOWN_ID}"),
        ("zero", "0"),
        ("one", "1"),
        ("minus one", "-1"),
        ("of letters", "rex"),
        ("NUL", "%00"),
        ("with a NUL", "{pet}%00"),
        ("with a line feed", "{pet}%0A"),
        ("with a blank", "{pet}%20"),
        ("with a blank in front", "%20{pet}"),
        ("with a format", "{pet}.json"),
        ("with a wildcard", "{pet}%25"),
        ("in other digits", "%D9%A1" * 8),
        ("of Unicode", "%F0%9F%90%95"),
        ("of bytes that are not UTF-8", "%FF%FE"),
        ("of 1000 characters", "x" * 1000),
        ("with SQL", "'%20OR%201=1--"),
    ]
    for headers in [READ]
]

# Methods: everything but the contract's is a wrong one, with or without a key.
_OPERATIONS = {
    "/v1/pets": ("GET", "HEAD", "POST"),
    "/v1/pets/{pet}": ("GET", "HEAD"),
    f"/v1/pets/{UNKNOWN_ID}": ("GET", "HEAD"),
    "/v1/store/inventory": ("GET", "HEAD"),
    "/v1/health": ("GET", "HEAD"),
    "/ready": ("GET", "HEAD"),
    "/openapi.json": ("GET", "HEAD"),
    "/v1/nope": (),
}
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW", "PROPFIND", "M-SEARCH")
ROWS += [
    get(f"{method} {path}, {who} key", path, 404, headers=headers, method=method)
    for path, known in _OPERATIONS.items()
    for method in _METHODS
    if method not in known
    for who, headers in [("with a", WRITE), ("without a", [])]
]
ROWS += [
    Row("POST with a body to a pet", "POST", "/v1/pets/{pet}", [*WRITE, TYPE], b'{"name":"Rex"}', 404, "not_found"),
    Row(
        "method override", "POST", "/v1/pets/{pet}", [*WRITE, ("X-HTTP-Method-Override", "GET")], b"", 404, "not_found"
    ),
]

# HEAD is GET without the body.
ROWS += [
    get(f"HEAD {target[:40]}, {status}", target, status, headers=headers, method="HEAD")
    for target, status, headers in [
        ("/v1/health", 200, []),
        ("/ready", 200, []),
        ("/v1/pets", 200, WRITE),
        ("/v1/pets?limit=1", 200, READ),
        ("/v1/pets?limit=x", 400, WRITE),
        ("/v1/pets/{pet}", 200, WRITE),
        (f"/v1/pets/{UNKNOWN_ID}", 404, WRITE),
        ("/v1/store/inventory", 200, WRITE),
        ("/v1/store/inventory", 401, []),
        ("/v1/pets", 403, key("foreign")),
    ]
]

# limit and after.
ROWS += [
    get("limit 0", "/v1/pets?limit=0", check=is_empty),
    get("limit 00", "/v1/pets?limit=00", check=is_empty),
    get("limit 1", "/v1/pets?limit=1", check=has_at_most(1)),
    get("limit 1000", "/v1/pets?limit=1000", check=has_at_most(1000)),
    get("limit 1001", "/v1/pets?limit=1001", check=has_at_most(1000)),
    get("limit of 4000 digits", "/v1/pets?limit=" + "9" * 4000, check=has_at_most(1000)),
    get("limit of zeros and 1", "/v1/pets?limit=" + "0" * 3000 + "1", check=has_at_most(1)),
    get("limit 007", "/v1/pets?limit=007", check=has_at_most(7)),
    get("repeated limit, good last", "/v1/pets?limit=x&limit=1", check=has_at_most(1)),
    get("repeated limit, bad last", "/v1/pets?limit=1&limit=x", 400, says("limit")),
    get("unknown parameter", "/v1/pets?limit=1&color=red", check=has_at_most(1)),
    get("unknown parameter alone", "/v1/pets?page=x&offset=-1&Limit=x", check=has_at_most(100)),
    get("after the last", "/v1/pets?after=ffffffff-ffff-7fff-bfff-ffffffffffff", check=is_empty),
    get("after an unknown id", "/v1/pets?limit=1&after=00000000-0000-7000-8000-000000000000", check=has_at_most(1)),
    get("bad after, limit 0", "/v1/pets?limit=0&after=x", 400, says("after")),
    *(
        get(f"limit {name}", f"/v1/pets?limit={text}", 400, says("limit"))
        for name, text in {
            "minus one": "-1",
            "minus zero": "-0",
            "plus one": "%2B1",
            "blank one": "+1",
            "one blank": "1%20",
            "one line feed": "1%0A",
            "decimal": "1.5",
            "whole decimal": "1.0",
            "exponent": "1e2",
            "hexadecimal": "0x10",
            "underscore": "1_000",
            "empty": "",
            "letters": "abc",
            "Arabic digits": "%D9%A1%D9%A2",
            "superscript": "%C2%B2",
            "NUL": "%00",
            "not UTF-8": "%FF",
            "null": "null",
            "list": "1,2",
        }.items()
    ),
    get("limit without a value", "/v1/pets?limit", 400, says("limit")),
    *(
        get(f"after {name}", f"/v1/pets?after={text}", 400, says("after"))
        for name, text in {
            "empty": "",
            "letters": "abc",
            "number": "1",
            "in upper case": UNKNOWN_ID.upper(),
            "with a line feed": UNKNOWN_ID + "%0A",
            "with a NUL": UNKNOWN_ID + "%00",
            "without hyphens": UNKNOWN_ID.replace("-", ""),
            "not UTF-8": "%FF",
        }.items()
    ),
]


# Bodies.


def padded(size: int) -> bytes:
    """A good body of this many bytes."""
    frame = b'{"name":"Rex","note":"%s"}'
    return frame % (b"x" * (size - len(frame) + 2))


DEEP = b"[" * 5000 + b"]" * 5000

ROWS += [
    post("64 KiB", padded(MAX_BODY), check=creates(name="Rex")),
    post("64 KiB and a byte", padded(MAX_BODY + 1), 400, says("65536")),
    post("a megabyte", padded(2**20), 400, says("65536")),
    *(
        post(f"body {name}", body, 400)
        for name, body in {
            "empty": b"",
            "not JSON": b"name=Rex",
            "cut off": b'{"name":"Rex"',
            "trailing garbage": b'{"name":"Rex"}x',
            "two objects": b'{"name":"Rex"}{"name":"Rex"}',
            "trailing comma": b'{"name":"Rex",}',
            "single quotes": b"{'name':'Rex'}",
            "comment": b'{"name":"Rex"} // a dog',
            "NaN": b'{"name":"Rex","x":NaN}',
            "Infinity": b'{"name":"Rex","x":Infinity}',
            "byte order mark": b'\xef\xbb\xbf{"name":"Rex"}',
            "not UTF-8": b'{"name":"R\xe9x"}',
            "UTF-16": '{"name":"Rex"}'.encode("utf-16"),
            "surrogate in UTF-8": b'{"name":"\xed\xa0\x80"}',
            "5000 deep": DEEP,
            "5000 deep in a member": b'{"name":"Rex","x":' + DEEP + b"}",
            "array": b"[]",
            "array of a pet": b'[{"name":"Rex"}]',
            "string": b'"Rex"',
            "number": b"5",
            "null": b"null",
            "true": b"true",
            "NUL": b"\0",
            "raw line feed in a string": b'{"name":"R\nx"}',
            "lone surrogate": b'{"name":"\\ud800"}',
            "lone surrogate in the tag": b'{"name":"Rex","tag":"a\\udc00"}',
        }.items()
    ),
    post("blanks around the object", b' \r\n\t{"name":"Rex"}\n', check=creates(name="Rex")),
    post("duplicate members", b'{"name":"Tom","name":"Rex"}', check=creates(name="Rex")),
    post("escapes", b'{"n\\u0061me":"\\u00e9\\ud83d\\udc15"}', check=creates(name="é🐕")),
    post("huge number in an ignored member", b'{"name":"Rex","x":1e999}', 400),
]

# Content types.
ROWS += [
    post("no content type", b'{"name":"Rex"}', 400, says("Content-Type"), headers=WRITE),
    post("no content type and no body", b"", 400, headers=WRITE),
    *(
        post(f"type {kind!r}", b'{"name":"Rex"}', 400, says("Content-Type"), headers=[*WRITE, ("Content-Type", kind)])
        for kind in (
            *("", "text/plain", "application/xml", "application/jsonx", "application/*", "*/*", "json", "text/json"),
            *("application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "multipart/form-data"),
        )
    ),
    *(
        post(f"type {kind!r}", b'{"name":"Rex"}', 201, creates(name="Rex"), headers=[*WRITE, ("Content-Type", kind)])
        for kind in (
            *("application/json; charset=utf-8", "application/json;charset=UTF-8", "APPLICATION/JSON"),
            *("Application/Json ; x=y", "application/json;"),
        )
    ),
]

TEXTS = ("name", *OPTIONAL_TEXTS)
ROWS += [
    post("name missing", {"tag": "dog"}, 400, says("name")),
    post("empty object", {}, 400, says("name")),
    post("name in another case", {"Name": "Rex"}, 400, says("name")),
    *(
        post(f"{member} {name}", {"name": "Rex"} | {member: value}, 400, says(member))
        for member in TEXTS
        for name, value in [
            ("null", None),
            ("number", 5),
            ("decimal", 1.5),
            ("true", True),
            ("false", False),
            ("list", ["Rex"]),
            ("object", {"x": "Rex"}),
            ("empty", ""),
            ("blank", "  "),
            ("tab and line feed", "\t\n"),
            ("Unicode blank", "\u3000\u00a0"),
            ("blank to Python only", "\u001c\u0085"),
            ("blank to JSON Schema only", "\ufeff \ufeff"),
            ("NUL", "R\0x"),
            ("NUL alone", "\0"),
            ("of 256 characters", "x" * 256),
            ("of 256 emoji", "🐕" * 256),
            ("of 255 characters and a blank", "x" * 255 + " "),
        ]
    ),
    *(
        post(f"kept: {name}", dict.fromkeys(TEXTS, text), check=creates(**dict.fromkeys(TEXTS, text)))
        for name, text in [
            ("one character", "x"),
            ("255 characters", "x" * 255),
            ("255 emoji", "🐕" * 255),
            ("blanks around", "  Rex \t\n"),
            ("combining characters", "e\u0301"),
            ("right to left", "\u202eRex"),
            ("control character", "a\u0001b"),
            ("not a character", "\uffff"),
            ("markup", "<b>&amp;</b>"),
            ("digits", "5"),
        ]
    ),
    post("client's id is ignored", {"id": UNKNOWN_ID, "name": "Rex"}, check=creates(name="Rex")),
    post("client's status is ignored", {"status": "sold", "name": "Rex"}, check=creates(name="Rex")),
    post("unknown members are ignored", {"name": "Rex", "x": [1], "": None}, check=creates(name="Rex")),
]
