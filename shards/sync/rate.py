"""How fast a mirror may read: a token bucket of one second.

Pure but for the clock and the sleep it is given, so that an hour can be tested in no time.
"""

import time
from collections.abc import Callable
from typing import Final

_MIB: Final = 1 << 20


class Rate:
    """At most `mib` MiB a second, None for as fast as it comes."""

    def __init__(
        self,
        mib: float | None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._bytes = mib * _MIB if mib else None
        self._clock = clock
        self._sleep = sleep
        self._free_at = clock()  # when all that was taken has been paid for

    def take(self, size: int) -> None:
        """Wait until `size` more bytes may have been read."""
        if self._bytes is None:
            return
        now = self._clock()
        # What was not used is kept for a second: a pause is not a debt of the network.
        self._free_at = max(self._free_at, now - 1.0) + size / self._bytes
        if self._free_at > now:
            self._sleep(self._free_at - now)
