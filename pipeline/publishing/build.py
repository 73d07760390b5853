"""The build: canonical Parquet becomes a published generation.

Each country is a task of its own (`country`), from its rows in the input to its shard. Tasks run in
processes, and a build that was interrupted continues with the countries that are left (`receipts`).
A country that has not changed since the published generation is not built again (also `receipts`).

Invariants: the same input gives the same bytes, whatever the number of processes, the memory, the
order of files and the number of interruptions. Nothing is published before everything is whole. A
build that fails or dies leaves the published generation as it was.

The changes since the published generation are in a file per country, and all of them in one Parquet file for other
programs: the columns of CHANGES_SCHEMA, ordered by country, kind and identifier.
"""

import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

import orjson
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline import canonical
from pipeline import seeds as tables
from pipeline.canonical import TABLES
from pipeline.errors import BuildError
from pipeline.publishing import country, groups, plan, receipts
from pipeline.publishing.plan import BuildInput, BuildOptions
from pipeline.publishing.receipts import BuiltCountry, Task, WorkFolder
from pipeline.seeds import Seeds
from pipeline.stages import input_files, objections, quality_report, rejections
from pipeline.stages.input_files import Survey
from pipeline.stages.objections import Objections
from pipeline.stages.quality_report import Quality
from pipeline.stages.rejections import NO_COUNTRY, REASON, UNKNOWN_ISO2
from pipeline.workers import dask_cluster, processes
from pipeline.workers.dask_cluster import Cluster
from pipeline.workers.processes import Processes, Progress
from shards.analyses import market
from shards.changes import comparison, forgetting
from shards.changes.change_file import NATURES, ChangeFile
from shards.generations import (
    atomic_files,
    generation_files,
    publication,
    reference,
    register_sources,
)
from shards.generations.change_steps import SUFFIX, ChangeCounts, Shards
from shards.generations.generation_files import shard_name
from shards.generations.reference import CellCount, Pays, Reference, Secteur, SousSecteur
from shards.generations.register_sources import Imports, RegisterImport

CHANGES: Final = "changes.parquet"
CHANGES_SCHEMA: Final = pa.schema(
    [
        ("iso2", pa.string()),
        ("id", pa.string()),
        ("nature", pa.string()),
        ("champs", pa.list_(pa.string())),  # null unless the company was modified
    ]
)

_CHANGES_AT_ONCE: Final = 65_536
# Positions of identifiers and pending entries per row; a batch of records of both shards, and a block of each section.
_COMPARE_MEMORY_A_ROW: Final = 16
_COMPARE_MEMORY: Final = 96 << 20


@dataclass(frozen=True, slots=True)
class BuildResult:
    """A published generation and its report.

    Attributes:
        pays: the report of each country.
        hors_pays: the report of the rows of no known country.
        resumed: countries that an interrupted build had finished.
        reused: countries with companies that have not changed since the previous generation.
    """

    generation: str
    pays: Mapping[str, Quality]
    hors_pays: Quality
    resumed: tuple[str, ...]
    reused: tuple[str, ...]


def run(options: BuildOptions) -> BuildResult:
    """Build and publish a generation.

    Raises:
        BuildError: an input, a table, a share of rejected rows or an amount of memory that cannot
            be accepted.
        InputError: a file of the input that is not canonical.
        ShardError: a closed gate of the publication, or another build in the same folder.
    """
    options = _with_absolute_paths(options) if options.cluster else options
    seeds = tables.read(options.seeds)
    input_files.check_folders(options.inputs)
    wanted = plan.wanted_countries(options.pays, seeds)
    kept = [pays.iso2 for pays in seeds.pays if pays.iso2 not in wanted]
    with receipts.open_workdir(options.out) as work:
        previous = receipts.read_published(options.out) if kept else None
        known = objections.collect(options.out, options.objections, seeds)
        _check_objections(options.out, known, kept)
        build_input = plan.read_input(options.inputs)
        elsewhere = _reject_unknown_countries(options, seeds, build_input, work)
        published = receipts.published_build(options.out)
        local = plan.local_processes(options, wanted, build_input)
        with _executor(options, local, work) as executor:
            tasks = plan.country_tasks(options, seeds, wanted, build_input, work, executor.share)
            reused = receipts.find_unchanged(published, options.out, tasks)
            fresh, resumed = _build_countries(executor, tasks, work, reused)
        built = [*reused.values(), *fresh]
        sources = list(build_input.digests.values())
        with _staging_folder(options.out) as staged:
            _link_shards(published.folder, reused, staged)
            _link_shards(work.done, [of_country.iso2 for of_country in fresh], staged)
            if previous:
                built += receipts.link_shards(previous, kept, staged)
                sources = receipts.merge_sources(previous, sources)
            counts = {of_country.iso2: of_country.cells for of_country in built}
            qualities = {of_country.iso2: of_country.quality for of_country in built}
            files = {shard_name(of_country.iso2): of_country.file for of_country in built}
            others = {iso2: previous.sources.get(iso2, ()) for iso2 in kept} if previous else {}
            registers = _sources_by_country(options.inputs, build_input, wanted, others)
            lists = _reference_lists(seeds, counts)
            odd = groups.write(options.inputs, previous, staged)
            elsewhere = replace(elsewhere, valeurs_ecartees=dict(sorted((+odd).items())))
            _write_lists(staged, lists, qualities, elsewhere, registers)
            generation = publication.publish(
                options.out,
                staged,
                sources=sources,
                known=files,
                gates=options.gates,
                closed=quality_report.closed_gates(qualities),
                left_out=known.left_out(),
                keep=options.keep,
                compare=partial(compare_countries, here=local),
                derive=market.files,
                check=options.check,
            )
        _forget(options.out, known)
        receipts.keep_receipts(options.out, work.done)
    unchanged = (iso2 for iso2, of_country in reused.items() if of_country.cells)
    return BuildResult(generation, qualities, elsewhere, resumed, tuple(sorted(unchanged)))


def _with_absolute_paths(options: BuildOptions) -> BuildOptions:
    """The options for a cluster: a relative path would be another file on a worker."""
    inputs = tuple(folder.resolve() for folder in options.inputs)
    return replace(options, inputs=inputs, out=options.out.resolve())


def _link_shards(folder: Path, countries: Iterable[str], staged: Path) -> None:
    """Link the shards of countries in a folder into the new generation."""
    for name in map(shard_name, countries):
        atomic_files.link(folder / name, staged / name)


def _write_lists(
    staged: Path,
    lists: Reference,
    qualities: Mapping[str, Quality],
    elsewhere: Quality,
    registers: Mapping[str, Sequence[register_sources.RegisterImport]],
) -> None:
    """Write the lists of the base, the report of each country, and the imports that its companies come from."""
    (staged / generation_files.REFERENCE).write_bytes(reference.dump(lists))
    dates = {
        iso2: register_sources.country_date(imports, iso2) for iso2, imports in registers.items()
    }
    report = quality_report.dump(qualities, elsewhere, dates)
    (staged / generation_files.QUALITY).write_bytes(report)
    (staged / register_sources.SOURCES).write_bytes(register_sources.dump(registers))


def _sources_by_country(
    inputs: Iterable[Path], build_input: BuildInput, wanted: Iterable[str], kept: Imports
) -> dict[str, list[RegisterImport]]:
    """The imports that gave rows to each of the `wanted` countries; those of the other countries are `kept`.

    A `sources.json` names the tables of its folder. The companies of a table that it does not name, such as one's own
    Parquet, have no declared source.

    Raises:
        InputError: a `sources.json` that cannot be read.
    """
    found = {iso2: list(imports) for iso2, imports in kept.items()}
    fresh: dict[str, list[RegisterImport]] = {iso2: [] for iso2 in wanted}
    rows: Mapping[Path, Mapping[str, int]] = {**build_input.companies, **build_input.comptes}
    for folder in inputs:
        for table, imports in canonical.read_sources(folder).items():
            for iso2, count in rows.get(folder / table, {}).items():
                if iso2 in fresh:
                    fresh[iso2] += [replace(one, lignes=count) for one in imports]
    return {iso2: imports for iso2, imports in {**found, **fresh}.items() if imports}


def _reference_lists(seeds: Seeds, counts: Mapping[str, tuple[CellCount, ...]]) -> Reference:
    """Countries, sectors and sub-sectors, in the order of the tables of `seeds/`, with `counts` per country."""
    sectors = seeds.tables["secteurs"]
    shown = {row["nace_division"] for row in sectors}
    return Reference(
        pays=tuple(
            Pays(p.iso2, p.slug, p.nom_fr, p.nom_en, p.devise, p.registre) for p in seeds.pays
        ),
        secteurs=tuple(
            Secteur(
                row["nace_division"],
                row["secteur"],
                row["secteur_en"],
                row["slug"],
                row["grand_secteur"],
            )
            for row in sectors
        ),
        sous_secteurs=tuple(
            SousSecteur(row["code"], row["division"], row["label_fr"])
            for row in seeds.tables["nace_groups"]
            if row["division"] in shown
        ),
        counts={pays.iso2: counts[pays.iso2] for pays in seeds.pays},
    )


def _check_objections(out: Path, known: Objections, kept: Collection[str]) -> None:
    """Refuse to publish again what a generation has left out.

    Raises:
        BuildError: DATA has lost what it remembered, or a new objection is of a country that is not built.
    """
    if unbuilt := sorted(known.countries & set(kept)):
        raise BuildError(
            f"objections: a new one is of {unbuilt[0]}, which stays as published; add {unbuilt[0]} to --pays"
        )
    if not known.known and receipts.has_objections(out):
        raise BuildError(
            f"the published generation honours objections, and {out / objections.KEPT} is gone; give "
            "their file as --objections"
        )


def _forget(out: Path, known: Objections) -> None:
    """Take what new objections are about out of the history and of older generations; remember all objections.

    They are remembered at last: a build that dies before does this again.
    """
    if known.fresh:
        countries = {
            iso2: known.hidden_values(iso2, fresh=True) for iso2 in sorted(known.countries)
        }
        forgetting.forget(out, countries)
        publication.keep_published(out)
    objections.keep(out, known)


def _reject_unknown_countries(
    options: BuildOptions, seeds: Seeds, build_input: BuildInput, work: WorkFolder
) -> Quality:
    """Write the rows of no known country apart; stop if they are too many of the whole input."""
    known = [pays.iso2 for pays in seeds.pays]
    rows, lines = (
        _unknown_rows(build_input.companies, known),
        _unknown_rows(build_input.comptes, known),
    )
    path = rejections.rows_path(options.out, UNKNOWN_ISO2)
    lines_path = rejections.lines_path(options.out, UNKNOWN_ISO2)
    _write_rejected(build_input.companies, "companies", known, path, work)
    _write_rejected(build_input.comptes, "comptes", known, lines_path, work)
    total = sum(input_files.rows_per_country(build_input.companies).values())
    refused = {f"pays {iso2!r}": count for iso2, count in rows.items()}
    rejections.refuse_too_many(UNKNOWN_ISO2, "rows", total, refused, options.max_rejected, path)
    return Quality(
        lues=sum(rows.values()),
        rejetees={NO_COUNTRY: sum(rows.values())} if rows else {},
        lignes_lues=sum(lines.values()),
        lignes_ecartees={NO_COUNTRY: sum(lines.values())} if lines else {},
    )


def _write_rejected(
    survey: Survey, table: str, known: Collection[str], path: Path, work: WorkFolder
) -> None:
    files = [file for file, rows in survey.items() if not rows.keys() <= set(known)]
    found = input_files.scan_unknown_countries(files, table, known)
    with canonical.name_unreadable(files):
        rejected = found.with_columns(pl.lit(NO_COUNTRY).alias(REASON))
        rejections.write(rejected, list(TABLES[table][0]), path, work.work)


def _unknown_rows(survey: Survey, known: Iterable[str]) -> dict[str, int]:
    rows = input_files.rows_per_country(survey)
    return {iso2: count for iso2, count in rows.items() if iso2 not in known}


def _build_countries(
    executor: Cluster | Processes,
    tasks: Sequence[Task],
    work: WorkFolder,
    reused: Collection[str],
) -> tuple[list[BuiltCountry], tuple[str, ...]]:
    """Build the countries that are not reused; return them and the names of the resumed ones."""
    tasks = [task for task in tasks if task.iso2 not in reused]
    receipts.discard_others(work.done, {task.iso2 for task in tasks})
    found = [
        receipts.find_done(task.done, task.iso2, task.key, task.rejected_files) for task in tasks
    ]
    done = [one for one in found if one]
    left = [task for task, one in zip(tasks, found, strict=True) if not one]
    large = executor.run(country.build, [task for task in left if task.rows])
    # A country without companies does not pay for a process.
    local = Processes(1, processes.UNBOUNDED)
    small = local.run(country.build, [task for task in left if not task.rows])
    return [*done, *large, *small], tuple(sorted(one.iso2 for one in done))


@contextmanager
def _executor(
    options: BuildOptions, local: Processes, work: WorkFolder
) -> Iterator[Cluster | Processes]:
    """The cluster of `--cluster`, else the processes of this machine."""
    if options.cluster:
        with dask_cluster.connect(options.cluster, work.work, options.memory) as cluster:
            yield cluster
    else:
        yield local


@contextmanager
def _staging_folder(out: Path) -> Iterator[Path]:
    """A folder for the files of the next generation, removed when the build ends."""
    staged = publication.make_staging_folder(out)
    try:
        yield staged
    finally:
        shutil.rmtree(staged, ignore_errors=True)


# -- changes since the published generation ------------------------------------------


@dataclass(frozen=True, slots=True)
class _Comparison:
    """One country to compare: plain values, to be sent to another process."""

    iso2: str
    shards: Shards
    folder: Path

    @property
    def rows(self) -> int:
        return self.shards.rows

    @property
    def memory(self) -> int:
        return _COMPARE_MEMORY + self.rows * _COMPARE_MEMORY_A_ROW


def compare_countries(
    countries: Iterable[Shards], folder: Path, *, here: Processes
) -> dict[str, ChangeCounts]:
    """Write the changes of `countries` into `folder`; return the counts of those that changed.

    Args:
        here: the processes that compare.

    Raises:
        BuildError: a process that died.
        ShardError: a shard that cannot be read.
    """
    tasks = [_Comparison(country.iso2, country, folder) for country in countries]
    results = here.run(_compare, tasks)
    counts = {task.iso2: one for task, one in zip(tasks, results, strict=True) if any(one)}
    _write_changes(folder, counts)
    return counts


def _compare(task: _Comparison, progress: Progress) -> ChangeCounts:
    path = task.folder / f"{task.iso2}{SUFFIX}"
    counts = comparison.compare(task.shards.old, task.shards.new, task.iso2, path)
    progress(task.rows)
    return counts


def _write_changes(folder: Path, countries: Iterable[str]) -> None:
    with pq.ParquetWriter(folder / CHANGES, CHANGES_SCHEMA, compression="zstd") as writer:
        for iso2 in countries:
            with closing(ChangeFile(folder / f"{iso2}{SUFFIX}")) as changes:
                for rows in _change_batches(changes):
                    writer.write_table(pa.Table.from_pylist(rows, schema=CHANGES_SCHEMA))


def _change_batches(changes: ChangeFile) -> Iterator[list[dict[str, object]]]:
    for nature, count in zip(NATURES, changes.counts, strict=True):
        for start in range(0, count, _CHANGES_AT_ONCE):
            entries = changes.entries(nature, start, start + _CHANGES_AT_ONCE)
            yield [{"nature": nature, **orjson.loads(entry)} for entry in entries]
