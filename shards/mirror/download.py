"""The download of one file: resumed, retried, and ended if its server is too slow. Mirrors and nightly fetches use it.

Read `FileDownload` at the end first. A file grows in a `PartFile`, over any number of tries and runs. Bytes are
appended only at their own position: if a source sends the complete file instead of the rest, or cannot continue the
file, the part starts again from 0.

Between two tries is a wait (`Retries`). Its limit doubles from a tenth of a second to half a minute, and the wait is a
random part of the limit ("full jitter"), so that a hundred mirrors do not return together to a server that has just
recovered. The wait is at least that which the server requests (Retry-After, RFC 9110 §10.2.3).

`Pace` measures half minutes of reading. The time between two tries does not count, but the time of a silence does, so
a server that stops and resumes repeatedly is slow too. Clock and chance are parameters, so tests need not wait.
"""

import asyncio
import random
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from shards.mirror.source import Body, FaultError, RangeError, SyncError

TRIES: Final = 10  # the most tries in a row without progress
# The longest wait before the second try; this limit doubles at each further try.
_FIRST_SECONDS: Final = 0.1
# The longest wait before any try, unless the source requests a longer one.
_LONGEST_SECONDS: Final = 30.0

# If the source requests a longer wait, the download ends, and the next run tries again.
MOST_ASKED_SECONDS: Final = 300.0

# This many new bytes of a file are progress and reset the retries.
_PROGRESS_BYTES: Final = 1 << 16

# A wait of this length or more is reported.
_NOTICED_SECONDS: Final = 1.0

# The time of reading over which a speed is measured.
_WINDOW_SECONDS: Final = 30.0
# Bytes per second. A slower body is closed and requested again.
_LEAST_SPEED: Final = 1 << 10


class SlowSourceError(SyncError):
    """A source sends too few bytes per second; another try would not help."""


class Retries:
    """The tries of one file; progress resets their number.

    Args:
        report: called with a message before each wait of a second or more.
        chance: returns a random number in [0, 1).
    """

    def __init__(
        self,
        report: Callable[[str], object] = lambda _: None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Begin without a failed try; `report` gets messages, `chance` gives random numbers for the length of waits."""
        self._report = report
        self._chance = chance
        self._failed = 0  # tries since the last progress
        self._reached = 0  # the size of the file at the last progress

    def next_wait(self, fault: FaultError, at: int = 0) -> float:
        """The seconds to wait before the next try; `at` is the size of the file so far.

        Raises:
            FaultError: as `fault`, if it was the last try or the requested wait is too long.
        """
        if at >= self._reached + _PROGRESS_BYTES:
            self._reached, self._failed = at, 0
        self._failed += 1
        requested = fault.after or 0.0
        if self._failed >= TRIES or requested > MOST_ASKED_SECONDS:
            requested_wait = f" and requests a wait of {requested:,.0f} s" if requested else ""
            raise FaultError(
                f"{fault}{requested_wait}; check the source, or try again later", fault.after
            ) from fault
        longest = min(_LONGEST_SECONDS, _FIRST_SECONDS * 2.0 ** (self._failed - 1))
        seconds = max(requested, self._chance() * longest)
        if seconds >= _NOTICED_SECONDS:
            self._report(f"{fault}; trying again in {seconds:.0f} s")
        return seconds


class Pace:
    """The pace of one download over all its tries.

    Args:
        where: the source, for messages.
        slowest: the least bytes per second over a minute of reading, else the download ends; 0 for no bound.
        clock: returns the time in seconds.
    """

    def __init__(
        self, where: str, slowest: int = 0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Begin with nothing read; see the class for the parameters."""
        self._where, self._slowest, self._clock = where, slowest, clock
        self._since = clock()  # the time up to which reading is counted
        # Reading time and bytes read in the half minute that has not ended yet.
        self._seconds, self._bytes = 0.0, 0
        # Reading time and bytes read in the half minute before; None if none has ended yet.
        self._previous_window: tuple[float, int] | None = None

    def start(self) -> None:
        """Start to read a body."""
        self._since = self._clock()

    def stop(self) -> None:
        """Count the time since the last piece; called when a body ends or breaks off."""
        now = self._clock()
        self._seconds, self._since = self._seconds + now - self._since, now

    def count_piece(self, size: int) -> None:
        """Count a piece of `size` bytes, and the time since the last piece.

        Raises:
            FaultError: the last half minute brought almost nothing.
            SlowSourceError: as `check`.
        """
        self.stop()
        self._bytes += size
        speed = self.check()
        if speed is not None and speed < _LEAST_SPEED:
            raise FaultError(
                f"{self._where} sends {speed:,.0f} bytes a second, less than {_LEAST_SPEED:,}"
            )

    def check(self) -> float | None:
        """The bytes per second of the half minute that has just ended; None if it has not ended yet.

        Raises:
            SlowSourceError: the last minute of reading was too slow.
        """
        if self._seconds < _WINDOW_SECONDS:
            return None
        seconds, bytes_read = self._seconds, self._bytes
        previous_window, self._previous_window = self._previous_window, (seconds, bytes_read)
        self._seconds, self._bytes = 0.0, 0
        if previous_window:
            speed = (previous_window[1] + bytes_read) / (previous_window[0] + seconds)
            if speed < self._slowest:
                raise SlowSourceError(
                    f"{self._where} sends {speed:,.0f} bytes a second, less than {self._slowest:,}"
                )
        return bytes_read / seconds


class PartFile:
    """The first `at` bytes of a file.

    Attributes:
        size: the size of the complete file, if it is known.
        on_bytes: called with the number of bytes received; negative if bytes are discarded.
    """

    def __init__(
        self,
        path: Path,
        size: int | None = None,
        on_bytes: Callable[[int], object] = lambda _: None,
    ) -> None:
        """Continue the part at `path` if it exists; `size` is that of the complete file, `on_bytes` gets progress."""
        self.path, self.size, self.on_bytes = path, size, on_bytes
        self.at = path.stat().st_size if path.exists() else 0

    @property
    def can_continue(self) -> bool:
        """Whether the missing rest can be requested alone; if not, the download starts again."""
        return True

    def start(self, _body: Body) -> None:
        """Called before the first byte of `_body` is appended; a subclass can prepare for it."""

    def append(self, piece: bytes, out: IO[bytes]) -> None:
        """Write a piece to `out`, which is open for appending."""
        out.write(piece)
        self.at += len(piece)
        self.on_bytes(len(piece))

    def stop(self, _out: IO[bytes]) -> None:
        """Called when a try has ended; a subclass can record the bytes in `_out`."""

    def discard(self) -> None:
        """Delete the bytes."""
        self.path.unlink(missing_ok=True)
        self.on_bytes(-self.at)
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
        """Complete the part, by as many tries as `retries` allows.

        Raises:
            FaultError: the source failed too often; the part stays for the next run.
            SlowSourceError: the source is too slow; the part stays for the next run.
            SyncError: as `open`.
        """
        while True:
            try:
                await self._try()
            except FaultError as fault:
                self.pace.check()  # ends the download here if the source is too slow to retry
                await asyncio.sleep(self.retries.next_wait(fault, self.part.at))
            else:
                return

    async def _try(self) -> None:
        """Request the missing bytes once, and append them to the part (the bytes that earlier tries have received).

        A part that cannot be continued is discarded first.

        Raises:
            FaultError: the body ends too early or is too long; the next try continues.
            RangeError: the source sends other bytes than requested.
        """
        part = self.part
        is_too_long = part.size is not None and part.at > part.size
        if part.at and (is_too_long or not part.can_continue):
            part.discard()
        at = part.at
        if at and at == part.size:
            return
        try:
            async with self.open(at) as body:
                if body.start not in (0, at):
                    raise RangeError(
                        f"{self.where} sends the bytes from {body.start:,} on instead of the bytes from {at:,} on"
                    )
                if body.start != at:  # a source that ignores ranges, or has another file
                    part.discard()
                if part.at == 0:
                    part.start(body)
                with part.path.open("ab") as out:
                    await self._append(body, out)
        except RangeError:
            part.discard()
            raise
        if part.size is not None and part.at != part.size:
            raise FaultError(f"{self.where} ends at byte {part.at:,} of {part.size:,}")

    async def _append(self, body: Body, out: IO[bytes]) -> None:
        """Append the pieces of a body to the part, and measure their pace, so that a slow source is given up.

        Raises:
            FaultError: the body is longer than announced, so the part is discarded.
        """
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
                self.pace.count_piece(len(piece))
        finally:
            self.pace.stop()
            part.stop(out)
