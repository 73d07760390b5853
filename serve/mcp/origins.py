"""From which web pages, and under which names, /api/mcp may be asked: the guard against DNS
rebinding (MCP, "Streamable HTTP, Security").

A page of another site can make its own name lead to this machine, and then reads what only this
machine's network should. Its Host is then a name, never an address; and its Origin is its own. So
a Host may be an address, `localhost` or the name of `--base-url`; an Origin, which only browsers
send, must be this server's own, or be named by the operator.
"""

import ipaddress
from collections.abc import Sequence
from urllib.parse import urlsplit

from serve.mcp import messages

ANY = "*"


def check(origin: str | None, host: str | None, base_url: str, allowed: Sequence[str]) -> None:
    """May a page of `origin` (None: not a browser) ask under the name `host`?

    Args:
        allowed: origins that the operator named, such as `https://app.example`; `*` is all of them.

    Raises:
        RpcError: 403.
    """
    if host is not None and not _is_own_name(_name(f"//{host}"), base_url):
        raise messages.forbidden("Host", host)
    if origin is None or ANY in allowed or origin in allowed:
        return
    of_base = urlsplit(base_url)
    if base_url and origin == f"{of_base.scheme}://{of_base.netloc}":
        return
    if origin.startswith(("http://", "https://")) and _is_local(_name(origin)):
        return
    raise messages.forbidden("Origin", origin)


def _is_own_name(name: str | None, base_url: str) -> bool:
    if name is None:
        return False
    return _is_local(name) or _is_address(name) or (name == _name(base_url) and bool(base_url))


def _is_local(name: str | None) -> bool:
    """A page that this machine serves, to itself."""
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
    """The host of a URL in lower case, without its port; None if it cannot be told."""
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
