"""Build: canonical Parquet becomes a published generation.

Each country is a task of its own (country.py), from its rows in the input to its shard, so that
tasks run in processes and a build that was interrupted goes on with the countries that are left.
The same input gives the same bytes, whatever the number of processes, the memory, the order of
files, and how often it was interrupted. Nothing is published before everything is whole; a build
that fails or dies leaves what is published as it was.
"""

import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from pipeline import (
    cluster,
    emit,
    jobs,
    memory,
    money,
    previous,
    quality,
    receipts,
    rejected,
    sectors,
    sources,
    workshop,
)
from pipeline import country as countries
from pipeline import seeds as tables
from pipeline.canonical import COMPANIES
from pipeline.cluster import Cluster
from pipeline.country import Tables, Task
from pipeline.errors import BuildError
from pipeline.jobs import Processes
from pipeline.quality import Quality
from pipeline.receipts import Country
from pipeline.rejected import NO_COUNTRY, NOWHERE, REASON
from pipeline.seeds import Seeds
from pipeline.sources import Survey
from pipeline.workshop import Workshop
from shards import generations, reference
from shards.manifest import Source


@dataclass(frozen=True, slots=True)
class Options:
    """What a build is asked.

    `pays` None means all countries; `jobs` None, as many processes as pay off; `memory`, in bytes,
    None, half of what is available. `cluster`: the address of a scheduler, instead of processes;
    `memory` is then that of each task.
    """

    inputs: tuple[Path, ...]
    out: Path
    pays: tuple[str, ...] | None = None
    jobs: int | None = None
    memory: int | None = None
    cluster: str | None = None
    force: bool = False
    max_rejected: float = rejected.MOST
    seeds: Path = tables.SEEDS


@dataclass(frozen=True, slots=True)
class Built:
    """A published generation and its report; `resumed` countries an interrupted build had done."""

    generation: str
    pays: Mapping[str, Quality]
    hors_pays: Quality
    resumed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Input:
    """What is known of the input before it is read."""

    companies: Survey
    comptes: Survey
    digests: Mapping[Path, Source]


def run(options: Options) -> Built:
    """Build and publish a generation.

    Raises:
        BuildError: the input, a table, the share of rejected rows or the memory forbids it; or
            another build is under way.
        InputError: a file of the input is not canonical.
        ShardError: a gate of the publication is closed.
    """
    if options.cluster:  # elsewhere a relative path leads elsewhere
        inputs = tuple(folder.resolve() for folder in options.inputs)
        options = replace(options, inputs=inputs, out=options.out.resolve())
    seeds = tables.read(options.seeds)
    sources.check(options.inputs)
    wanted = _wanted(options.pays, seeds)
    kept = [pays.iso2 for pays in seeds.pays if pays.iso2 not in wanted]
    old = previous.read(options.out) if kept else None
    with workshop.opened(options.out) as shop:
        given = _read(options.inputs)
        elsewhere = _elsewhere(options, seeds, given, shop)
        built, resumed = _countries(options, seeds, wanted, given, shop)
        counts = {country.iso2: country.cells for country in built}
        qualities = {country.iso2: country.quality for country in built}
        files = {generations.shard_name(country.iso2): country.file for country in built}
        found = list(given.digests.values())
        with _staged(options.out) as staged:
            for name in files:
                previous.link(shop.done / name, staged / name)
            if old:
                files |= previous.keep(old, kept, staged)
                counts |= {iso2: old.counts[iso2] for iso2 in kept}
                qualities |= {iso2: old.qualities[iso2] for iso2 in kept}
                found = previous.sources(old, found)
            lists = emit.reference(seeds, counts)
            (staged / generations.REFERENCE).write_bytes(reference.dump(lists))
            (staged / generations.QUALITY).write_bytes(quality.dump(qualities, elsewhere))
            generation = generations.publish(
                options.out, staged, sources=found, known=files, force=options.force
            )
    return Built(generation, qualities, elsewhere, resumed)


def _read(inputs: tuple[Path, ...]) -> _Input:
    return _Input(
        sources.survey(inputs, "companies"),
        sources.survey(inputs, "comptes"),
        sources.digests(inputs),
    )


def _elsewhere(options: Options, seeds: Seeds, given: _Input, shop: Workshop) -> Quality:
    """Set apart the rows of no known country; stop if they are too many of the whole input."""
    known = [pays.iso2 for pays in seeds.pays]
    rows, lines = _strangers(given.companies, known), _strangers(given.comptes, known)
    holding = [path for path, held in given.companies.items() if not held.keys() <= set(known)]
    marked = sources.of_no_country(holding, "companies", known)
    path = rejected.file(options.out, NOWHERE)
    named = marked.with_columns(pl.lit(NO_COUNTRY).alias(REASON))
    rejected.write(named, list(COMPANIES), path, shop.work)
    total = sum(sources.totals(given.companies).values())
    refused = {f"pays {iso2!r}": count for iso2, count in rows.items()}
    rejected.refuse_too_many(NOWHERE, "rows", total, refused, options.max_rejected, path)
    return Quality(
        lues=sum(rows.values()),
        rejetees={NO_COUNTRY: sum(rows.values())} if rows else {},
        lignes_lues=sum(lines.values()),
        lignes_ecartees={NO_COUNTRY: sum(lines.values())} if lines else {},
    )


def _strangers(survey: Survey, known: Iterable[str]) -> dict[str, int]:
    return {iso2: n for iso2, n in sources.totals(survey).items() if iso2 not in known}


def _countries(
    options: Options, seeds: Seeds, wanted: Iterable[str], given: _Input, shop: Workshop
) -> tuple[list[Country], tuple[str, ...]]:
    """Every wanted country, and which of them an interrupted build had done."""
    totals = sources.totals(given.companies)
    sizes = {iso2: totals.get(iso2, 0) for iso2 in wanted}
    known = Tables(seeds, money.rates(seeds), sectors.lookup(seeds))
    shared = [
        receipts.folder_digest(options.seeds, "*.csv"),
        f"max_rejected {options.max_rejected}",
    ]
    with _crew(options, list(sizes.values()), shop) as crew:
        tasks = [
            _task(iso2, options, known, given, shop, shared, memory.batch(crew.share))
            for iso2 in sorted(sizes, key=lambda iso2: (-sizes[iso2], iso2))
        ]
        receipts.clear(shop.done, {task.iso2 for task in tasks})
        found = [receipts.find(task.done, task.iso2, task.key, task.rejected) for task in tasks]
        done = [country for country in found if country]
        left = [task for task, country in zip(tasks, found, strict=True) if not country]
        large = crew.run(countries.build, [task for task in left if task.rows])
    # A country without a company is not worth a process.
    here = Processes(1, jobs.UNBOUNDED)
    small = here.run(countries.build, [task for task in left if not task.rows])
    return [*done, *large, *small], tuple(sorted(country.iso2 for country in done))


@contextmanager
def _crew(options: Options, rows: list[int], shop: Workshop) -> Iterator[Cluster | Processes]:
    """Who builds the countries, of so many `rows`."""
    if options.cluster:
        with cluster.connected(options.cluster, shop.work, options.memory) as crew:
            yield crew
    else:
        yield Processes(jobs.number(options.jobs, rows), options.memory or memory.default())


def _task(
    iso2: str,
    options: Options,
    known: Tables,
    given: _Input,
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


def _wanted(pays: tuple[str, ...] | None, seeds: Seeds) -> list[str]:
    known = [country.iso2 for country in seeds.pays]
    if pays is None:
        return known
    asked = list(dict.fromkeys(sources.SPELLINGS.get(iso2, iso2) for iso2 in pays))
    if unknown := [iso2 for iso2 in asked if iso2 not in known]:
        raise BuildError(
            f"unknown country {', '.join(unknown)} in --pays; known: {', '.join(sorted(known))}"
        )
    return asked


@contextmanager
def _staged(out: Path) -> Iterator[Path]:
    """A folder for the files of the generation to be, which does not outlive the build."""
    staged = generations.staging(out)
    try:
        yield staged
    finally:
        shutil.rmtree(staged, ignore_errors=True)
