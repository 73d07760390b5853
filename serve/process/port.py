"""The listening sockets of a server, bound before anything else starts, so that a taken port is an error.

Each worker listens on a socket of its own (SO_REUSEPORT), and the kernel deals connections out. This
file and serve/process/workers.py are all that the parent of several workers knows about serving.
They import neither aiohttp nor NumPy: the workers do, and would start half a second later if the
parent did so first.
"""

import errno
import socket
from collections.abc import Sequence
from typing import Any, Final

# A client that acknowledges nothing for so long is cut off, whatever is still to be sent to it.
STALLED_MILLISECONDS: Final = 20_000

# Time for requests in flight to finish once a process has been told to stop.
DRAIN_SECONDS: Final = 20.0

# Before that, a stopping process goes on reading from its open connections for so long. Each answer
# on them is the last one; a client that keeps one open without a request cannot miss an answer.
LINGER_SECONDS: Final = 3.0

_REMEDIES: Final = {
    errno.EADDRINUSE: "is taken; give another --port, or --take-over from a server of this --state",
    errno.EADDRNOTAVAIL: "is no address of this machine; give another --host",
    errno.EACCES: "is not for this user to listen on; give another --port, from 1024 on",
}


class PortError(Exception):
    """The address cannot be listened on; the message names it and the flag to change."""


def reserve(
    host: str, port: int, count: int = 1, inherited: Sequence[socket.socket] = ()
) -> list[socket.socket]:
    """At least `count` sockets bound to one port, which share it.

    Args:
        port: 0 for a free one.
        inherited: sockets of the server that is being replaced. All of them are used, even if there
            are more than `count`: connections wait in their queues.

    Raises:
        PortError: the address is taken, or is none of this machine.
    """
    if not inherited and port:
        # Without SO_REUSEPORT first: with it, a second server would share the port unnoticed.
        bind(host, port).close()
    # A free port, as the kernel chooses it, is shared with nobody.
    sockets = [*inherited] or [bind(host, port, shared=True)]
    chosen = sockets[0].getsockname()[1]
    return sockets + [bind(host, chosen, shared=True) for _ in range(count - len(sockets))]


def is_free(host: str, port: int) -> bool:
    """Is there no socket on that port?"""
    try:
        bind(host, port).close()
    except PortError:
        return False
    return True


def bind(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """A bound TCP socket that does not listen yet; `shared` with other processes of this user.

    Raises:
        PortError: the address is taken, or is none of this machine.
    """
    family, kind, protocol, address = _resolve(host, port)
    bound = socket.socket(family, kind, protocol)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if shared:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, STALLED_MILLISECONDS)
    try:
        bound.bind(address)
    except OSError as error:
        bound.close()
        remedy = _REMEDIES.get(error.errno or 0, f"cannot be had: {error.strerror}")
        if shared and error.errno == errno.EADDRINUSE:
            remedy = "is taken by a program that shares it with nobody; give another --port"
        raise PortError(f"{_join(host, port)} {remedy}") from error
    return bound


def address(bound: socket.socket) -> str:
    """The URL of a bound socket: `http://127.0.0.1:8080`."""
    return _url(bound.getsockname())


def resolved_address(host: str, port: int) -> str:
    """The URL that a socket bound to `host` and `port` has."""
    return _url(_resolve(host, port)[3])


def _resolve(host: str, port: int) -> tuple[int, int, int, Any]:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (socket.gaierror, UnicodeError) as error:
        raise PortError(f"{host!r} is no host that is known here; give another --host") from error
    return family, kind, protocol, address


def _url(name: Any) -> str:
    return f"http://{_join(*name[:2])}"


def _join(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
