"""The plan of a build: its options, its input, one task per country.

This module writes nothing: `build` carries the plan out, `dry_run` prints it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipeline import code_version
from pipeline.errors import BuildError
from pipeline.publishing import receipts
from pipeline.publishing.receipts import WorkFolder
from pipeline.publishing.task import Tables, Task
from pipeline.seeds import Seeds
from pipeline.stages import complements, input_files, money, objections, rejections, sectors
from pipeline.stages.input_files import Survey
from pipeline.stages.objections import Objections
from pipeline.workers import memory, processes
from pipeline.workers.processes import Processes
from seeds import TABLES
from shards.codec.folding import SPELLINGS
from shards.generations.generation_files import Generation
from shards.generations.manifest import InputSource
from shards.publish import publication
from shards.publish.publication import Gates


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
    return Processes(count, options.memory or memory.default_limit())


def tasks(
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
        code_version.folder_digest(options.seeds, "*.csv"),
        f"max_rejected {options.max_rejected}",
        f"personal_mailboxes {options.personal_mailboxes}",
    ]
    return [
        _task(iso2, options, lookups, build_input, work, shared, memory.batch_rows(share), known)
        for iso2 in sorted(wanted, key=lambda iso2: (-rows.get(iso2, 0), iso2))
    ]


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


def _task(
    iso2: str,
    options: BuildOptions,
    lookups: Tables,
    build_input: BuildInput,
    work: WorkFolder,
    shared: Iterable[str],
    batch: int,
    known: Objections,
) -> Task:
    companies, comptes = (
        input_files.parts_of_country(build_input.companies, iso2),
        input_files.parts_of_country(build_input.comptes, iso2),
    )
    inputs = [
        sorted(build_input.digests[part.path].blake3 for part in parts)
        for parts in (companies, comptes)
    ]
    hidden = known.hidden_values(iso2)
    return Task(
        iso2=iso2,
        companies=companies,
        comptes=comptes,
        tables=lookups,
        max_rejected=options.max_rejected,
        personal_mailboxes=options.personal_mailboxes,
        out=options.out,
        done=work.done,
        work=work.work,
        key=receipts.key(
            iso2, *shared, *(str(names) for names in inputs), *objections.lines_of(hidden)
        ),
        hidden=hidden,
        unmet=frozenset(known.hidden_values(iso2, fresh=True)),
        batch=batch,
        memory=memory.needed_bytes(register_rows(build_input, iso2), batch),
    )
