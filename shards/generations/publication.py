"""Publication of a new generation, and rollback to an older one.

A generation is assembled in a folder of its own (`make_staging_folder`), checked by the gates, renamed to its name,
and then named by CURRENT. If the process dies in between, the published generation is unchanged, and the next build
removes the unfinished folder. Callers of `publish` and `adopt` hold `locks.write_lock`; readers of a published
generation need no lock.
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

# The least share of a country's companies that a new build must have: a greater loss is treated as an incomplete
# download.
LEAST_SHARE: Final = 0.98

# The number of generations that are kept by default: the published one and the one before it.
KEPT: Final = 2

# A function that computes further files from the shards of a generation; it returns their contents by name.
Derive = Callable[[Generation], Mapping[str, bytes]]

EVERYWHERE: Final = ""  # the key of all countries together in `Gates.minimums`


@dataclass(frozen=True, slots=True)
class Gates:
    """The requirements on the counts of a new generation; a requirement that it does not meet is a closed gate.

    Attributes:
        force: publish although gates are closed; the manifest records them.
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
        """The gates (conditions of publication) that a generation with `counts` does not pass, as messages.

        A gate is closed if a country lost too many companies, or has fewer than its minimum.

        Args:
            before: the counts of the published generation; None if they cannot be read, which closes a gate.
            left_out: the number of companies that were removed on purpose since then, by country; they are no loss.
        """
        totals = {**counts, EVERYWHERE: sum(counts.values())}
        return _loss_messages(before, counts, left_out) + [
            f"{iso2 or 'the whole'} has {totals.get(iso2, 0)} companies, fewer than the minimum of {minimum}"
            for iso2, minimum in sorted(self.minimums.items())
            if totals.get(iso2, 0) < minimum
        ]


def _loss_messages(
    before: Mapping[str, int] | None, counts: Mapping[str, int], left_out: Mapping[str, int]
) -> list[str]:
    """A message for each country that lost too many companies."""
    if before is None:
        return ["the published generation cannot be read, so the counts cannot be compared"]
    return [
        f"{iso2} has {counts.get(iso2, 0)} companies, the published generation has {old_count}"
        for iso2, old_count in sorted(before.items())
        if counts.get(iso2, 0) < LEAST_SHARE * (old_count - left_out.get(iso2, 0))
    ]


_GATES: Final = Gates()  # the default: no minimums, and closed gates stop the publication


def make_staging_folder(data: Path) -> Path:
    """Make a folder for the files of a new generation, and remove the folders of dead builds."""
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
    digests: Mapping[str, File] = MappingProxyType({}),
    gates: Gates = _GATES,
    closed: Sequence[str] = (),
    left_out: Mapping[str, int] = MappingProxyType({}),
    keep: int = KEPT,
    check: Callable[[Generation], object] = lambda _: None,
) -> str:
    """Check the files in `staged`, make them a generation, and publish it; return its name.

    Every file is read again and compared with its digest; every shard is opened and must have the counts of
    `reference.json`; a sample of searches must be answered correctly (`smoke_test`); and the `gates` must be passed.
    The files that `derive` computes from the shards are added. A file that is equal in the published generation
    becomes a hard link to it. If the generation is already published, nothing changes.

    Args:
        compare: the function that writes the changes since the published generation.
        derive: the function that returns further files of the generation, by name.
        digests: the digests that the caller has just computed, by file name.
        closed: messages of further closed gates of the caller.
        left_out: as in `Gates.closed_gates`.
        keep: the number of generations to keep, including this one; at least 2.
        check: a further check of the generation, which raises an error if it fails.

    Raises:
        ShardError: a check failed or a gate is closed; the published generation is unchanged.
    """
    old_pointer = pointer.read(data)
    reference = references.load((staged / REFERENCE).read_bytes())
    counts = {pays.iso2: reference.societes(pays.iso2) for pays in reference.pays}
    all_closed = [*gates.closed_gates(counts_of(data, old_pointer), counts, left_out), *closed]
    if all_closed and not gates.force:
        raise GenerationError(f"{'; '.join(all_closed)}. --force publishes it all the same")
    make_manifest = partial(
        manifests.make,
        sources=sources,
        counts=counts,
        secteurs=counts_by_sector(reference),
        forced="; ".join(all_closed) or None,
    )
    files = {
        path.name: digests.get(path.name) or manifests.digest(path)
        for path in sorted(staged.iterdir())
    }
    manifest = make_manifest(files)
    generation_files.verify_digests(staged, manifest)
    # Further files are derived from the checked shards, so the manifest is made again with them.
    with generation_files.open_folder(staged, manifest) as generation:
        smoke_test.check(generation.shards, generation.reference)
        derived = derive(generation)
    for name, content in derived.items():
        atomic_files.write(staged / name, content)
    manifest = make_manifest(
        {**files, **{name: manifests.digest(staged / name) for name in derived}}
    )
    atomic_files.write(staged / MANIFEST, manifests.dump(manifest))
    with generation_files.open_folder(staged, manifest) as generation:
        check(generation)
    adopt(data, staged, manifest, keep=keep, compare=compare)
    return manifest.generation


def adopt(
    data: Path, staged: Path, manifest: Manifest, *, compare: Compare, keep: int = KEPT
) -> None:
    """Publish the files in `staged`, which the caller has checked: link equal files, write the changes, move CURRENT.

    Generations beyond the last `keep` are removed.

    Args:
        compare, keep: as in `publish`.
    """
    old_pointer = pointer.read(data)
    old_manifest = _undamaged_manifest(data, old_pointer)
    if old_pointer and old_manifest and old_pointer.generation != manifest.generation:
        old_folder = data / old_pointer.generation
        _link_equal_files(old_folder, old_manifest, staged, manifest)
        change_steps.make(data, old_folder, old_manifest, staged, manifest, compare)
    _move_to_name(staged, data / manifest.generation)
    name = manifest.generation
    if old_pointer is None or old_pointer.generation != name:
        older = [
            kept
            for kept in (old_pointer.generations if old_pointer else ())
            if kept != name and _counts_in(data / kept) is not None  # a rollback needs its manifest
        ]
        pointer.point_to(data, name, older[: keep - 1])
    _prune(data, keep)


def keep_published(data: Path) -> None:
    """Remove all generations except the published one, so that withdrawn data cannot be published again.

    Generations that a process reads are removed too: its open files stay readable until it closes them.
    """
    _prune(data, 1, even_if_read=True)


def rollback(data: Path, to: str | None = None) -> Pointer:
    """Publish a kept generation again: the previous one, or `to`.

    Raises:
        GenerationError: there is no such generation, `to` is not a name of a generation, or a build is running.
        CorruptError: a file of the generation differs from its digest; the published generation is unchanged.
    """
    if not data.is_dir():
        raise GenerationError(
            f"{data} is not a folder of generations; name DATA of `pipeline build`"
        )
    with locks.write_lock(data):
        try:
            current = pointer.read(data)
        except ShardError:
            if to is None:  # an explicit target repairs a CURRENT that cannot be parsed
                raise
            current = None
        target = (current.previous if current else None) if to is None else pointer.check_name(to)
        if target is None:
            raise GenerationError(f"{data} has no previous generation to go back to; build one")
        folder = data / target
        generation_files.verify_digests(folder, generation_files.read_manifest(folder))
        return pointer.point_to(data, target, current.generations if current else ())


def counts_of(data: Path, current: Pointer | None) -> dict[str, int] | None:
    """The companies by country of the published generation, of any format version.

    Empty if nothing is published; None if the manifest cannot be read.
    """
    return _counts_in(data / current.generation) if current else {}


def _counts_in(folder: Path) -> dict[str, int] | None:
    """The companies by country of the generation in a folder; None if its manifest cannot be read."""
    try:
        # Empty counts mean that the manifest cannot be parsed.
        return manifests.counts((folder / MANIFEST).read_bytes()) or None
    except OSError:
        return None


def _undamaged_manifest(data: Path, current: Pointer | None) -> Manifest | None:
    """The manifest of the published generation; None if it is damaged or has another format version.

    Such a generation can be replaced, but not compared or linked with.
    """
    if current is None:
        return None
    folder = data / current.generation
    try:
        manifest = generation_files.read_manifest(folder)
        generation_files.verify_digests(folder, manifest)
    except (ShardError, OSError):
        return None
    return manifest


def _link_equal_files(
    old_folder: Path, old_manifest: Manifest, staged: Path, manifest: Manifest
) -> None:
    """Replace every file of `staged` that `old_folder` also has by a hard link to the file in `old_folder`."""
    for name, file in manifest.files.items():
        path = staged / name
        if old_manifest.files.get(name) != file or path.samefile(old_folder / name):
            continue  # the files differ, or are one file already
        atomic_files.relink(old_folder / name, path)


def counts_by_sector(reference: Reference) -> dict[str, int]:
    """The companies by NACE division, `-` for none, as in `secteurs` of a manifest."""
    counts: dict[str, int] = {}
    for cells in reference.counts.values():
        for cell in cells:
            counts[cell.secteur or "-"] = counts.get(cell.secteur or "-", 0) + cell.n
    return counts


def _move_to_name(staged: Path, folder: Path) -> None:
    """Rename a finished generation to its name.

    If the generation exists already, it stays, unless it is damaged: then the new copy replaces it.
    """
    if folder.exists():
        try:
            generation_files.verify_digests(folder, generation_files.read_manifest(folder))
        except (ShardError, OSError):
            # The new name begins with STAGED, so the next build removes the damaged copy.
            folder.rename(staged.with_name(staged.name + "-damaged"))
        else:
            shutil.rmtree(staged)
            return
    atomic_files.rename_synced_folder(staged, folder)


def _prune(data: Path, keep: int, *, even_if_read: bool = False) -> None:
    """Remove all generations after the first `keep`, from CURRENT and from the disk, and folders of old changes.

    Args:
        even_if_read: also remove generations that a process reads; otherwise a later call removes them.
    """
    current = pointer.read(data)
    assert current is not None
    remaining = current.generations[:keep]
    if remaining != current.generations:
        pointer.forget(data, current, remaining)
    for path in data.iterdir():
        if (path / MANIFEST).exists() and path.name not in remaining:
            with locks.removal_lock(path) as is_unread:
                if is_unread or even_if_read:
                    # The rename hides the generation from all new readers at once, even if the deletion is interrupted.
                    shutil.rmtree(path.rename(data / f"{atomic_files.STAGED}{path.name}"))
    change_steps.prune(data, current.generation)
