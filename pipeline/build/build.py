"""Build: canonical Parquet becomes a published generation.

Each country is a task of its own (country.py), from its rows in the input to its shard, so that
tasks run in processes and a build that was interrupted goes on with the countries that are left. A
country of which nothing has changed since the published generation is not built again
(reuse.py). The same input gives the same bytes, whatever the number of processes, the memory,
the order of files, and how often it was interrupted. Nothing is published before everything is
whole; a build that fails or dies leaves what is published as it was.
"""

import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import polars as pl

from pipeline import canonical
from pipeline import seeds as tables
from pipeline.build import country as countries
from pipeline.build import diff, kept_countries, plan, reference_lists, resume, reuse, workdir
from pipeline.build.country import Task
from pipeline.build.plan import BuildInput, BuildOptions
from pipeline.build.resume import BuiltCountry
from pipeline.build.workdir import WorkFolder
from pipeline.canonical import TABLES
from pipeline.seeds import Seeds
from pipeline.stages import input_files, quality_report, rejections
from pipeline.stages.input_files import Survey
from pipeline.stages.quality_report import Quality
from pipeline.stages.rejections import NO_COUNTRY, REASON, UNKNOWN_ISO2
from pipeline.workers import dask_cluster, processes
from pipeline.workers.dask_cluster import Cluster
from pipeline.workers.processes import Processes
from shards.generations import atomic_files, generation_files, reference
from shards.publish import publication


@dataclass(frozen=True, slots=True)
class Built:
    """A published generation and its report.

    `resumed` countries an interrupted build had done; of `reused` ones nothing had changed.
    `not_served`: how many rows have each column that a shard does not hold yet.
    """

    generation: str
    pays: Mapping[str, Quality]
    hors_pays: Quality
    resumed: tuple[str, ...]
    reused: tuple[str, ...]
    not_served: Mapping[str, int]


def run(options: BuildOptions) -> Built:
    """Build and publish a generation.

    Raises:
        BuildError: the input, a table, the share of rejected rows or the memory forbids it.
        InputError: a file of the input is not canonical.
        ShardError: a gate of the publication is closed, or another build is under way.
    """
    if options.cluster:  # elsewhere a relative path leads elsewhere
        inputs = tuple(folder.resolve() for folder in options.inputs)
        options = replace(options, inputs=inputs, out=options.out.resolve())
    seeds = tables.read(options.seeds)
    input_files.check_folders(options.inputs)
    wanted = plan.wanted_countries(options.pays, seeds)
    kept = [pays.iso2 for pays in seeds.pays if pays.iso2 not in wanted]
    with workdir.open_workdir(options.out) as shop:
        old = kept_countries.read_published(options.out) if kept else None
        given = plan.read_input(options.inputs)
        elsewhere = _reject_unknown_countries(options, seeds, given, shop)
        known = reuse.published_build(options.out)
        here = plan.local_processes(options, wanted, given)
        with _executor(options, here, shop) as crew:
            tasks = plan.tasks(options, seeds, wanted, given, shop, crew.share)
            reused = reuse.find_unchanged(known, options.out, tasks)
            fresh, resumed = _build_countries(crew, tasks, shop, reused)
        built = [*reused.values(), *fresh]
        counts = {country.iso2: country.cells for country in built}
        qualities = {country.iso2: country.quality for country in built}
        files = {generation_files.shard_name(country.iso2): country.file for country in built}
        found = list(given.digests.values())
        with _staging_folder(options.out) as staged:
            for folder, countries in ((known.folder, reused.values()), (shop.done, fresh)):
                for country in countries:
                    name = generation_files.shard_name(country.iso2)
                    atomic_files.link(folder / name, staged / name)
            if old:
                files |= kept_countries.link_shards(old, kept, staged)
                counts |= {iso2: old.counts[iso2] for iso2 in kept}
                qualities |= {iso2: old.qualities[iso2] for iso2 in kept}
                found = kept_countries.merge_sources(old, found)
            lists = reference_lists.reference(seeds, counts)
            (staged / generation_files.REFERENCE).write_bytes(reference.dump(lists))
            (staged / generation_files.QUALITY).write_bytes(
                quality_report.dump(qualities, elsewhere)
            )
            generation = publication.publish(
                options.out, staged, sources=found, known=files, gates=options.gates,
                keep=options.keep,
                compare=partial(diff.compare, here=here),
            )  # fmt: skip
        reuse.keep_receipts(options.out, shop.done)
    same = (iso2 for iso2, country in reused.items() if country.cells)
    not_served = input_files.second_wave(options.inputs)
    return Built(generation, qualities, elsewhere, resumed, tuple(sorted(same)), not_served)


def _reject_unknown_countries(
    options: BuildOptions, seeds: Seeds, given: BuildInput, shop: WorkFolder
) -> Quality:
    """Set apart the rows of no known country; stop if they are too many of the whole input."""
    known = [pays.iso2 for pays in seeds.pays]
    rows, lines = _unknown_rows(given.companies, known), _unknown_rows(given.comptes, known)
    path = rejections.rows_path(options.out, UNKNOWN_ISO2)
    _write_rejected(given.companies, "companies", known, path, shop)
    _write_rejected(
        given.comptes, "comptes", known, rejections.lines_path(options.out, UNKNOWN_ISO2), shop
    )
    total = sum(input_files.rows_per_country(given.companies).values())
    refused = {f"pays {iso2!r}": count for iso2, count in rows.items()}
    rejections.refuse_too_many(UNKNOWN_ISO2, "rows", total, refused, options.max_rejected, path)
    return Quality(
        lues=sum(rows.values()),
        rejetees={NO_COUNTRY: sum(rows.values())} if rows else {},
        lignes_lues=sum(lines.values()),
        lignes_ecartees={NO_COUNTRY: sum(lines.values())} if lines else {},
    )


def _write_rejected(
    survey: Survey, table: str, known: Collection[str], path: Path, shop: WorkFolder
) -> None:
    holding = [file for file, held in survey.items() if not held.keys() <= set(known)]
    found = input_files.scan_unknown_countries(holding, table, known)
    with canonical.name_unreadable(holding):
        named = found.with_columns(pl.lit(NO_COUNTRY).alias(REASON))
        rejections.write(named, list(TABLES[table][0]), path, shop.work)


def _unknown_rows(survey: Survey, known: Iterable[str]) -> dict[str, int]:
    return {
        iso2: n for iso2, n in input_files.rows_per_country(survey).items() if iso2 not in known
    }


def _build_countries(
    crew: Cluster | Processes, tasks: Sequence[Task], shop: WorkFolder, reused: Collection[str]
) -> tuple[list[BuiltCountry], tuple[str, ...]]:
    """Every country that is not reused, and which of them an interrupted build had done."""
    tasks = [task for task in tasks if task.iso2 not in reused]
    resume.discard_others(shop.done, {task.iso2 for task in tasks})
    found = [resume.find_done(task.done, task.iso2, task.key, task.rejected) for task in tasks]
    done = [country for country in found if country]
    left = [task for task, country in zip(tasks, found, strict=True) if not country]
    large = crew.run(countries.build, [task for task in left if task.rows])
    # A country without a company is not worth a process.
    here = Processes(1, processes.UNBOUNDED)
    small = here.run(countries.build, [task for task in left if not task.rows])
    return [*done, *large, *small], tuple(sorted(country.iso2 for country in done))


@contextmanager
def _executor(
    options: BuildOptions, here: Processes, shop: WorkFolder
) -> Iterator[Cluster | Processes]:
    """Who builds the countries."""
    if options.cluster:
        with dask_cluster.connect(options.cluster, shop.work, options.memory) as crew:
            yield crew
    else:
        yield here


@contextmanager
def _staging_folder(out: Path) -> Iterator[Path]:
    """A folder for the files of the generation to be, which does not outlive the build."""
    staged = publication.staging(out)
    try:
        yield staged
    finally:
        shutil.rmtree(staged, ignore_errors=True)
