"""Countries of which nothing has changed since the published generation: not built again.

A build that was published leaves the receipts of its countries in `DATA/.receipts`. A country whose
key is still the same would become the same bytes, so the shard that is published is linked as it
is, once its bytes are seen to be those of the manifest.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pipeline.build import resume
from pipeline.build.country import Task
from pipeline.build.resume import BuiltCountry
from shards.generations import generation_files, manifest, pointer
from shards.errors import ShardError
from shards.generations.manifest import File

FOLDER: Final = ".receipts"


@dataclass(frozen=True, slots=True)
class PublishedBuild:
    """The published generation: its folder, and its files; none where it cannot be read."""

    folder: Path
    files: Mapping[str, File]


def published(out: Path) -> PublishedBuild:
    """What a build may take its countries from."""
    try:
        generation = pointer.current(out)
        if generation is not None:
            folder = out / generation
            return PublishedBuild(folder, generation_files.read_manifest(folder).files)
    except ShardError:
        pass  # it is damaged, or of another format: everything is built
    return PublishedBuild(out, {})


def find(known: PublishedBuild, out: Path, tasks: Iterable[Task]) -> dict[str, BuiltCountry]:
    """What came of the countries that need not be built again; their bytes are read."""
    found = {}
    for task in tasks:
        country = receipt(known, out, task)
        path = known.folder / generation_files.shard_name(task.iso2)
        if country and path.exists() and manifest.has_digest(path, country.file):
            found[task.iso2] = country
    return found


def receipt(known: PublishedBuild, out: Path, task: Task) -> BuiltCountry | None:
    """What is said to have come of a country, if the same would come of it now."""
    country = resume.read(resume.file(out / FOLDER, task.iso2), task.key, task.rejected)
    if country and known.files.get(generation_files.shard_name(task.iso2)) == country.file:
        return country
    return None


def remember(out: Path, done: Path) -> None:
    """Keep the receipts of a build that was published."""
    folder = out / FOLDER
    folder.mkdir(exist_ok=True)
    for path in done.glob("*.json"):
        path.replace(folder / path.name)
