"""Whose address a request comes from, and which addresses count as one caller (D7, G11).

A proxy in front of the server says whom it speaks for in X-Forwarded-For, which anybody can write.
So it is believed only from the networks of `trusted_proxies`, from the right: each trusted address
vouches for the one before it, and the first that is not trusted is the caller. What stands further
left was written by the caller.
"""

import ipaddress
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address

from serve.config import Network

Address = IPv4Address | IPv6Address


def caller(peer: str | None, forwarded: Sequence[str], trusted: Sequence[Network]) -> str | None:
    """The address of the caller: that of the connection, unless a trusted proxy names another.

    Args:
        forwarded: the lines of X-Forwarded-For, in order.
    """
    if not trusted or not forwarded:
        return peer
    vouched = _address(peer)
    for entry in reversed(",".join(forwarded).split(",")):
        if vouched is None or not any(vouched in network for network in trusted):
            break
        named = _address(_without_port(entry.strip()))
        if named is None:
            break  # not an address: the last one that somebody vouches for is the caller
        vouched = named
    return str(vouched) if vouched else peer


@lru_cache(maxsize=65_536)
def bucket(address: str | None) -> str:
    """The addresses that share one limit: one in IPv4, a /64 in IPv6, which is one household (D7).

    >>> bucket("192.0.2.77"), bucket("2001:db8:1:2:3::4"), bucket("::ffff:192.0.2.77")
    ('192.0.2.77', '2001:db8:1:2::/64', '192.0.2.77')
    """
    ip = _address(address)
    if isinstance(ip, IPv6Address):
        return str(ipaddress.ip_network((ip, 64), strict=False))
    return str(ip) if ip else "?"


@lru_cache(maxsize=65_536)
def truncated(address: str | None) -> str | None:
    """The network of a caller's address, as it is logged: /24 in IPv4, /48 in IPv6.

    >>> truncated("192.0.2.77"), truncated("2001:db8:1:2::3")
    ('192.0.2.0/24', '2001:db8:1::/48')
    """
    ip = _address(address)
    if ip is None:
        return None
    return str(ipaddress.ip_network((ip, 24 if ip.version == 4 else 48), strict=False))


def _address(text: str | None) -> Address | None:
    try:
        ip = ipaddress.ip_address((text or "").partition("%")[0])
    except ValueError:
        return None
    return ip.ipv4_mapped or ip if isinstance(ip, IPv6Address) else ip


def _without_port(entry: str) -> str:
    """Some proxies write `192.0.2.1:4711` or `[2001:db8::1]:4711`."""
    if entry.startswith("["):
        return entry[1:].partition("]")[0]
    return entry.partition(":")[0] if entry.count(":") == 1 else entry
