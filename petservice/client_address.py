"""Network addresses: the IP address and the scheme of a client behind proxies, and addresses to listen on."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest

Address = IPv4Address | IPv6Address

# Maximum number of characters of an X-Forwarded-For header that are read, from its end: those of some twenty proxies.
# Strangers can send half a megabyte, which would stay in the cache.
_MAX_FORWARDED_FOR = 1000


@dataclass(frozen=True, eq=False)  # so that it is quickly found in a cache
class Proxies:
    """The trusted proxies, as FORWARDED_ALLOW_IPS names them: addresses, networks, or `*`."""

    networks: tuple[IPv4Network | IPv6Network, ...]
    any_peer: bool

    @classmethod
    def parse(cls, text: str) -> "Proxies":
        """Parse the text as gunicorn does. Raises ValueError for anything but addresses, networks and `*`."""
        names = [name.strip() for name in text.split(",") if name]
        return cls(tuple(_network(name) for name in names if name != "*"), "*" in names)

    def trusts(self, peer: str | None) -> bool:
        """Return whether a connection from this address is one of a proxy. None stands for a unix socket."""
        # As in gunicorn, a unix socket is trusted. An unknown address is not.
        return peer is None or self.any_peer or parse_address(peer) in self

    def __contains__(self, address: Address | None) -> bool:
        return address is not None and any(address in network for network in self.networks)


# A cache, because most requests come from the same few proxies.
@lru_cache(maxsize=256)
def parse_address(text: str) -> Address | None:
    """Return the IP address of a peer or of a proxy's hop, or None if the text is none, such as `unknown`.

    IPv4-mapped IPv6 is IPv4, because a socket for both gives IPv4 peers such addresses. Brackets, a port and the zone
    of a link-local address (`%eth0`) are left out.
    """
    text = text.strip()
    # Some proxies append the port: 192.0.2.7:4711 and [2001:db8::7]:4711.
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text)
    except ValueError:
        return None
    if isinstance(address, IPv6Address):
        return address.ipv4_mapped or IPv6Address(int(address))
    return address


def _network(text: str) -> IPv4Network | IPv6Network:
    network = ip_network(text)
    mapped = network.network_address.ipv4_mapped if isinstance(network, IPv6Network) else None
    return network if mapped is None or network.prefixlen < 96 else IPv4Network((mapped, network.prefixlen - 96))


@lru_cache(maxsize=256)  # most requests come from the same few clients
def client_address(peer: str | None, forwarded_for: str, proxies: Proxies) -> str | None:
    """Return the client's address: the last one that a trusted proxy has reported, or None if it is unknown.

    `peer` is the other end of the connection, None for a unix socket. `forwarded_for` is the X-Forwarded-For header.
    Each proxy appends the address that connected to it. A client can forge the beginning of the header, but not the
    part that trusted proxies append. With `*` every peer is trusted, and only the last address of the header counts.
    """
    address = None if peer is None else parse_address(peer)
    if proxies.trusts(peer):
        for entry in reversed(forwarded_for.split(",")):
            hop = parse_address(entry)
            if hop is None:  # "unknown" or invalid, so the rest of the header cannot be trusted either
                break
            address = hop
            if address not in proxies:
                break
    return None if address is None else str(address)


def shown_address(peer: str | None, forwarded_for: str) -> str | None:
    """Return the address of a client of this service as text, or None if it is unknown."""
    return client_address(peer, forwarded_for[-_MAX_FORWARDED_FOR:], settings.TRUSTED_PROXIES)


def address_of(request: HttpRequest) -> str | None:
    """Return the address of the client as text, or None if it is unknown."""
    return shown_address(request.META.get("REMOTE_ADDR"), request.META.get("HTTP_X_FORWARDED_FOR", ""))


def network_of_client(request: HttpRequest) -> str | None:
    """Return the client's IPv4 address or IPv6 network as text, or None if it is unknown."""
    address = parse_address(address_of(request) or "")
    return None if address is None else str(network_of(address))


def forwarded_scheme(meta: Mapping[str, Any], proxies: Proxies) -> str | None:
    """Return the scheme in the X-Forwarded-Proto header of a trusted proxy, or None if no such proxy has sent one.

    Each proxy may append its own value. A request is one over HTTPS only if it was so on the whole way.
    """
    values = meta.get("HTTP_X_FORWARDED_PROTO")
    if values is None or not proxies.trusts(meta.get("REMOTE_ADDR")):
        return None
    return "https" if all(value.strip().lower() == "https" for value in values.split(",")) else "http"


def network_of(address: Address) -> Address:
    """Return an IPv4 address, or the start of an IPv6 network, because one IPv6 client has a whole /64 of addresses."""
    if isinstance(address, IPv6Address):
        return IPv6Network((address, 64), strict=False).network_address
    return address


def host_and_port(text: str) -> tuple[str, int]:
    """Parse 127.0.0.1:9100, [::1]:9100 or localhost:9100. Raises ValueError for anything else."""
    parts = urlsplit(f"//{text}")
    if not parts.hostname or not parts.port or parts.netloc != text or "@" in text:
        raise ValueError("it is no address with a port")
    return parts.hostname, parts.port
