"""Generations of shards in a folder DATA, read by name.

    DATA/CURRENT                    {"generation": "4f6a…", "previous": "81c0…", …} (pointer.py)
    DATA/4f6a…/manifest.json        what it holds, with the digest of each file
    DATA/4f6a…/reference.json       countries, sectors, sub-sectors and their counts
    DATA/4f6a…/quality.json         the report of the build
    DATA/4f6a…/FR.shard …           one shard a country; one that did not change is the same file
    DATA/changes/81c0…-4f6a…/       what is different in the second (change_steps.py)
    DATA/.partial-…                 a generation that is being put together, or whose build died
    DATA/.building                  countries that are done, of a build under way or that died
    DATA/.receipts/FR.json …        what the published shards were built from (the build's own)
    DATA/.lock                      held, with its process id, by whoever writes here

A generation is whole or absent: it grows under another name and gets its own by one rename, and
CURRENT is replaced by another. Whoever reads CURRENT finds all files of what it names. One that is
open keeps its folder from being removed (locks.py).
"""

from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Final, Self

from shards.errors import CorruptError, GenerationError
from shards.generations import manifest as manifests
from shards.generations import reference as references
from shards.generations.locks import ReadLock
from shards.generations.manifest import Manifest
from shards.generations.reference import Reference
from shards.search.reader import Shard
from shards.search.search import Base

# MERGED shards/opened.py
# The shards that this process has open, each file once.
#
# A country that did not change is one file in two generations, and LMDB refuses to open a file that
# the process has open already. So generations that are open side by side share the shard; it is
# closed when the last of them gives it back. A file is known by its inode.

Inode = tuple[int, int]

_lock: Final = Lock()
_open: Final[dict[Inode, tuple[Shard, int]]] = {}
_inodes: Final[dict[int, Inode]] = {}


def open_shard(path: Path) -> Shard:
    """The open shard at `path`, to be given back once.

    Raises:
        FileNotFoundError
        WrongFormatError: it is no shard, or one of another format version.
    """
    inode = inode_of(path)
    with _lock:
        found, users = _open.get(inode) or (Shard(path), 0)
        _open[inode] = (found, users + 1)
        _inodes[id(found)] = inode
        return found


def inode_of(path: Path) -> Inode:
    """What a file is known by, whatever its names."""
    stat = path.stat()
    return stat.st_dev, stat.st_ino


def release_shard(shard: Shard) -> None:
    """Say that one of those who asked for `open_shard` is done with it."""
    with _lock:
        inode = _inodes[id(shard)]
        _, users = _open[inode]
        if users > 1:
            _open[inode] = (shard, users - 1)
            return
        del _open[inode], _inodes[id(shard)]
        shard.close()


MANIFEST: Final = "manifest.json"
REFERENCE: Final = "reference.json"
QUALITY: Final = "quality.json"


@dataclass(frozen=True, slots=True)
class Generation:
    """An open generation. Every shard is open until `close`."""

    id: str
    manifest: Manifest
    reference: Reference
    shards: Base
    reading: ReadLock

    def close(self) -> None:
        for shard in self.shards.values():
            release_shard(shard)
        self.reading.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def shard_name(iso2: str) -> str:
    """The file of a country in a generation."""
    return f"{iso2}.shard"


def load(data: Path, generation: str) -> Generation:
    """Open a generation: cheap, nothing but manifest, lists and headers is read.

    Raises:
        GenerationError: if there is no such generation.
        CorruptError, WrongFormatError: if a file is missing, of another size or another format.
    """
    folder = data / generation
    manifest = read_manifest(folder)
    if manifest.generation != generation:
        raise CorruptError(f"{folder} holds generation {manifest.generation}; move it to that name")
    return open_folder(folder, manifest)


def open_folder(folder: Path, manifest: Manifest) -> Generation:
    """Open the generation in `folder`, whatever the name of the folder. Raises as `load`."""
    reading = ReadLock(folder)
    shards = Base()
    try:
        manifests.check_sizes(folder, manifest.files)
        reference = references.load((folder / REFERENCE).read_bytes())
        for pays in reference.pays:
            shards[pays.iso2] = open_shard(folder / shard_name(pays.iso2))
            _same_counts(shards[pays.iso2], pays.iso2, manifest)
    except BaseException:
        for shard in shards.values():
            release_shard(shard)
        reading.end()
        raise
    return Generation(manifest.generation, manifest, reference, shards, reading)


def read_manifest(folder: Path) -> Manifest:
    """The manifest in a generation's folder."""
    try:
        packed = (folder / MANIFEST).read_bytes()
    except FileNotFoundError:
        raise GenerationError(
            f"there is no generation {folder.name!r} in {folder.parent}; "
            "`python -m shards list` lists them"
        ) from None
    return manifests.load(packed, folder / MANIFEST)


def verify_digests(folder: Path, manifest: Manifest) -> None:
    """Read every file of a generation and compare it with the manifest.

    Raises:
        CorruptError: naming the first file that differs, is missing, or does not belong.
    """
    manifests.verify_files(folder, manifest.files, MANIFEST)


def _same_counts(shard: Shard, iso2: str, manifest: Manifest) -> None:
    if (shard.iso2, shard.rows) != (iso2, manifest.counts[iso2]):
        raise CorruptError(
            f"{shard.path} holds {shard.rows} companies of {shard.iso2}, the manifest says "
            f"{manifest.counts[iso2]} of {iso2}; build or fetch the generation again"
        )
