"""Generations of shards in a folder DATA, opened by name.

    DATA/CURRENT                    {"generation": "4f6a…", "previous": "81c0…", …} (pointer.py)
    DATA/4f6a…/manifest.json        sources, counts, and the digest of each file
    DATA/4f6a…/reference.json       countries, sectors, sub-sectors and their counts
    DATA/4f6a…/quality.json         the report of the build
    DATA/4f6a…/market.json          the figures of all companies together (shards/analyses/market.py)
    DATA/4f6a…/sources.json         the registers of each country, their licences and files (register_sources.py)
    DATA/4f6a…/groups.npy           which LEI consolidates which, if the input has it (groups.py)
    DATA/4f6a…/FR.shard …           one shard per country; an unchanged shard is the same file as before
    DATA/changes/81c0…-4f6a…/       the differences between two generations (change_steps.py)
    DATA/.partial-…                 a generation that is being built, or whose build died
    DATA/.building                  finished countries of a build that is running or died
    DATA/.receipts/FR.json …        the inputs of the published shards (used by the build only)
    DATA/.lock                      the id of the process that writes here

A generation is complete or absent: it is built under another name and renamed to its own name when complete, then
CURRENT is replaced by another rename. All files of the generation that CURRENT names exist. An open generation locks
its folder against removal (locks.py).

Two generations can share a shard file. Generations that are open at the same time then share the open shard, which is
identified by the inode of its file, and closed when its last user releases it.
"""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Final, Self

from shards.errors import CorruptError, GenerationError, ShardError
from shards.generations import manifest as manifests
from shards.generations import reference as references
from shards.generations.locks import ReadLock
from shards.generations.manifest import Manifest
from shards.generations.reference import Reference
from shards.reader.shard import Shard
from shards.search.search import ShardSet

MANIFEST: Final = "manifest.json"
REFERENCE: Final = "reference.json"
SHARD: Final = ".shard"  # the suffix of shard files
QUALITY: Final = "quality.json"
MARKET: Final = "market.json"

# The identity of a file: its device and its inode.
Inode = tuple[int, int]

# The open shards of the process: by inode, the shard and its number of users; by `id` of a shard, its inode. `_lock`
# guards both.
_lock: Final = Lock()
_open: Final[dict[Inode, tuple[Shard, int]]] = {}
_inodes: Final[dict[int, Inode]] = {}


@dataclass(frozen=True, slots=True)
class Generation:
    """An open generation: every shard is open, and the folder cannot be removed, until `close`."""

    id: str
    folder: Path
    manifest: Manifest
    reference: Reference
    shards: ShardSet
    read_lock: ReadLock

    @property
    def shard_files(self) -> dict[Path, Shard]:
        """The shards by their files in this folder.

        `Shard.path` cannot serve as the key: an earlier generation can have the same file, and its folder can be gone.
        """
        return {self.folder / shard_name(iso2): shard for iso2, shard in self.shards.items()}

    def close(self) -> None:
        """Release every shard and the folder."""
        self.shards.forget()
        for shard in self.shards.values():
            release_shard(shard)
        self.read_lock.end()

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
    """The name of the shard file of a country."""
    return f"{iso2}{SHARD}"


def load(data: Path, generation: str, without: Collection[str] = ()) -> Generation:
    """Open a generation. This is cheap: only the manifest, reference lists and headers are read.

    Args:
        without: countries with damaged shards, which stay closed.

    Raises:
        GenerationError: there is no such generation.
        CorruptError: a file is missing, has another size, or has another number of companies than in the manifest.
        WrongFormatError: the manifest or a shard has another format version.
    """
    folder = data / generation
    manifest = read_manifest(folder)
    if manifest.generation != generation:
        raise CorruptError(f"{folder} contains generation {manifest.generation}; rename it to that")
    return open_folder(folder, manifest, without)


def open_folder(folder: Path, manifest: Manifest, without: Collection[str] = ()) -> Generation:
    """Open the generation in `folder`, whatever the name of the folder; raises the same errors as `load`."""
    read_lock = ReadLock(folder)
    shards = ShardSet(without)
    # A damaged `market.json` does not stop a server, because its figures can be computed again.
    unchecked = {MARKET, *map(shard_name, without)}
    try:
        files = {name: file for name, file in manifest.files.items() if name not in unchecked}
        manifests.check_sizes(folder, files)
        reference = references.load((folder / REFERENCE).read_bytes())
        for pays in reference.pays:
            if pays.iso2 in shards.missing:
                continue
            shards[pays.iso2] = open_shard(folder / shard_name(pays.iso2))
            _check_counts(shards[pays.iso2], pays.iso2, manifest)
    except BaseException:
        for shard in shards.values():
            release_shard(shard)
        read_lock.end()
        raise
    return Generation(manifest.generation, folder, manifest, reference, shards, read_lock)


def read_manifest(folder: Path) -> Manifest:
    """The manifest in the folder of a generation; raises the same errors as `load`."""
    try:
        return manifests.read(folder / MANIFEST)
    except FileNotFoundError:
        raise GenerationError(
            f"there is no generation {folder.name!r} in {folder.parent}; "
            "`python -m shards list` lists them"
        ) from None


def unreadable_countries(
    folder: Path, missing: Collection[str], manifest: Manifest
) -> frozenset[str]:
    """The countries of a generation whose shards cannot be opened or have other counts than the manifest.

    The countries in `missing` are not tried.
    """
    unreadable = set()
    for iso2 in manifest.counts.keys() - missing:
        try:
            shard = open_shard(folder / shard_name(iso2))
        except (ShardError, OSError, ValueError):
            unreadable.add(iso2)
            continue
        try:
            _check_counts(shard, iso2, manifest)
        except CorruptError:
            unreadable.add(iso2)
        finally:
            release_shard(shard)
    return frozenset(unreadable)


def verify_digests(folder: Path, manifest: Manifest) -> None:
    """Read every file of a generation and compare its digest with the manifest.

    Raises:
        CorruptError: names the first file that differs, is missing, or is not listed in the manifest.
    """
    manifests.verify_files(folder, manifest.files, MANIFEST)


# -- shared shards ---------------------------------------------------------------------


def open_shard(path: Path) -> Shard:
    """Open the shard at `path`, or share it if it is already open. Each call needs one `release_shard`.

    Raises:
        FileNotFoundError: there is no such file.
        WrongFormatError: the file is not a shard, or a shard of another format version.
    """
    inode = inode_of(path)
    with _lock:
        shard, users = _open.get(inode) or (Shard(path), 0)
        _open[inode] = (shard, users + 1)
        _inodes[id(shard)] = inode
        return shard


def inode_of(path: Path) -> Inode:
    """The identity of a file; hard links to the file have the same identity."""
    stat = path.stat()
    return stat.st_dev, stat.st_ino


def release_shard(shard: Shard) -> None:
    """End one use of a shard that `open_shard` returned; the last use closes it."""
    with _lock:
        inode = _inodes[id(shard)]
        _, users = _open[inode]
        if users > 1:
            _open[inode] = (shard, users - 1)
            return
        del _open[inode], _inodes[id(shard)]
    shard.close()


def _check_counts(shard: Shard, iso2: str, manifest: Manifest) -> None:
    """Raise CorruptError if the shard is of another country, or has another number of companies than the manifest."""
    if (shard.iso2, shard.rows) != (iso2, manifest.counts[iso2]):
        raise CorruptError(
            f"{shard.path} holds {shard.rows} companies of {shard.iso2}, the manifest says "
            f"{manifest.counts[iso2]} of {iso2}; build or fetch the generation again"
        )
