"""The files of one generation, gathered under their digests, whatever they are called.

    DATA/.mirror/<digest>.part     a file that is on its way
    DATA/.mirror/<digest>          a file that has come, compared and on the disk

A file that a generation here holds already is linked, after its bytes were compared: a disk that
has lost one must not hand it on. What is fetched is kept until the generation stands, so a round
that ends too soon costs nothing but its last pieces.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from shards.errors import ShardError
from shards.generations import atomic_files, generation_files
from shards.generations import manifest as manifests
from shards.generations.manifest import File
from shards.sync.download import PART, Downloader


@dataclass(slots=True)
class BlobStore:
    """The files of a generation, gathered under their digests."""

    fetcher: Downloader
    generation: str
    folder: Path
    held: Mapping[str, list[Path]]
    fetched: int = 0
    linked: int = 0

    def blob(self, file: File) -> Path:
        """Where that file is once it is here."""
        return self.folder / file.blake3

    def have(self, name: str, file: File) -> Path:
        """Link what is here, fetch what is not."""
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
        self.fetcher.fetch(f"{self.generation}/{name}", file, blob)
        self.fetched += 1
        return blob

    def clear(self, files: Mapping[str, File]) -> None:
        """Remove what is of use to none of these."""
        wanted = {file.blake3 for file in files.values()}
        self.folder.mkdir(exist_ok=True)
        for path in self.folder.iterdir():
            if path.name.removesuffix(PART) not in wanted:
                path.unlink()

    def missing(self, files: Mapping[str, File]) -> int:
        """Bytes of the files that are to be fetched."""
        absent = {
            file.blake3: file.size
            for file in files.values()
            if file.blake3 not in self.held and not self.blob(file).exists()
        }
        return sum(absent.values())

    def begun(self) -> int:
        """Bytes that have come of files that are not complete."""
        return sum(path.stat().st_size for path in self.folder.glob(f"*{PART}"))


def local_files(data: Path) -> dict[str, list[Path]]:
    """Where the files of the generations here are, by the digest that they ought to have."""
    found: dict[str, list[Path]] = {}
    for folder in data.iterdir():
        with suppress(ShardError, OSError):
            for name, file in generation_files.read_manifest(folder).files.items():
                found.setdefault(file.blake3, []).append(folder / name)
    return found
