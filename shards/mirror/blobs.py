"""The files of the generation that is being mirrored: downloaded, verified, and stored by digest.

    DATA/.mirror/<digest>.part     a file that is being downloaded
    DATA/.mirror/<digest>          a complete file, verified and synced

A file is renamed after it was verified and synced. Since the name is the digest of the complete file, a part is valid
for any later round, and no If-Range is needed. A file whose digest is wrong is fetched again in full, a limited number
of times.

A file that a local generation already has is linked instead, after its digest was verified, so that disk errors do not
spread. Files stay here until the generation is published, so an interrupted round loses nothing but its last pieces.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

from shards.errors import ShardError
from shards.generations import atomic_files, generation_files
from shards.generations import manifest as manifests
from shards.generations.manifest import File
from shards.mirror.download import FileDownload, Pace, PartFile, Retries
from shards.mirror.source import Body, FaultError, MirrorSource

PART: Final = ".part"

# The number of times that a complete file may have a wrong digest before the source is given up.
_WRONG: Final = 5

_MIB: Final = 1 << 20


class RateLimit:
    """A limit of `mib` MiB per second, a token bucket of one second; None means no limit."""

    def __init__(self, mib: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._bytes = mib * _MIB if mib else None
        self._clock = clock
        self._free_at = clock()  # the time at which the bytes taken so far are within the rate

    def next_wait(self, size: int) -> float:
        """The seconds to wait until `size` more bytes may have been read."""
        if self._bytes is None:
            return 0.0
        now = self._clock()
        # Unused rate of the last second may be caught up.
        self._free_at = max(self._free_at, now - 1.0) + size / self._bytes
        return max(0.0, self._free_at - now)


@dataclass(slots=True)
class Downloader:
    """The settings of downloads, and their statistics.

    Attributes:
        report: called with a message before each wait of a second or more.
        came: called with the number of bytes received, for a progress bar; negative if bytes are discarded.
        chance: returns a random number in [0, 1), the share of the longest wait.
        read: bytes that were received, including discarded ones.
        resumed: bytes that an interrupted round had left.
        wrong: complete files with a wrong digest.
    """

    source: MirrorSource
    rate: RateLimit = field(default_factory=lambda: RateLimit(None))
    report: Callable[[str], object] = lambda _: None
    came: Callable[[int], object] = lambda _: None
    chance: Callable[[], float] = random.random
    clock: Callable[[], float] = time.monotonic
    read: int = 0
    resumed: int = 0
    wrong: int = 0

    def fetch(self, path: str, file: File, blob: Path) -> None:
        """Download the file at `path` of the source to `blob`; its content must be that of `file`.

        Raises:
            FaultError: the source failed too often; the part stays for the next round.
            SyncError: the source refuses the file or does not have it.
        """
        where = f"{self.source.name}/{path}"
        part = PartFile(blob.with_name(blob.name + PART), file.size, self.came)
        self.resumed += part.at
        self.came(part.at)
        for _ in range(_WRONG):
            retries, pace = Retries(self.report, self.chance), Pace(where, clock=self.clock)
            download = FileDownload(where, partial(self._open, path), part, retries, pace)
            asyncio.run(download.run())
            if manifests.has_digest(part.path, file):
                atomic_files.appear(part.path, blob)
                return
            self.wrong += 1
            part.discard()
        raise FaultError(
            f"{where} came {_WRONG} times with other bytes than its manifest "
            "says; `python -m shards verify` there, or take another source"
        )

    @asynccontextmanager
    async def _open(self, path: str, start: int) -> AsyncIterator[Body]:
        async with self.source.open(path, start) as body:
            yield replace(body, pieces=self._pieces(body.pieces))

    async def _pieces(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The pieces at the limit of the rate."""
        async for piece in pieces:
            await asyncio.sleep(self.rate.next_wait(len(piece)))
            self.read += len(piece)
            yield piece


@dataclass(slots=True)
class BlobStore:
    """The files of one generation, by digest.

    Attributes:
        folder: DATA/.mirror.
        held: the local files by digest, from `local_files`.
        fetched, linked: the number of files that were downloaded, that were linked.
    """

    downloader: Downloader
    generation: str
    folder: Path
    held: Mapping[str, list[Path]]
    fetched: int = 0
    linked: int = 0

    def blob(self, file: File) -> Path:
        """The path of a complete file."""
        return self.folder / file.blake3

    def obtain(self, name: str, file: File) -> Path:
        """Link or download a file, and return its path."""
        self.folder.mkdir(exist_ok=True)
        blob = self.blob(file)
        if blob.exists():
            return blob
        for path in self.held.get(file.blake3, ()):
            with suppress(FileNotFoundError):
                if path.stat().st_size == file.size and manifests.has_digest(path, file):
                    atomic_files.link(path, blob)
                    self.linked += 1
                    return blob
        self.downloader.fetch(f"{self.generation}/{name}", file, blob)
        self.fetched += 1
        return blob

    def clear(self, files: Mapping[str, File]) -> None:
        """Remove everything that belongs to none of `files`."""
        wanted = {file.blake3 for file in files.values()}
        self.folder.mkdir(exist_ok=True)
        for path in self.folder.iterdir():
            if path.name.removesuffix(PART) not in wanted:
                path.unlink()

    def missing_bytes(self, files: Mapping[str, File]) -> int:
        """The size in bytes of the files that have to be downloaded."""
        absent = {
            file.blake3: file.size
            for file in files.values()
            if file.blake3 not in self.held and not self.blob(file).exists()
        }
        return sum(absent.values())

    def size_of_parts(self) -> int:
        """The size in bytes of the parts of incomplete files."""
        return sum(path.stat().st_size for path in self.folder.glob(f"*{PART}"))


def local_files(data: Path) -> dict[str, list[Path]]:
    """The files of all generations in `data`, by the digest in their manifests."""
    found: dict[str, list[Path]] = {}
    for folder in data.iterdir():
        with suppress(ShardError, OSError):
            for name, file in generation_files.read_manifest(folder).files.items():
                found.setdefault(file.blake3, []).append(folder / name)
    return found
