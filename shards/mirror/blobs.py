"""The files of the generation that is being mirrored, stored by digest.

    DATA/.mirror/<digest>.part     a file that is being downloaded
    DATA/.mirror/<digest>          a complete file, verified and synced

A file that a local generation already has is linked instead, after its digest was verified, so that disk errors do not
spread. Files stay here until the generation is published, so an interrupted round loses nothing but its last pieces.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from shards.errors import ShardError
from shards.generations import atomic_files, generation_files
from shards.generations import manifest as manifests
from shards.generations.manifest import File
from shards.mirror.download import PART, Downloader


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
