"""Network addresses: the IP address of a client behind proxies, and addresses to listen on."""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

Address = IPv4Address | IPv6Address


@dataclass(frozen=True)
class Proxies:
    """The trusted proxies, as FORWARDED_ALLOW_IPS names them: addresses, networks, or `*`."""

    networks: tuple[IPv4Network | IPv6Network, ...]
    any_peer: bool

    @classmethod
    def parse(cls, text: str) -> "Proxies":
        """Parse the text as gunicorn does. Raises ValueError for anything but addresses, networks and `*`."""
        names = [name.strip() for name in text.split(",") if name]
        return cls(tuple(ip_network(name) for name in names if name != "*"), "*" in names)

    def trusts(self, peer: str) -> bool:
        """Return whether a connection from this address is one of a proxy."""
        address = _address(peer)
        return self.any_peer or (address is not None and address in self)

    def __contains__(self, address: Address) -> bool:
        return any(address in network for network in self.networks)


def client_address(peer: str | None, forwarded_for: str, proxies: Proxies) -> Address | None:
    """Return the client's address: the last one that a trusted proxy has reported, or None if it is unknown.

    `peer` is the other end of the connection, None for a unix socket. `forwarded_for` is the X-Forwarded-For header.
    Each proxy appends the address that connected to it. A client can forge the beginning of the header, but not the
    part that trusted proxies append. With `*` every peer is trusted, and only the last address of the header counts.
    """
    address = None if peer is None else _address(peer)
    # As in gunicorn, a unix socket is trusted. An unknown address is not.
    if peer is None or proxies.any_peer or (address is not None and address in proxies):
        for entry in reversed(forwarded_for.split(",")):
            hop = _address(entry)
            if hop is None:  # "unknown" or invalid, so the rest of the header cannot be trusted either
                break
            address = hop
            if address not in proxies:
                break
    if isinstance(address, IPv6Address):
        # An IPv4-mapped address as IPv4, and an IPv6 address without its network interface (`%eth0`).
        return address.ipv4_mapped or IPv6Address(int(address))
    return address


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


def _address(text: str) -> Address | None:
    text = text.strip()
    # Some proxies append the port: 192.0.2.7:4711 and [2001:db8::7]:4711.
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        return ip_address(text)
    except ValueError:
        return None
