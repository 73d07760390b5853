"""The plan of a build: its options, its input, one task per country, and the forecast of `--dry-run`.

This module writes and locks nothing: `build` carries the plan out.

The number of companies of a country is known only after its rows are checked. The forecast uses the number of rows in
the input, which is at least as large: a gate that is closed for it is closed for the build.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pipeline import digests
from pipeline import seeds as tables
from pipeline.errors import BuildError
from pipeline.publishing import receipts
from pipeline.publishing.receipts import BUILDING, Tables, Task, WorkFolder
from pipeline.seeds import Seeds
from pipeline.stages import complements, input_files, money, objections, rejections, sectors
from pipeline.stages.input_files import Survey
from pipeline.workers import processes
from pipeline.workers.processes import Processes
from seeds import TABLES
from shards.codec.folding import SPELLINGS
from shards.generations import pointer, publication
from shards.generations.generation_files import Generation
from shards.generations.manifest import InputSource
from shards.generations.publication import Gates

_KEPT: Final = "kept as published (--pays)"
_DONE: Final = "done by an interrupted build"
_SAME: Final = "unchanged"
_BUILT: Final = "to be built"
_NO_COMPANY: Final = "no company"


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """The options of a build.

    Attributes:
        pays: the countries to build; None for all.
        jobs: the number of processes; None for as many as pay off.
        memory: bytes for all processes together, on a cluster for each task; None for half of the
            available memory.
        cluster: the address of a Dask scheduler; None for local processes.
        keep: how many generations stay.
        max_rejected: the share of a country's rows that may be rejected.
        personal_mailboxes: whether e-mail addresses of persons are kept.
        objections: a file of objections; those that `out` remembers are honoured without it.
        check: a last check of the generation before it is published, which may raise.
    """

    inputs: tuple[Path, ...]
    out: Path
    pays: tuple[str, ...] | None = None
    jobs: int | None = None
    memory: int | None = None
    cluster: str | None = None
    gates: Gates = field(default_factory=Gates)
    keep: int = publication.KEPT
    max_rejected: float = rejections.MAX_SHARE
    personal_mailboxes: bool = True
    objections: Path | None = None
    seeds: Path = TABLES
    check: Callable[[Generation], object] = lambda _: None


@dataclass(frozen=True, slots=True)
class BuildInput:
    """The input before its rows are read: row counts per file and country, digests of files."""

    companies: Survey
    comptes: Survey
    digests: Mapping[Path, InputSource]


def read_input(inputs: tuple[Path, ...]) -> BuildInput:
    """Count the rows of every country in the input, and digest its files."""
    return BuildInput(
        input_files.survey(inputs, "companies"),
        input_files.survey(inputs, "comptes"),
        input_files.digests(inputs),
    )


def local_processes(
    options: BuildOptions, wanted: Sequence[str], build_input: BuildInput
) -> Processes:
    """Processes of this machine: as many as pay off for the wanted countries."""
    totals = input_files.rows_per_country(build_input.companies)
    count = processes.process_count(options.jobs, [totals.get(iso2, 0) for iso2 in wanted])
    return Processes(count, options.memory or processes.default_memory())


def country_tasks(
    options: BuildOptions,
    seeds: Seeds,
    wanted: Sequence[str],
    build_input: BuildInput,
    work: WorkFolder,
    share: int,
) -> list[Task]:
    """A task for each of the wanted countries, the largest first.

    Args:
        share: bytes of memory for each of the tasks that run at once.
    """
    rows = input_files.rows_per_country(build_input.companies)
    known = objections.collect(options.out, options.objections, seeds)
    lookups = Tables(seeds, money.rates(seeds), sectors.lookup(seeds))
    shared = [
        digests.folder_digest(options.seeds, "*.csv"),
        f"max_rejected {options.max_rejected}",
        f"personal_mailboxes {options.personal_mailboxes}",
    ]
    batch = processes.batch_rows(share)
    tasks = []
    for iso2 in sorted(wanted, key=lambda iso2: (-rows.get(iso2, 0), iso2)):
        companies = input_files.parts_of_country(build_input.companies, iso2)
        comptes = input_files.parts_of_country(build_input.comptes, iso2)
        inputs = (
            str(sorted(build_input.digests[part.path].blake3 for part in parts))
            for parts in (companies, comptes)
        )
        hidden = known.hidden_values(iso2)
        task = Task(
            iso2=iso2,
            companies=companies,
            comptes=comptes,
            tables=lookups,
            max_rejected=options.max_rejected,
            personal_mailboxes=options.personal_mailboxes,
            out=options.out,
            done=work.done,
            work=work.work,
            key=receipts.key(iso2, *shared, *inputs, *objections.lines_of(hidden)),
            hidden=hidden,
            unmet=frozenset(known.hidden_values(iso2, fresh=True)),
            batch=batch,
            memory=processes.needed_bytes(register_rows(build_input, iso2), batch),
        )
        tasks.append(task)
    return tasks


def register_rows(build_input: BuildInput, iso2: str) -> int:
    """The rows of a country's own register: a complement adds no company."""
    parts = input_files.parts_of_country(build_input.companies, iso2)
    return sum(part.rows for part in complements.of_country(parts, iso2).register)


def wanted_countries(pays: tuple[str, ...] | None, seeds: Seeds) -> list[str]:
    """The countries to build, spelt as in `pays.csv`.

    Raises:
        BuildError: an unknown country.
    """
    known = [country.iso2 for country in seeds.pays]
    if pays is None:
        return known
    wanted = list(dict.fromkeys(SPELLINGS.get(iso2, iso2) for iso2 in pays))
    if unknown := [iso2 for iso2 in wanted if iso2 not in known]:
        raise BuildError(f"unknown country {', '.join(unknown)}; known: {', '.join(sorted(known))}")
    return wanted


# -- the forecast --------------------------------------------------------------------


def forecast(options: BuildOptions) -> Iterator[str]:
    """The forecast: one line per country (companies now, rows in the input, action), then gates.

    Raises:
        BuildError, InputError, ShardError: the reasons for which the build would not begin.
    """
    seeds = tables.read(options.seeds)
    input_files.check_folders(options.inputs)
    wanted = wanted_countries(options.pays, seeds)
    build_input = read_input(options.inputs)
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
        else register_rows(build_input, pays.iso2)
        for pays in seeds.pays
    }


def _actions(
    options: BuildOptions, seeds: Seeds, wanted: list[str], build_input: BuildInput
) -> dict[str, str]:
    work = WorkFolder(options.out / BUILDING / "done", Path())
    local = local_processes(options, wanted, build_input)
    tasks = country_tasks(options, seeds, wanted, build_input, work, local.share)
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
            actions[task.iso2] = _BUILT if task.companies or task.comptes else _NO_COMPANY
    return actions
