"""Generations of shards in a folder DATA, read by name.

    DATA/CURRENT                    {"generation": "4f6a…", "previous": "81c0…", …} (pointer.py)
    DATA/4f6a…/manifest.json        what it holds, with the digest of each file
    DATA/4f6a…/reference.json       countries, sectors, sub-sectors and their counts
    DATA/4f6a…/quality.json         the report of the build
    DATA/4f6a…/FR.shard …           one shard a country; one that did not change is the same file
    DATA/changes/81c0…-4f6a…/       what is different in the second (succession.py)
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
from types import TracebackType
from typing import Final, Self

from shards import manifest as manifests
from shards import opened
from shards import reference as references
from shards.errors import CorruptError, GenerationError
from shards.locks import Reading
from shards.manifest import Manifest
from shards.reader import Shard
from shards.reference import Reference
from shards.search import Base

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
    reading: Reading

    def close(self) -> None:
        for shard in self.shards.values():
            opened.give_back(shard)
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
    reading = Reading(folder)
    shards = Base()
    try:
        manifests.same_sizes(folder, manifest.files)
        reference = references.load((folder / REFERENCE).read_bytes())
        for pays in reference.pays:
            shards[pays.iso2] = opened.open_shard(folder / shard_name(pays.iso2))
            _same_counts(shards[pays.iso2], pays.iso2, manifest)
    except BaseException:
        for shard in shards.values():
            opened.give_back(shard)
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
