"""Generations of shards in a folder DATA: made apart, published whole, read by name.

    DATA/CURRENT                    {"generation": "4f6a…", "previous": "81c0…", "published": "…"}
    DATA/4f6a…/manifest.json        what it holds, with the digest of each file
    DATA/4f6a…/reference.json       countries, sectors, sub-sectors and their counts
    DATA/4f6a…/quality.json         the report of the build
    DATA/4f6a…/FR.shard …           one shard a country
    DATA/.partial-…                 a generation that is being put together, or whose build died
    DATA/.building                  countries that are done, of a build under way or that died

A generation is whole or absent: it grows under another name and gets its own by one rename, and
CURRENT is replaced by another. Whoever reads CURRENT finds all files of what it names.
"""

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Final, Self

import orjson

from shards import canary
from shards import manifest as manifests
from shards import reference as references
from shards.errors import CorruptError, GenerationError
from shards.manifest import File, Manifest, Source
from shards.reader import Shard
from shards.reference import Reference
from shards.search import Base

CURRENT: Final = "CURRENT"
MANIFEST: Final = "manifest.json"
REFERENCE: Final = "reference.json"
QUALITY: Final = "quality.json"
_PARTIAL: Final = ".partial-"

# A country that lost more than 2 % of its companies overnight is a broken download, not a crisis.
LEAST_SHARE: Final = 0.98


@dataclass(frozen=True, slots=True)
class Published:
    """What CURRENT says: the published generation, the one before it, when (ISO 8601, UTC)."""

    generation: str
    previous: str | None
    published: str


@dataclass(frozen=True, slots=True)
class Generation:
    """An open generation. Every shard is open until `close`."""

    id: str
    manifest: Manifest
    reference: Reference
    shards: Base

    def close(self) -> None:
        for shard in self.shards.values():
            shard.close()

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


def published(data: Path) -> Published | None:
    """What CURRENT says, or None where nothing has been published.

    Raises:
        CorruptError: if CURRENT cannot be understood.
    """
    try:
        packed = (data / CURRENT).read_bytes()
    except FileNotFoundError:
        return None
    try:
        return Published(**orjson.loads(packed))
    except (TypeError, ValueError) as error:
        raise CorruptError(
            f"{data / CURRENT} cannot be understood ({error}); "
            "`python -m shards rollback` writes it anew"
        ) from error


def current(data: Path) -> str | None:
    """The published generation, or None."""
    known = published(data)
    return known.generation if known else None


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
    return _opened(folder, manifest)


def _opened(folder: Path, manifest: Manifest) -> Generation:
    _same_sizes(folder, manifest)
    reference = references.load((folder / REFERENCE).read_bytes())
    shards = Base()
    try:
        for pays in reference.pays:
            shards[pays.iso2] = Shard(folder / shard_name(pays.iso2))
            _same_counts(shards[pays.iso2], pays.iso2, manifest)
    except BaseException:
        for shard in shards.values():
            shard.close()
        raise
    return Generation(manifest.generation, manifest, reference, shards)


def read_manifest(folder: Path) -> Manifest:
    """The manifest in a generation's folder."""
    try:
        packed = (folder / MANIFEST).read_bytes()
    except FileNotFoundError:
        raise GenerationError(
            f"there is no generation {folder.name!r} in {folder.parent}; "
            "`python -m shards inspect` lists them"
        ) from None
    return manifests.load(packed, folder / MANIFEST)


def verify_digests(folder: Path, manifest: Manifest) -> None:
    """Read every file of a generation and compare it with the manifest.

    Raises:
        CorruptError: naming the first file that differs, is missing, or does not belong.
    """
    _same_sizes(folder, manifest)
    for name, file in manifest.files.items():
        if manifests.digest(folder / name).blake3 != file.blake3:
            raise CorruptError(
                f"{folder / name} is not the file of the manifest (BLAKE3 differs); "
                "build or fetch the generation again"
            )
    if strangers := {path.name for path in folder.iterdir()} - {MANIFEST, *manifest.files}:
        raise CorruptError(
            f"{folder} holds {', '.join(sorted(strangers))}, which the manifest does not name; "
            "take it away"
        )


# -- publication -------------------------------------------------------------------


def staging(data: Path) -> Path:
    """A fresh folder for the files of a generation to be; those of dead builds are removed."""
    data.mkdir(parents=True, exist_ok=True)
    for dead in data.glob(f"{_PARTIAL}*"):
        shutil.rmtree(dead)
    return Path(tempfile.mkdtemp(prefix=_PARTIAL, dir=data))


def publish(
    data: Path,
    staged: Path,
    *,
    sources: Sequence[Source],
    known: Mapping[str, File] = MappingProxyType({}),
    force: bool = False,
) -> str:
    """Check the files in `staged`, make them a generation and the published one; return its name.

    The gates: every shard opens and holds what `reference.json` counts, a sample of searches is
    answered rightly, and no country has less than LEAST_SHARE of what the published generation has
    of it; `force` lets the last one pass, and the manifest says so. Publishing what is published
    already changes nothing.

    Args:
        known: the digests of files whose maker has just taken them.

    Raises:
        GenerationError: if a gate is closed. What was published stays so.
    """
    before = published(data)
    reference = references.load((staged / REFERENCE).read_bytes())
    counts = {pays.iso2: reference.societes(pays.iso2) for pays in reference.pays}
    losses = _losses(data, before, counts)
    if losses and not force:
        raise GenerationError(f"{'; '.join(losses)}. --force publishes it all the same")
    manifest = manifests.make(
        files={
            path.name: known.get(path.name) or manifests.digest(path)
            for path in sorted(staged.iterdir())
        },
        sources=sources,
        counts=counts,
        secteurs=_by_sector(reference),
        forced="; ".join(losses) or None,
    )
    _write(staged / MANIFEST, manifests.dump(manifest))
    with _opened(staged, manifest) as generation:
        canary.check(generation.shards, generation.reference)
    _settle(staged, data / manifest.generation)
    if before is None or before.generation != manifest.generation:
        point_to(data, manifest.generation, before.generation if before else None)
    _prune(data)
    return manifest.generation


def point_to(data: Path, generation: str, previous: str | None) -> None:
    """Make `generation` the published one, in one step."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    document = {"generation": generation, "previous": previous, "published": now}
    _write(data / CURRENT, orjson.dumps(document) + b"\n")


def rollback(data: Path) -> Published:
    """Publish the previous generation again; the one that was published becomes the previous.

    Raises:
        GenerationError: if there is no previous one.
        CorruptError: if it does not verify. What was published stays so.
    """
    known = published(data)
    if known is None or known.previous is None:
        raise GenerationError(f"{data} has no previous generation to go back to; build one")
    folder = data / known.previous
    verify_digests(folder, read_manifest(folder))
    point_to(data, known.previous, known.generation)
    after = published(data)
    assert after is not None
    return after


def _losses(data: Path, before: Published | None, counts: Mapping[str, int]) -> list[str]:
    """The countries that have too few companies beside the published generation."""
    if before is None:
        return []
    known = read_manifest(data / before.generation).counts
    return [
        f"{iso2} has {counts.get(iso2, 0)} companies, the published generation has {number}"
        for iso2, number in sorted(known.items())
        if counts.get(iso2, 0) < LEAST_SHARE * number
    ]


def _by_sector(reference: Reference) -> dict[str, int]:
    found: dict[str, int] = {}
    for cells in reference.counts.values():
        for cell in cells:
            found[cell.secteur or "-"] = found.get(cell.secteur or "-", 0) + cell.n
    return found


def _settle(staged: Path, folder: Path) -> None:
    """Give a finished generation its name; if it has one already, the new copy goes."""
    if folder.exists():
        shutil.rmtree(staged)
        return
    for path in staged.iterdir():
        _sync(path)
    _sync(staged)
    staged.chmod(0o755)  # mkdtemp's 0700 would keep the server's user out
    staged.rename(folder)
    _sync(folder.parent)


def _prune(data: Path) -> None:
    """Remove every generation but the published one and the one before it."""
    known = published(data)
    assert known is not None
    for path in data.iterdir():
        if (path / MANIFEST).exists() and path.name not in (known.generation, known.previous):
            shutil.rmtree(path)


def _same_sizes(folder: Path, manifest: Manifest) -> None:
    for name, file in manifest.files.items():
        try:
            size = (folder / name).stat().st_size
        except FileNotFoundError:
            raise CorruptError(
                f"{folder / name} is missing; build or fetch the generation again"
            ) from None
        if size != file.size:
            raise CorruptError(
                f"{folder / name} has {size} bytes, the manifest says {file.size}; "
                "build or fetch the generation again"
            )


def _same_counts(shard: Shard, iso2: str, manifest: Manifest) -> None:
    if (shard.iso2, shard.rows) != (iso2, manifest.counts[iso2]):
        raise CorruptError(
            f"{shard.path} holds {shard.rows} companies of {shard.iso2}, the manifest says "
            f"{manifest.counts[iso2]} of {iso2}; build or fetch the generation again"
        )


def _write(path: Path, content: bytes) -> None:
    """Write a whole file: synced, then renamed."""
    partial = path.with_name(path.name + ".partial")
    partial.write_bytes(content)
    _sync(partial)
    partial.replace(path)
    _sync(path.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
