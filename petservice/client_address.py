"""Addresses of the network: where a request comes from, when there may be proxies in between, and where to listen."""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

Address = IPv4Address | IPv6Address


@dataclass(frozen=True)
class Proxies:
    """The proxies that are believed, as FORWARDED_ALLOW_IPS names them: addresses, networks, or `*`."""

    networks: tuple[IPv4Network | IPv6Network, ...]
    any_peer: bool

    @classmethod
    def parse(cls, text: str) -> "Proxies":
        """Reads `text` as gunicorn does; raises ValueError for what is no address and no network."""
        names = [name.strip() for name in text.split(",") if name]
        return cls(tuple(ip_network(name) for name in names if name != "*"), "*" in names)

    def __contains__(self, address: Address) -> bool:
        return any(address in network for network in self.networks)


def client_address(peer: str | None, forwarded_for: str, proxies: Proxies) -> Address | None:
    """The address next to the last trusted proxy, None if nobody told it.

    `peer` is the other end of the connection, None for a unix socket; `forwarded_for` is the X-Forwarded-For header.
    Each proxy appends to it the address that it was called from; so a client may begin the header as it likes, and the
    end of it is sure.
    `*` believes whoever connects, and of the header the last address only: it does not tell proxies from clients.
    """
    address = None if peer is None else _address(peer)
    # A unix socket is trusted, as by gunicorn; an address that is not known is not.
    if peer is None or proxies.any_peer or (address is not None and address in proxies):
        for entry in reversed(forwarded_for.split(",")):
            hop = _address(entry)
            if hop is None:  # "unknown", or junk; what stands left of it is no better
                break
            address = hop
            if address not in proxies:
                break
    return _in_one_spelling(address) if isinstance(address, IPv6Address) else address


def host_and_port(text: str) -> tuple[str, int]:
    """Reads 127.0.0.1:9100, [::1]:9100 or localhost:9100; raises ValueError for anything else."""
    parts = urlsplit(f"//{text}")
    if not parts.hostname or not parts.port or parts.netloc != text or "@" in text:
        raise ValueError("it is no address with a port")
    return parts.hostname, parts.port


def _address(text: str) -> Address | None:
    text = text.strip()
    # Some proxies write the port, too: 192.0.2.7:4711 and [2001:db8::7]:4711.
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        return ip_address(text)
    except ValueError:
        return None


def _in_one_spelling(address: IPv6Address) -> Address:
    """IPv4 as such where a socket for both writes it as IPv6, and no name of a network interface (`%eth0`)."""
    return address.ipv4_mapped or IPv6Address(int(address))
