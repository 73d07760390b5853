"""The download of one edition: conditional, resumed, retried, and never in the place of the file before.

The bytes grow in `.fetch/`, with the validators of the representation they belong to (RFC 9110 §8.8). A download that
was interrupted goes on with Range and If-Range, so that a server which has published anew in between sends the whole
of it. What is there when this function returns is complete as announced; whether it is credible is decided elsewhere.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from pipeline.nightly.fetch import plausibility, receipt
from pipeline.nightly.fetch.client import Answer, Client
from pipeline.nightly.fetch.pace import SLOWEST, Pace
from pipeline.nightly.fetch.published import PublishedFile
from pipeline.nightly.fetch.receipt import Begun, Receipt, Validators
from shards.sync.errors import FaultError
from shards.sync.pacing import Backoff, FileRetries, SlowBody


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

    async def run(self, before: Receipt | None) -> Begun | None:
        """Bring the edition; None if it is that of the receipt `before`.

        Raises:
            AbsentError: it is not published.
            FaultError: the server failed too often; what has come stays for the next time.
            FetchError: the server refuses, or sends what is no data.
            SlowServerError: the server is too slow; what has come stays for the next time.
        """
        retries = FileRetries(Backoff(self.report))
        pace = Pace(self.address, self.slowest)
        while True:
            try:
                return await self._try(before, pace)
            except FaultError as fault:
                pace.check()
                size = self.path.stat().st_size if self.path.exists() else 0
                await asyncio.sleep(retries.next_wait(fault, size))

    async def _try(self, before: Receipt | None, pace: Pace) -> Begun | None:
        begun, at = self._earlier_part()
        if begun and at == begun.octets:
            return begun
        headers = before.validators.unless_changed() if before else {}
        if begun:
            headers = {"Range": f"bytes={at}-", "If-Range": begun.validators.if_same()}
        async with self.client.get(self.address, headers, self.key, self.file.hosts) as answer:
            if answer.status == 304:
                return None
            if answer.status == 416 or (answer.status == 206 and answer.start != at):
                self._forget()
                raise FaultError(f"{self.address} has no bytes from {at} on")
            if begun is None or answer.status == 200:
                begun, at = self._start(answer), 0
            with self.path.open("ab") as out:
                at = await self._append(answer, out, at, pace)
        if begun.octets is not None and at != begun.octets:
            raise FaultError(f"{self.address} ends at byte {at:,} of {begun.octets:,}")
        return begun

    def _earlier_part(self) -> tuple[Begun | None, int]:
        """What an earlier try has left that can be continued, and its size."""
        begun = receipt.read_begun(self.path)
        if begun and begun.validators.adresse == self.address and self.path.exists():
            size = self.path.stat().st_size
            if size and begun.validators.if_same() and size <= (begun.octets or size):
                return begun, size
        return None, 0

    def _start(self, answer: Answer) -> Begun:
        """Begin a new file, with the validators of the answer."""
        plausibility.refuse_page(self.address, b"", answer.content_type)
        if self.bounded and answer.size is not None:
            plausibility.refuse_size(self.address, answer.size, self.file.size)
        self._forget()
        begun = Begun(Validators(answer.etag, answer.modified, self.address), answer.size)
        receipt.write_begun(self.path, begun)
        return begun

    async def _append(self, answer: Answer, out: IO[bytes], at: int, pace: Pace) -> int:
        body = SlowBody(self.address)
        pace.start()
        try:
            async for piece in answer.pieces:
                if at == 0:
                    plausibility.refuse_page(self.address, piece)
                out.write(piece)
                self.came(len(piece))
                at += len(piece)
                if self.bounded and at > self.file.size[1]:
                    plausibility.refuse_size(self.address, at, self.file.size)
                pace.take(len(piece))
                body.take(len(piece))
        finally:
            pace.stop()
        return at

    def _forget(self) -> None:
        self.path.unlink(missing_ok=True)
        receipt.end_begun(self.path)
