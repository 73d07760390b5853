"""Countries that a build keeps as published (`--pays`).

Their shards are linked into the new generation after their bytes are checked against the manifest:
a file damaged on disk must not get a new, valid digest.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline import canonical
from pipeline.errors import BuildError
from pipeline.stages import quality_report
from pipeline.stages.quality_report import Quality
from shards.errors import ShardError
from shards.generations import atomic_files, generation_files, manifest, pointer, reference
from shards.generations.manifest import File, InputSource, Manifest
from shards.generations.reference import CellCount
from shards.generations.register_sources import Imports


@dataclass(frozen=True, slots=True)
class PreviousGeneration:
    """The published generation, the source of the kept countries."""

    folder: Path
    manifest: Manifest
    counts: Mapping[str, tuple[CellCount, ...]]
    qualities: Mapping[str, Quality]
    sources: Imports


def read_published(data: Path) -> PreviousGeneration:
    """Read the published generation of `data`.

    Raises:
        BuildError: a folder without a published generation.
        ShardError: a generation that cannot be read.
    """
    generation = pointer.current_name(data)
    if generation is None:
        raise BuildError(
            f"{data} has no published generation to take the other countries from; "
            "build all countries first, without --pays"
        )
    folder = data / generation
    lists = reference.load((folder / generation_files.REFERENCE).read_bytes())
    report = folder / generation_files.QUALITY
    return PreviousGeneration(
        folder=folder,
        manifest=generation_files.read_manifest(folder),
        counts=lists.counts,
        qualities=quality_report.load(report.read_bytes(), report),
        sources=canonical.read_sources(folder),
    )


def has_objections(data: Path) -> bool:
    """Whether the report of the published generation counts objections; not, if it cannot be read."""
    try:
        generation = pointer.current_name(data)
        if generation is None:
            return False
        report = data / generation / generation_files.QUALITY
        found = quality_report.load(report.read_bytes(), report)
    except (BuildError, ShardError, OSError):
        return False
    return any(quality.oppositions for quality in found.values())


def link_shards(
    previous: PreviousGeneration, countries: Iterable[str], staged: Path
) -> dict[str, File]:
    """Link the shards of `countries` into the folder `staged`; return their digests.

    Raises:
        BuildError: a shard that is missing or differs from the manifest.
    """
    kept = {}
    for iso2 in countries:
        name = generation_files.shard_name(iso2)
        known = previous.manifest.files.get(name)
        if known is None or manifest.digest(previous.folder / name) != known:
            raise BuildError(
                f"{previous.folder / name} is missing or not the file of its manifest; "
                "build all countries, without --pays"
            )
        atomic_files.link(previous.folder / name, staged / name)
        kept[name] = known
    return kept


def merge_sources(previous: PreviousGeneration, new: Iterable[InputSource]) -> list[InputSource]:
    """The new sources, and the previous ones whose name is not among them."""
    found = list(new)
    names = {source.path for source in found}
    return found + [source for source in previous.manifest.sources if source.path not in names]
