"""The address of a caller behind proxies, and the addresses that share a limit (D7, G11).

A proxy writes the address of its client into X-Forwarded-For, but so can any client. The header is therefore read only
from the networks of `trusted_proxies`, and from the right: each trusted address vouches for the address before it, and
the first untrusted address is the caller. The caller may have written all entries further left.
"""

import ipaddress
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address

from serve.config import Network

IpAddress = IPv4Address | IPv6Address


def caller(peer: str | None, forwarded: Sequence[str], trusted: Sequence[Network]) -> str | None:
    """The address of the caller: the address of the connection, or an address that a trusted proxy vouches for.

    Args:
        peer: the address of the connection.
        forwarded: the lines of X-Forwarded-For, in order.
    """
    if not trusted or not forwarded:
        return peer
    vouched_address = _address(peer)
    for entry in reversed(",".join(forwarded).split(",")):
        if vouched_address is None or not _is_in_any(vouched_address, trusted):
            break
        entry_address = _address(_strip_port(entry.strip()))
        if entry_address is None:
            break  # not an address: the caller is the last address that a trusted proxy vouched for
        vouched_address = entry_address
    return str(vouched_address) if vouched_address else peer


def is_among(address: str | None, networks: Sequence[Network]) -> bool:
    """Whether an address is in any of these networks.

    >>> is_among("127.0.0.1", [ipaddress.ip_network("127.0.0.0/8")]), is_among("127.0.0.1", [])
    (True, False)
    """
    ip = _address(address)
    return ip is not None and _is_in_any(ip, networks)


def _is_in_any(ip: IpAddress, networks: Sequence[Network]) -> bool:
    """Whether a parsed address is in any of these networks."""
    return any(ip in network for network in networks)


def bucket_key(address: str | None) -> str:
    """The key of a limit: an IPv4 address, or an IPv6 /64, usually a household (D7).

    >>> bucket_key("192.0.2.77"), bucket_key("2001:db8:1:2:3::4"), bucket_key("::ffff:192.0.2.77")
    ('192.0.2.77', '2001:db8:1:2::/64', '192.0.2.77')
    """
    return _network(address, 32, 64) or "?"


def lane_key(address: str | None) -> str:
    """The key of a lane: an IPv4 address, or an IPv6 /48, which one customer may have (RFC 6177).

    >>> lane_key("192.0.2.77"), lane_key("2001:db8:1:2:3::4")
    ('192.0.2.77', '2001:db8:1::/48')
    """
    return _network(address, 32, 48) or "?"


def network_of(address: str | None) -> str | None:
    """The network that the log shows instead of an address: /24 in IPv4, /48 in IPv6.

    >>> network_of("192.0.2.77"), network_of("2001:db8:1:2::3")
    ('192.0.2.0/24', '2001:db8:1::/48')
    """
    return _network(address, 24, 48)


@lru_cache(65_536)
def _network(address: str | None, ipv4_bits: int, ipv6_bits: int) -> str | None:
    """The network of an address, or the IPv4 address itself for 32 bits; None if the text is not an address."""
    ip = _address(address)
    if ip is None:
        return None
    bits = ipv4_bits if ip.version == 4 else ipv6_bits
    return str(ip if bits == 32 else ipaddress.ip_network((ip, bits), strict=False))


def _address(text: str | None) -> IpAddress | None:
    """A parsed address, IPv4 for an IPv4-mapped one; None for any other text."""
    try:
        ip = ipaddress.ip_address((text or "").partition("%")[0])
    except ValueError:
        return None
    return ip.ipv4_mapped or ip if isinstance(ip, IPv6Address) else ip


def _strip_port(entry: str) -> str:
    """Remove the port that some proxies add: `192.0.2.1:4711`, `[2001:db8::1]:4711`."""
    if entry.startswith("["):
        return entry[1:].partition("]")[0]
    return entry.partition(":")[0] if entry.count(":") == 1 else entry
