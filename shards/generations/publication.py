"""Publication of a new generation, and rollback to an older one.

A generation is assembled in a folder of its own (`make_staging_folder`), checked by the gates, renamed to its name,
and then named by CURRENT. If the process dies in between, the published generation is unchanged, and the next build
removes the remains. Callers of `publish` and `adopt` hold `locks.write_lock`; readers of a published generation need no
lock.
"""

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final

from shards.errors import GenerationError, ShardError
from shards.generations import (
    atomic_files,
    change_steps,
    generation_files,
    locks,
    pointer,
    smoke_test,
)
from shards.generations import manifest as manifests
from shards.generations import reference as references
from shards.generations.change_steps import Compare
from shards.generations.generation_files import MANIFEST, REFERENCE, Generation
from shards.generations.manifest import File, InputSource, Manifest
from shards.generations.pointer import Pointer
from shards.generations.reference import Reference

# A country that loses more than 2 % of its companies between two builds is taken for an incomplete download.
LEAST_SHARE: Final = 0.98

# The number of generations that are kept by default: the published one and the one before it.
KEPT: Final = 2

# A function that returns files which follow from the shards of a generation, by name.
Derive = Callable[[Generation], Mapping[str, bytes]]

EVERYWHERE: Final = ""  # the key of all countries together in `Gates.minimums`


@dataclass(frozen=True, slots=True)
class Gates:
    """The requirements on the counts of a new generation.

    Attributes:
        force: publish in spite of closed gates; the manifest records them.
        minimums: the least number of companies, by country or for EVERYWHERE.
    """

    force: bool = False
    minimums: Mapping[str, int] = field(default_factory=dict)

    def closed_gates(
        self,
        before: Mapping[str, int] | None,
        counts: Mapping[str, int],
        left_out: Mapping[str, int] = MappingProxyType({}),
    ) -> list[str]:
        """The gates that a generation with `counts` does not pass, as messages.

        Args:
            before: the counts of the published generation; None if they cannot be read, which closes a gate.
            left_out: companies that were taken out on purpose since then, by country: they are no loss.
        """
        totals = {**counts, EVERYWHERE: sum(counts.values())}
        return _losses(before, counts, left_out) + [
            f"{iso2 or 'the whole'} has {totals.get(iso2, 0)} companies, {number} are the minimum"
            for iso2, number in sorted(self.minimums.items())
            if totals.get(iso2, 0) < number
        ]


def _losses(
    before: Mapping[str, int] | None, counts: Mapping[str, int], left_out: Mapping[str, int]
) -> list[str]:
    if before is None:
        return ["the published generation cannot be read, and hence not be compared with"]
    return [
        f"{iso2} has {counts.get(iso2, 0)} companies, the published generation has {number}"
        for iso2, number in sorted(before.items())
        if counts.get(iso2, 0) < LEAST_SHARE * (number - left_out.get(iso2, 0))
    ]


_GATES: Final = Gates()


def make_staging_folder(data: Path) -> Path:
    """Make a folder for the files of a new generation; folders of dead builds are removed."""
    data.mkdir(parents=True, exist_ok=True)
    for dead in data.glob(f"{atomic_files.STAGED}*"):
        shutil.rmtree(dead)
    return Path(tempfile.mkdtemp(prefix=atomic_files.STAGED, dir=data))


def publish(
    data: Path,
    staged: Path,
    *,
    sources: Sequence[InputSource],
    compare: Compare,
    derive: Derive,
    known: Mapping[str, File] = MappingProxyType({}),
    gates: Gates = _GATES,
    closed: Sequence[str] = (),
    left_out: Mapping[str, int] = MappingProxyType({}),
    keep: int = KEPT,
    check: Callable[[Generation], object] = lambda _: None,
) -> str:
    """Check the files in `staged`, make them a generation, and publish it; return its name.

    Every file is read again and compared with its digest; every shard is opened and must have the counts of
    `reference.json`; a sample of searches must be answered correctly (`smoke_test`); and the `gates` must be passed.
    The files that follow from its shards are added (`derive`). A file that the published generation has as well becomes
    a hard link to it. If the generation is published already, nothing changes.

    Args:
        compare: the function that writes the changes since the published generation.
        derive: the function that returns further files of the generation, by name.
        known: the digests of files that the caller has just computed.
        closed: messages of the gates that the caller found closed.
        left_out: as in `Gates.closed_gates`.
        keep: the number of generations to keep, including this one; at least 2.
        check: a further check of the generation, which may raise.

    Raises:
        ShardError: a check failed or a gate is closed; the published generation is unchanged.
    """
    before = pointer.read(data)
    reference = references.load((staged / REFERENCE).read_bytes())
    counts = {pays.iso2: reference.societes(pays.iso2) for pays in reference.pays}
    closed = [*gates.closed_gates(counts_of(data, before), counts, left_out), *closed]
    if closed and not gates.force:
        raise GenerationError(f"{'; '.join(closed)}. --force publishes it all the same")
    make = partial(
        manifests.make,
        sources=sources,
        counts=counts,
        secteurs=by_sector(reference),
        forced="; ".join(closed) or None,
    )
    files = {
        path.name: known.get(path.name) or manifests.digest(path)
        for path in sorted(staged.iterdir())
    }
    manifest = make(files)
    generation_files.verify_digests(staged, manifest)
    with generation_files.open_folder(staged, manifest) as generation:
        smoke_test.check(generation.shards, generation.reference)
        derived = derive(generation)
    for name, content in derived.items():
        atomic_files.write(staged / name, content)
    manifest = make({**files, **{name: manifests.digest(staged / name) for name in derived}})
    atomic_files.write(staged / MANIFEST, manifests.dump(manifest))
    with generation_files.open_folder(staged, manifest) as generation:
        check(generation)
    adopt(data, staged, manifest, keep=keep, compare=compare)
    return manifest.generation


def adopt(
    data: Path, staged: Path, manifest: Manifest, *, compare: Compare, keep: int = KEPT
) -> None:
    """Publish the files in `staged`, which the caller has checked.

    Args:
        compare, keep: as in `publish`.
    """
    before = pointer.read(data)
    old = _whole_manifest(data, before)
    if before and old and before.generation != manifest.generation:
        folder = data / before.generation
        _share(folder, old, staged, manifest)
        change_steps.make(data, folder, old, staged, manifest, compare)
    _settle(staged, data / manifest.generation)
    name = manifest.generation
    if before is None or before.generation != name:
        behind = [
            other
            for other in (before.kept_generations if before else ())
            if other != name and _counts(data / other) is not None  # else no rollback is possible
        ]
        pointer.point_to(data, name, behind[: keep - 1])
    _prune(data, keep)


def keep_published(data: Path) -> None:
    """Remove all generations but the published one, so that none that is withdrawn can be published again.

    Those that a process reads go, too: what it has open stays until it learns of that from CURRENT.
    """
    _prune(data, 1, even_if_read=True)


def rollback(data: Path, to: str | None = None) -> Pointer:
    """Publish a kept generation again: the previous one, or `to`.

    Raises:
        GenerationError: there is no such generation, `to` is no name of one, or a build is running.
        CorruptError: a file of the generation differs from its digest; the published generation is unchanged.
    """
    if not data.is_dir():
        raise GenerationError(f"{data} is no folder of generations; name DATA of `pipeline build`")
    with locks.write_lock(data):
        try:
            current = pointer.read(data)
        except ShardError:
            if to is None:  # an explicit target repairs a CURRENT that cannot be parsed
                raise
            current = None
        wanted = (current.previous if current else None) if to is None else pointer.check_name(to)
        if wanted is None:
            raise GenerationError(f"{data} has no previous generation to go back to; build one")
        folder = data / wanted
        generation_files.verify_digests(folder, generation_files.read_manifest(folder))
        return pointer.point_to(data, wanted, current.kept_generations if current else ())


def counts_of(data: Path, before: Pointer | None) -> dict[str, int] | None:
    """The companies by country of the published generation, of any format version.

    Empty if nothing is published; None if the manifest cannot be read.
    """
    return _counts(data / before.generation) if before else {}


def _counts(folder: Path) -> dict[str, int] | None:
    try:
        return manifests.counts((folder / MANIFEST).read_bytes()) or None
    except OSError:
        return None


def _whole_manifest(data: Path, before: Pointer | None) -> Manifest | None:
    """The manifest of the published generation; None if it is damaged or has another format version.

    Such a generation can be replaced, but not compared or linked with.
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
    """Replace every file that is also in `folder` by a hard link to it."""
    for name, file in manifest.files.items():
        path = staged / name
        if old.files.get(name) != file or path.samefile(folder / name):
            continue
        atomic_files.relink(folder / name, path)


def by_sector(reference: Reference) -> dict[str, int]:
    """The companies by NACE division, `-` for none, as in `secteurs` of a manifest."""
    found: dict[str, int] = {}
    for cells in reference.counts.values():
        for cell in cells:
            found[cell.secteur or "-"] = found.get(cell.secteur or "-", 0) + cell.n
    return found


def _settle(staged: Path, folder: Path) -> None:
    """Rename a finished generation to its name.

    If the generation exists already, it stays, unless it is damaged: then the new copy replaces it.
    """
    if folder.exists():
        try:
            generation_files.verify_digests(folder, generation_files.read_manifest(folder))
        except (ShardError, OSError):
            folder.rename(staged.with_name(staged.name + "-damaged"))
        else:
            shutil.rmtree(staged)
            return
    atomic_files.settle(staged, folder)


def _prune(data: Path, keep: int, *, even_if_read: bool = False) -> None:
    """Remove all generations after the first `keep`, except those that a process still reads."""
    current = pointer.read(data)
    assert current is not None
    kept = current.kept_generations[:keep]
    if kept != current.kept_generations:
        pointer.forget(data, current, kept)
    for path in data.iterdir():
        if (path / MANIFEST).exists() and path.name not in kept:
            with locks.removal_lock(path) as free:
                if free or even_if_read:
                    # The rename removes it for all readers at once, even if the deletion is interrupted.
                    shutil.rmtree(path.rename(data / f"{atomic_files.STAGED}{path.name}"))
    change_steps.prune(data, current.generation)
