"""Requests near the border of *usual*: those of the contract, and usual ones with a part or two of others."""

from dataclasses import replace
from itertools import pairwise

from hypothesis import strategies as st

from tests.contract.rows import ROWS, lists
from tests.contract.rows.row import UNKNOWN_ID, Row, get, key, post
from tests.contract.seed import KINDS
from tests.contract.test_table import CHUNKED, chunked

# What a request can have beside its key and its content type.
OTHERS: tuple[tuple[str, str], ...] = (
    *(("X-Request-ID", "a.b"), ("X-Request-ID", "a b"), ("X-Request-ID", ""), ("Accept", "text/html")),
    *(("X-Forwarded-For", "192.0.2.7"), ("X-Forwarded-For", "127.0.0.1"), ("X-Forwarded-For", "unknown")),
    *(("X-Forwarded-Proto", "http"), ("X-Forwarded-Proto", "HTTPS")),
    *(("Cookie", "sessionid=x"), ("Accept-Encoding", "gzip"), ("Range", "bytes=0-1"), ("If-None-Match", "*")),
    *(("Host", "example.com"), ("Host", "localhost"), ("Host", "127.0.0.1:1"), ("Host", "LOCALHOST.")),
    *(("Host", ""), ("Host", "a b"), ("Host", "x/y"), ("Host", "[::1"), ("Host", "localhost:99999")),
    *(("Idempotency-Key", "{new}"), ("Idempotency-Key", "{new},"), ("Idempotency-Key", "used")),
    *(("Idempotency-Key", ""), ("Idempotency-Key", "é"), ("Idempotency-Key", "x" * 256)),
    *(("Content-Encoding", "gzip"), ("Expect", "100-continue"), ("Connection", "keep-alive")),
    *(("X-HTTP-Method-Override", "DELETE"), ("Content-Type", "text/plain; charset=utf-16"), ("X_API_Key", "{write}")),
)
TARGETS = ("/v1/pets", "/v1/pets?limit=1", "/v1/pets/{pet}", f"/v1/pets/{UNKNOWN_ID}", "/v1/store/inventory")
CREATE = post("create", {"name": "Rex", "tag": "dog"})
USUAL = [*(get(target, target) for target in TARGETS), CREATE, CREATE, CREATE]
ROW = st.sampled_from([*ROWS.values()]).flatmap(st.sampled_from)
PARAMETERS = st.sampled_from([row.target.partition("?")[2] for row in lists.ROWS])


def fixed_requests() -> list[Row]:
    """Return the contract's requests, and usual ones with a key of each kind and with each header or two of others."""
    keys = [replace(row, headers=[*key(kind), *row.headers[1:]]) for row in USUAL for kind in KINDS]
    others = [*zip(OTHERS), *pairwise(OTHERS)]
    with_others = [replace(row, headers=[*row.headers, *some]) for row in (USUAL[2], CREATE) for some in others]
    return [*(row for rows in ROWS.values() for row in rows), *keys, *with_others]


@st.composite
def requests(draw: st.DrawFn) -> Row:
    """Draw a usual request with at most two parts that may make it unusual."""
    row = draw(st.sampled_from(USUAL))
    for part in draw(st.sets(st.sampled_from(["method", "target", "query", "headers", "other", "body"]), max_size=2)):
        match part:
            case "method" | "target" | "headers" | "body":
                row = replace(row, **{part: getattr(draw(ROW), part)})
            case "query":
                row = replace(row, target=f"/v1/pets?{'&'.join(draw(st.lists(PARAMETERS, max_size=3)))}")
            case "other":
                row = replace(row, headers=[*row.headers, *draw(st.lists(st.sampled_from(OTHERS), max_size=2))])
    if draw(st.integers(0, 9)) == 9:
        row = replace(row, headers=[*row.headers, CHUNKED], body=chunked(row.body) if row.body else b"0\r\n\r\n")
    return replace(row, headers=draw(st.permutations(row.headers)))
