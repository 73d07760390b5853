"""The token bucket of D7 as one number (GCRA): the moment at which the bucket will be full again.

A bucket holds the calls of one minute and fills evenly: a caller may spend all of them at once, and
then gets one every 60/n seconds. A full bucket need not be stored.

The clock may be set back. A bucket that would be full later than an empty one is therefore treated
as empty, so that nobody waits for more than a minute.
"""

from typing import Final, NamedTuple

WINDOW: Final = 60 * 10**9
DAY_S: Final = 86_400


class Wait(NamedTuple):
    """The decision on one call.

    Attributes:
        seconds: 0.0 for an allowed call, otherwise the time until the next one is allowed.
        remaining: calls that could be made at once after this one.
        reset: seconds until all calls are available again.
    """

    seconds: float
    remaining: int
    reset: float


def draw(full_at: int | None, per_minute: int, now: float, calls: int = 1) -> tuple[Wait, int]:
    """Decide on so many calls at once at `now` (Unix seconds); returns the decision and the new state.

    They are allowed all or none. More than a bucket holds are as many as it holds.

    The state is the moment at which the bucket will be full, in whole nanoseconds, so that n shares
    of a minute never add up to more than a minute.

    >>> draw(None, 60, 0.0)
    (Wait(seconds=0.0, remaining=59, reset=1.0), 1000000000)
    >>> draw(60_000_000_000, 60, 0.0)
    (Wait(seconds=1.0, remaining=0, reset=60.0), 60000000000)
    """
    share = WINDOW // per_minute
    moment = int(now * 1e9)
    empty = moment + WINDOW
    before = moment if full_at is None else min(max(full_at, moment), empty)
    after = before + share * min(calls, per_minute)
    if after > empty:
        return Wait((after - empty) / 1e9, 0, (before - moment) / 1e9), before
    return Wait(0.0, (empty - after) // share, (after - moment) / 1e9), after


def is_full(full_at: int, now: float) -> bool:
    """Whether the bucket is full, as if it had never been used."""
    return full_at <= now * 1e9


def day_of(now: float) -> int:
    """The day (UTC), counted from 1 January 1970."""
    return int(now // DAY_S)


def count(counted: int, limit: int, now: float) -> Wait:
    """Decide on the call that follows `counted` calls of its day.

    >>> count(999, 1000, 86_390.0), count(1000, 1000, 86_390.0)
    (Wait(seconds=0.0, remaining=0, reset=10.0), Wait(seconds=10.0, remaining=0, reset=10.0))
    """
    left = (day_of(now) + 1) * DAY_S - now
    allowed = counted < limit
    return Wait(0.0 if allowed else left, max(0, limit - counted - 1), left)
