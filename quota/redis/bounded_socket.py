"""A socket on which the replies to one pipeline have a deadline and a size.

A timeout of a socket holds for one piece of a reply. A server that sends a byte a second, or never
ends, would keep the thread of all requests, and the end of the process, or fill the memory.
"""

import time
from typing import Any, Final

from redis.connection import Connection, SSLConnection

# Longer than a reply may take on its way, and shorter than a stopping server waits.
WHOLE_S: Final = 5.0
# The lists of all accounts or people are the largest replies.
LARGEST: Final = 64 << 20


class ReplyBounds:
    """The deadline and the size that are left to the replies that are read."""

    def __init__(self) -> None:
        self.sent = False  # whether anything was sent since this was set
        self._end = float("inf")  # of all replies, once the connection is being closed
        self.start()

    def start(self) -> None:
        """Begin a new pipeline."""
        self._deadline = time.monotonic() + WHOLE_S
        self._left = LARGEST

    def end_in(self, seconds: float) -> None:
        """Let no reply be waited for longer than that, from any thread."""
        self._end = time.monotonic() + seconds

    def next_timeout(self, piece_s: float) -> float:
        """How long to wait for the next piece, which may take `piece_s`.

        Raises:
            TimeoutError: the time of the whole is over.
        """
        left = min(self._deadline, self._end) - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"no whole reply in {WHOLE_S:g} s")
        return min(piece_s, left)

    def count(self, size: int) -> None:
        """Count bytes that arrived.

        Raises:
            OSError: they are too many.
        """
        self._left -= size
        if self._left < 0:
            raise OSError(f"a reply is larger than {LARGEST >> 20} MiB")


class _BoundedSocket:
    """A socket whose `recv` and `sendall` keep to bounds; all else is the socket's."""

    def __init__(self, inner: Any, bounds: ReplyBounds) -> None:
        self._inner = inner
        self._bounds = bounds
        self._timeout: float = inner.gettimeout()

    def settimeout(self, seconds: float) -> None:
        self._timeout = seconds  # redis-py looks with 0 whether anything has arrived

    def recv(self, size: int) -> bytes:
        self._inner.settimeout(self._bounds.next_timeout(self._timeout))
        received: bytes = self._inner.recv(size)
        self._bounds.count(len(received))
        return received

    def sendall(self, data: bytes) -> None:
        self._inner.settimeout(self._bounds.next_timeout(self._timeout))
        self._bounds.sent = True
        self._inner.sendall(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class BoundedConnection(Connection):
    """A connection without TLS."""

    def __init__(self, *, bounds: ReplyBounds, **options: Any) -> None:
        self._bounds = bounds
        super().__init__(**options)  # type: ignore[no-untyped-call]

    def _connect(self) -> Any:
        return _BoundedSocket(super()._connect(), self._bounds)  # type: ignore[no-untyped-call]


class BoundedTlsConnection(SSLConnection):
    """A connection with TLS."""

    def __init__(self, *, bounds: ReplyBounds, **options: Any) -> None:
        self._bounds = bounds
        super().__init__(**options)

    def _connect(self) -> Any:
        return _BoundedSocket(super()._connect(), self._bounds)  # type: ignore[no-untyped-call]
