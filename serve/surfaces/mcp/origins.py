"""The origins and hosts that may use /api/mcp: the guard against DNS rebinding (MCP, "Streamable
HTTP, Security").

A page of another site can make its own name resolve to this machine, and then reads what only this
machine's network should. Such a request has that name as its Host, never an address, and the page's
Origin. So a Host may be an address, `localhost` or the name of `--base-url`; an Origin, which only
browsers send, must be this server's own, or one that the operator allows. Pages of this machine are its
own unless `--base-url` is public.
"""

import ipaddress
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from serve.surfaces.mcp import messages

ANY: Final = "*"


def check(origin: str | None, host: str | None, base_url: str, allowed: Sequence[str]) -> None:
    """Refuse a request of another origin or under a foreign name.

    Args:
        origin: the header Origin; None where the client is not a browser.
        host: the header Host.
        allowed: origins that the operator allows, such as `https://app.example`; `*` is any.

    Raises:
        RpcError: 403.
    """
    if host is not None and not _is_own_name(_name(f"//{host}"), base_url):
        raise messages.forbidden_header("Host", host)
    if origin is None or ANY in allowed or origin in allowed:
        return
    of_base = urlsplit(base_url)
    if base_url and origin == f"{of_base.scheme}://{of_base.netloc}":
        return
    # Behind a public name this machine's own pages are those of the visitor's machine.
    public = base_url and not _is_local(of_base.hostname)
    if not public and origin.startswith(("http://", "https://")) and _is_local(_name(origin)):
        return
    raise messages.forbidden_header("Origin", origin)


def _is_own_name(name: str | None, base_url: str) -> bool:
    if name is None:
        return False
    return _is_local(name) or _is_address(name) or (name == _name(base_url) and bool(base_url))


def _is_local(name: str | None) -> bool:
    """Is it a name of this machine for itself?"""
    if name is None or not _is_address(name):
        return name == "localhost"
    return ipaddress.ip_address(name).is_loopback


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _name(url: str) -> str | None:
    """The host of a URL in lower case, without its port; None if there is none."""
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
