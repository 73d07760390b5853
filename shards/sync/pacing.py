"""When to try again: later each time, at a moment that nobody else has chosen.

Waits double from a tenth of a second to half a minute, and a random part of each is waited ("full
jitter"), so that a hundred mirrors do not come back together to a server that has just recovered.
What the server asks for (Retry-After, RFC 9110 §10.2.3) is the least that is waited.
"""

import random
import time
from collections.abc import Callable
from typing import Final

from shards.sync.errors import FaultError

TRIES: Final = 10  # in a row, without a byte that was of use
_FIRST_SECONDS: Final = 0.1
_LONGEST_SECONDS: Final = 30.0

# Who asks for more is not waited for within a round: it ends, and the next one may find it well.
MOST_ASKED_SECONDS: Final = 300.0

# Who waits longer is told why.
_NOTICED_SECONDS: Final = 1.0


class Backoff:
    """Of one round; `chance` and `sleep` are given, so that it can be tested.

    `told` hears of each wait that somebody would notice.
    """

    def __init__(
        self,
        told: Callable[[str], object] = lambda _: None,
        chance: Callable[[], float] = random.random,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._told = told
        self._chance = chance
        self._sleep = sleep
        self._failed = 0

    def progress(self) -> None:
        """Something came: the count begins anew."""
        self._failed = 0

    def wait(self, fault: FaultError) -> None:
        """Wait before the next try.

        Raises:
            FaultError: `fault`, if it was the last try or asks for too long a wait.
        """
        self._failed += 1
        asked = fault.after or 0.0
        if self._failed >= TRIES or asked > MOST_ASKED_SECONDS:
            raise fault
        longest = min(_LONGEST_SECONDS, _FIRST_SECONDS * 2.0 ** (self._failed - 1))
        seconds = max(asked, self._chance() * longest)
        if seconds >= _NOTICED_SECONDS:
            self._told(f"{fault}; trying again in {seconds:.0f} s")
        self._sleep(seconds)


# MERGED shards/sync/rate.py
# How fast a mirror may read: a token bucket of one second.
#
# Pure but for the clock and the sleep it is given, so that an hour can be tested in no time.

_MIB: Final = 1 << 20


class RateLimit:
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
