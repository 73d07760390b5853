"""The dry run (`--dry-run`): a forecast of a build that writes and locks nothing.

The number of companies of a country is known only after its rows are checked. The forecast uses the
number of rows in the input, which is at least as large: a gate that is closed for it is closed for
the build.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pipeline import seeds as tables
from pipeline.publishing import plan, receipts
from pipeline.publishing.plan import BuildInput, BuildOptions
from pipeline.publishing.receipts import BUILDING, WorkFolder
from pipeline.publishing.task import Task
from pipeline.seeds import Seeds
from pipeline.stages import input_files
from shards.generations import pointer
from shards.publish import publication

_KEPT: Final = "kept as published (--pays)"
_DONE: Final = "done by an interrupted build"
_SAME: Final = "unchanged"
_BUILT: Final = "to be built"
_NONE: Final = "no company"


def lines(options: BuildOptions) -> Iterator[str]:
    """The forecast: one line per country (companies now, rows in the input, action), then gates.

    Raises:
        BuildError, InputError, ShardError: the reasons for which the build would not begin.
    """
    seeds = tables.read(options.seeds)
    input_files.check_folders(options.inputs)
    wanted = plan.wanted_countries(options.pays, seeds)
    build_input = plan.read_input(options.inputs)
    published = pointer.read(options.out)
    compared = publication.counts_of(options.out, published)
    before = compared or {}
    actions = _actions(options, seeds, wanted, build_input)
    after = _expected_companies(seeds, build_input, before, actions)
    yield f"published: {published.generation if published else 'nothing'}"
    yield f"{'iso2':<6}{'published':>14}{'rows':>14}  "
    for iso2, action in actions.items():
        if before.get(iso2) or after[iso2]:
            yield f"{iso2:<6}{before.get(iso2, 0):>14,}{after[iso2]:>14,}  {action}"
    yield f"{'total':<6}{sum(before.values()):>14,}{sum(after.values()):>14,}"
    closed = options.gates.closed_gates(compared, after)
    yield from (f"gate closed: {reason}" for reason in closed)
    if not closed:
        yield "gates: open, unless rows are rejected, statuses are unknown or a search is answered wrongly"
    elif options.gates.force:
        yield "--force publishes it all the same"


def _expected_companies(
    seeds: Seeds, build_input: BuildInput, before: dict[str, int], actions: dict[str, str]
) -> dict[str, int]:
    """Companies per country: the published ones where nothing changes, else the rows of the input."""
    return {
        pays.iso2: before.get(pays.iso2, 0)
        if actions[pays.iso2] in (_KEPT, _SAME)
        else plan.register_rows(build_input, pays.iso2)
        for pays in seeds.pays
    }


def _actions(
    options: BuildOptions, seeds: Seeds, wanted: list[str], build_input: BuildInput
) -> dict[str, str]:
    work = WorkFolder(options.out / BUILDING / "done", Path())
    local = plan.local_processes(options, wanted, build_input)
    tasks = plan.tasks(options, seeds, wanted, build_input, work, local.share)
    published = receipts.published_build(options.out)
    actions = {pays.iso2: _KEPT for pays in seeds.pays}
    for task in tasks:
        if receipts.unchanged_receipt(published, options.out, task):
            actions[task.iso2] = _SAME
        elif receipts.read_receipt(
            receipts.receipt_path(task.done, task.iso2), task.key, task.rejected_files
        ):
            actions[task.iso2] = _DONE
        else:
            actions[task.iso2] = _BUILT if _has_rows(task) else _NONE
    return actions


def _has_rows(task: Task) -> bool:
    return bool(task.companies or task.comptes)
