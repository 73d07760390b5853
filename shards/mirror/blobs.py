"""The files of the generation that is being mirrored: downloaded, verified, and stored by digest.

    DATA/.mirror/<digest>.part     a file that is being downloaded
    DATA/.mirror/<digest>          a complete file, verified and synced

A file is renamed after it was verified and synced. The name of a part is the digest of the complete file, so a part is
valid in any later round, and no If-Range is needed. A file with a wrong digest is fetched again in full, a limited
number of times.

A file that a local generation already has is linked instead, after its digest was verified, so that disk errors do not
spread. Files stay here until the generation is published, so an interrupted round loses only its last pieces.
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

PART: Final = ".part"  # the suffix of the name of an incomplete file

# The number of wrong digests of a complete file after which the download fails.
_MOST_WRONG_DIGESTS: Final = 5

_MIB: Final = 1 << 20


class RateLimit:
    """A limit of `mib` MiB per second, a token bucket of one second; None means no limit."""

    def __init__(self, mib: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._bytes_per_second = mib * _MIB if mib else None
        self._clock = clock
        self._free_at = clock()  # the time at which the bytes read so far are within the rate

    def next_wait(self, size: int) -> float:
        """The seconds to wait before the next read, after `size` more bytes were read."""
        if self._bytes_per_second is None:
            return 0.0
        now = self._clock()
        # The unused rate of the last second can still be used.
        self._free_at = max(self._free_at, now - 1.0) + size / self._bytes_per_second
        return max(0.0, self._free_at - now)


@dataclass(slots=True)
class Downloader:
    """The settings of downloads, and their statistics.

    Attributes:
        report: called with a message before each wait of a second or more.
        on_bytes: called with the number of bytes received, for a progress bar; negative if bytes are discarded.
        chance: returns a random number in [0, 1), the share of the longest wait.
        read: bytes that were received, including discarded ones.
        resumed: bytes that an interrupted round had left.
        wrong: complete files with a wrong digest.
    """

    source: MirrorSource
    rate: RateLimit = field(default_factory=lambda: RateLimit(None))
    report: Callable[[str], object] = lambda _: None
    on_bytes: Callable[[int], object] = lambda _: None
    chance: Callable[[], float] = random.random
    clock: Callable[[], float] = time.monotonic
    read: int = 0
    resumed: int = 0
    wrong: int = 0

    def fetch(self, path: str, file: File, blob: Path) -> None:
        """Download the file at `path` of the source to `blob`; its digest must be that of `file`.

        Raises:
            FaultError: the source failed too often; the part stays for the next round.
            SyncError: the source refuses the file or does not have it.
        """
        where = f"{self.source.name}/{path}"
        part = PartFile(blob.with_name(blob.name + PART), file.size, self.on_bytes)
        # The bytes that an earlier round left count as received, for the progress bar.
        self.resumed += part.at
        self.on_bytes(part.at)
        for _ in range(_MOST_WRONG_DIGESTS):
            retries, pace = Retries(self.report, self.chance), Pace(where, clock=self.clock)
            download = FileDownload(where, partial(self._open, path, file), part, retries, pace)
            asyncio.run(download.run())
            if manifests.has_digest(part.path, file):
                atomic_files.rename_synced_file(part.path, blob)
                return
            self.wrong += 1
            part.discard()
        raise FaultError(
            f"{where} was fetched {_MOST_WRONG_DIGESTS} times with other bytes than in its "
            "manifest; run `python -m shards verify` there, or use another source"
        )

    @asynccontextmanager
    async def _open(self, path: str, file: File, start: int) -> AsyncIterator[Body]:
        """Open a file of the source at the byte `start`; its size must be that of `file`."""
        async with self.source.open(path, start) as body:
            # The body is of another file, so it must not be appended to the part.
            if body.size not in (None, file.size):
                raise FaultError(
                    f"{self.source.name}/{path} has {body.size:,} bytes there and {file.size:,} in its manifest"
                )
            yield replace(body, pieces=self._pieces(body.pieces))

    async def _pieces(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The pieces, delayed to the rate limit."""
        async for piece in pieces:
            await asyncio.sleep(self.rate.next_wait(len(piece)))
            self.read += len(piece)
            yield piece


@dataclass(slots=True)
class BlobStore:
    """The files of one generation, by digest.

    Attributes:
        folder: DATA/.mirror.
        local_paths: the paths of local files by digest, from `local_files`.
        fetched, linked: the number of files that were downloaded, and of files that were linked.
    """

    downloader: Downloader
    generation: str
    folder: Path
    local_paths: Mapping[str, list[Path]]
    fetched: int = 0
    linked: int = 0

    def blob(self, file: File) -> Path:
        """The path in `folder` of a file, once it is complete."""
        return self.folder / file.blake3

    def obtain(self, name: str, file: File) -> Path:
        """Link or download a file, and return its path."""
        self.folder.mkdir(exist_ok=True)
        blob = self.blob(file)
        if blob.exists():
            return blob
        for path in self.local_paths.get(file.blake3, ()):
            with suppress(FileNotFoundError):
                if path.stat().st_size == file.size and manifests.has_digest(path, file):
                    atomic_files.link(path, blob)
                    self.linked += 1
                    return blob
        self.downloader.fetch(f"{self.generation}/{name}", file, blob)
        self.fetched += 1
        return blob

    def clear(self, files: Mapping[str, File]) -> None:
        """Remove every file and part from the folder of blobs that does not have the content of one of `files`."""
        digests = {file.blake3 for file in files.values()}
        self.folder.mkdir(exist_ok=True)
        for path in self.folder.iterdir():
            if path.name.removesuffix(PART) not in digests:
                path.unlink()

    def missing_bytes(self, files: Mapping[str, File]) -> int:
        """The size in bytes of the files that have to be downloaded."""
        absent = {
            file.blake3: file.size
            for file in files.values()
            if file.blake3 not in self.local_paths and not self.blob(file).exists()
        }
        return sum(absent.values())

    def size_of_parts(self) -> int:
        """The size in bytes of the parts of incomplete files."""
        return sum(path.stat().st_size for path in self.folder.glob(f"*{PART}"))


def local_files(data: Path) -> dict[str, list[Path]]:
    """The files of all generations in `data`, by the digest in their manifests."""
    by_digest: dict[str, list[Path]] = {}
    for folder in data.iterdir():
        with suppress(ShardError, OSError):
            for name, file in generation_files.read_manifest(folder).files.items():
                by_digest.setdefault(file.blake3, []).append(folder / name)
    return by_digest
