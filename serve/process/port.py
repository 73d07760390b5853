"""The listening sockets of a server, bound before anything else starts, so that a taken port is an error.

Under systemd, a socket unit binds them (serve/deploy/societes.socket) and passes them to this process. Each worker
listens on its own socket (SO_REUSEPORT), and the kernel distributes connections. The parent of the workers imports this
file and serve/process/workers.py, but neither aiohttp nor NumPy, which would delay the workers by half a second.
"""

import errno
import os
import socket
from itertools import cycle, islice
from typing import Any, Final

# A client that acknowledges no bytes for this time is cut off.
STALLED_MILLISECONDS: Final = 20_000

# Seconds for requests in flight to finish after the signal to stop.
DRAIN_SECONDS: Final = 20.0

# The seconds before DRAIN_SECONDS begin, in which a stopping process still reads from its open connections. A
# connection ends with its next answer, so a client with an idle connection misses no answer.
LINGER_SECONDS: Final = 3.0

_FIRST_PASSED: Final = 3  # the first descriptor that systemd passes (SD_LISTEN_FDS_START)

# The fault and the remedy for an address that cannot be bound, by error.
_REMEDIES: Final = {
    errno.EADDRINUSE: "is taken; give another --port",
    errno.EADDRNOTAVAIL: "is not an address of this machine; give another --host",
    errno.EACCES: "needs the rights of another user; give another --port, from 1024 on",
}


class PortError(Exception):
    """The address cannot be listened on; the message names it and the flag to change."""


def passed_sockets(count: int) -> list[socket.socket]:
    """The listening sockets that systemd passes to this process (sd_listen_fds(3)); none without a socket unit.

    systemd keeps the sockets open while the server restarts: connections wait in their queues and are not refused. If
    there are fewer sockets than `count`, the list repeats them, and several workers share a queue.

    Raises:
        PortError: a socket of the unit is not a TCP socket.
    """
    # systemd names the process that gets the sockets; the variable may be that of a parent process.
    if os.environ.pop("LISTEN_PID", "") != str(os.getpid()):
        return []
    passed_count = int(os.environ.pop("LISTEN_FDS", "0"))
    sockets = [socket.socket(fileno=_FIRST_PASSED + number) for number in range(passed_count)]
    for listener in sockets:
        if listener.family not in (socket.AF_INET, socket.AF_INET6):
            raise PortError("the socket unit has no port of TCP; give ListenStream=HOST:PORT")
        listener.set_inheritable(False)
        _cut_stalled(listener)
    return list(islice(cycle(sockets), max(count, passed_count)))


def reserve(host: str, port: int, count: int = 1) -> list[socket.socket]:
    """`count` sockets bound to one port, which share it.

    Args:
        port: 0 for a free port.

    Raises:
        PortError: the address is taken, or is not an address of this machine.
    """
    if port:
        # A trial without SO_REUSEPORT fails if a server has the port; with it, a second server would silently share the
        # port.
        bind(host, port).close()
    # The kernel chooses a free port that is not shared.
    first_socket = bind(host, port, shared=True)
    chosen_port = first_socket.getsockname()[1]
    return [first_socket, *(bind(host, chosen_port, shared=True) for _ in range(count - 1))]


def bind(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """A bound TCP socket that does not listen yet; `shared` with other processes of this user.

    Raises:
        PortError: the address is taken, or is not an address of this machine.
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
        remedy = _REMEDIES.get(error.errno or 0, f"cannot be used: {error.strerror}")
        raise PortError(f"{_host_and_port(host, port)} {remedy}") from error
    return bound


def address(bound: socket.socket) -> str:
    """The URL of a bound socket: `http://127.0.0.1:8080`."""
    return f"http://{_host_and_port(*bound.getsockname()[:2])}"


def _cut_stalled(listener: socket.socket) -> None:
    """Let the kernel end connections whose client acknowledges no bytes for STALLED_MILLISECONDS."""
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, STALLED_MILLISECONDS)


def _resolve(host: str, port: int) -> tuple[int, int, int, Any]:
    """What `socket.socket` needs for a host (family, kind and protocol), and the address to bind. Raises PortError."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (socket.gaierror, UnicodeError) as error:
        raise PortError(f"{host!r} is not a known host; give another --host") from error
    return family, kind, protocol, address


def _host_and_port(host: str, port: int) -> str:
    """An address as in a URL."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
