"""How a generation becomes the published one, and how the one before it becomes so again.

It grows in a folder of its own (`staging`), is held to the gates, gets its name by one rename, and
is pointed to by another. Whatever ends this in between, what was published stays, and the next
build takes away what is left. What is published is read without any lock; who publishes holds one
(`locks.writing`).
"""

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final

from shards.changes import change_steps, comparison
from shards.changes.change_file import SUFFIX, ChangeCounts
from shards.changes.change_steps import Compare, Shards
from shards.errors import GenerationError, ShardError
from shards.generations import atomic_files, generation_files, locks, pointer
from shards.generations import manifest as manifests
from shards.generations import reference as references
from shards.generations.generation_files import MANIFEST, REFERENCE
from shards.generations.manifest import File, InputSource, Manifest
from shards.generations.pointer import Pointer
from shards.generations.reference import Reference
from shards.publish import smoke_test

# A country that lost more than 2 % of its companies overnight is a broken download, not a crisis.
LEAST_SHARE: Final = 0.98

# The published generation and the one before it.
KEPT: Final = 2

EVERYWHERE: Final = ""  # in `Gates.minimums`: all countries together


@dataclass(frozen=True, slots=True)
class Gates:
    """What is asked of a new generation beside being whole and answering rightly.

    Attributes:
        force: let the counts pass; the manifest says so.
        minimums: companies at least, by country, or of EVERYWHERE.
    """

    force: bool = False
    minimums: Mapping[str, int] = field(default_factory=dict)

    def closed(self, before: Mapping[str, int] | None, counts: Mapping[str, int]) -> list[str]:
        """Which of them are closed to a generation of `counts` after one of `before`.

        `before` is None where it cannot be read: nobody can say then that nothing was lost.
        """
        known = {**counts, EVERYWHERE: sum(counts.values())}
        return _losses(before, counts) + [
            f"{iso2 or 'the whole'} has {known.get(iso2, 0)} companies, {number} are the minimum"
            for iso2, number in sorted(self.minimums.items())
            if known.get(iso2, 0) < number
        ]


def _losses(before: Mapping[str, int] | None, counts: Mapping[str, int]) -> list[str]:
    if before is None:
        return ["the published generation cannot be read, and hence not be compared with"]
    return [
        f"{iso2} has {counts.get(iso2, 0)} companies, the published generation has {number}"
        for iso2, number in sorted(before.items())
        if counts.get(iso2, 0) < LEAST_SHARE * number
    ]


_GATES: Final = Gates()


def staging(data: Path) -> Path:
    """A fresh folder for the files of a generation to be; those of dead builds are removed."""
    data.mkdir(parents=True, exist_ok=True)
    for dead in data.glob(f"{atomic_files.STAGED}*"):
        shutil.rmtree(dead)
    return Path(tempfile.mkdtemp(prefix=atomic_files.STAGED, dir=data))


def compare(countries: Iterable[Shards], folder: Path) -> dict[str, ChangeCounts]:
    """What is different in these countries, one after the other, in this process."""
    found = {c.iso2: comparison.compare(c.old, c.new, c.iso2, folder / f"{c.iso2}{SUFFIX}")
             for c in countries}  # fmt: skip
    return {iso2: counts for iso2, counts in found.items() if any(counts)}


def publish(
    data: Path,
    staged: Path,
    *,
    sources: Sequence[InputSource],
    known: Mapping[str, File] = MappingProxyType({}),
    gates: Gates = _GATES,
    keep: int = KEPT,
    compare: Compare = compare,
) -> str:
    """Check the files in `staged`, make them a generation and the published one; return its name.

    Every file is read again and compared with the digest that its maker took; every shard opens and
    holds what `reference.json` counts; a sample of searches is answered rightly (smoke_test.py); and
    the `gates` are open. A file that the published generation has too becomes that very file.
    Publishing what is published already changes nothing.

    Args:
        known: the digests of files whose maker has just taken them.
        keep: how many generations stay, this one included; at least 2.
        compare: writes what is different from the published generation.

    Raises:
        ShardError: if a gate is closed. What was published stays so.
    """
    before = pointer.read(data)
    reference = references.load((staged / REFERENCE).read_bytes())
    counts = {pays.iso2: reference.societes(pays.iso2) for pays in reference.pays}
    closed = gates.closed(counts_of(data, before), counts)
    if closed and not gates.force:
        raise GenerationError(f"{'; '.join(closed)}. --force publishes it all the same")
    manifest = manifests.make(
        files={
            path.name: known.get(path.name) or manifests.digest(path)
            for path in sorted(staged.iterdir())
        },
        sources=sources,
        counts=counts,
        secteurs=by_sector(reference),
        forced="; ".join(closed) or None,
    )
    atomic_files.write(staged / MANIFEST, manifests.dump(manifest))
    generation_files.verify_digests(staged, manifest)
    with generation_files.open_folder(staged, manifest) as generation:
        smoke_test.check(generation.shards, generation.reference)
    adopt(data, staged, manifest, keep=keep, compare=compare)
    return manifest.generation


def adopt(
    data: Path, staged: Path, manifest: Manifest, *, keep: int = KEPT, compare: Compare = compare
) -> None:
    """Make the files in `staged`, which have been checked, the published generation.

    Args:
        keep, compare: as in `publish`.
    """
    before = pointer.read(data)
    old = _whole(data, before)
    if before and old and before.generation != manifest.generation:
        folder = data / before.generation
        _share(folder, old, staged, manifest)
        change_steps.make(data, folder, old, staged, manifest, compare)
    _settle(staged, data / manifest.generation)
    name = manifest.generation
    if before is None or before.generation != name:
        behind = [
            other
            for other in (before.kept if before else ())
            if other != name and _counts(data / other) is not None  # nobody can go back to it
        ]
        pointer.point_to(data, name, behind[: keep - 1])
    _prune(data, keep)


def rollback(data: Path, to: str | None = None) -> Pointer:
    """Publish a kept generation again, the previous one unless `to` names another.

    Raises:
        GenerationError: there is none, or `to` is no name of one; or a build is under way.
        CorruptError: it does not verify. What was published stays so.
    """
    if not data.is_dir():
        raise GenerationError(f"{data} is no folder of generations")
    with locks.write_lock(data):
        try:
            known = pointer.read(data)
        except ShardError:
            if to is None:  # a CURRENT that makes no sense is cured by saying what it should say
                raise
            known = None
        wanted = (known.previous if known else None) if to is None else pointer.check_name(to)
        if wanted is None:
            raise GenerationError(f"{data} has no previous generation to go back to; build one")
        folder = data / wanted
        generation_files.verify_digests(folder, generation_files.read_manifest(folder))
        return pointer.point_to(data, wanted, known.kept if known else ())


def counts_of(data: Path, before: Pointer | None) -> dict[str, int] | None:
    """The companies by country of the published generation, whatever its format.

    None where there is one that cannot be read; empty where there is none.
    """
    return _counts(data / before.generation) if before else {}


def _counts(folder: Path) -> dict[str, int] | None:
    try:
        return manifests.counts((folder / MANIFEST).read_bytes()) or None
    except OSError:
        return None


def _whole(data: Path, before: Pointer | None) -> Manifest | None:
    """The manifest of the published generation, if it is of our format and not damaged.

    One that cannot be compared with is no reason not to replace it.
    """
    if before is None:
        return None
    folder = data / before.generation
    try:
        manifest = generation_files.read_manifest(folder)
        generation_files.verify_digests(folder, manifest)
    except (ShardError, OSError):
        return None
    return manifest


def _share(folder: Path, old: Manifest, staged: Path, manifest: Manifest) -> None:
    """Let every file that is the same as in `folder` be the same file."""
    for name, file in manifest.files.items():
        path = staged / name
        if old.files.get(name) != file or path.samefile(folder / name):
            continue
        partial = path.with_name(name + atomic_files.PARTIAL)
        with suppress(OSError):  # a file system without hard links keeps two copies
            os.link(folder / name, partial)
            partial.replace(path)


def by_sector(reference: Reference) -> dict[str, int]:
    """Companies by NACE division, `-` for none: `secteurs` of a manifest."""
    found: dict[str, int] = {}
    for cells in reference.counts.values():
        for cell in cells:
            found[cell.secteur or "-"] = found.get(cell.secteur or "-", 0) + cell.n
    return found


def _settle(staged: Path, folder: Path) -> None:
    """Give a finished generation its name; if it has one already, the new copy replaces it."""
    if folder.exists():
        try:
            generation_files.verify_digests(folder, generation_files.read_manifest(folder))
        except (ShardError, OSError):  # damaged: what was built now takes its place
            folder.rename(staged.with_name(staged.name + "-damaged"))
        else:
            shutil.rmtree(staged)
            return
    atomic_files.settle(staged, folder)


def _prune(data: Path, keep: int) -> None:
    """Remove every generation behind the first `keep`, but one that somebody still reads."""
    known = pointer.read(data)
    assert known is not None
    kept = known.kept[:keep]
    if kept != known.kept:
        pointer.forget(data, known, kept)
    for path in data.iterdir():
        if (path / MANIFEST).exists() and path.name not in kept:
            with locks.removal_lock(path) as free:
                if free:
                    # Gone at once for whoever looks, whatever happens next.
                    shutil.rmtree(path.rename(data / f"{atomic_files.STAGED}{path.name}"))
    change_steps.prune(data, known.generation)
