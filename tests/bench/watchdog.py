"""A watchdog that interrupts slow searches of a peer from one thread."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Self

from tests.bench.peers.peer import Peer

_EVERY: Final = 0.05  # seconds between two checks of the clock


class Watchdog:
    """A thread that interrupts the watched peer repeatedly until its search ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: tuple[Peer, float] | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @contextmanager
    def watch(self, peer: Peer, seconds: float) -> Iterator[None]:
        """Interrupt `peer` if the body takes longer."""
        self._watched = (peer, time.monotonic() + seconds)
        try:
            yield
        finally:
            with self._lock:  # no interrupt may reach the next search
                self._watched = None

    def _run(self) -> None:
        while not self._ended.wait(_EVERY):
            with self._lock:
                if self._watched and time.monotonic() > self._watched[1]:
                    self._watched[0].interrupt()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
