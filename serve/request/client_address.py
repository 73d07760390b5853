"""The address of a caller behind proxies, and the addresses that share one limit (D7, G11).

A proxy names its client in X-Forwarded-For, a header that anybody can write. The header is therefore
believed only from the networks of `trusted_proxies`, and read from the right: each trusted address
vouches for the one before it, and the first untrusted address is the caller. Entries further left
were written by the caller.
"""

import ipaddress
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address

from serve.config import Network

Address = IPv4Address | IPv6Address


def caller(peer: str | None, forwarded: Sequence[str], trusted: Sequence[Network]) -> str | None:
    """The address of the caller: that of the connection, unless a trusted proxy names another one.

    Args:
        peer: the address of the connection.
        forwarded: the lines of X-Forwarded-For, in order.
    """
    if not trusted or not forwarded:
        return peer
    vouched = _address(peer)
    for entry in reversed(",".join(forwarded).split(",")):
        if vouched is None or not _is_among(vouched, trusted):
            break
        named = _address(_without_port(entry.strip()))
        if named is None:
            break  # not an address: the last address that a trusted one vouched for is the caller
        vouched = named
    return str(vouched) if vouched else peer


def is_among(address: str | None, networks: Sequence[Network]) -> bool:
    """Whether an address is in one of these networks.

    >>> is_among("127.0.0.1", [ipaddress.ip_network("127.0.0.0/8")]), is_among("127.0.0.1", [])
    (True, False)
    """
    ip = _address(address)
    return ip is not None and _is_among(ip, networks)


def _is_among(ip: Address, networks: Sequence[Network]) -> bool:
    return any(ip in network for network in networks)


def bucket(address: str | None) -> str:
    """The key of a limit: one IPv4 address, or an IPv6 /64, which is one household (D7).

    >>> bucket("192.0.2.77"), bucket("2001:db8:1:2:3::4"), bucket("::ffff:192.0.2.77")
    ('192.0.2.77', '2001:db8:1:2::/64', '192.0.2.77')
    """
    return _network(address, 32, 64) or "?"


def site(address: str | None) -> str:
    """The key of places: one IPv4 address, or an IPv6 /48, which one customer may have (RFC 6177).

    >>> site("192.0.2.77"), site("2001:db8:1:2:3::4")
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
    """The network of an address, or an IPv4 address alone if all 32 bits are given; None if it is no address."""
    ip = _address(address)
    if ip is None:
        return None
    bits = ipv4_bits if ip.version == 4 else ipv6_bits
    return str(ip if bits == 32 else ipaddress.ip_network((ip, bits), strict=False))


def _address(text: str | None) -> Address | None:
    try:
        ip = ipaddress.ip_address((text or "").partition("%")[0])
    except ValueError:
        return None
    return ip.ipv4_mapped or ip if isinstance(ip, IPv6Address) else ip


def _without_port(entry: str) -> str:
    """Remove the port that some proxies add: `192.0.2.1:4711`, `[2001:db8::1]:4711`."""
    if entry.startswith("["):
        return entry[1:].partition("]")[0]
    return entry.partition(":")[0] if entry.count(":") == 1 else entry
