"""The listening sockets of a server, bound before anything else starts, so that a taken port is an error.

Under systemd a socket unit has bound them (serve/deploy/societes.socket) and passes them to this process. Each worker
listens on a socket of its own (SO_REUSEPORT), and the kernel deals connections out. This file and
serve/process/workers.py are all that the parent of several workers knows about serving. They import neither aiohttp
nor NumPy: the workers do, and would start half a second later if the parent did so first.
"""

import errno
import os
import socket
from itertools import cycle, islice
from typing import Any, Final

# A client that acknowledges nothing for so long is cut off, whatever is still to be sent to it.
STALLED_MILLISECONDS: Final = 20_000

# Time for requests in flight to finish once a process has been told to stop.
DRAIN_SECONDS: Final = 20.0

# Before that, a stopping process goes on reading from its open connections for so long. Each answer
# on them is the last one; a client that keeps one open without a request cannot miss an answer.
LINGER_SECONDS: Final = 3.0

_FIRST_PASSED: Final = 3  # SD_LISTEN_FDS_START

_REMEDIES: Final = {
    errno.EADDRINUSE: "is taken; give another --port",
    errno.EADDRNOTAVAIL: "is no address of this machine; give another --host",
    errno.EACCES: "is not for this user to listen on; give another --port, from 1024 on",
}


class PortError(Exception):
    """The address cannot be listened on; the message names it and the flag to change."""


def passed_sockets(count: int) -> list[socket.socket]:
    """The listening sockets that systemd passes to this process (sd_listen_fds(3)); none without a socket unit.

    systemd keeps them open over a restart of the server: connections wait in their queues, and none is refused. The
    list has all of them; if they are fewer than `count`, it repeats them, and several workers share a queue.

    Raises:
        PortError: a socket of the unit is not a TCP socket.
    """
    if os.environ.pop("LISTEN_PID", "") != str(os.getpid()):
        return []
    passed = int(os.environ.pop("LISTEN_FDS", "0"))
    sockets = [socket.socket(fileno=_FIRST_PASSED + place) for place in range(passed)]
    for listener in sockets:
        if listener.family not in (socket.AF_INET, socket.AF_INET6):
            raise PortError("the socket unit has no port of TCP; give ListenStream=HOST:PORT")
        listener.set_inheritable(False)
        _cut_stalled(listener)
    return list(islice(cycle(sockets), max(count, passed)))


def reserve(host: str, port: int, count: int = 1) -> list[socket.socket]:
    """`count` sockets bound to one port, which share it.

    Args:
        port: 0 for a free one.

    Raises:
        PortError: the address is taken, or is none of this machine.
    """
    if port:
        # Without SO_REUSEPORT first: with it, a second server would share the port unnoticed.
        bind(host, port).close()
    # A free port, as the kernel chooses it, is shared with nobody.
    first = bind(host, port, shared=True)
    chosen = first.getsockname()[1]
    return [first, *(bind(host, chosen, shared=True) for _ in range(count - 1))]


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
    _cut_stalled(bound)
    try:
        bound.bind(address)
    except OSError as error:
        bound.close()
        remedy = _REMEDIES.get(error.errno or 0, f"cannot be had: {error.strerror}")
        raise PortError(f"{_join(host, port)} {remedy}") from error
    return bound


def address(bound: socket.socket) -> str:
    """The URL of a bound socket: `http://127.0.0.1:8080`."""
    return f"http://{_join(*bound.getsockname()[:2])}"


def _cut_stalled(listener: socket.socket) -> None:
    """Let the kernel end connections of this socket whose client acknowledges nothing."""
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, STALLED_MILLISECONDS)


def _resolve(host: str, port: int) -> tuple[int, int, int, Any]:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (socket.gaierror, UnicodeError) as error:
        raise PortError(f"{host!r} is no host that is known here; give another --host") from error
    return family, kind, protocol, address


def _join(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
