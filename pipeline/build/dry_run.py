"""What a build would do, told without doing it (`--dry-run`): nothing is written, nothing locked.

The companies that a country would have are not known before its rows are judged; what is told is
how many rows the input has, so a gate that is closed to these is closed for sure.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pipeline.build import plan, resume, reuse
from pipeline.stages import input_files
from pipeline import seeds as tables
from pipeline.build.country import Task
from pipeline.build.plan import BuildInput, BuildOptions
from pipeline.seeds import Seeds
from pipeline.build.workdir import FOLDER, WorkFolder
from shards.generations import pointer
from shards.publish import publication

_KEPT: Final = "kept as published (--pays)"
_DONE: Final = "done by an interrupted build"
_SAME: Final = "unchanged"
_BUILT: Final = "to be built"
_NONE: Final = "no company"


def lines(options: BuildOptions) -> Iterator[str]:
    """A line a country: what becomes of it, its companies now, its rows in the input; then gates.

    Raises:
        BuildError, InputError, ShardError: the build would refuse to begin.
    """
    seeds = tables.read(options.seeds)
    input_files.check(options.inputs)
    wanted = plan.wanted(options.pays, seeds)
    given = plan.read(options.inputs)
    published = pointer.read(options.out)
    compared = publication.counts_of(options.out, published)
    before = compared or {}
    found = _becomes(options, seeds, wanted, given)
    after = _after(seeds, given, before, found)
    yield f"published: {published.generation if published else 'nothing'}"
    yield f"{'pays':<6}{'published':>14}{'rows':>14}  "
    for iso2, what in found.items():
        if before.get(iso2) or after[iso2]:
            yield f"{iso2:<6}{before.get(iso2, 0):>14,}{after[iso2]:>14,}  {what}"
    yield f"{'total':<6}{sum(before.values()):>14,}{sum(after.values()):>14,}"
    closed = options.gates.closed(compared, after)
    yield from (f"gate closed: {told}" for told in closed)
    if not closed:
        yield "gates: open, unless rows are rejected or a search is answered wrongly"
    elif options.gates.force:
        yield "--force publishes it all the same"


def _after(
    seeds: Seeds, given: BuildInput, before: dict[str, int], found: dict[str, str]
) -> dict[str, int]:
    """The companies that are known to come, else the rows of the input."""
    rows = input_files.totals(given.companies)
    return {
        pays.iso2: before.get(pays.iso2, 0)
        if found[pays.iso2] in (_KEPT, _SAME)
        else rows.get(pays.iso2, 0)
        for pays in seeds.pays
    }


def _becomes(options: BuildOptions, seeds: Seeds, wanted: list[str], given: BuildInput) -> dict[str, str]:
    shop = WorkFolder(options.out / FOLDER / "done", Path())
    here = plan.process_count(options, wanted, given)
    tasks = plan.tasks(options, seeds, wanted, given, shop, here.share)
    known = reuse.published(options.out)
    found = {pays.iso2: _KEPT for pays in seeds.pays}
    for task in tasks:
        if reuse.receipt(known, options.out, task):
            found[task.iso2] = _SAME
        elif resume.read(resume.file(task.done, task.iso2), task.key, task.rejected):
            found[task.iso2] = _DONE
        else:
            found[task.iso2] = _BUILT if _has_rows(task) else _NONE
    return found


def _has_rows(task: Task) -> bool:
    return bool(task.companies or task.comptes)
