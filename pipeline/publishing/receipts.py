"""The task of building one country, its work folder, and receipts, which save building a country again.

The work folder, `DATA/.building`, contains the finished countries and temporary files. It stays after a build that
fails or dies, so that the next build reuses the finished countries and builds only the others. A successful build
removes it.

When the shard of a country is complete, a receipt is written into the same folder: the result of the country, the
digests of its files, and a key: the digest of everything that the files depend on. A later build computes the key
again. It reuses the shard if the keys are equal and no byte of shard or receipt has changed, so it publishes the same
bytes as a build without interruption. A receipt that does not match is deleted with its shard.

A published build leaves the receipts of its countries in `DATA/.receipts`. A country with an unchanged key would give
the same bytes, so its published shard is linked into the new generation. Before that, the bytes of the shard are
compared with its digest, because a file damaged on disk must not get a new, valid digest. The shards of countries that
a build keeps as published (`--pays`) are compared in the same way.
"""

import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final
from unicodedata import unidata_version

import orjson
import polars as pl
from blake3 import blake3

from pipeline import canonical, digests
from pipeline.errors import BuildError
from pipeline.seeds import Seeds
from pipeline.stages import quality_report, rejections
from pipeline.stages.input_files import InputPart
from pipeline.stages.objections import Hidden
from pipeline.stages.quality_report import Quality
from shards.errors import ShardError
from shards.format import FORMAT_VERSION
from shards.generations import atomic_files, generation_files, locks, manifest, pointer, reference
from shards.generations.manifest import File, InputSource, Manifest
from shards.generations.reference import CellCount
from shards.generations.register_sources import Imports

BUILDING: Final = ".building"  # the work folder in DATA
RECEIPTS: Final = ".receipts"  # the folder in DATA with the receipts of published countries


# -- the work folder -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WorkFolder:
    """`done` has the shards and receipts of finished countries; `work` is for temporary files."""

    done: Path
    work: Path


@contextmanager
def open_workdir(out: Path) -> Iterator[WorkFolder]:
    """Lock `out` and create the work folder of a build; remove what a killed build left, except finished countries.

    At the end of the block the work folder is removed. If the block fails, the finished countries stay in it.

    Raises:
        GenerationError: another build runs in `out`.
    """
    with locks.write_lock(out):
        folder = out / BUILDING
        done = folder / "done"
        done.mkdir(parents=True, exist_ok=True)
        for old_folder in folder.glob("work-*"):
            _remove(old_folder, out)
        work = Path(tempfile.mkdtemp(prefix="work-", dir=folder))
        try:
            yield WorkFolder(done, work)
        except BaseException:
            # An error here must not replace that of the build; the next build removes what stays.
            with suppress(OSError):
                _remove(work, out)
                done.rmdir()  # fails if it has finished countries, which stay for the next build
                folder.rmdir()
            raise
        _remove(folder, out)


def _remove(folder: Path, out: Path) -> None:
    """Remove a folder in which a worker of a cluster can still write, for example after its scheduler has died.

    The folder is renamed first. So the worker finds no file there any more, and it can finish no country later. The
    next build removes what cannot be removed, for example because the worker deletes the same files.
    """
    shutil.rmtree(folder.rename(out / f"{atomic_files.STAGED}{folder.name}"), ignore_errors=True)


# -- the task of a country -----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LookupTables:
    """The lookup tables of the stages, made once for all countries: all seeds, euro rates, codes of NACE."""

    seeds: Seeds
    rates: pl.DataFrame
    nace: pl.DataFrame


@dataclass(frozen=True, slots=True)
class Task:
    """One country to build, as plain values that can be sent to another process.

    Attributes:
        companies, comptes: the files with its rows and with its statement lines.
        max_rejected: the largest share of its rows that may be rejected.
        out: the folder DATA, for the files of rejected rows.
        done: the folder for its shard and its receipt.
        work: a folder in which the task creates its own folder, which it removes at its end.
        key: the key of the receipt; see `receipt_key`.
        hidden: the companies and fields that persons object to.
        unmet: the companies of new objections, which the input must contain.
        personal_mailboxes: whether e-mail addresses of persons are kept.
        batch: the number of companies that are complete rows in memory at once.
        memory: the bytes that the task needs.
    """

    iso2: str
    companies: tuple[InputPart, ...]
    comptes: tuple[InputPart, ...]
    tables: LookupTables
    max_rejected: float
    personal_mailboxes: bool
    out: Path
    done: Path
    work: Path
    key: str
    hidden: Hidden
    unmet: frozenset[str]
    batch: int
    memory: int

    @property
    def rows(self) -> int:
        """The number of rows of companies in the input."""
        return sum(part.rows for part in self.companies)

    @property
    def rejected_files(self) -> tuple[Path, Path]:
        """The files of the country's rejected rows and rejected statement lines."""
        return rejections.rows_path(self.out, self.iso2), rejections.lines_path(self.out, self.iso2)


# -- receipts of finished countries --------------------------------------------------


@dataclass(frozen=True, slots=True)
class BuiltCountry:
    """The result of a country: its cells in layout order, its report, the digest of its shard."""

    iso2: str
    cells: tuple[CellCount, ...]
    quality: Quality
    file: File


def receipt_key(iso2: str, *parts: str) -> str:
    """The digest of everything that a shard depends on: country, format, Unicode, code, libraries, and `parts`."""
    return blake3(
        orjson.dumps([iso2, FORMAT_VERSION, unidata_version, digests.code_version(), *parts])
    ).hexdigest()


def write_receipt(
    done: Path, country: BuiltCountry, key: str, rejected: Sequence[Path], work: Path
) -> None:
    """Write the receipt of a country whose shard is in `done`.

    The receipt is written and synced in `work`, the folder of this task, and then moved, so that it is never
    incomplete.

    Args:
        rejected: the files of the rejected rows; the receipt has their digest.
    """
    receipt = {"key": key, "rejetees": _digest_of_existing(rejected), **asdict(country)}
    path = receipt_path(done, country.iso2)
    partial = work / path.name
    partial.write_bytes(digests.dump_record(receipt))
    atomic_files.sync(partial)
    partial.replace(path)


def find_done(done: Path, iso2: str, key: str, rejected: Sequence[Path]) -> BuiltCountry | None:
    """The finished country, if its shard is the shard that a build would write now; otherwise None.

    A shard or receipt that does not match is deleted.

    Args:
        rejected: the files of its rejected rows; they must match the receipt.
    """
    path, shard = receipt_path(done, iso2), done / generation_files.shard_name(iso2)
    country = read_receipt(path, key, rejected)
    if country and shard.exists() and manifest.digest(shard) == country.file:
        return country
    path.unlink(missing_ok=True)
    shard.unlink(missing_ok=True)
    return None


def read_receipt(path: Path, key: str, rejected: Sequence[Path]) -> BuiltCountry | None:
    """The result in a receipt, if it has this `key` and the digest of the files `rejected`; otherwise None."""
    try:
        receipt = digests.load_record(path.read_bytes())
        if (receipt["key"], receipt["rejetees"]) != (key, _digest_of_existing(rejected)):
            return None
        return BuiltCountry(
            receipt["iso2"],
            tuple(CellCount(**cell) for cell in receipt["cells"]),
            Quality(**receipt["quality"]),
            File(**receipt["file"]),
        )
    except (FileNotFoundError, KeyError, TypeError, ValueError):
        return None  # missing, damaged, or of another version


def receipt_path(folder: Path, iso2: str) -> Path:
    """The path of the receipt of a country."""
    return folder / f"{iso2}.json"


def discard_other_countries(done: Path, keep: Collection[str]) -> None:
    """Delete the shards and receipts of all countries that are not in `keep`."""
    for path in done.iterdir():
        if path.stem not in keep:
            path.unlink()


def _digest_of_existing(files: Iterable[Path]) -> str:
    """The digest of the names and bytes of those `files` that exist."""
    return digests.digest(
        (path.name.encode(), path.read_bytes()) for path in files if path.exists()
    )


# -- receipts of published countries -------------------------------------------------


@dataclass(frozen=True, slots=True)
class PublishedBuild:
    """The folder and the files of the published generation; no files if it cannot be read."""

    folder: Path
    files: Mapping[str, File]


def published_build(out: Path) -> PublishedBuild:
    """The published generation of `out`, whose shards are linked for unchanged countries.

    Without one that can be read, the result has no files, so every country is built again.
    """
    try:
        generation = pointer.current_name(out)
        if generation is not None:
            folder = out / generation
            return PublishedBuild(folder, generation_files.read_manifest(folder).files)
    except ShardError:
        pass  # damaged, or of another format: everything is built again
    return PublishedBuild(out, {})


def find_unchanged(
    published: PublishedBuild, out: Path, tasks: Iterable[Task]
) -> dict[str, BuiltCountry]:
    """By country: the receipt of a published shard that can be linked, because neither its input nor it has changed.

    All bytes of these shards are read, so a damaged shard is built again.
    """
    unchanged = {}
    for task in tasks:
        country = unchanged_receipt(published, out, task)
        path = published.folder / generation_files.shard_name(task.iso2)
        if country and path.exists() and manifest.has_digest(path, country.file):
            unchanged[task.iso2] = country
    return unchanged


def unchanged_receipt(published: PublishedBuild, out: Path, task: Task) -> BuiltCountry | None:
    """The receipt of a published country that a build would not change; otherwise None. This reads no shard."""
    country = read_receipt(receipt_path(out / RECEIPTS, task.iso2), task.key, task.rejected_files)
    if country and published.files.get(generation_files.shard_name(task.iso2)) == country.file:
        return country
    return None


def keep_receipts(out: Path, done: Path) -> None:
    """Move the receipts of a published build to `DATA/.receipts`."""
    folder = out / RECEIPTS
    folder.mkdir(exist_ok=True)
    for path in done.glob("*.json"):
        path.replace(folder / path.name)


# -- countries kept as published (`--pays`) ------------------------------------------


@dataclass(frozen=True, slots=True)
class PreviousGeneration:
    """The published generation, as the source of countries that are not built; `counts` has the cells by country."""

    folder: Path
    manifest: Manifest
    counts: Mapping[str, tuple[CellCount, ...]]
    qualities: Mapping[str, Quality]
    sources: Imports


def read_published(data: Path) -> PreviousGeneration:
    """Read the published generation of `data`.

    Raises:
        BuildError: `data` has no published generation.
        ShardError: the generation cannot be read.
    """
    generation = pointer.current_name(data)
    if generation is None:
        raise BuildError(
            f"{data} has no published generation to take the other countries from; "
            "build all countries first, without --pays"
        )
    folder = data / generation
    reference_lists = reference.load((folder / generation_files.REFERENCE).read_bytes())
    report = folder / generation_files.QUALITY
    return PreviousGeneration(
        folder=folder,
        manifest=generation_files.read_manifest(folder),
        counts=reference_lists.counts,
        qualities=quality_report.load(report.read_bytes(), report),
        sources=canonical.read_sources(folder),
    )


def has_objections(data: Path) -> bool:
    """Whether the report of the published generation counts objections; False if it cannot be read."""
    try:
        generation = pointer.current_name(data)
        if generation is None:
            return False
        report = data / generation / generation_files.QUALITY
        qualities = quality_report.load(report.read_bytes(), report)
    except (BuildError, ShardError, OSError):
        return False
    return any(quality.oppositions for quality in qualities.values())


def link_shards(
    previous: PreviousGeneration, countries: Iterable[str], staged: Path
) -> list[BuiltCountry]:
    """Link the shards of `countries` into the folder `staged`; return their published results.

    Raises:
        BuildError: a shard is missing or differs from the manifest.
    """
    built = []
    for iso2 in countries:
        name = generation_files.shard_name(iso2)
        file = previous.manifest.files.get(name)
        if file is None or manifest.digest(previous.folder / name) != file:
            raise BuildError(
                f"{previous.folder / name} is missing or not the file of its manifest; "
                "build all countries, without --pays"
            )
        atomic_files.link(previous.folder / name, staged / name)
        cells, quality = previous.counts[iso2], previous.qualities[iso2]
        built.append(BuiltCountry(iso2, cells, quality, file))
    return built


def merge_sources(previous: PreviousGeneration, new: Iterable[InputSource]) -> list[InputSource]:
    """The new sources; and the previous sources, except those with the file name of a new source."""
    sources = list(new)
    names = {source.path for source in sources}
    return sources + [source for source in previous.manifest.sources if source.path not in names]
