"""The download of one edition: conditional, resumed, and never in the place of the file before.

`shards.mirror.download` has the tries and the pace; here are the requests, and the part that grows from night to night.
A download that was interrupted goes on with Range and If-Range, so that a server which has published anew in between
sends the whole file. When `EditionDownload.run` returns, the file is complete as announced; `published_files` decides
whether it is credible.

The bytes grow in a `RecordedPart`: `.fetch/<file>`; `<file>.part.json` has the validators of the representation they
belong to (RFC 9110 §8.8), and a digest of the bytes that were there at the last checkpoint. A later night keeps only
those: after a power cut the end of a file may be zeros, and a bit may flip between two nights.
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
from shards.mirror.source import Body

SLOWEST: Final = 20_000  # bytes a second
_CHECKPOINT_SECONDS: Final = 1.0


class RecordedPart(PartFile):
    """An unfinished file from `address`, with a record of the representation that its bytes belong to."""

    def __init__(self, path: Path, address: str) -> None:
        super().__init__(path)
        self._record = path.with_name(f"{path.name}.part.json")
        self._digest = blake3()
        self._recorded = 0.0
        self.validators = Validators("", "", address)

    def resume(self) -> None:
        """Continue with the bytes that an earlier night has left, up to its last checkpoint."""
        try:
            record = digests.load_record(self._record.read_bytes())
            validators, at = Validators(**record["validators"]), int(record["recus"])
            size, expected = record["octets"], record["blake3"]
        except (OSError, ValueError, KeyError, TypeError):  # absent, damaged, or of another version
            return
        if validators.adresse != self.validators.adresse or not 0 < at <= self.at:
            return
        with self.path.open("r+b") as file:
            file.truncate(at)
        digest = blake3().update_mmap(self.path)
        if digest.hexdigest() == expected:
            self.validators, self.at, self.size, self._digest = validators, at, size, digest

    @property
    def can_continue(self) -> bool:
        """Whether the rest alone may be requested, which needs a validator (RFC 9110 §13.1.5)."""
        return bool(self.validators.if_same())

    def start(self, body: Body) -> None:
        """Begin a representation."""
        self.validators = replace(self.validators, etag=body.etag, modifie=body.modified)
        self.size, self._digest = body.size, blake3()

    def append(self, piece: bytes, out: IO[bytes]) -> None:
        """Write a piece to `out`, with a checkpoint every second."""
        super().append(piece, out)
        self._digest.update(piece)
        if time.monotonic() - self._recorded > _CHECKPOINT_SECONDS:
            self.stop(out)

    def stop(self, out: IO[bytes]) -> None:
        """Record the bytes that have come."""
        out.flush()
        record = {
            "validators": asdict(self.validators),
            "octets": self.size,
            "recus": self.at,
            "blake3": self._digest.hexdigest(),
        }
        atomic_files.write(self._record, digests.dump_record(record))
        self._recorded = time.monotonic()

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
        key: the headers that open an account.
        bounded: whether a size that is not credible ends the download.
        slowest: the least bytes a second.
        came: called with the number of bytes received.
    """

    client: Client
    file: PublishedFile
    part: RecordedPart
    key: Mapping[str, str] = field(default_factory=dict)
    bounded: bool = True
    slowest: int = SLOWEST
    came: Callable[[int], object] = lambda _: None
    report: Callable[[str], object] = lambda _: None

    async def run(self, before: Receipt | None) -> bool:
        """Complete the part; return False if the edition is still that of the receipt `before`.

        Raises:
            AbsentError: it is not published.
            FaultError: the server failed too often; what has come stays for the next time.
            FetchError: the server sends a page, or a size that is not credible.
            SlowSourceError: the server is too slow; what has come stays for the next time.
            SyncError: the server refuses.
        """
        await asyncio.to_thread(self.part.resume)  # reads the bytes
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
        validators, address = self.part.validators, self.part.validators.adresse
        headers = before.validators.unless_changed() if before else {}
        if start:
            headers = {"Range": f"bytes={start}-", "If-Range": validators.if_same()}
        async with self.client.get(address, headers, self.key, self.file.hosts) as body:
            if body.start == 0:
                published_files.refuse_page(address, b"", body.content_type)
                if self.bounded and body.size is not None:
                    published_files.refuse_size(address, body.size, self.file.size)
            yield replace(body, pieces=self._credible_pieces(address, body))

    async def _credible_pieces(self, address: str, body: Body) -> AsyncIterator[bytes]:
        """The pieces, as long as they may be those of the file."""
        at = body.start or 0
        async for piece in body.pieces:
            if at == 0:
                published_files.refuse_page(address, piece)
            at += len(piece)
            self.came(len(piece))
            if self.bounded and at > self.file.size[1]:
                published_files.refuse_size(address, at, self.file.size)
            yield piece
