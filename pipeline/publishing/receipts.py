"""The task of building one country, its work folder, and receipts: the countries that need not be built again.

The work folder, `DATA/.building`, has the finished countries and temporary files. It outlives a build that fails or
dies, so that the next build takes the finished countries and builds the others. A build that succeeds removes it.

When the shard of a country is whole, a receipt is written beside it: the result of the country, the
digests of its files, and a key, the digest of everything they depend on. A later build takes the
shard if its own key is the same and no byte has changed, of the receipt neither. So it publishes what an uninterrupted
build would publish. A receipt that does not match is deleted with its shard.

A published build leaves the receipts of its countries in `DATA/.receipts`. A country with an unchanged key would give
the same bytes, so its published shard is linked after its bytes are checked against the manifest: a file damaged on
disk must not get a new, valid digest. So are the shards of countries that a build keeps as published (`--pays`).
"""

import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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

BUILDING: Final = ".building"
FOLDER: Final = ".receipts"


# -- the work folder -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WorkFolder:
    """`done` holds the shards and receipts of finished countries; `work` is for temporary files."""

    done: Path
    work: Path


@contextmanager
def open_workdir(out: Path) -> Iterator[WorkFolder]:
    """Lock `out` and make the work folder of a build.

    Raises:
        GenerationError: another build runs in `out`.
    """
    with locks.write_lock(out):
        folder = out / BUILDING
        done = folder / "done"
        done.mkdir(parents=True, exist_ok=True)
        for left in folder.glob("work-*"):
            shutil.rmtree(left)
        work = Path(tempfile.mkdtemp(prefix="work-", dir=folder))
        try:
            yield WorkFolder(done, work)
        except BaseException:
            shutil.rmtree(work)
            if not any(done.iterdir()):
                shutil.rmtree(folder)
            raise
        shutil.rmtree(folder)


# -- the task of a country -----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tables:
    """The lookup tables of the stages, made once for all countries."""

    seeds: Seeds
    rates: pl.DataFrame
    nace: pl.DataFrame


@dataclass(frozen=True, slots=True)
class Task:
    """One country to build: plain values, to be sent to another process.

    Attributes:
        done: the folder of its shard and its receipt.
        work: a folder in which the task makes one of its own, removed at the end.
        key: of the receipt; see `key`.
        hidden: what persons have objected to.
        unmet: of these, the companies that no build has met yet.
        personal_mailboxes: whether e-mail addresses of persons are kept.
        batch: how many companies are rows in memory at once.
        memory: bytes that the task takes.
    """

    iso2: str
    companies: tuple[InputPart, ...]
    comptes: tuple[InputPart, ...]
    tables: Tables
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
        return sum(part.rows for part in self.companies)

    @property
    def rejected_files(self) -> tuple[Path, Path]:
        """The files of its rejected rows and statement lines."""
        return rejections.rows_path(self.out, self.iso2), rejections.lines_path(self.out, self.iso2)


# -- receipts of finished countries --------------------------------------------------


@dataclass(frozen=True, slots=True)
class BuiltCountry:
    """The result of a country: its cells in layout order, its report, the digest of its shard."""

    iso2: str
    cells: tuple[CellCount, ...]
    quality: Quality
    file: File


def key(iso2: str, *parts: str) -> str:
    """The digest of everything that the shard of a country depends on: the code, and `parts`."""
    return blake3(
        orjson.dumps([iso2, FORMAT_VERSION, unidata_version, digests.code_version(), *parts])
    ).hexdigest()


def write_receipt(
    done: Path, country: BuiltCountry, key: str, rejected: Sequence[Path], work: Path
) -> None:
    """Write the receipt of a country whose shard is in `done`, whole and synced.

    The receipt is written in `work`, a folder of the task's own, and moved.
    """
    receipt = {"key": key, "rejetees": _digest_of(rejected), **asdict(country)}
    path = receipt_path(done, country.iso2)
    partial = work / path.name
    partial.write_bytes(digests.dump_record(receipt))
    atomic_files.sync(partial)
    partial.replace(path)


def find_done(done: Path, iso2: str, key: str, rejected: Sequence[Path]) -> BuiltCountry | None:
    """The finished country, if its shard equals the one that would be built now; else None.

    A shard or receipt that does not match is deleted.

    Args:
        rejected: the files of its rejected rows, which must be those of the receipt.
    """
    path, shard = receipt_path(done, iso2), done / generation_files.shard_name(iso2)
    country = read_receipt(path, key, rejected)
    if country and shard.exists() and manifest.digest(shard) == country.file:
        return country
    path.unlink(missing_ok=True)
    shard.unlink(missing_ok=True)
    return None


def read_receipt(path: Path, key: str, rejected: Sequence[Path]) -> BuiltCountry | None:
    """The content of a receipt, if its key and its digest of rejected rows match; else None."""
    try:
        receipt = digests.load_record(path.read_bytes())
        if (receipt["key"], receipt["rejetees"]) != (key, _digest_of(rejected)):
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


def discard_others(done: Path, wanted: Collection[str]) -> None:
    """Delete the shards and receipts of countries that are not in `wanted`."""
    for path in done.iterdir():
        if path.stem not in wanted:
            path.unlink()


def _digest_of(files: Iterable[Path]) -> str:
    """The digest of the files that exist."""
    return digests.digest(
        (path.name.encode(), path.read_bytes()) for path in files if path.exists()
    )


# -- receipts of published countries -------------------------------------------------


@dataclass(frozen=True, slots=True)
class PublishedBuild:
    """The folder of the published generation and its files; no files if it cannot be read."""

    folder: Path
    files: Mapping[str, File]


def published_build(out: Path) -> PublishedBuild:
    """The published generation of `out`, as a source of unchanged countries."""
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
    """The countries that need not be built again; reads the bytes of their shards."""
    found = {}
    for task in tasks:
        country = unchanged_receipt(published, out, task)
        path = published.folder / generation_files.shard_name(task.iso2)
        if country and path.exists() and manifest.has_digest(path, country.file):
            found[task.iso2] = country
    return found


def unchanged_receipt(published: PublishedBuild, out: Path, task: Task) -> BuiltCountry | None:
    """The receipt of a country that would give the same shard now; else None. Reads no shard."""
    country = read_receipt(receipt_path(out / FOLDER, task.iso2), task.key, task.rejected_files)
    if country and published.files.get(generation_files.shard_name(task.iso2)) == country.file:
        return country
    return None


def keep_receipts(out: Path, done: Path) -> None:
    """Move the receipts of a published build to `DATA/.receipts`."""
    folder = out / FOLDER
    folder.mkdir(exist_ok=True)
    for path in done.glob("*.json"):
        path.replace(folder / path.name)


# -- countries kept as published (`--pays`) ------------------------------------------


@dataclass(frozen=True, slots=True)
class PreviousGeneration:
    """The published generation, the source of the kept countries."""

    folder: Path
    manifest: Manifest
    counts: Mapping[str, tuple[CellCount, ...]]
    qualities: Mapping[str, Quality]
    sources: Imports


def read_published(data: Path) -> PreviousGeneration:
    """Read the published generation of `data`.

    Raises:
        BuildError: a folder without a published generation.
        ShardError: a generation that cannot be read.
    """
    generation = pointer.current_name(data)
    if generation is None:
        raise BuildError(
            f"{data} has no published generation to take the other countries from; "
            "build all countries first, without --pays"
        )
    folder = data / generation
    lists = reference.load((folder / generation_files.REFERENCE).read_bytes())
    report = folder / generation_files.QUALITY
    return PreviousGeneration(
        folder=folder,
        manifest=generation_files.read_manifest(folder),
        counts=lists.counts,
        qualities=quality_report.load(report.read_bytes(), report),
        sources=canonical.read_sources(folder),
    )


def has_objections(data: Path) -> bool:
    """Whether the report of the published generation counts objections; not, if it cannot be read."""
    try:
        generation = pointer.current_name(data)
        if generation is None:
            return False
        report = data / generation / generation_files.QUALITY
        found = quality_report.load(report.read_bytes(), report)
    except (BuildError, ShardError, OSError):
        return False
    return any(quality.oppositions for quality in found.values())


def link_shards(
    previous: PreviousGeneration, countries: Iterable[str], staged: Path
) -> list[BuiltCountry]:
    """Link the shards of `countries` into the folder `staged`; return the countries as they are published.

    Raises:
        BuildError: a shard that is missing or differs from the manifest.
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
    """The new sources, and the previous ones whose name is not among them."""
    found = list(new)
    names = {source.path for source in found}
    return found + [source for source in previous.manifest.sources if source.path not in names]
