"""`python -m tests.bench.synth`: the chunks of every country, written in processes.

    out/companies/<ISO2>-<number>.parquet
    out/comptes/<ISO2>-<number>-<part>.parquet    only with `--comptes`

The folder has no other files: the files of an earlier run are replaced, any other file is an error. A file gets its
name when it is complete. The same companies, seed and share give the same bytes with any number of processes.
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
from pipeline.workers.processes import AddProgress, Processes
from shards.generations import atomic_files
from tests.bench.synth import activities, amounts, contacts, identifiers, lexicon, names, statements
from tests.bench.synth.identifiers import share_out
from tests.bench.synth.lexicon import Profile, World
from tests.bench.synth.random_draws import generator, null_unless, random_mask

ROWS: Final = 100_000  # of a chunk, which is a file and a row group
BATCH: Final = 1_500_000  # most rows of a batch
LEAST_BATCHES: Final = (
    4  # least batches per process, so that the processes end at about the same time
)
MEMORY: Final = 1 << 29  # bytes of a process: 190 MB measured, 455 MB with statements for all
PART: Final = 20_000  # companies whose statement lines are drawn together
_DESCRIBED: Final = 0.02  # share of companies with a description
_SUBJECTS: Final = (
    "names", "activities", "places", "figures", "contacts", "further identifiers",
)  # fmt: skip
# The files that a run writes, complete or partial.
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
        """The companies of all chunks."""
        return sum(chunk.rows for chunk in self.chunks)

    @property
    def memory(self) -> int:
        """The memory that a process reserves for the batch."""
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
    chunks = list(plan(options))
    count = processes.process_count(options.jobs, [chunk.rows for chunk in chunks])
    _clear(options.out)
    if not chunks:  # an empty table is an input too
        _write_parquet(
            pl.DataFrame(schema=dict(COMPANIES)), options.out / "companies" / "FR-00000.parquet"
        )
    workers = Processes(count, count * MEMORY)
    lines = workers.run(partial(_write_batch, options.out), batches(chunks, count))
    return RowTotals(sum(chunk.rows for chunk in chunks), sum(lines))


def plan(options: SynthOptions) -> Iterator[Chunk]:
    """The chunks, country by country.

    Raises:
        BuildError: a register with too few identifiers.
    """
    for iso2, total in companies_per_country(options.companies).items():
        # Raises the BuildError before anything is written.
        share_out(lexicon.load().profile(iso2).segments, total, iso2)
        for number, start in enumerate(range(0, total, ROWS)):
            rows = min(ROWS, total - start)
            yield Chunk(iso2, number, start, rows, total, options.seed, options.comptes)


def batches(chunks: Sequence[Chunk], count: int) -> list[Batch]:
    """Group the chunks into batches of about the same size, several per process."""
    most_rows = min(BATCH, sum(chunk.rows for chunk in chunks) // (count * LEAST_BATCHES) + ROWS)
    groups: list[list[Chunk]] = []
    room = 0
    for chunk in chunks:
        if chunk.rows > room:
            groups.append([])
            room = most_rows
        groups[-1].append(chunk)
        room -= chunk.rows
    return [Batch(tuple(batch)) for batch in groups]


def companies_per_country(companies: int) -> Mapping[str, int]:
    """Share `companies` out to the countries in proportion to `synthetic_n`; the largest remainders round up."""
    profiles = lexicon.load().profiles
    sum_of_table = sum(profile.synthetic_n for profile in profiles)
    counts = {profile.iso2: companies * profile.synthetic_n // sum_of_table for profile in profiles}
    remainders = {
        profile.iso2: companies * profile.synthetic_n % sum_of_table for profile in profiles
    }
    left_over = companies - sum(counts.values())
    for iso2 in sorted(remainders, key=lambda iso2: (-remainders[iso2], iso2))[:left_over]:
        counts[iso2] += 1
    return counts


def _clear(out: Path) -> None:
    """Remove the files of an earlier run from `out`, and create its folder; refuses a folder with any other file."""
    paths = sorted(path for path in out.rglob("*") if not path.is_dir()) if out.exists() else []
    names = [path.relative_to(out).as_posix() for path in paths]
    if foreign := [name for name in names if not _OURS.fullmatch(name)]:
        raise BuildError(
            f"{out} has {foreign[0]}, which synth did not write; use an empty or new folder"
        )
    for path in paths:
        path.unlink()
    (out / "companies").mkdir(parents=True, exist_ok=True)


def _write_batch(out: Path, batch: Batch, progress: AddProgress) -> int:
    """Write the chunks of a batch; return the number of statement lines."""
    lines = 0
    for chunk in batch.chunks:
        lines += _write_chunk(out, chunk)
        progress(chunk.rows)
    return lines


def _write_chunk(out: Path, chunk: Chunk) -> int:
    """Write the files of a chunk; return the number of its statement lines."""
    frame = _draw_companies(chunk, lexicon.load())
    name = f"{chunk.iso2}-{chunk.number:05d}"
    _write_parquet(frame, out / "companies" / f"{name}.parquet")
    if not chunk.comptes:
        return 0
    count = 0
    for part, rows in enumerate(frame.iter_slices(PART)):
        lines = _draw_lines(chunk, part, rows, lexicon.load())
        if lines.height:
            _write_parquet(lines, out / "comptes" / f"{name}-{part}.parquet")
        count += lines.height
    return count


def _draw_companies(chunk: Chunk, world: World) -> pl.DataFrame:
    """Draw the companies, in canonical columns; columns that are not drawn are left out."""
    profile = world.profile(chunk.iso2)
    generators = {
        subject: generator(chunk.seed, profile.place, chunk.number, subject)
        for subject in _SUBJECTS
    }
    rows = np.arange(chunk.start, chunk.start + chunk.rows)
    bare_names, name_columns = names.draw(profile, world.gabarits, generators["names"], chunk.rows)
    ids = identifiers.ids(
        chunk.iso2, profile.segments, rows, chunk.total, _shift(chunk.seed, profile)
    )
    columns = {
        "iso2": pl.repeat(chunk.iso2, chunk.rows, eager=True),
        "id": ids,
        **name_columns,
        "statut": profile.statuts.draw(generators["figures"], chunk.rows),
        **activities.draw(profile.codes, generators["activities"], chunk.rows),
        **contacts.draw_places(profile, generators["places"], chunk.rows),
        **amounts.draw(profile, generators["figures"], chunk.rows),
        **contacts.draw_contacts(profile, bare_names, generators["contacts"]),
        **identifiers.draw_lei_and_vat(chunk.iso2, ids, generators["further identifiers"]),
    }
    columns["description"] = null_unless(
        random_mask(generators["contacts"], chunk.rows, _DESCRIBED), columns["activite"]
    )
    return pl.DataFrame({name: columns[name] for name in COMPANIES if name in columns})


def _draw_lines(chunk: Chunk, part: int, companies: pl.DataFrame, world: World) -> pl.DataFrame:
    """Draw the statement lines of a share `chunk.comptes` of `companies`.

    Args:
        part: the number of this slice of the chunk, which seeds its generator.
    """
    profile = world.profile(chunk.iso2)
    rng = generator(chunk.seed, profile.place, chunk.number, "statements", part)
    with_statements = companies.filter(pl.Series(random_mask(rng, companies.height, chunk.comptes)))
    return statements.draw(with_statements, profile, world.lines, rng)


def _shift(seed: int, profile: Profile) -> int:
    """The offset of the identifiers of a country, the same in all its chunks."""
    return int(generator(seed, profile.place, 0, "identifiers").integers(0, 2**31))


def _write_parquet(frame: pl.DataFrame, path: Path) -> None:
    """Write a file that gets its name when it is complete and on disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    frame.write_parquet(partial, compression="zstd", compression_level=1, row_group_size=ROWS)
    atomic_files.sync(partial)
    partial.replace(path)
