"""The download of one edition: conditional, resumed, and never in the place of the file before.

`shards.mirror.download` has the tries and the pace; here are the requests, and the part that grows from night to night.
A download that was interrupted goes on with Range and If-Range, so that a server which has published anew in between
sends the whole file. When `EditionDownload.run` returns, the file is complete as announced; `published_files` decides
whether it is credible.

The bytes grow in a `PartFile`: `.fetch/<file>`; `<file>.part.json` has the validators of the representation they belong
to (RFC 9110 §8.8), and a digest of the bytes that were there at the last checkpoint. A later night keeps only those:
after a power cut the end of a file may be zeros, and a bit may flip between two nights.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO, Final

from blake3 import blake3

from pipeline import digests
from pipeline.nightly import published_files
from pipeline.nightly.published_files import PublishedFile
from pipeline.nightly.receipt import Receipt, Validators
from shards.generations import atomic_files
from shards.mirror.client import Client, UnchangedError
from shards.mirror.download import Download, Pace, Part, Retries
from shards.mirror.source import Body

SLOWEST: Final = 20_000  # bytes a second
_CHECKPOINT_SECONDS: Final = 1.0


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


class PartFile(Part):
    """An unfinished file from `address`, with a record of the representation that its bytes belong to."""

    def __init__(self, path: Path, address: str) -> None:
        super().__init__(path)
        self._address = address
        self._record = _record_path(path)
        self._digest = blake3()
        self._recorded = 0.0
        self.state: PartState | None = None
        self.can_continue = False

    def resume(self) -> None:
        """Continue with the bytes that an earlier night has left, up to its last checkpoint."""
        state = _read_state(self._record)
        if state is None or state.validators.adresse != self._address:
            return
        if not 0 < state.recus <= self.at:
            return
        with self.path.open("r+b") as file:
            file.truncate(state.recus)
        digest = blake3().update_mmap(self.path)
        if digest.hexdigest() == state.blake3:
            self.at, self._digest = state.recus, digest
            self._set_state(state)

    def start(self, body: Body) -> None:
        """Begin a representation."""
        self._digest = blake3()
        self._set_state(PartState(Validators(body.etag, body.modified, self._address), body.size))

    def _set_state(self, state: PartState) -> None:
        self.state, self.size = state, state.octets
        # A request for the rest needs a validator (RFC 9110 §13.1.5).
        self.can_continue = bool(state.validators.if_same())

    def append(self, piece: bytes, out: IO[bytes]) -> None:
        """Write a piece to `out`, with a checkpoint every second."""
        super().append(piece, out)
        self._digest.update(piece)
        if time.monotonic() - self._recorded > _CHECKPOINT_SECONDS:
            self.stop(out)

    def stop(self, out: IO[bytes]) -> None:
        """Record the bytes that have come."""
        if self.state is None:
            return
        out.flush()
        self.state = replace(self.state, recus=self.at, blake3=self._digest.hexdigest())
        atomic_files.write(self._record, digests.dump_record(asdict(self.state)))
        self._recorded = time.monotonic()

    def discard(self) -> None:
        """Delete the bytes and the record."""
        super().discard()
        self._record.unlink(missing_ok=True)
        self.state = self.size = None


def remove_record(path: Path) -> None:
    """Delete the record of the part at `path`, which has been moved or deleted."""
    _record_path(path).unlink(missing_ok=True)


def _record_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.part.json")


def _read_state(path: Path) -> PartState | None:
    try:
        found = digests.load_record(path.read_bytes())
        return PartState(**{**found, "validators": Validators(**found["validators"])})
    except (OSError, ValueError, KeyError, TypeError):  # absent, damaged, or of another version
        return None


@dataclass(frozen=True, slots=True)
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
            FetchError: the server sends what is no data.
            SlowSourceError: the server is too slow; what has come stays for the next time.
            SyncError: the server refuses.
        """
        part = PartFile(self.path, self.address)
        await asyncio.to_thread(part.resume)  # reads the bytes
        pace = Pace(self.address, self.slowest)
        download = Download(
            self.address, partial(self._open, part, before), part, Retries(self.report), pace
        )
        try:
            await download.run()
        except UnchangedError:
            return None
        assert part.state
        return part.state.validators

    @asynccontextmanager
    async def _open(
        self, part: PartFile, before: Receipt | None, start: int
    ) -> AsyncIterator[Body]:
        headers = before.validators.unless_changed() if before else {}
        if start and part.state:
            headers = {"Range": f"bytes={start}-", "If-Range": part.state.validators.if_same()}
        async with self.client.get(self.address, headers, self.key, self.file.hosts) as body:
            if body.start == 0:
                published_files.refuse_page(self.address, b"", body.content_type)
                if self.bounded and body.size is not None:
                    published_files.refuse_size(self.address, body.size, self.file.size)
            yield replace(body, pieces=self._credible_pieces(body))

    async def _credible_pieces(self, body: Body) -> AsyncIterator[bytes]:
        """The pieces, as long as they may be those of the file."""
        at = body.start or 0
        async for piece in body.pieces:
            if at == 0:
                published_files.refuse_page(self.address, piece)
            at += len(piece)
            self.came(len(piece))
            if self.bounded and at > self.file.size[1]:
                published_files.refuse_size(self.address, at, self.file.size)
            yield piece
