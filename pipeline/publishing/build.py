"""The build: canonical Parquet becomes a published generation.

Each country is one task (`country`), from its rows in the input to its shard. Tasks run in processes. If a build was
interrupted, the next build continues with the unfinished countries, and a country that has not changed since the
published generation is not built again (`receipts`).

Invariants: the same input gives the same bytes, whatever the number of processes, the memory, the order of files and
the number of interruptions. Nothing is published until everything is complete. A build that fails or dies leaves the
published generation unchanged.

The changes since the published generation are written to one file per country, and all together to a Parquet file for
other programs, with the columns of CHANGES_SCHEMA, ordered by country, kind and identifier.
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
from pipeline.workers.processes import AddProgress, Processes
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
from shards.generations.change_steps import SUFFIX, ChangeCounts, ShardPair
from shards.generations.generation_files import shard_name
from shards.generations.reference import CellCount, Pays, Reference, Secteur, SousSecteur
from shards.generations.register_sources import Imports, RegisterImport

# The Parquet file of all changes since the previous generation, and its columns.
CHANGES: Final = "changes.parquet"
CHANGES_SCHEMA: Final = pa.schema(
    [
        ("iso2", pa.string()),
        ("id", pa.string()),
        ("nature", pa.string()),
        ("champs", pa.list_(pa.string())),  # null unless the company was modified
    ]
)

_CHANGES_AT_ONCE: Final = 65_536  # the most changes that are written to Parquet together
# The memory of a comparison of two shards, in bytes. Each row needs memory for the position of its identifier and a
# pending entry; a comparison also needs a batch of records of both shards, and a block of each section of the file of
# changes.
_COMPARE_MEMORY_A_ROW: Final = 16
_COMPARE_MEMORY: Final = 96 << 20


@dataclass(frozen=True, slots=True)
class BuildResult:
    """A published generation and its report.

    Attributes:
        generation: the name of the generation.
        pays: the report of each country.
        hors_pays: the report of the rows without a known country.
        resumed: the countries that an interrupted build had finished.
        reused: the unchanged countries whose shards of the previous generation are linked; only countries with
            companies.
    """

    generation: str
    pays: Mapping[str, Quality]
    hors_pays: Quality
    resumed: tuple[str, ...]
    reused: tuple[str, ...]


def run(options: BuildOptions) -> BuildResult:
    """Build and publish a generation.

    Raises:
        BuildError: an input, a table, a share of rejected rows or an amount of memory is not accepted.
        InputError: a file of the input is not canonical.
        ShardError: a gate of the publication is closed, or another build runs in the same folder.
    """
    options = _make_paths_absolute(options) if options.cluster else options
    seeds = tables.read(options.seeds)
    input_files.check_folders(options.inputs)
    wanted = plan.countries_to_build(options.pays, seeds)
    untouched = [pays.iso2 for pays in seeds.pays if pays.iso2 not in wanted]
    with receipts.open_workdir(options.out) as work:
        # `previous` must be readable, because its countries stay. If `published` is not, every country is built.
        previous = receipts.read_published(options.out) if untouched else None
        all_objections = objections.collect(options.out, options.objections, seeds)
        _check_objections(options.out, all_objections, untouched)
        build_input = plan.read_input(options.inputs)
        unknown_country_report = _reject_unknown_countries(options, seeds, build_input, work)
        published = receipts.published_build(options.out)
        this_machine = plan.local_processes(options, wanted, build_input)
        with _executor(options, this_machine, work) as executor:
            tasks = plan.country_tasks(options, seeds, wanted, build_input, work, executor.share)
            reused = receipts.find_unchanged(published, options.out, tasks)
            newly_built, resumed = _build_countries(executor, tasks, work, reused)
        built = [*reused.values(), *newly_built]
        sources = list(build_input.digests.values())
        with _staging_folder(options.out) as staged:
            _link_shards(published.folder, reused, staged)
            _link_shards(work.done, [built_country.iso2 for built_country in newly_built], staged)
            if previous:
                built += receipts.link_shards(previous, untouched, staged)
                sources = receipts.merge_sources(previous, sources)
            counts = {built_country.iso2: built_country.cells for built_country in built}
            qualities = {built_country.iso2: built_country.quality for built_country in built}
            shard_digests = {
                shard_name(built_country.iso2): built_country.file for built_country in built
            }
            untouched_imports = (
                {iso2: previous.sources.get(iso2, ()) for iso2 in untouched} if previous else {}
            )
            imports_by_country = _sources_by_country(
                options.inputs, build_input, wanted, untouched_imports
            )
            reference_lists = _reference_lists(seeds, counts)
            left_out = groups.write(options.inputs, previous, staged)
            # Relationships belong to no country. The unary plus removes the reasons with the count 0.
            unknown_country_report = replace(
                unknown_country_report, valeurs_ecartees=dict(sorted((+left_out).items()))
            )
            _write_lists(
                staged, reference_lists, qualities, unknown_country_report, imports_by_country
            )
            generation = publication.publish(
                options.out,
                staged,
                sources=sources,
                digests=shard_digests,
                gates=options.gates,
                closed=quality_report.closed_gates(qualities),
                left_out=all_objections.left_out(),
                keep=options.keep,
                compare=partial(compare_countries, here=this_machine),
                derive=market.files,
                check=options.check,
            )
        _forget(options.out, all_objections)
        receipts.keep_receipts(options.out, work.done)
    unchanged = (iso2 for iso2, built_country in reused.items() if built_country.cells)
    return BuildResult(
        generation, qualities, unknown_country_report, resumed, tuple(sorted(unchanged))
    )


def _make_paths_absolute(options: BuildOptions) -> BuildOptions:
    """The options with absolute paths, for a cluster: on a worker, a relative path would mean another file."""
    inputs = tuple(folder.resolve() for folder in options.inputs)
    return replace(options, inputs=inputs, out=options.out.resolve())


def _link_shards(folder: Path, countries: Iterable[str], staged: Path) -> None:
    """Link the shards of `countries` from `folder` into the folder of the new generation, `staged`."""
    for name in map(shard_name, countries):
        atomic_files.link(folder / name, staged / name)


def _write_lists(
    staged: Path,
    lists: Reference,
    qualities: Mapping[str, Quality],
    elsewhere: Quality,
    imports_by_country: Mapping[str, Sequence[register_sources.RegisterImport]],
) -> None:
    """Write the reference lists, the quality report, and the `sources.json` of the generation into `staged`.

    Args:
        elsewhere: the report of the rows without a known country.
    """
    (staged / generation_files.REFERENCE).write_bytes(reference.dump(lists))
    dates = {
        iso2: register_sources.country_date(imports, iso2)
        for iso2, imports in imports_by_country.items()
    }
    report = quality_report.dump(qualities, elsewhere, dates)
    (staged / generation_files.QUALITY).write_bytes(report)
    (staged / register_sources.SOURCES).write_bytes(register_sources.dump(imports_by_country))


def _sources_by_country(
    inputs: Iterable[Path], build_input: BuildInput, wanted: Iterable[str], untouched: Imports
) -> dict[str, list[RegisterImport]]:
    """The imports from which the rows of each country come.

    The imports of the countries to build (`wanted`) are found in the input; `untouched` has those of all others.

    A `sources.json` names the tables of its folder. Companies of a table that it does not name, such as the operator's
    own Parquet file, have no declared source.

    Raises:
        InputError: a `sources.json` cannot be read.
    """
    by_country = {iso2: list(imports) for iso2, imports in untouched.items()}
    built: dict[str, list[RegisterImport]] = {iso2: [] for iso2 in wanted}
    rows: Mapping[Path, Mapping[str, int]] = {**build_input.companies, **build_input.comptes}
    for folder in inputs:
        for table, imports in canonical.read_sources(folder).items():
            for iso2, count in rows.get(folder / table, {}).items():
                if iso2 in built:
                    built[iso2] += [
                        replace(register_import, lignes=count) for register_import in imports
                    ]
    return {iso2: imports for iso2, imports in {**by_country, **built}.items() if imports}


def _reference_lists(seeds: Seeds, counts: Mapping[str, tuple[CellCount, ...]]) -> Reference:
    """The countries, sectors and sub-sectors in the order of the tables of `seeds/`, with `counts` per country."""
    sectors = seeds.tables["secteurs"]
    divisions = {row["nace_division"] for row in sectors}
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
            if row["division"] in divisions
        ),
        counts={pays.iso2: counts[pays.iso2] for pays in seeds.pays},
    )


def _check_objections(out: Path, all_objections: Objections, untouched: Collection[str]) -> None:
    """Refuse a build that would publish, or leave published, a value to which a person objects.

    Raises:
        BuildError: DATA has lost its stored objections, or a new objection is for a country that is not built.
    """
    if unbuilt := sorted(all_objections.countries & set(untouched)):
        raise BuildError(
            f"objections: a new one is of {unbuilt[0]}, which stays as published; add {unbuilt[0]} to --pays"
        )
    if not all_objections.entries and receipts.has_objections(out):
        raise BuildError(
            f"the published generation honours objections, and {out / objections.STORED_FILE} is gone; give "
            "their file as --objections"
        )


def _forget(out: Path, all_objections: Objections) -> None:
    """Remove the data of new objections from the files of changes, delete older generations, store all objections.

    The objections are stored last: if a build dies before, they are still new for the next build, which repeats this.
    """
    if all_objections.fresh:
        countries = {
            iso2: all_objections.hidden_values(iso2, fresh=True)
            for iso2 in sorted(all_objections.countries)
        }
        forgetting.forget(out, countries)
        publication.keep_published(out)
    objections.keep(out, all_objections)


def _reject_unknown_countries(
    options: BuildOptions, seeds: Seeds, build_input: BuildInput, work: WorkFolder
) -> Quality:
    """Write the rows without a known country to the files of XX; stop if their share of the input is too large."""
    countries = [pays.iso2 for pays in seeds.pays]
    rows, lines = (
        _rows_by_unknown_country(build_input.companies, countries),
        _rows_by_unknown_country(build_input.comptes, countries),
    )
    path = rejections.rows_path(options.out, UNKNOWN_ISO2)
    lines_path = rejections.lines_path(options.out, UNKNOWN_ISO2)
    _write_rejected(build_input.companies, "companies", countries, path, work)
    _write_rejected(build_input.comptes, "comptes", countries, lines_path, work)
    total = sum(input_files.rows_per_country(build_input.companies).values())
    # The unknown codes are given as reasons, so that the message of an error names them.
    refused = {f"pays {iso2!r}": count for iso2, count in rows.items()}
    rejections.refuse_too_many(UNKNOWN_ISO2, "rows", total, refused, options.max_rejected, path)
    return Quality(
        lues=sum(rows.values()),
        rejetees={NO_COUNTRY: sum(rows.values())} if rows else {},
        lignes_lues=sum(lines.values()),
        lignes_ecartees={NO_COUNTRY: sum(lines.values())} if lines else {},
    )


def _write_rejected(
    survey: Survey, table: str, countries: Collection[str], path: Path, work: WorkFolder
) -> None:
    """Write the rows of a table without a known country to `path`."""
    files = [file for file, rows in survey.items() if not rows.keys() <= set(countries)]
    unknown_rows = input_files.scan_unknown_countries(files, table, countries)
    with canonical.name_unreadable(files):
        rejected = unknown_rows.with_columns(pl.lit(NO_COUNTRY).alias(REASON))
        rejections.write(rejected, list(TABLES[table][0]), path, work.work)


def _rows_by_unknown_country(survey: Survey, countries: Iterable[str]) -> dict[str, int]:
    """The number of rows of each unknown country."""
    rows = input_files.rows_per_country(survey)
    return {iso2: count for iso2, count in rows.items() if iso2 not in countries}


def _build_countries(
    executor: Cluster | Processes,
    tasks: Sequence[Task],
    work: WorkFolder,
    reused: Collection[str],
) -> tuple[list[BuiltCountry], tuple[str, ...]]:
    """Build the countries that are not reused and not finished by an interrupted build.

    Finished countries that this build does not need are deleted from the work folder.

    Returns:
        The results of the built and of the finished countries; and the codes of the finished countries, sorted.
    """
    tasks = [task for task in tasks if task.iso2 not in reused]
    receipts.discard_other_countries(work.done, {task.iso2 for task in tasks})
    finished_or_none = [
        receipts.find_done(task.done, task.iso2, task.key, task.rejected_files) for task in tasks
    ]
    finished = [receipt for receipt in finished_or_none if receipt]
    unfinished = [
        task for task, receipt in zip(tasks, finished_or_none, strict=True) if not receipt
    ]
    with_rows = executor.run(country.build, [task for task in unfinished if task.rows])
    # A country without companies is built in this process, because a new process would take longer than its build.
    local = Processes(1, processes.UNBOUNDED)
    without_rows = local.run(country.build, [task for task in unfinished if not task.rows])
    return [*finished, *with_rows, *without_rows], tuple(
        sorted(built_country.iso2 for built_country in finished)
    )


@contextmanager
def _executor(
    options: BuildOptions, local: Processes, work: WorkFolder
) -> Iterator[Cluster | Processes]:
    """The cluster of `--cluster`; without this option, the processes of this machine."""
    if options.cluster:
        with dask_cluster.connect(options.cluster, work.work, options.memory) as cluster:
            yield cluster
    else:
        yield local


@contextmanager
def _staging_folder(out: Path) -> Iterator[Path]:
    """Create a folder for the files of the next generation, and remove it when the build ends."""
    staged = publication.make_staging_folder(out)
    try:
        yield staged
    finally:
        shutil.rmtree(staged, ignore_errors=True)


# -- changes since the published generation ------------------------------------------


@dataclass(frozen=True, slots=True)
class _Comparison:
    """The comparison of a country's old and new shard, as plain values that can be sent to another process."""

    iso2: str
    shards: ShardPair
    folder: Path

    @property
    def rows(self) -> int:
        """The rows of both shards, by which the progress is counted."""
        return self.shards.rows

    @property
    def memory(self) -> int:
        """The estimated bytes of memory of the comparison."""
        return _COMPARE_MEMORY + self.rows * _COMPARE_MEMORY_A_ROW


def compare_countries(
    countries: Iterable[ShardPair], folder: Path, *, here: Processes
) -> dict[str, ChangeCounts]:
    """Write the changes of `countries` into `folder`; return the counts of the countries that changed.

    Args:
        here: the processes of this machine, which run the comparisons even if a cluster builds.

    Raises:
        BuildError: a process died.
        ShardError: a shard cannot be read.
    """
    tasks = [_Comparison(country.iso2, country, folder) for country in countries]
    results = here.run(_compare, tasks)
    counts = {
        task.iso2: changes for task, changes in zip(tasks, results, strict=True) if any(changes)
    }
    _write_changes(folder, counts)
    return counts


def _compare(task: _Comparison, progress: AddProgress) -> ChangeCounts:
    """Write the file of changes of one country; return its counts."""
    path = task.folder / f"{task.iso2}{SUFFIX}"
    counts = comparison.compare(task.shards.old, task.shards.new, task.iso2, path)
    progress(task.rows)
    return counts


def _write_changes(folder: Path, countries: Iterable[str]) -> None:
    """Write the changes of all countries to one Parquet file, from the files of changes in `folder`."""
    with pq.ParquetWriter(folder / CHANGES, CHANGES_SCHEMA, compression="zstd") as writer:
        for iso2 in countries:
            with closing(ChangeFile(folder / f"{iso2}{SUFFIX}")) as changes:
                for rows in _change_batches(changes):
                    writer.write_table(pa.Table.from_pylist(rows, schema=CHANGES_SCHEMA))


def _change_batches(changes: ChangeFile) -> Iterator[list[dict[str, object]]]:
    """The changes of a country as rows of CHANGES_SCHEMA, at most _CHANGES_AT_ONCE in a list."""
    for nature, count in zip(NATURES, changes.counts, strict=True):
        for start in range(0, count, _CHANGES_AT_ONCE):
            entries = changes.entries(nature, start, start + _CHANGES_AT_ONCE)
            yield [{"nature": nature, **orjson.loads(entry)} for entry in entries]
