"""The download of one edition: conditional, resumed, retried, and never in the place of the file before.

Read `EditionDownload` at the end first. A download that was interrupted goes on with Range and If-Range, so that a
server which has published anew in between sends the whole file. When `run` returns, the file is complete as announced;
`published_files` decides whether it is credible.

The bytes grow in a `PartFile`: `.fetch/<file>`; `<file>.part.json` has the validators of the representation they belong
to (RFC 9110 §8.8), and a digest of the bytes that were there at the last checkpoint. A later night keeps only those:
after a power cut the end of a file may be zeros, and a bit may flip between two nights.

`Pace` ends a download that is too slow over a minute of reading. The time between two tries does not count, the time of
a silence does: a server that stops and goes on again and again is as slow as one that never stops. A file that comes
within a minute is never too slow.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import IO, Final

from blake3 import blake3

from pipeline import digests
from pipeline.errors import FetchError
from pipeline.nightly import published_files
from pipeline.nightly.published_files import PublishedFile
from pipeline.nightly.receipt import Receipt, Validators
from shards.generations import atomic_files
from shards.mirror.client import Answer, Client
from shards.mirror.source import Backoff, FaultError, FileRetries, SlowBody

SLOWEST: Final = 20_000  # bytes a second
_WINDOW_SECONDS: Final = 60.0
_CHECKPOINT_SECONDS: Final = 1.0


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


@dataclass(frozen=True, slots=True)
class PartState:
    """What is known of an unfinished file.

    Attributes:
        octets: its whole size, if announced.
        recus, blake3: how many of its bytes had come at the last checkpoint, and their digest.
    """

    validators: Validators
    octets: int | None
    recus: int = 0
    blake3: str = ""


class PartFile:
    """An unfinished file; `at` of its bytes have come."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.at = 0
        self.begun: PartState | None = None
        self._digest = blake3()
        self._recorded = 0.0

    def resume(self, address: str) -> None:
        """Take up what an earlier night has left of `address`, up to its last checkpoint."""
        found = _read_state(self._record)
        if found is None or found.validators.adresse != address or not self.path.exists():
            return
        if not 0 < found.recus <= self.path.stat().st_size:
            return
        with self.path.open("r+b") as file:
            file.truncate(found.recus)
        digest = blake3().update_mmap(self.path)
        if digest.hexdigest() == found.blake3:
            self.begun, self.at, self._digest = found, found.recus, digest

    def can_continue(self) -> bool:
        """Whether a request may ask for the rest alone (RFC 9110 §13.1.5)."""
        return bool(self.begun and self.at and self.begun.validators.if_same())

    def start(self, validators: Validators, octets: int | None) -> None:
        """Begin anew, with nothing."""
        self.forget()
        self.begun = PartState(validators, octets)

    def append(self, piece: bytes, out: IO[bytes]) -> None:
        """Write a piece that has come to `out`, which is open for appending."""
        out.write(piece)
        self._digest.update(piece)
        self.at += len(piece)
        if time.monotonic() - self._recorded > _CHECKPOINT_SECONDS:
            self.checkpoint(out)

    def checkpoint(self, out: IO[bytes]) -> None:
        """Record what has come."""
        assert self.begun
        out.flush()
        self.begun = replace(self.begun, recus=self.at, blake3=self._digest.hexdigest())
        atomic_files.write(self._record, digests.dump_record(asdict(self.begun)))
        self._recorded = time.monotonic()

    def forget(self) -> None:
        """Delete the bytes and the record."""
        self.path.unlink(missing_ok=True)
        self.end()
        self.begun, self.at, self._digest = None, 0, blake3()

    def end(self) -> None:
        """Delete the record of a file that is whole."""
        self._record.unlink(missing_ok=True)

    @property
    def _record(self) -> Path:
        return self.path.with_name(f"{self.path.name}.part.json")


def _read_state(path: Path) -> PartState | None:
    try:
        found = digests.load_record(path.read_bytes())
        return PartState(**{**found, "validators": Validators(**found["validators"])})
    except (OSError, ValueError, KeyError, TypeError):  # absent, damaged, or of another version
        return None


@dataclass(slots=True)
class EditionDownload:
    """A download of `address` to `path`.

    Attributes:
        key: the headers that open an account.
        bounded: whether a size that is not credible ends the download.
        slowest: the least bytes a second.
        came: called with the number of bytes received.
    """

    client: Client
    file: PublishedFile
    address: str
    path: Path
    key: Mapping[str, str] = field(default_factory=dict)
    bounded: bool = True
    slowest: int = SLOWEST
    came: Callable[[int], object] = lambda _: None
    report: Callable[[str], object] = lambda _: None

    async def run(self, before: Receipt | None) -> Validators | None:
        """Bring the edition and return what its server says of it; None if it is that of the receipt `before`.

        Raises:
            AbsentError: it is not published.
            FaultError: the server failed too often; what has come stays for the next time.
            FetchError: the server refuses, or sends what is no data.
            SlowServerError: the server is too slow; what has come stays for the next time.
        """
        retries = FileRetries(Backoff(self.report))
        pace = Pace(self.address, self.slowest)
        part = PartFile(self.path)
        await asyncio.to_thread(part.resume, self.address)  # reads what there is
        while True:
            try:
                return await self._try(before, part, pace)
            except FaultError as fault:
                pace.check()
                await asyncio.sleep(retries.next_wait(fault, part.at))

    async def _try(self, before: Receipt | None, part: PartFile, pace: Pace) -> Validators | None:
        headers = before.validators.unless_changed() if before else {}
        if part.can_continue():
            assert part.begun
            if part.at == part.begun.octets:
                return part.begun.validators
            headers = {"Range": f"bytes={part.at}-", "If-Range": part.begun.validators.if_same()}
        else:
            part.forget()
        async with self.client.get(self.address, headers, self.key, self.file.hosts) as answer:
            if answer.status == 304:
                return None
            if answer.status == 416 or (answer.status == 206 and answer.start != part.at):
                at = part.at
                part.forget()
                raise FaultError(f"{self.address} has no bytes from {at} on")
            if part.begun is None or answer.status == 200:
                self._start(answer, part)
            await self._append(answer, part, pace)
        assert part.begun
        if part.begun.octets is not None and part.at != part.begun.octets:
            raise FaultError(f"{self.address} ends at byte {part.at:,} of {part.begun.octets:,}")
        return part.begun.validators

    def _start(self, answer: Answer, part: PartFile) -> None:
        """Begin a new file, with the validators of the answer."""
        published_files.refuse_page(self.address, b"", answer.content_type)
        if self.bounded and answer.size is not None:
            published_files.refuse_size(self.address, answer.size, self.file.size)
        part.start(Validators(answer.etag, answer.modified, self.address), answer.size)

    async def _append(self, answer: Answer, part: PartFile, pace: Pace) -> None:
        body = SlowBody(self.address)
        pace.start()
        with part.path.open("ab") as out:
            try:
                async for piece in answer.pieces:
                    if part.at == 0:
                        published_files.refuse_page(self.address, piece)
                    part.append(piece, out)
                    self.came(len(piece))
                    if self.bounded and part.at > self.file.size[1]:
                        published_files.refuse_size(self.address, part.at, self.file.size)
                    pace.take(len(piece))
                    body.take(len(piece))
            finally:
                pace.stop()
                part.checkpoint(out)
