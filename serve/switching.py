"""How long a thread that wants Python's lock waits before it is given it.

Python lets it wait 5 ms. A search that was put aside gives the lock up at each large array, some
hundred times, and would get it back after 5 ms each time while the event loop is busy: it hardly
moved beside cheap searches. So while one runs the wait is shorter; else it stays as it is, for the
writer of the counters needs the lock as often, and each hand-over costs (tests/bench/RESULTS.md).
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

# About half a cheap search; at a fifth of it hand-overs cost more than the waits.
FINE_SECONDS: Final = 50e-6


class Switching:
    """The interval of the process while some of its threads do dear work; for the event loop."""

    def __init__(self) -> None:
        self._running = 0
        self._usual = 0.0

    @contextmanager
    def fine(self) -> Iterator[None]:
        """Switch finely within the block, or until the last of several blocks ends."""
        if not self._running:
            self._usual = sys.getswitchinterval()
            sys.setswitchinterval(FINE_SECONDS)
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1
            if not self._running:
                sys.setswitchinterval(self._usual)


# Python has one interval, whatever the number of editions.
PROCESS: Final = Switching()
