"""Countries that have not changed since the published generation: linked, not built again.

A published build leaves the receipts of its countries in `DATA/.receipts`. A country with an
unchanged key would give the same bytes, so its published shard is linked after its bytes are
checked against the manifest.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pipeline.publishing import receipts
from pipeline.publishing.receipts import BuiltCountry
from pipeline.publishing.task import Task
from shards.errors import ShardError
from shards.generations import generation_files, manifest, pointer
from shards.generations.manifest import File

FOLDER: Final = ".receipts"


@dataclass(frozen=True, slots=True)
class PublishedBuild:
    """The folder of the published generation and its files; no files if it cannot be read."""

    folder: Path
    files: Mapping[str, File]


def published_build(out: Path) -> PublishedBuild:
    """The published generation of `out`, as a source of unchanged countries."""
    try:
        generation = pointer.current_name(out)
        if generation is not None:
            folder = out / generation
            return PublishedBuild(folder, generation_files.read_manifest(folder).files)
    except ShardError:
        pass  # damaged, or of another format: everything is built again
    return PublishedBuild(out, {})


def find_unchanged(
    published: PublishedBuild, out: Path, tasks: Iterable[Task]
) -> dict[str, BuiltCountry]:
    """The countries that need not be built again; reads the bytes of their shards."""
    found = {}
    for task in tasks:
        country = unchanged_receipt(published, out, task)
        path = published.folder / generation_files.shard_name(task.iso2)
        if country and path.exists() and manifest.has_digest(path, country.file):
            found[task.iso2] = country
    return found


def unchanged_receipt(published: PublishedBuild, out: Path, task: Task) -> BuiltCountry | None:
    """The receipt of a country that would give the same shard now; else None. Reads no shard."""
    country = receipts.read_receipt(
        receipts.receipt_path(out / FOLDER, task.iso2), task.key, task.rejected_files
    )
    if country and published.files.get(generation_files.shard_name(task.iso2)) == country.file:
        return country
    return None


def keep_receipts(out: Path, done: Path) -> None:
    """Move the receipts of a published build to `DATA/.receipts`."""
    folder = out / FOLDER
    folder.mkdir(exist_ok=True)
    for path in done.glob("*.json"):
        path.replace(folder / path.name)
