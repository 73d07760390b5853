"""The plan of a build: its options, its input, one task per country, and the forecast of `--dry-run`.

This module writes no file and takes no lock; `build` carries out the plan.

The number of companies of a country is unknown until its rows are checked. The forecast uses the number of rows in the
input instead, which is not smaller: a gate that closes for this number also closes for the build.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pipeline import digests
from pipeline import seeds as tables
from pipeline.errors import BuildError
from pipeline.publishing import receipts
from pipeline.publishing.receipts import BUILDING, LookupTables, Task, WorkFolder
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

# The actions of a build for a country, as the forecast prints them.
_AS_PUBLISHED: Final = "kept as published (--pays)"
_FINISHED: Final = "done by an interrupted build"
_UNCHANGED: Final = "unchanged"
_TO_BUILD: Final = "to be built"
_NO_COMPANY: Final = "no company"


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """The options of a build.

    Attributes:
        inputs: the folders of canonical Parquet.
        out: the folder DATA, in which the generation is published.
        pays: the countries to build; None for all.
        jobs: the number of processes; None for as many as are useful.
        memory: bytes for all processes together, on a cluster for each task; None for half of the available
            memory, on a cluster for the limit of its workers.
        cluster: the address of a Dask scheduler; None for local processes.
        keep: the number of generations to keep.
        max_rejected: the largest share of a country's rows that may be rejected.
        personal_mailboxes: whether e-mail addresses of persons are kept.
        objections: a file of new objections; objections that are stored in `out` always apply.
        seeds: the folder of the reference tables.
        check: called with the finished generation before it is published; an error that it raises stops the build.
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
    """The input before its rows are read: the number of rows by file and country, and the digests of the files."""

    companies: Survey
    comptes: Survey
    digests: Mapping[Path, InputSource]


def read_input(inputs: tuple[Path, ...]) -> BuildInput:
    """Count the rows of each country in the input, and compute the digests of the files."""
    return BuildInput(
        input_files.survey(inputs, "companies"),
        input_files.survey(inputs, "comptes"),
        input_files.digests(inputs),
    )


def local_processes(
    options: BuildOptions, countries: Sequence[str], build_input: BuildInput
) -> Processes:
    """The processes of this machine, as many as are useful for these countries."""
    totals = input_files.rows_per_country(build_input.companies)
    count = processes.process_count(options.jobs, [totals.get(iso2, 0) for iso2 in countries])
    return Processes(count, options.memory or processes.default_memory())


def country_tasks(
    options: BuildOptions,
    seeds: Seeds,
    countries: Sequence[str],
    build_input: BuildInput,
    work: WorkFolder,
    share: int,
) -> list[Task]:
    """A task for each country to build, in descending order of rows.

    Args:
        share: bytes of memory for each of the tasks that run at the same time.
    """
    rows = input_files.rows_per_country(build_input.companies)
    all_objections = objections.collect(options.out, options.objections, seeds)
    lookups = LookupTables(seeds, money.rates(seeds), sectors.lookup(seeds))
    # The values on which all shards depend; the key of a country also has the digests of its input and its objections.
    key_parts = [
        digests.folder_digest(options.seeds, "*.csv"),
        f"max_rejected {options.max_rejected}",
        f"personal_mailboxes {options.personal_mailboxes}",
    ]
    batch = processes.batch_rows(share)
    tasks = []
    for iso2 in sorted(countries, key=lambda iso2: (-rows.get(iso2, 0), iso2)):
        companies = input_files.parts_of_country(build_input.companies, iso2)
        comptes = input_files.parts_of_country(build_input.comptes, iso2)
        input_digests = (
            str(sorted(build_input.digests[part.path].blake3 for part in parts))
            for parts in (companies, comptes)
        )
        hidden = all_objections.hidden_values(iso2)
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
            key=receipts.receipt_key(
                iso2, *key_parts, *input_digests, *objections.key_lines(hidden)
            ),
            hidden=hidden,
            unmet=frozenset(all_objections.hidden_values(iso2, fresh=True)),
            batch=batch,
            memory=processes.needed_bytes(register_rows(build_input, iso2), batch),
        )
        tasks.append(task)
    return tasks


def register_rows(build_input: BuildInput, iso2: str) -> int:
    """The number of rows of a country's own register, which is the most companies that it can have."""
    parts = input_files.parts_of_country(build_input.companies, iso2)
    return sum(part.rows for part in complements.country_sources(parts, iso2).register)


def countries_to_build(pays: tuple[str, ...] | None, seeds: Seeds) -> list[str]:
    """The countries to build, with the codes of `pays.csv`; `pays` None means all.

    Raises:
        BuildError: a country is unknown.
    """
    countries = [country.iso2 for country in seeds.pays]
    if pays is None:
        return countries
    selected = list(dict.fromkeys(SPELLINGS.get(iso2, iso2) for iso2 in pays))
    if unknown := [iso2 for iso2 in selected if iso2 not in countries]:
        raise BuildError(
            f"unknown country {', '.join(unknown)}; known: {', '.join(sorted(countries))}"
        )
    return selected


# -- the forecast --------------------------------------------------------------------


def forecast(options: BuildOptions) -> Iterator[str]:
    """The forecast: one line per country (companies now, rows in the input, action), then the gates.

    Raises:
        BuildError, InputError, ShardError: the build would not begin, for the same reason.
    """
    seeds = tables.read(options.seeds)
    input_files.check_folders(options.inputs)
    countries = countries_to_build(options.pays, seeds)
    build_input = read_input(options.inputs)
    published = pointer.read(options.out)
    published_counts = publication.counts_of(options.out, published)
    companies_before = published_counts or {}
    actions = _planned_actions(options, seeds, countries, build_input)
    companies_after = _expected_companies(seeds, build_input, companies_before, actions)
    yield f"published: {published.generation if published else 'nothing'}"
    yield f"{'iso2':<6}{'published':>14}{'rows':>14}  "
    for iso2, action in actions.items():
        if companies_before.get(iso2) or companies_after[iso2]:
            yield f"{iso2:<6}{companies_before.get(iso2, 0):>14,}{companies_after[iso2]:>14,}  {action}"
    yield f"{'total':<6}{sum(companies_before.values()):>14,}{sum(companies_after.values()):>14,}"
    closed = options.gates.closed_gates(published_counts, companies_after)
    yield from (f"gate closed: {reason}" for reason in closed)
    if not closed:
        yield "gates: open, unless rows are rejected, statuses are unknown or a search is answered wrongly"
    elif options.gates.force:
        yield "--force publishes it all the same"


def _expected_companies(
    seeds: Seeds, build_input: BuildInput, before: dict[str, int], actions: dict[str, str]
) -> dict[str, int]:
    """The most companies of each country after the build: as published (`before`) if nothing changes, else its rows."""
    return {
        pays.iso2: before.get(pays.iso2, 0)
        if actions[pays.iso2] in (_AS_PUBLISHED, _UNCHANGED)
        else register_rows(build_input, pays.iso2)
        for pays in seeds.pays
    }


def _planned_actions(
    options: BuildOptions, seeds: Seeds, countries: list[str], build_input: BuildInput
) -> dict[str, str]:
    """For each country, a word for what a build would do with it: keep, build, or reuse a shard; nothing is built."""
    # The forecast runs no task, so the folder of temporary files is not used.
    work = WorkFolder(options.out / BUILDING / "done", Path())
    local = local_processes(options, countries, build_input)
    tasks = country_tasks(options, seeds, countries, build_input, work, local.share)
    published = receipts.published_build(options.out)
    actions = {pays.iso2: _AS_PUBLISHED for pays in seeds.pays}
    for task in tasks:
        if receipts.unchanged_receipt(published, options.out, task):
            actions[task.iso2] = _UNCHANGED
        elif receipts.read_receipt(
            receipts.receipt_path(task.done, task.iso2), task.key, task.rejected_files
        ):
            actions[task.iso2] = _FINISHED
        else:
            actions[task.iso2] = _TO_BUILD if task.companies or task.comptes else _NO_COMPANY
    return actions
