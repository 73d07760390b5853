"""The download of one edition: conditional, resumed, and into a separate file until it is checked.

`shards.mirror.download` implements the retries and the least speed; this module implements the requests, and the
unfinished file that grows from night to night. An interrupted download continues with Range and If-Range, so that a
server that has published a new edition since then sends the complete file. When `EditionDownload.run` returns True, the
file has all the announced bytes; `published_files` decides whether it is credible.

The bytes are written to `.fetch/<file>` (a `RecordedPart`). `.fetch/<file>.part.json` records the validators of their
representation (RFC 9110 §8.8), and the number and the digest of the bytes at the last checkpoint. A later night keeps
only the bytes up to that checkpoint, if their digest is the same: after a power cut the end of a file can be zeros, and
a bit can flip between two nights.
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
from shards.mirror.download import FileDownload, Pace, PartFile, Retries
from shards.mirror.source import Body, RangeError

SLOWEST: Final = 20_000  # bytes per second: the default of the least speed
_CHECKPOINT_SECONDS: Final = 1.0  # between two checkpoints


class RecordedPart(PartFile):
    """An unfinished file from `address`, with a record of its validators and of the bytes up to the last checkpoint."""

    def __init__(self, path: Path, address: str) -> None:
        super().__init__(path)
        self._record = path.with_name(f"{path.name}.part.json")
        self._digest = blake3()
        self._last_checkpoint = 0.0  # monotonic seconds
        self.validators = Validators("", "", address)

    def resume(self) -> None:
        """Continue with the bytes of an earlier night, up to its last checkpoint.

        Without a valid record of these bytes the validators stay empty, so that `can_continue` is false.
        """
        try:
            record = digests.load_record(self._record.read_bytes())
            validators, received = Validators(**record["validators"]), int(record["recus"])
            size, recorded_digest = record["octets"], record["blake3"]
        except (OSError, ValueError, KeyError, TypeError):  # absent, damaged, or of another version
            return
        if validators.adresse != self.validators.adresse or not 0 < received <= self.at:
            return
        with self.path.open("r+b") as file:
            file.truncate(received)
        digest = blake3().update_mmap(self.path)
        if digest.hexdigest() == recorded_digest:
            self.validators, self.at, self.size, self._digest = validators, received, size, digest

    @property
    def can_continue(self) -> bool:
        """Whether the missing bytes can be requested: If-Range needs a validator (RFC 9110 §13.1.5)."""
        return bool(self.validators.if_same())

    def may_continue_with(self, body: Body) -> bool:
        """Whether the size and the validators of `body` agree with the bytes that are already here."""
        has_size = body.size is None or self.size in (None, body.size)
        return has_size and self.validators.may_have(body.etag, body.modified)

    def start(self, body: Body) -> None:
        """Begin a new file: store the validators and the size of its representation."""
        self.validators = replace(self.validators, etag=body.etag, modifie=body.modified)
        self.size, self._digest = body.size, blake3()

    def append(self, piece: bytes, out: IO[bytes]) -> None:
        """Write a piece to `out`, with a checkpoint every second."""
        super().append(piece, out)
        self._digest.update(piece)
        if time.monotonic() - self._last_checkpoint > _CHECKPOINT_SECONDS:
            self.stop(out)

    def stop(self, out: IO[bytes]) -> None:
        """Make a checkpoint: record the number and the digest of the received bytes."""
        out.flush()
        record = {
            "validators": asdict(self.validators),
            "octets": self.size,
            "recus": self.at,
            "blake3": self._digest.hexdigest(),
        }
        atomic_files.write(self._record, digests.dump_record(record))
        self._last_checkpoint = time.monotonic()

    def discard(self) -> None:
        """Delete the bytes and the record."""
        super().discard()
        self.remove_record()
        self.validators, self.size = Validators("", "", self.validators.adresse), None

    def remove_record(self) -> None:
        """Delete the record, after the bytes have been moved or deleted."""
        self._record.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class EditionDownload:
    """The download of an edition to `part`.

    Attributes:
        key: the HTTP header with the key of an account; empty without an account.
        bounded: whether a size that is not credible ends the download.
        slowest: the least speed in bytes per second.
        on_bytes: called with the number of bytes of each received piece.
        report: called with a message before a wait.
    """

    client: Client
    file: PublishedFile
    part: RecordedPart
    key: Mapping[str, str] = field(default_factory=dict)
    bounded: bool = True
    slowest: int = SLOWEST
    on_bytes: Callable[[int], object] = lambda _: None
    report: Callable[[str], object] = lambda _: None

    async def run(self, before: Receipt | None) -> bool:
        """Complete the part; return False if the server still has the edition of the receipt `before`.

        Raises:
            AbsentError: the edition is not published.
            FaultError: the server failed too often; the received bytes stay for the next time.
            FetchError: the server sends a page, or a size that is not credible.
            SlowSourceError: the server is too slow; the received bytes stay for the next time.
            SyncError: the server refuses the request.
        """
        # In a thread, because it reads all bytes for their digest.
        await asyncio.to_thread(self.part.resume)
        address = self.part.validators.adresse
        retries, pace = Retries(self.report), Pace(address, self.slowest)
        download = FileDownload(address, partial(self._open, before), self.part, retries, pace)
        try:
            await download.run()
        except UnchangedError:
            return False
        return True

    @asynccontextmanager
    async def _open(self, before: Receipt | None, start: int) -> AsyncIterator[Body]:
        """The body of the response to a request for the bytes from `start` on.

        With `start` 0 and a receipt `before`, the server sends a body only if the edition has changed since then.

        Raises:
            RangeError: the edition has changed since its first bytes came, so the download must begin again.
        """
        validators, address = self.part.validators, self.part.validators.adresse
        headers = before.validators.unless_changed() if before else {}
        if start:
            headers = {"Range": f"bytes={start}-", "If-Range": validators.if_same()}
        async with self.client.get(address, headers, self.key, self.file.hosts) as body:
            if body.start == 0:
                published_files.refuse_page(address, b"", body.content_type)
                if self.bounded and body.size is not None:
                    published_files.refuse_size(address, body.size, self.file.size)
            elif not self.part.may_continue_with(body):  # the server has ignored If-Range
                raise RangeError(f"{address} has changed since its first {start:,} bytes came")
            yield replace(body, pieces=self._credible_pieces(address, body))

    async def _credible_pieces(self, address: str, body: Body) -> AsyncIterator[bytes]:
        """The pieces of the body; an error as soon as they are a web page, or too many bytes for a credible file."""
        position = body.start
        async for piece in body.pieces:
            if position == 0:
                published_files.refuse_page(address, piece)
            position += len(piece)
            self.on_bytes(len(piece))
            if self.bounded and position > self.file.size[1]:
                published_files.refuse_size(address, position, self.file.size)
            yield piece
