"""Rows for plain requests, the order of errors, keys, hosts and Accept."""

from tests.contract.rows.row import (
    READ,
    TYPE,
    UNKNOWN_ID,
    WRITE,
    Row,
    are_counts,
    are_pets,
    creates,
    get,
    has_at_most,
    is_ok,
    is_rex,
    is_tom,
    key,
    post,
    says,
)
from tests.contract.transports import Reply

ONCE = [*WRITE, TYPE, ("Idempotency-Key", "a,b")]
EVIL_HOST = ("Host", "evil.example")


def is_unknown(reply: Reply, seed: dict[str, str]) -> None:
    assert reply.error["message"] == "Unknown API key. Check that you copied the complete key."


ROWS = [
    # The five operations.
    get("health", "/v1/health", check=is_ok, headers=[]),
    get("list", "/v1/pets", check=has_at_most(100)),
    get("list from the first", "/v1/pets?limit=1000", check=are_pets),
    get("list with a read-only key", "/v1/pets", check=has_at_most(100), headers=READ),
    get("pet", "/v1/pets/{pet}", check=is_rex),
    get("pet without a tag", "/v1/pets/{tagless}", check=is_tom),
    get("inventory", "/v1/store/inventory", check=are_counts),
    get("inventory ignores parameters", "/v1/store/inventory?limit=x", check=are_counts),
    post("create", {"name": "Rex", "tag": "dog"}, check=creates(name="Rex", tag="dog")),
    post("create once, by a key with a comma", {"name": "Rex"}, check=creates(name="Rex"), headers=ONCE),
    get("ready", "/ready", check=is_ok, headers=[]),
    # The order of checks.
    get("unknown key, wrong method", "/v1/pets", 404, headers=key("unknown"), method="DELETE"),
    get("no key, bad query", "/v1/pets?limit=x", 401, headers=[]),
    get("no key, unknown pet", f"/v1/pets/{UNKNOWN_ID}", 401, headers=[]),
    get("foreign key, bad query", "/v1/pets?limit=x", 403, headers=key("foreign")),
    post("no key, bad body", b"{", 401, headers=[TYPE]),
    post("no key, bad content type", b"{", 401, headers=[("Content-Type", "text/plain")]),
    post("read-only key, bad body", b"{", 403, headers=[*READ, TYPE]),
    post("read-only key, bad content type", b"{", 403, headers=[*READ, ("Content-Type", "text/plain")]),
    post("read-only key, bad idempotency key", b"{}", 403, headers=[*READ, TYPE, ("Idempotency-Key", "é")]),
    Row("no key, wrong path, bad body", "POST", "/v1/nope", [TYPE], b"{", 404),
    get("empty idempotency key with GET is not read", "/v1/pets", headers=[*WRITE, ("Idempotency-Key", "")]),
    Row("garbage with GET is not read", "GET", "/v1/pets/{pet}", WRITE, b"{", 200, is_rex),
    get("bad host, wrong path", "/v1/nope", 400, says("Host"), headers=[EVIL_HOST]),
    get("bad host, no key", "/v1/pets", 400, says("Host"), headers=[EVIL_HOST]),
    # Keys.
    get("no key", "/v1/pets", 401, headers=[]),
    # None of these shows which keys exist.
    *(
        get(f"key {text[:20]!r}", "/v1/pets", 401, is_unknown, [("X-API-Key", text)])
        for text in ("", "guess", "clé", "k" * 4000, "pets_test_" + "é" * 49, "{mistyped}", "{unknown}", "{write}x")
    ),
    get("expired key", "/v1/pets", 401, says("expired"), headers=key("expired")),
    get("revoked key", "/v1/pets", 401, says("revoked"), headers=key("revoked")),
    *(get(f"{one} key", "/v1/pets", 403, says("live", "test"), key(one)) for one in ("foreign", "unknown foreign")),
    get("two keys", "/v1/pets", 401, headers=[*WRITE, *READ]),
    get("key in another header", "/v1/pets", 401, headers=[("Authorization", "Bearer {write}")]),
    get("key in the query", "/v1/pets?X-API-Key={write}", 401, headers=[]),
    get("header in lower case", "/v1/pets", headers=[("x-api-key", "{write}")]),
    post("read-only key cannot write", {"name": "Rex"}, 403, says("read"), headers=[*READ, TYPE]),
    get("health with a bad key", "/v1/health", check=is_ok, headers=[("X-API-Key", "guess")]),
    # Hosts.
    get("malformed host", "/v1/pets", 400, headers=[*WRITE, ("Host", "a b")]),
    get("bad host, health", "/v1/health", check=is_ok, headers=[EVIL_HOST]),
    get("bad host, ready", "/ready", check=is_ok, headers=[EVIL_HOST]),
    get("malformed host, health", "/v1/health", check=is_ok, headers=[("Host", "_")]),
    # Accept.
    *(
        get(f"accept {kind}, {target}", target, status, headers=[*WRITE, ("Accept", kind)])
        for kind in ("text/html", "application/xml", "image/png;q=1", "nonsense", "")
        for target, status in [("/v1/pets", 200), ("/v1/health", 200), ("/v1/nope", 404), ("/v1/pets?limit=x", 400)]
    ),
    get("no other format", "/v1/pets?format=html", check=has_at_most(100)),
]
