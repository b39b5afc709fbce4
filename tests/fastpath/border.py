"""Hypothesis strategies for requests near the border of *usual*: some are usual, and some miss it by a part or two."""

import json
from typing import NamedTuple

from hypothesis import strategies as st

from tests.contract.rows.row import UNKNOWN_ID
from tests.contract.seed import KINDS


class Request(NamedTuple):
    """A request, in which `{write}` and other names in braces stand for keys, and `{pet}` for the id of a pet."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    # The places at which the bytes of the request are cut and sent one after the other.
    cuts: tuple[int, ...]


LIMIT = st.sampled_from(
    ["", "0", "1", "2", "007", "1000", "1001", "9" * 30, "-1", "+1", "1.0", "1e1", "x", "%31", "1%20", "١", "0x1"]
)
AFTER = st.sampled_from(
    [
        *("{pet}", "{tagless}", UNKNOWN_ID, UNKNOWN_ID.upper(), "0" * 8 + "-0000-0000-0000-" + "0" * 12),
        *("f" * 8 + "-ffff-ffff-ffff-" + "f" * 12, "", "x", UNKNOWN_ID[:-1], "%30" + UNKNOWN_ID[1:], "{pet}%0a"),
    ]
)
PARAMETER = st.one_of(
    LIMIT.map(lambda value: f"limit={value}"),
    AFTER.map(lambda value: f"after={value}"),
    st.sampled_from(
        ["Limit=1", "limit", "x=1", "", "limit=1#", "after[]=x", "limit=1;after=x", "l%69mit=1", "+limit=1"]
    ),
)
QUERY = st.lists(PARAMETER, max_size=3).map("&".join)
PATH = st.sampled_from(
    [
        *["/v1/pets", "/v1/pets/{pet}", "/v1/pets/{tagless}", f"/v1/pets/{UNKNOWN_ID}", "/v1/store/inventory"] * 3,
        *("/v1/health", "/v1/pets/", "/v1/pets/{pet}/", "/v1/pets/x", f"/v1/pets/{UNKNOWN_ID.upper()}", "//v1/pets"),
        *("/v1/%70ets", "/v1/pets/{pet}%20", "/v1/store", "/V1/pets", "/v1/pets/%FF", "/v1/pets;x", "/v1/./pets"),
    ]
)
KEY = st.sampled_from(
    [*["{write}"] * 6, *(f"{{{kind}}}" for kind in KINDS), "", "x", "é", "{write},{write}", "{write}x"]
)
KEYS = st.one_of(
    *[KEY.map(lambda key: [("X-API-Key", key)])] * 8,
    st.just([]),
    KEY.map(lambda key: [("x-api-KEY", key)]),
    st.tuples(KEY, KEY).map(lambda keys: [("X-API-Key", keys[0]), ("X-API-Key", keys[1])]),
    KEY.map(lambda key: [("X_API_Key", key)]),
)
OTHERS: tuple[tuple[str, str], ...] = (
    *(("X-Request-ID", "a.b"), ("X-Request-ID", "a b"), ("X-Request-ID", ""), ("Accept", "text/html")),
    *(("X-Forwarded-For", "192.0.2.7"), ("X-Forwarded-For", "unknown"), ("X-Forwarded-Proto", "https")),
    *(("Cookie", "sessionid=x"), ("Accept-Encoding", "gzip"), ("Range", "bytes=0-1"), ("If-None-Match", "*")),
    *(("Host", "example.com"), ("Host", "localhost"), ("Host", "127.0.0.1:1"), ("Host", "LOCALHOST.")),
    *(("Host", ""), ("Host", "a b"), ("Host", "x/y"), ("Host", "[::1"), ("Host", "localhost:99999")),
    *(("Idempotency-Key", "{new}"), ("Idempotency-Key", "{new}"), ("Idempotency-Key", "used")),
    *(("Idempotency-Key", ""), ("Idempotency-Key", "é"), ("Idempotency-Key", "x" * 256)),
    *(("Content-Encoding", "gzip"), ("Expect", "100-continue"), ("Connection", "keep-alive")),
    *(("X-HTTP-Method-Override", "DELETE"), ("Content-Type", "text/plain; charset=utf-16")),
)
OTHER_HEADERS = st.lists(st.sampled_from(OTHERS), max_size=2)
TYPES = (
    *("application/json", "application/json; charset=utf-8", "APPLICATION/JSON", "application/json;charset=latin-1"),
    *("application/json, application/json", "application/x-www-form-urlencoded", "", "application/json;", "text/json"),
)
TYPE = st.sampled_from(TYPES)
TEXT = st.one_of(
    st.sampled_from(["Rex", " Rex ", "", " ", "\x00", "x" * 255, "x" * 256, "\ud800", "\u0085", "é" * 255, "😀" * 255]),
    st.text(max_size=8),
    st.sampled_from([5, True, None, ["Rex"], {}]),
)
OBJECT = st.dictionaries(st.sampled_from(["name", "tag", "id", "status", "Name", "x"]), TEXT, max_size=4)
BODY = st.one_of(
    *[OBJECT.map(lambda sent: json.dumps({"name": "Rex"} | sent).encode())] * 4,
    OBJECT.map(lambda sent: json.dumps(sent).encode()),
    st.sampled_from(
        [
            *(
                b"",
                b"{}",
                b"[]",
                b"null",
                b'"Rex"',
                b'{"name": "Rex"',
                b'{"name": "Rex"}x',
                b'\xef\xbb\xbf{"name": "R"}',
            ),
            *(b'{"name": NaN}', b'{"name": "\xff"}', b'{"name": "a", "name": "b"}', b"[" * 2000, b'{"name":"Rex"} \n'),
            *(b'{"name": "Rex"}'.ljust(64 * 1024), b'{"name": "Rex"}'.ljust(64 * 1024 + 1)),
        ]
    ),
)


# The parts of a request that may make it unusual.
PARTS = ("method", "target", "keys", "headers", "type", "body", "framing")
WRITE = ("X-API-Key", "{write}")
USUAL_TARGETS = ("/v1/pets", "/v1/pets?limit=1", "/v1/pets/{pet}", f"/v1/pets/{UNKNOWN_ID}", "/v1/store/inventory")


@st.composite
def requests(draw: st.DrawFn) -> Request:
    """Draw a request that is usual but for at most two parts."""
    odd = draw(st.sets(st.sampled_from(PARTS), max_size=2))
    creates = draw(st.booleans())
    headers = [*(draw(KEYS) if "keys" in odd else [WRITE]), *(draw(OTHER_HEADERS) if "headers" in odd else [])]
    target, body = (
        ("/v1/pets", b'{"name": "Rex", "tag": "dog"}') if creates else (draw(st.sampled_from(USUAL_TARGETS)), b"")
    )
    if "target" in odd:
        query = draw(QUERY)
        target = draw(PATH) + (f"?{query}" if query else "")
    if "body" in odd:
        body = draw(BODY)
    if creates or "type" in odd:
        headers.append(("Content-Type", draw(TYPE) if "type" in odd else "application/json"))
    chunked = "framing" in odd and draw(st.booleans())
    if chunked:
        headers.append(("Transfer-Encoding", "chunked"))
        body = (b"%x\r\n%s\r\n" % (len(body), body) if body else b"") + b"0\r\n\r\n"
    elif body or "framing" in odd:
        headers.append(("Content-Length", str(len(body))))
    method = "POST" if creates else "GET"
    if "method" in odd:
        method = draw(st.sampled_from(["GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "get"]))
    cuts = draw(st.lists(st.integers(1, 400), max_size=2).map(sorted)) if "framing" in odd else []
    return Request(method, target, tuple(draw(st.permutations(headers))), body, tuple(cuts))


def each_part() -> list[Request]:
    """Return usual requests with a key of each kind, and requests with each other header and each type of a body."""
    content = b'{"name": "Rex"}'
    length = ("Content-Length", str(len(content)))
    json_type = ("Content-Type", "application/json")
    keys = [("X-API-Key", f"{{{kind}}}") for kind in KINDS]
    return [
        *(Request("GET", target, (key,), b"", ()) for target in USUAL_TARGETS for key in keys),
        *(Request("POST", "/v1/pets", (key, json_type, length), content, ()) for key in keys),
        *(Request("POST", "/v1/pets", (WRITE, ("Content-Type", one), length), content, ()) for one in TYPES),
        *(Request("POST", "/v1/pets", (WRITE, json_type, length, one), content, ()) for one in OTHERS),
        *(Request("GET", "/v1/pets/{pet}", (WRITE, one), b"", ()) for one in OTHERS),
    ]
