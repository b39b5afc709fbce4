"""X-Forwarded-For sets the client's IP address, and X-Forwarded-Proto the scheme, only if a trusted proxy sends it."""

import tracemalloc

import pytest

from petservice.client_address import (
    Proxies,
    client_address,
    forwarded_scheme,
    parse_address,
    shown_address,
)

pytestmark = pytest.mark.once

PROXY = "10.0.0.1"
OUTER_PROXY = "10.0.7.7"
CLIENT = "192.0.2.7"
FORGED = "203.0.113.66"
ALLOWED = f"{PROXY},10.0.7.0/24,2001:db8:1::/48"


def found(peer: str | None, forwarded_for: str, allowed: str = ALLOWED) -> str:
    return str(client_address(peer, forwarded_for, Proxies.parse(allowed)))


def scheme(peer: str | None, allowed: str, values: str = "https") -> str | None:
    return forwarded_scheme({"HTTP_X_FORWARDED_PROTO": values, "REMOTE_ADDR": peer}, Proxies.parse(allowed))


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (" 192.0.2.7\t", "192.0.2.7"),
        ("192.0.2.7:4711", "192.0.2.7"),
        ("[::ffff:192.0.2.7]:4711", "192.0.2.7"),
        ("2001:DB8:0::7", "2001:db8::7"),
        ("[fe80::7%25eth0]:4711", "fe80::7"),
        # Peers and hops without an IP address.
        *((text, None) for text in ("", "unknown", "_SEVKISEK", "/run/client", "192.0.2.007", "[", ":", "%")),
    ],
)
def test_address_of_a_peer_or_a_hop(text: str, address: str | None) -> None:
    found = parse_address(text)

    assert (None if found is None else str(found)) == address


@pytest.mark.parametrize(
    ("peer", "forwarded_for", "address"),
    [
        pytest.param(PROXY, f" {CLIENT} ,{OUTER_PROXY},{PROXY} ", CLIENT, id="blanks and the proxy itself"),
        pytest.param(None, f"{CLIENT}, {OUTER_PROXY}", CLIENT, id="unix socket behind a proxy"),
        pytest.param(PROXY, "", PROXY, id="a proxy without the header"),
        pytest.param(PROXY, OUTER_PROXY, OUTER_PROXY, id="a request by a proxy itself"),
        # The client forges an address.
        pytest.param(PROXY, f"{FORGED}, {PROXY}, {CLIENT}, {OUTER_PROXY}", CLIENT, id="through two, naming one"),
    ],
)
def test_client_is_the_peer_of_the_outermost_trusted_proxy(peer: str | None, forwarded_for: str, address: str) -> None:
    assert found(peer, forwarded_for) == address


@pytest.mark.parametrize("invalid", ["unknown", "", "1.2.3"])
def test_entries_before_an_invalid_one_are_ignored(invalid: str) -> None:
    assert found(PROXY, f"{FORGED}, {invalid}") == PROXY
    assert found(PROXY, f"{FORGED}, {invalid}, {OUTER_PROXY}") == OUTER_PROXY
    assert found(CLIENT, invalid) == CLIENT
    assert found(None, invalid) == "None"


@pytest.mark.parametrize(
    ("peer", "allowed", "is_trusted"),
    [
        ("::ffff:10.0.0.1", "::ffff:a00:1", True),
        ("10.0.0.1", "::ffff:0:0/96", True),
        ("fe80::7%eth0", "fe80::7", True),
        (None, "", True),
        ("10.0.0.1", "*", True),
        ("::ffff:10.0.0.1", "::/64", False),
        (PROXY, "", False),
        ("unknown", ALLOWED, False),
    ],
)
def test_only_a_trusted_proxy_reports_address_and_scheme(peer: str | None, allowed: str, is_trusted: bool) -> None:
    assert found(peer, CLIENT, allowed) == (CLIENT if is_trusted else str(parse_address(peer or "")))
    assert scheme(peer, allowed) == ("https" if is_trusted else None)


def test_star_trusts_every_peer_but_only_the_last_entry_of_the_header() -> None:
    assert found(PROXY, f"{FORGED}, {CLIENT}", "*") == CLIENT
    assert found(PROXY, f"{FORGED}, {CLIENT}, {OUTER_PROXY}", f"*,{OUTER_PROXY}") == CLIENT


def test_request_is_one_over_https_only_if_every_proxy_says_so() -> None:
    for values in ("HTTPS", "https, https", "https,HTTPS , https"):
        assert scheme(None, "", values) == "https"
    for values in ("http", "https, http", "http, https", "https,", "", "ssl"):
        assert scheme(None, "", values) == "http"


def test_long_headers_of_strangers_do_not_stay_in_memory() -> None:
    tracemalloc.start()
    try:
        for number in range(300):
            assert shown_address(None, f"{number}{'x' * 100_000}, {CLIENT}") == CLIENT
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert size < 10_000_000
