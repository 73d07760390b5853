"""The slowest download that is read on: so many bytes a second, over a minute of reading.

The time between two tries does not count, that of a silence does: a server that breaks off and goes on again and again
is as slow as one that never stops. A file that comes within a minute is never too slow.
"""

import time
from collections.abc import Callable
from typing import Final

from pipeline.errors import FetchError

SLOWEST: Final = 20_000  # bytes a second
_WINDOW_SECONDS: Final = 60.0


class SlowServerError(FetchError):
    """A server brings too few bytes a second; asking again would not help."""


class Pace:
    """The pace of one download over all its tries; `slowest` bytes a second are read on, 0 for any."""

    def __init__(
        self, address: str, slowest: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._address, self._slowest, self._clock = address, slowest, clock
        self._since = clock()
        self._seconds, self._brought = 0.0, 0

    def start(self) -> None:
        """Begin to read a body."""
        self._since = self._clock()

    def take(self, size: int) -> None:
        """Count a piece, and the time since the one before.

        Raises:
            SlowServerError: as `check`.
        """
        self.stop()
        self._brought += size
        self.check()

    def stop(self) -> None:
        """Count the time since the last piece: that of a silence."""
        now = self._clock()
        self._seconds, self._since = self._seconds + now - self._since, now

    def check(self) -> None:
        """Refuse to go on if the last minute of reading brought too little.

        Raises:
            SlowServerError: it did.
        """
        if self._seconds < _WINDOW_SECONDS:
            return
        speed = self._brought / self._seconds
        if speed < self._slowest:
            raise SlowServerError(
                f"{self._address} brings {speed:,.0f} bytes a second, under {self._slowest:,} (`slowest` in the"
                " configuration); it is given up for this night, and the next one goes on where it was"
            )
        self._seconds, self._brought = 0.0, 0
