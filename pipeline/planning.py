"""What a build is asked, what its input holds, and the task of each country.

Nothing is written here: `build.py` does what is planned, `preview.py` only tells it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipeline import jobs, memory, money, receipts, rejected, sectors, sources
from pipeline import seeds as tables
from pipeline.country import Tables, Task
from pipeline.errors import BuildError
from pipeline.jobs import Processes
from pipeline.seeds import Seeds
from pipeline.sources import Survey
from pipeline.workshop import Workshop
from shards import publication
from shards.manifest import Source
from shards.publication import Gates
from shards.reference import SPELLINGS


@dataclass(frozen=True, slots=True)
class Options:
    """What a build is asked.

    `pays` None means all countries; `jobs` None, as many processes as pay off; `memory`, in bytes,
    None, half of what is available; `keep`, how many generations stay. `cluster`: the address of a
    scheduler, instead of processes; `memory` is then that of each task.
    """

    inputs: tuple[Path, ...]
    out: Path
    pays: tuple[str, ...] | None = None
    jobs: int | None = None
    memory: int | None = None
    cluster: str | None = None
    gates: Gates = field(default_factory=Gates)
    keep: int = publication.KEPT
    max_rejected: float = rejected.MOST
    seeds: Path = tables.SEEDS


@dataclass(frozen=True, slots=True)
class Input:
    """What is known of the input before it is read."""

    companies: Survey
    comptes: Survey
    digests: Mapping[Path, Source]


def read(inputs: tuple[Path, ...]) -> Input:
    """Count the rows of every country in the input, and digest its files."""
    return Input(
        sources.survey(inputs, "companies"),
        sources.survey(inputs, "comptes"),
        sources.digests(inputs),
    )


def process_count(options: Options, wanted: Sequence[str], given: Input) -> Processes:
    """As many of this machine as pay off for the wanted countries."""
    totals = sources.totals(given.companies)
    count = jobs.number(options.jobs, [totals.get(iso2, 0) for iso2 in wanted])
    return Processes(count, options.memory or memory.default())


def tasks(
    options: Options,
    seeds: Seeds,
    wanted: Sequence[str],
    given: Input,
    shop: Workshop,
    share: int,
) -> list[Task]:
    """A task for each of the wanted countries, the largest first.

    Args:
        share: bytes of memory for each of those that run at once.
    """
    rows = sources.totals(given.companies)
    known = Tables(seeds, money.rates(seeds), sectors.lookup(seeds))
    shared = [
        receipts.folder_digest(options.seeds, "*.csv"),
        f"max_rejected {options.max_rejected}",
    ]
    return [
        _task(iso2, options, known, given, shop, shared, memory.batch(share))
        for iso2 in sorted(wanted, key=lambda iso2: (-rows.get(iso2, 0), iso2))
    ]


def wanted(pays: tuple[str, ...] | None, seeds: Seeds) -> list[str]:
    """The countries to build.

    Raises:
        BuildError: one is unknown.
    """
    known = [country.iso2 for country in seeds.pays]
    if pays is None:
        return known
    asked = list(dict.fromkeys(SPELLINGS.get(iso2, iso2) for iso2 in pays))
    if unknown := [iso2 for iso2 in asked if iso2 not in known]:
        raise BuildError(f"unknown country {', '.join(unknown)}; known: {', '.join(sorted(known))}")
    return asked


def _task(
    iso2: str,
    options: Options,
    known: Tables,
    given: Input,
    shop: Workshop,
    shared: Iterable[str],
    batch: int,
) -> Task:
    companies, comptes = sources.parts(given.companies, iso2), sources.parts(given.comptes, iso2)
    inputs = [
        sorted(given.digests[part.path].blake3 for part in held) for held in (companies, comptes)
    ]
    return Task(
        iso2=iso2,
        companies=companies,
        comptes=comptes,
        tables=known,
        max_rejected=options.max_rejected,
        out=options.out,
        done=shop.done,
        work=shop.work,
        key=receipts.key(iso2, *shared, *(str(names) for names in inputs)),
        batch=batch,
        memory=memory.need(sum(part.rows for part in companies), batch),
    )
