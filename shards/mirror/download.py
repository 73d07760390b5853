"""The download of one file: resumed, retried, and ended if its server is too slow. Mirrors and nightly fetches use it.

Read `FileDownload` at the end first. A file grows in a `PartFile`, over any number of tries and runs. Bytes are
appended only at their own position: if a source sends the whole file in place of the rest, the part begins anew.

Between two tries is a wait (`Retries`). Its limit doubles from a tenth of a second to half a minute, and the wait is a
random part of the limit ("full jitter"), so that a hundred mirrors do not return together to a server that has just
recovered. It is at least the wait that the server asks for (Retry-After, RFC 9110 §10.2.3).

`Pace` measures half minutes of reading. The time between two tries does not count, the time of a silence does: a server
that stops and goes on again and again is as slow as a server that never stops. Clock and chance are parameters, so that
tests need no time.
"""

import asyncio
import random
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from shards.mirror.source import Body, FaultError, SyncError

TRIES: Final = 10  # in a row, without progress
_FIRST_SECONDS: Final = 0.1
_LONGEST_SECONDS: Final = 30.0

# If the source asks for a longer wait, the download ends; the next run may succeed.
MOST_ASKED_SECONDS: Final = 300.0

# So many new bytes of a file count as progress and reset the retries.
_PROGRESS_BYTES: Final = 1 << 16

# Longer waits are reported.
_NOTICED_SECONDS: Final = 1.0

_WINDOW_SECONDS: Final = 30.0
# Bytes a second. A body below is closed and requested again.
_LEAST_SPEED: Final = 1 << 10


class SlowSourceError(SyncError):
    """A source brings too few bytes a second; another try would not help."""


class Retries:
    """The tries of one file; a try that brought new bytes does not count.

    Args:
        report: called with a message before each wait of a second or more.
        chance: returns a random number in [0, 1).
    """

    def __init__(
        self,
        report: Callable[[str], object] = lambda _: None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._report = report
        self._chance = chance
        self._failed = 0
        self._reached = 0

    def next_wait(self, fault: FaultError, at: int = 0) -> float:
        """The seconds to wait before the next try; `at` is the size of the file so far.

        Raises:
            FaultError: that of `fault`, if it was the last try or asks for too long a wait.
        """
        if at >= self._reached + _PROGRESS_BYTES:
            self._reached, self._failed = at, 0
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


class Pace:
    """The pace of one download over all its tries.

    Args:
        slowest: the bytes a second over a minute of reading under which the download ends; 0 for no bound.
    """

    def __init__(
        self, where: str, slowest: int = 0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._where, self._slowest, self._clock = where, slowest, clock
        self._since = clock()
        self._seconds, self._brought = 0.0, 0
        self._before: tuple[float, int] | None = None  # of the half minute before

    def start(self) -> None:
        """Begin to read a body."""
        self._since = self._clock()

    def stop(self) -> None:
        """Count the time since the last piece."""
        now = self._clock()
        self._seconds, self._since = self._seconds + now - self._since, now

    def take(self, size: int) -> None:
        """Count a piece, and the time since the piece before.

        Raises:
            FaultError: the last half minute brought next to nothing.
            SlowSourceError: as `check`.
        """
        self.stop()
        self._brought += size
        speed = self.check()
        if speed is not None and speed < _LEAST_SPEED:
            raise FaultError(f"{self._where} comes too slowly")

    def check(self) -> float | None:
        """The speed of the half minute that has just ended; None within one.

        Raises:
            SlowSourceError: the last minute of reading brought too little.
        """
        if self._seconds < _WINDOW_SECONDS:
            return None
        seconds, brought = self._seconds, self._brought
        before, self._before = self._before, (seconds, brought)
        self._seconds, self._brought = 0.0, 0
        if before:
            speed = (before[1] + brought) / (before[0] + seconds)
            if speed < self._slowest:
                raise SlowSourceError(
                    f"{self._where} brings {speed:,.0f} bytes a second, under {self._slowest:,}"
                )
        return brought / seconds


class PartFile:
    """The beginning of a file, `at` bytes long.

    Attributes:
        size: the size of the whole file, if it is known.
        came: called with the number of bytes received; negative if bytes are discarded.
    """

    def __init__(
        self, path: Path, size: int | None = None, came: Callable[[int], object] = lambda _: None
    ) -> None:
        self.path, self.size, self.came = path, size, came
        self.at = path.stat().st_size if path.exists() else 0

    @property
    def can_continue(self) -> bool:
        """Whether a source may be asked for the rest alone."""
        return True

    def start(self, _body: Body) -> None:
        """Prepare for the first byte of `_body`."""

    def append(self, piece: bytes, out: IO[bytes]) -> None:
        """Write a piece to `out`, which is open for appending."""
        out.write(piece)
        self.at += len(piece)
        self.came(len(piece))

    def stop(self, _out: IO[bytes]) -> None:
        """A try has ended."""

    def discard(self) -> None:
        """Delete the bytes."""
        self.path.unlink(missing_ok=True)
        self.came(-self.at)
        self.at = 0


@dataclass(frozen=True, slots=True)
class FileDownload:
    """The download of one file to a part.

    Attributes:
        where: the address, for messages.
        open: requests the file from a position on.
    """

    where: str
    open: Callable[[int], AbstractAsyncContextManager[Body]]
    part: PartFile
    retries: Retries
    pace: Pace

    async def run(self) -> None:
        """Complete the part.

        Raises:
            FaultError: the source failed too often; the part stays for the next run.
            SlowSourceError: the source is too slow; the part stays for the next run.
            SyncError: as `open`.
        """
        while True:
            try:
                await self._try()
            except FaultError as fault:
                self.pace.check()
                await asyncio.sleep(self.retries.next_wait(fault, self.part.at))
            else:
                return

    async def _try(self) -> None:
        part = self.part
        is_too_long = part.size is not None and part.at > part.size
        if part.at and (is_too_long or not part.can_continue):
            part.discard()
        at = part.at
        if at and at == part.size:
            return
        async with self.open(at) as body:
            if body.start != at:  # a source that ignores ranges, has another file, or fewer bytes
                part.discard()
                if body.start != 0:
                    raise FaultError(f"{self.where} has no bytes from {at:,} on")
            if part.at == 0:
                part.start(body)
            with part.path.open("ab") as out:
                await self._append(body, out)
        if part.size is not None and part.at != part.size:
            raise FaultError(f"{self.where} ends at byte {part.at:,} of {part.size:,}")

    async def _append(self, body: Body, out: IO[bytes]) -> None:
        part = self.part
        self.pace.start()
        try:
            async for piece in body.pieces:
                if part.size is not None and part.at + len(piece) > part.size:
                    part.discard()
                    raise FaultError(
                        f"{self.where} has more than the {part.size:,} bytes announced"
                    )
                part.append(piece, out)
                self.pace.take(len(piece))
        finally:
            self.pace.stop()
            part.stop(out)
