"""Round after round, until told to stop.

Whatever a round fails of, the next one may not: the source is away, the disk is full, somebody
rolls back. So an error is said once, and again when it has become another one.
"""

import random
import time
from collections.abc import Callable
from typing import Final

from shards.errors import ShardError
from shards.sync.errors import FaultError

# Each wait is up to a tenth longer or shorter, so that mirrors started together do not stay so.
_SPREAD: Final = 0.1

# What a source may ask for (Retry-After) and get.
_LONGEST_SECONDS: Final = 3_600.0


def follow(
    once: Callable[[], None],
    seconds: float,
    complain: Callable[[str], None],
    chance: Callable[[], float] = random.random,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Call `once` every so many seconds; whoever wants it to end raises through it.

    Args:
        complain: told each error that is not the one of the round before.
    """
    said = ""
    while True:
        wait = seconds
        try:
            once()
            said = ""
        except (ShardError, OSError) as error:
            if str(error) != said:
                said = str(error)
                complain(said)
            if isinstance(error, FaultError):
                wait = max(seconds, min(_LONGEST_SECONDS, error.after or 0.0))
        sleep(wait * (1 + _SPREAD * (2 * chance() - 1)))
