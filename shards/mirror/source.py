"""The interface of a mirror source, a place from which the files of a folder DATA can be read; its errors and its pace.

A source only reads bytes. Their meaning, their validity and retries are the task of its callers, so they are the same
for all kinds of sources. The nightly download of register files keeps the same pace.
"""

import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final, Protocol

from shards.errors import ShardError


class SyncError(ShardError):
    """The mirror cannot continue; the published generation is unchanged."""


class AbsentError(SyncError):
    """The source does not have this file, maybe because it is publishing another generation."""


class FaultError(SyncError):
    """The source failed in a way that may be temporary.

    Attributes:
        after: the seconds that the source asks to wait (Retry-After), or None.
    """

    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


# How long a pointer, a manifest or a signature may take as a whole.
SMALL_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Body:
    """The bytes of a file from `start` on, in pieces as they arrive; they may end too early."""

    start: int
    pieces: Iterator[bytes]


class MirrorSource(Protocol):
    """A place that holds a folder DATA."""

    @property
    def name(self) -> str:
        """The name for messages; it never contains a password."""
        ...

    def open(self, path: str, start: int = 0) -> AbstractContextManager[Body]:
        """Open the file at `path`, which is relative and has no part `..`, at the byte `start`.

        A source that cannot begin there returns the whole file, with `Body.start` 0.

        Raises:
            AbsentError: there is no such file.
            FaultError: the source failed in a way that may be temporary.
            SyncError: the source refuses the file.
        """
        ...


def read_small(source: MirrorSource, path: str, most: int) -> bytes:
    """The content of a small file.

    Raises:
        FaultError: the file has more than `most` bytes, or comes too slowly; the rest is not read.
        SyncError: as `MirrorSource.open`.
    """
    found, end = bytearray(), time.monotonic() + SMALL_SECONDS
    with source.open(path) as body:
        for piece in body.pieces:
            found += piece
            if len(found) > most:
                raise FaultError(f"{source.name}/{path} has more than {most} bytes")
            if time.monotonic() > end:
                raise FaultError(f"{source.name}/{path} has not come in {SMALL_SECONDS:g} s")
    return bytes(found)


# -- the pace: retries, the slowest body that is read on, a rate limit ---------------------------

# The limit of the wait doubles from a tenth of a second to half a minute, and the wait is a random part of the limit
# ("full jitter"), so that a hundred mirrors do not return together to a server that has just recovered. The wait is at
# least what the server asks for (Retry-After, RFC 9110 §10.2.3). The rate limit is a token bucket of one second.
# Clock, sleep and chance are parameters, so that tests need no time.

TRIES: Final = 10  # in a row, without progress
_FIRST_SECONDS: Final = 0.1
_LONGEST_SECONDS: Final = 30.0

# If the source asks for a longer wait, the round ends; the next one may succeed.
MOST_ASKED_SECONDS: Final = 300.0

_MIB: Final = 1 << 20

# Status codes of temporary failures (RFC 9110 §15.5.9, §15.6; RFC 6585 §4).
_PASSING: Final = frozenset({408, 425, 429, 500, 502, 503, 504, 507, 509})
# Content-Range of a 206 (RFC 9110 §14.4): the first byte, and the size of the whole or `*`.
_CONTENT_RANGE: Final = re.compile(r"bytes (\d{1,18})-\d+/(\d{1,18}|\*)")

# A body that brings fewer bytes in a window is given up and asked for again.
_WINDOW_SECONDS: Final = 30.0
_LEAST_BYTES: Final = 30 << 10
# So many new bytes of a file count as progress and reset the retries.
_PROGRESS_BYTES: Final = 1 << 16

# Longer waits are reported.
_NOTICED_SECONDS: Final = 1.0


class Backoff:
    """The retries of one round.

    Args:
        report: called with a message before each wait of a second or more.
        chance: returns a random number in [0, 1).
    """

    def __init__(
        self,
        report: Callable[[str], object] = lambda _: None,
        chance: Callable[[], float] = random.random,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._report = report
        self._chance = chance
        self.sleep = sleep
        self._failed = 0

    def progress(self) -> None:
        """Reset the count of failures."""
        self._failed = 0

    def wait(self, fault: FaultError) -> None:
        """Wait before the next try.

        Raises:
            FaultError: as `next_wait`.
        """
        self.sleep(self.next_wait(fault))

    def next_wait(self, fault: FaultError) -> float:
        """The seconds to wait before the next try, which are reported.

        Raises:
            FaultError: that of `fault`, if it was the last try or asks for too long a wait.
        """
        self._failed += 1
        asked = fault.after or 0.0
        if self._failed >= TRIES or asked > MOST_ASKED_SECONDS:
            raise FaultError(
                f"{fault}; see to the source, or try again later", fault.after
            ) from fault
        longest = min(_LONGEST_SECONDS, _FIRST_SECONDS * 2.0 ** (self._failed - 1))
        seconds = max(asked, self._chance() * longest)
        if seconds >= _NOTICED_SECONDS:
            self._report(f"{fault}; trying again in {seconds:.0f} s")
        return seconds


class FileRetries:
    """The retries of one file; a try that brought new bytes does not count."""

    def __init__(self, backoff: Backoff) -> None:
        self._backoff = backoff
        self._reached = 0

    def next_wait(self, fault: FaultError, size: int) -> float:
        """`Backoff.next_wait`; `size` is that of the file so far."""
        if size >= self._reached + _PROGRESS_BYTES:
            self._reached = size
            self._backoff.progress()
        return self._backoff.next_wait(fault)


class SlowBody:
    """The pace of a body, which is given up if a window of half a minute brings too little."""

    def __init__(self, where: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._where = where
        self._clock = clock
        self._since, self._brought = clock(), 0

    def take(self, size: int) -> None:
        """Count a piece. Raises FaultError: the body comes too slowly."""
        self._brought += size
        if self._clock() - self._since > _WINDOW_SECONDS:
            if self._brought < _LEAST_BYTES:
                raise FaultError(f"{self._where} comes too slowly")
            self._since, self._brought = self._clock(), 0


class RateLimit:
    """A limit of `mib` MiB per second; None means no limit."""

    def __init__(
        self,
        mib: float | None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._bytes = mib * _MIB if mib else None
        self._clock = clock
        self._sleep = sleep
        self._free_at = clock()  # the time at which the bytes taken so far are within the rate

    def take(self, size: int) -> None:
        """Wait until `size` more bytes may have been read."""
        if self._bytes is None:
            return
        now = self._clock()
        # Unused rate of the last second may be caught up.
        self._free_at = max(self._free_at, now - 1.0) + size / self._bytes
        if self._free_at > now:
            self._sleep(self._free_at - now)


def refusal(url: str, status: int, retry_after: str) -> SyncError | None:
    """The error of a status that means the same of every server: absent, or a passing failure; None for another."""
    if status in (404, 410):
        return AbsentError(f"{url} is not there (HTTP {status})")
    if status in _PASSING:
        return FaultError(f"{url} answers {status}", asked_seconds(retry_after))
    return None


def part_of_whole(url: str, status: int, content_range: str) -> tuple[int, int | None]:
    """The place in the whole file at which a 206 begins, and the size of the whole, if it is told.

    Raises:
        FaultError: the answer is no 206, or its range cannot be understood.
    """
    found = _CONTENT_RANGE.fullmatch(content_range)
    if status != 206 or not found:
        raise FaultError(f"{url} answers {status} without a range that can be understood")
    return int(found[1]), None if found[2] == "*" else int(found[2])


def asked_seconds(retry_after: str) -> float | None:
    """The seconds that Retry-After asks to wait, given as a number or a date; None if it is neither."""
    if retry_after.isascii() and retry_after.isdigit():
        return float(retry_after[:9])
    try:
        until = parsedate_to_datetime(retry_after)
        left = until.replace(tzinfo=until.tzinfo or UTC) - datetime.now(UTC)
    except (ArithmeticError, LookupError, TypeError, ValueError):  # the header may contain anything
        return None
    return max(0.0, left.total_seconds())
