"""The files of the generation that is being mirrored: downloaded, verified, and stored by digest.

    DATA/.mirror/<digest>.part     a file that is being downloaded
    DATA/.mirror/<digest>          a complete file, verified and synced

A download is resumed and bounded in size. The file is renamed after it was verified and synced. Since the name is the
digest of the complete file, a part is valid for any later round, and no If-Range is needed. Bytes are appended only at
their own position; if the source ignores the range, the part starts again at zero. A file whose digest is wrong is
fetched again in full, a limited number of times.

A file that a local generation already has is linked instead, after its digest was verified, so that disk errors do not
spread. Files stay here until the generation is published, so an interrupted round loses nothing but its last pieces.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from shards.errors import ShardError
from shards.generations import atomic_files, generation_files
from shards.generations import manifest as manifests
from shards.generations.manifest import File
from shards.mirror.source import Backoff, FaultError, FileRetries, MirrorSource, RateLimit, SlowBody

PART: Final = ".part"

# The number of times that a complete file may have a wrong digest before the source is given up.
_WRONG: Final = 5


@dataclass(slots=True)
class Downloader:
    """The settings of downloads, and their statistics.

    Attributes:
        came: called with the number of bytes received, for a progress bar; negative if bytes are discarded.
        read: bytes that were received, including discarded ones.
        resumed: bytes that an interrupted round had left.
        wrong: complete files with a wrong digest.
    """

    source: MirrorSource
    backoff: Backoff = field(default_factory=Backoff)
    rate: RateLimit = field(default_factory=lambda: RateLimit(None))
    came: Callable[[int], object] = lambda _: None
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
        part = blob.with_name(blob.name + PART)
        had = part.stat().st_size if part.exists() else 0
        self.resumed += had
        self.came(had)
        for _ in range(_WRONG):
            self._complete(path, file, part)
            if manifests.has_digest(part, file):
                atomic_files.appear(part, blob)
                self.backoff.progress()
                return
            self.wrong += 1
            self.came(-file.size)
            part.unlink()
        raise FaultError(
            f"{self.source.name}/{path} came {_WRONG} times with other bytes than its manifest "
            "says; `python -m shards verify` there, or take another source"
        )

    def _complete(self, path: str, file: File, part: Path) -> None:
        """Bring `part` to the size of `file`, with retries."""
        retries = FileRetries(self.backoff)
        while True:
            try:
                with part.open("ab") as out:
                    self._append(path, file, out)
                return
            except FaultError as fault:
                self.backoff.sleep(retries.next_wait(fault, part.stat().st_size))

    def _append(self, path: str, file: File, out: IO[bytes]) -> None:
        """Append to `out` from its end on, until it has the size of `file`.

        Raises:
            FaultError: the body ended too early or late, or came too slowly.
        """
        at = out.tell() if out.tell() <= file.size else self._discard(out, out.tell())
        if at == file.size:
            return
        where = f"{self.source.name}/{path}"
        with self.source.open(path, at) as body:
            if body.start != at:  # a source that ignores ranges
                at = self._discard(out, at)
            pace = SlowBody(where, self.clock)
            for piece in body.pieces:
                self.rate.take(len(piece))
                self.read += len(piece)
                if at + len(piece) > file.size:
                    self._discard(out, at)
                    raise FaultError(f"{where} has more than the {file.size} bytes announced")
                out.write(piece)
                self.came(len(piece))
                at += len(piece)
                pace.take(len(piece))
        if at != file.size:
            raise FaultError(f"{where} ends at byte {at} of {file.size}")

    def _discard(self, out: IO[bytes], at: int) -> int:
        """Discard the content of `out`."""
        self.came(-at)
        out.truncate(0)
        return 0


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
