"""Build: canonical Parquet becomes a published generation. The stages stand in `_country`.

Each country is a task of its own, from its rows in the input to its shard, so that memory is
bounded by the largest country and tasks run in processes (spawned: Polars does not survive a fork).
The same input gives the same bytes, whatever the number of processes and the order of files.
Nothing is published before everything is whole; a build that fails or dies leaves what is published
as it was.
"""

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import polars as pl

from pipeline import (
    accounts,
    checks,
    derived,
    duplicates,
    emit,
    identifiers,
    jobs,
    money,
    previous,
    quality,
    rejected,
    rows,
    score,
    sectors,
    sources,
    text,
)
from pipeline import seeds as tables
from pipeline.canonical import COMPANIES, COMPTES
from pipeline.errors import BuildError
from pipeline.quality import Quality
from pipeline.rejected import NO_COUNTRY, NOWHERE, REASON
from pipeline.seeds import Seeds
from shards import generations, reference
from shards.record import FIELDS
from shards.reference import Cell

_WORKING: Final = (sectors.DIVISION, sectors.GROUP, money.CAPITAL)


@dataclass(frozen=True, slots=True)
class Options:
    """What a build is asked. `pays` None means all countries; `jobs` None, as many as pay off."""

    inputs: tuple[Path, ...]
    out: Path
    pays: tuple[str, ...] | None = None
    jobs: int | None = None
    force: bool = False
    max_rejected: float = rejected.MOST
    seeds: Path = tables.SEEDS


@dataclass(frozen=True, slots=True)
class Built:
    """A published generation and its report."""

    generation: str
    pays: Mapping[str, Quality]
    hors_pays: Quality


@dataclass(frozen=True, slots=True)
class Tables:
    """What the stages look up, made once for all countries."""

    seeds: Seeds
    rates: pl.DataFrame
    nace: pl.DataFrame


@dataclass(frozen=True, slots=True)
class Task:
    """One country to build: plain values, so that it can be sent to another process."""

    iso2: str
    rows: int
    options: Options
    tables: Tables
    staged: Path
    work: Path


@dataclass(frozen=True, slots=True)
class Country:
    """What came of a task, beside the shard."""

    iso2: str
    cells: tuple[Cell, ...]
    quality: Quality


def run(options: Options) -> Built:
    """Build and publish a generation.

    Raises:
        BuildError: the input, a table or the share of rejected rows forbids it.
        InputError: a file of the input is not canonical.
        ShardError: a gate of the publication is closed.
    """
    seeds = tables.read(options.seeds)
    known = Tables(seeds, money.rates(seeds), sectors.lookup(seeds))
    sources.check(options.inputs)
    wanted = _wanted(options.pays, seeds)
    kept = [country.iso2 for country in seeds.pays if country.iso2 not in wanted]
    old = previous.read(options.out) if kept else None
    with _staged(options.out) as (staged, work):
        elsewhere = _elsewhere(options, seeds)
        built = {c.iso2: c for c in _countries(options, known, wanted, staged, work)}
        counts = {iso2: country.cells for iso2, country in built.items()}
        qualities = {iso2: country.quality for iso2, country in built.items()}
        found = sources.digests(options.inputs)
        if old:
            previous.keep(old, kept, staged)
            counts |= {iso2: old.counts[iso2] for iso2 in kept}
            qualities |= {iso2: old.qualities[iso2] for iso2 in kept}
            found = previous.sources(old, found)
        lists = emit.reference(seeds, counts)
        (staged / generations.REFERENCE).write_bytes(reference.dump(lists))
        (staged / generations.QUALITY).write_bytes(quality.dump(qualities, elsewhere))
        generation = generations.publish(options.out, staged, sources=found, force=options.force)
    return Built(generation, qualities, elsewhere)


def _country(task: Task) -> Country:
    """All stages of one country, in order."""
    if not task.options.inputs:
        return _empty(task)
    iso2, options = task.iso2, task.options
    seeds, rates, nace = task.tables.seeds, task.tables.rates, task.tables.nace
    pays = seeds.country(iso2)

    # Rows: clean, mark the bad ones, set them apart.
    companies = sources.of_country(sources.companies(options.inputs), iso2)
    marked = _stored(
        companies.pipe(text.clean).pipe(money.unsigned_zeros).pipe(rejected.mark),
        task.work / f"{iso2}.companies.parquet",
    )
    refused = _set_apart(task, marked)
    good = marked.filter(pl.col(REASON).is_null()).drop(REASON)
    duplicates.refuse(good, iso2, sources.files(options.inputs, "companies"))

    # Statement lines: those of good rows, once, of the last years.
    comptes = sources.of_country(sources.comptes(options.inputs), iso2)
    judged = _stored(
        comptes.pipe(text.clean).pipe(money.unsigned_zeros).pipe(accounts.mark, good),
        task.work / f"{iso2}.judged.parquet",
    )
    distinct = _stored(accounts.distinct(judged), task.work / f"{iso2}.distinct.parquet")
    lines = _stored(accounts.recent(distinct), task.work / f"{iso2}.lines.parquet")
    became = _account(task, judged, distinct, lines)

    # Columns: each stage adds its own.
    finished = (
        good.pipe(accounts.attach, lines, seeds)
        .pipe(checks.columns, "accounts", there=["n_exercices", "exercice_min", "exercice_max"])
        .pipe(money.turnover, rates)
        .pipe(money.capital, rates)
        .pipe(checks.columns, "money", there=[money.CAPITAL, money.UNCONVERTED], gone=["taux"])
        .pipe(sectors.attach, nace, sectors.outside(seeds, iso2))
        .pipe(checks.columns, "sectors", there=_WORKING, gone=["nace_version"])
        .pipe(identifiers.link, pays)
        .pipe(derived.attach)
        .pipe(score.attach)
        .pipe(checks.columns, "score", there=[*FIELDS, *_WORKING], gone=[REASON])
        .pipe(rows.in_layout)
        .collect(engine="streaming")
    )
    frame = checks.rows(finished, "the stages", task.rows - sum(refused.values()))

    emit.shard(task.staged, iso2, frame, lines)
    report = Quality(
        lues=task.rows,
        rejetees=refused,
        **quality.of_frame(frame),
        **became,
        **asdict(identifiers.conformity(frame["id"], pays)),
    )
    return Country(iso2, emit.cells(frame), report)


def _empty(task: Task) -> Country:
    """A country of which the input says nothing: what the stages would make of no row, at once."""
    rejected.file(task.options.out, task.iso2).unlink(missing_ok=True)
    emit.shard(task.staged, task.iso2, rows.EMPTY, pl.LazyFrame(schema=dict(COMPTES)))
    return Country(task.iso2, (), Quality(renseignees=dict.fromkeys(quality.SHARES, 0)))


def _stored(frame: pl.LazyFrame, path: Path) -> pl.LazyFrame:
    """`frame` computed once, in bounded memory, and read again as often as wanted."""
    frame.sink_parquet(path, compression="lz4")
    return pl.scan_parquet(path)


def _set_apart(task: Task, marked: pl.LazyFrame) -> dict[str, int]:
    """Write the rejected rows; stop if they are too many. Return how many each reason took."""
    refused = rejected.reasons(marked)
    path = rejected.file(task.options.out, task.iso2)
    rejected.write(marked, list(COMPANIES), path)
    most = task.options.max_rejected
    rejected.refuse_too_many(task.iso2, "rows", task.rows, refused, most, path)
    return refused


def _account(
    task: Task, judged: pl.LazyFrame, distinct: pl.LazyFrame, lines: pl.LazyFrame
) -> dict[str, Any]:
    """What became of the statement lines, as arguments of Quality; stop if too many are bad."""
    reasons = rejected.reasons(judged)
    bad = {name: count for name, count in reasons.items() if name != accounts.NO_COMPANY}
    read, good, kept = rejected.count(judged), rejected.count(distinct), rejected.count(lines)
    most = task.options.max_rejected
    rejected.refuse_too_many(task.iso2, "statement lines", read, bad, most, "comptes/")
    left_out = {
        **reasons,
        accounts.COPY: read - sum(reasons.values()) - good,
        accounts.TOO_OLD: good - kept,
    }
    return {
        "lignes_lues": read,
        "lignes_gardees": kept,
        "lignes_ecartees": {name: count for name, count in left_out.items() if count},
        "lignes_contradictoires": accounts.contradictions(lines),
    }


def _elsewhere(options: Options, seeds: Seeds) -> Quality:
    """Set apart the rows of no known country; stop if they are too many of the whole input."""
    known = [country.iso2 for country in seeds.pays]
    everything = sources.companies(options.inputs)
    companies = sources.of_no_country(everything, known)
    marked = companies.with_columns(pl.lit(NO_COUNTRY).alias(REASON))
    lost = rejected.reasons(marked)
    path = rejected.file(options.out, NOWHERE)
    rejected.write(marked, list(COMPANIES), path)
    total = rejected.count(everything)
    named = {f"pays {iso2!r}": count for iso2, count in sources.survey(companies).items()}
    rejected.refuse_too_many(NOWHERE, "rows", total, named, options.max_rejected, path)
    lines = rejected.count(sources.of_no_country(sources.comptes(options.inputs), known))
    return Quality(
        lues=sum(lost.values()),
        rejetees=lost,
        lignes_lues=lines,
        lignes_ecartees={NO_COUNTRY: lines} if lines else {},
    )


def _countries(
    options: Options, known: Tables, wanted: list[str], staged: Path, work: Path
) -> list[Country]:
    """Every wanted country, the largest first; one without a row in the input is built empty."""
    present = sources.survey(sources.companies(options.inputs))
    stated = sources.survey(sources.comptes(options.inputs))
    nothing = replace(options, inputs=())
    tasks = [
        Task(
            iso2,
            present.get(iso2, 0),
            options if iso2 in present or iso2 in stated else nothing,
            known,
            staged,
            work,
        )
        for iso2 in sorted(wanted, key=lambda iso2: (-present.get(iso2, 0), iso2))
    ]
    return jobs.run(_country, tasks, options.jobs)


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
def _staged(out: Path) -> Iterator[tuple[Path, Path]]:
    """A folder for the files to be, and one for work; neither outlives the build."""
    staged = generations.staging(out)
    try:
        with tempfile.TemporaryDirectory(prefix=f"{staged.name}-", dir=out) as work:
            yield staged, Path(work)
    finally:
        shutil.rmtree(staged, ignore_errors=True)
