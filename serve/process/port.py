"""The port of a server: bound before anything else happens, so that one that is taken is an error.

What the parent of several workers knows of serving is here and in serve/process/workers.py. It imports
neither aiohttp nor NumPy: the workers do, and would begin half a second later if it did so first.
"""

import errno
import socket
from typing import Final

# A client that acknowledges nothing for so long is cut off, whatever is still to be sent to it.
STALLED_MILLISECONDS: Final = 30_000

# How long requests in flight may take to finish once a process has been told to stop.
DRAIN_SECONDS: Final = 20.0

# How long before that open connections are still listened to: each answer on them is the last one,
# and who keeps one open without asking gets no answer that could be missed.
LINGER_SECONDS: Final = 3.0

_OTHERWISE: Final = {
    errno.EADDRINUSE: "is taken; give another --port, or --take-over from a server of this --state",
    errno.EADDRNOTAVAIL: "is no address of this machine; give another --host",
    errno.EACCES: "is not for this user to listen on; give another --port, from 1024 on",
}


class PortError(Exception):
    """There is no listening there; the message names the address and the flag."""


def reserve(host: str, port: int, *, beside: bool = False) -> socket.socket:
    """A socket on a port that other processes may share, also those of a server to come.

    Args:
        beside: also where another server listens already.

    Raises:
        PortError: the address is taken, or is none of this machine.
    """
    if not beside:
        # Alone first: with SO_REUSEPORT a second server of ours would slip in unnoticed.
        alone = bind(host, port)
        port = alone.getsockname()[1]
        alone.close()
    return bind(host, port, shared=True)


def bind(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """A bound TCP socket that does not listen yet; `shared` with other processes of ours.

    Raises:
        PortError: the address is taken, or is none of this machine.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (socket.gaierror, UnicodeError) as error:
        raise PortError(f"{host!r} is no host that is known here; give another --host") from error
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
        remedy = _OTHERWISE.get(error.errno or 0, f"cannot be had: {error.strerror}")
        if shared and error.errno == errno.EADDRINUSE:
            remedy = "is taken by a program that shares it with nobody; give another --port"
        raise PortError(f"{_shown(host, port)} {remedy}") from error
    return bound


def address(bound: socket.socket) -> str:
    """The URL of a bound socket: `http://127.0.0.1:8080`."""
    host, port = bound.getsockname()[:2]
    return f"http://{_shown(host, port)}"


def _shown(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
