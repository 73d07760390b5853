"""`python -m tests.bench.synth`: the chunks of every country, written in processes.

    out/companies/<ISO2>-<number>.parquet
    out/comptes/<ISO2>-<number>-<part>.parquet    only with `--comptes`

The folder holds nothing else: the files of an earlier run are replaced, a file of another origin is
an error. Each file appears whole. The same companies, seed and share give the same bytes, whatever
the number of processes.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from pipeline.canonical import COMPANIES
from pipeline.errors import BuildError
from pipeline.workers import processes
from pipeline.workers.processes import Processes, Progress
from shards.generations import atomic_files
from tests.bench.synth import activities, amounts, contacts, identifiers, lexicon, names, statements
from tests.bench.synth.identifiers import share_out
from tests.bench.synth.lexicon import Profile, World
from tests.bench.synth.random_draws import generator, null_unless, random_mask

ROWS: Final = 100_000  # of a chunk, which is a file and a row group
BATCH: Final = 1_500_000  # most rows of a batch
EACH: Final = 4  # least batches per process, so that the processes end at about the same time
MEMORY: Final = 1 << 29  # bytes of a process: 190 MB measured, 455 MB with statements for all
PART: Final = 20_000  # companies whose statement lines are drawn at once
_DESCRIBED: Final = 0.02  # share of companies with a description
_SUBJECTS: Final = (
    "names", "activities", "places", "figures", "contacts", "further identifiers",
)  # fmt: skip
_OURS: Final = re.compile(r"(companies/[A-Z]{2}-\d+|comptes/[A-Z]{2}-\d+-\d+)\.parquet(\.partial)?")


@dataclass(frozen=True, slots=True)
class SynthOptions:
    """The options of a run. `comptes` is the share of companies with statements."""

    companies: int
    seed: int
    out: Path
    comptes: float = 0.0
    jobs: int | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows `start` to `start + rows - 1` of the `total` of a country; `number` counts its chunks."""

    iso2: str
    number: int
    start: int
    rows: int
    total: int
    seed: int
    comptes: float  # share of the companies with statements


@dataclass(frozen=True, slots=True)
class Batch:
    """The chunks that one process writes, one after the other."""

    chunks: tuple[Chunk, ...]

    @property
    def iso2(self) -> str:
        return self.chunks[0].iso2

    @property
    def rows(self) -> int:
        return sum(chunk.rows for chunk in self.chunks)

    @property
    def memory(self) -> int:
        return MEMORY


@dataclass(frozen=True, slots=True)
class RowTotals:
    """The rows written, of both tables."""

    companies: int
    lines: int


def run(options: SynthOptions) -> RowTotals:
    """Write the synthetic input.

    Raises:
        BuildError: a folder with other files, or a register with too few identifiers.
        SeedError: a table of `seeds/` that cannot be used.
    """
    tasks = list(plan(options))
    count = processes.process_count(options.jobs, [task.rows for task in tasks])
    _clear(options.out)
    if not tasks:  # an empty table is an input too
        _write_whole(
            pl.DataFrame(schema=dict(COMPANIES)), options.out / "companies" / "FR-00000.parquet"
        )
    workers = Processes(count, count * MEMORY)
    lines = workers.run(partial(_write_all, options.out), batches(tasks, count))
    return RowTotals(sum(task.rows for task in tasks), sum(lines))


def plan(options: SynthOptions) -> Iterator[Chunk]:
    """The chunks, country by country.

    Raises:
        BuildError: a register with too few identifiers.
    """
    for iso2, total in companies_per_country(options.companies).items():
        share_out(lexicon.load().profile(iso2).segments, total, iso2)  # before anything is written
        for number, start in enumerate(range(0, total, ROWS)):
            rows = min(ROWS, total - start)
            yield Chunk(iso2, number, start, rows, total, options.seed, options.comptes)


def batches(tasks: Sequence[Chunk], count: int) -> list[Batch]:
    """Group the chunks into batches of about the same size, several per process."""
    most = min(BATCH, sum(task.rows for task in tasks) // (count * EACH) + ROWS)
    found: list[list[Chunk]] = []
    room = 0
    for task in tasks:
        if task.rows > room:
            found.append([])
            room = most
        found[-1].append(task)
        room -= task.rows
    return [Batch(tuple(batch)) for batch in found]


def companies_per_country(companies: int) -> Mapping[str, int]:
    """Share `companies` out to the countries in proportion to `synthetic_n`."""
    profiles = lexicon.load().profiles
    whole = sum(profile.synthetic_n for profile in profiles)
    floors = {profile.iso2: companies * profile.synthetic_n // whole for profile in profiles}
    rest = {profile.iso2: companies * profile.synthetic_n % whole for profile in profiles}
    missing = companies - sum(floors.values())
    for iso2 in sorted(rest, key=lambda iso2: (-rest[iso2], iso2))[:missing]:
        floors[iso2] += 1
    return floors


def _clear(out: Path) -> None:
    """Remove the files of an earlier run."""
    found = sorted(path for path in out.rglob("*") if not path.is_dir()) if out.exists() else []
    names = [path.relative_to(out).as_posix() for path in found]
    if foreign := [name for name in names if not _OURS.fullmatch(name)]:
        raise BuildError(
            f"{out} holds {foreign[0]}, which is none of synth's files; name an empty or new folder"
        )
    for path in found:
        path.unlink()
    (out / "companies").mkdir(parents=True, exist_ok=True)


def _write_all(out: Path, batch: Batch, progress: Progress) -> int:
    lines = 0
    for chunk in batch.chunks:
        lines += _write(out, chunk)
        progress(chunk.rows)
    return lines


def _write(out: Path, chunk: Chunk) -> int:
    """Write the files of a chunk; return the number of its statement lines."""
    frame = _companies(chunk, lexicon.load())
    name = f"{chunk.iso2}-{chunk.number:05d}"
    _write_whole(frame, out / "companies" / f"{name}.parquet")
    if not chunk.comptes:
        return 0
    count = 0
    for part, rows in enumerate(frame.iter_slices(PART)):
        lines = _lines(chunk, part, rows, lexicon.load())
        if lines.height:
            _write_whole(lines, out / "comptes" / f"{name}-{part}.parquet")
        count += lines.height
    return count


def _companies(chunk: Chunk, world: World) -> pl.DataFrame:
    """Draw the companies, in canonical columns; columns that are not drawn are left out."""
    profile = world.profile(chunk.iso2)
    draw = {
        subject: generator(chunk.seed, profile.place, chunk.number, subject)
        for subject in _SUBJECTS
    }
    rows = np.arange(chunk.start, chunk.start + chunk.rows)
    bodies, named = names.draw(profile, world.gabarits, draw["names"], chunk.rows)
    ids = identifiers.ids(
        chunk.iso2, profile.segments, rows, chunk.total, _shift(chunk.seed, profile)
    )
    columns = {
        "iso2": pl.repeat(chunk.iso2, chunk.rows, eager=True),
        "id": ids,
        **named,
        "statut": profile.statuts.draw(draw["figures"], chunk.rows),
        **activities.draw(profile.codes, draw["activities"], chunk.rows),
        **contacts.draw_places(profile, draw["places"], chunk.rows),
        **amounts.draw(profile, draw["figures"], chunk.rows),
        **contacts.draw_contacts(profile, bodies, draw["contacts"]),
        **identifiers.draw_further(chunk.iso2, ids, draw["further identifiers"]),
    }
    columns["description"] = null_unless(
        random_mask(draw["contacts"], chunk.rows, _DESCRIBED), columns["activite"]
    )
    return pl.DataFrame({name: columns[name] for name in COMPANIES if name in columns})


def _lines(chunk: Chunk, part: int, companies: pl.DataFrame, world: World) -> pl.DataFrame:
    """Draw the statement lines of a share `chunk.comptes` of `companies`.

    Args:
        part: the number of this slice of the chunk, which seeds its generator.
    """
    profile = world.profile(chunk.iso2)
    rng = generator(chunk.seed, profile.place, chunk.number, "statements", part)
    kept = companies.filter(pl.Series(random_mask(rng, companies.height, chunk.comptes)))
    return statements.draw(kept, profile, world.lines, rng)


def _shift(seed: int, profile: Profile) -> int:
    """The offset of the identifiers of a country, the same in all its chunks."""
    return int(generator(seed, profile.place, 0, "identifiers").integers(0, 2**31))


def _write_whole(frame: pl.DataFrame, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    frame.write_parquet(partial, compression="zstd", compression_level=1, row_group_size=ROWS)
    atomic_files.sync(partial)
    partial.replace(path)
