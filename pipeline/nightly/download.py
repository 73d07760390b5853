"""The download of one edition: conditional, resumed, retried, and never in the place of the file before.

The bytes grow in a `PartFile`. A download that was interrupted goes on with Range and If-Range, so that a server which
has published anew in between sends the whole of it. What is there when this function returns is complete as announced;
whether it is credible is decided elsewhere.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.nightly import plausibility
from pipeline.nightly.client import Answer, Client
from pipeline.nightly.pace import SLOWEST, Pace
from pipeline.nightly.part_file import PartFile
from pipeline.nightly.published_files import PublishedFile
from pipeline.nightly.receipt import Receipt, Validators
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
        plausibility.refuse_page(self.address, b"", answer.content_type)
        if self.bounded and answer.size is not None:
            plausibility.refuse_size(self.address, answer.size, self.file.size)
        part.start(Validators(answer.etag, answer.modified, self.address), answer.size)

    async def _append(self, answer: Answer, part: PartFile, pace: Pace) -> None:
        body = SlowBody(self.address)
        pace.start()
        with part.path.open("ab") as out:
            try:
                async for piece in answer.pieces:
                    if part.at == 0:
                        plausibility.refuse_page(self.address, piece)
                    part.append(piece, out)
                    self.came(len(piece))
                    if self.bounded and part.at > self.file.size[1]:
                        plausibility.refuse_size(self.address, part.at, self.file.size)
                    pace.take(len(piece))
                    body.take(len(piece))
            finally:
                pace.stop()
                part.checkpoint(out)
