"""The input folders of a build: which files there are, and which country's rows are in them.

Several folders are one input; the order in which they are named, and the names of folders, change
nothing. A folder may hold companies, statement lines or both. The country of every row is counted
once, file by file, before anything else is read; a country's stages then open only the files that
hold some of its rows, a piece at a time.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl
from blake3 import blake3

from pipeline import canonical
from pipeline.canonical import SECOND_WAVE, TABLES
from pipeline.errors import BuildError
from shards.generations.manifest import InputSource
from shards.generations.reference import SPELLINGS

Survey = Mapping[Path, Mapping[str, int]]  # rows by file and country, "" for the rows without one


class InputPart(NamedTuple):
    """A file of the input, and how many rows of a country it holds."""

    path: Path
    rows: int


def check_folders(inputs: Sequence[Path]) -> None:
    """Refuse folders that are no input.

    Raises:
        BuildError: a folder is missing, given twice, or holds no Parquet; or none holds companies.
    """
    resolved = [folder.resolve() for folder in inputs]
    for place, folder in enumerate(inputs):
        if not folder.is_dir():
            raise BuildError(
                f"{folder} is no folder; name one that `python -m pipeline import` made"
            )
        if resolved[place] in resolved[:place]:
            raise BuildError(f"{folder} is given twice; name each input once")
        if not any(_parquet(folder, table) for table in TABLES):
            raise BuildError(
                f"{folder} holds neither companies/*.parquet nor comptes/*.parquet; "
                "fill it with `python -m pipeline import`"
            )
    if not files(inputs, "companies"):
        raise BuildError(f"no companies/*.parquet in {', '.join(map(str, inputs))}; import some")


def files(inputs: Iterable[Path], table: str) -> list[Path]:
    """The Parquet files of a table, in the order of folders and names."""
    return [path for folder in inputs for path in _parquet(folder, table)]


def digests(inputs: Iterable[Path]) -> dict[Path, InputSource]:
    """Name, size and digest of every file of the input."""
    return {path: _source(path) for table in TABLES for path in files(inputs, table)}


def survey(inputs: Iterable[Path], table: str) -> Survey:
    """How many rows of each country every file of `table` holds.

    Raises:
        InputError: a file that cannot be read, a column that is unknown, missing or of another
            type.
    """
    return {path: _countries(path, table) for path in files(inputs, table)}


def second_wave(inputs: Iterable[Path]) -> dict[str, int]:
    """How many rows have each column that a build does not serve yet; columns without any are left out.

    Raises:
        InputError: a file that cannot be read.
    """
    found: dict[str, int] = {}
    for path in files(inputs, "companies"):
        with canonical.name_unreadable([path]):
            held = pl.scan_parquet(path, hive_partitioning=False)
            names = [name for name in held.collect_schema() if name in SECOND_WAVE]
            rows = held.select(pl.col(names).count()).collect(engine="streaming") if names else None
        for name in names:
            found[name] = found.get(name, 0) + int(rows[name].item() if rows is not None else 0)
    return {name: found[name] for name in SECOND_WAVE if found.get(name)}


def parts_of_country(survey: Survey, iso2: str) -> tuple[InputPart, ...]:
    """The files that hold rows of a country."""
    return tuple(InputPart(path, held[iso2]) for path, held in survey.items() if iso2 in held)


def rows_per_country(survey: Survey) -> dict[str, int]:
    """How many rows each country has, in all files."""
    found: dict[str, int] = {}
    for held in survey.values():
        for iso2, rows in held.items():
            found[iso2] = found.get(iso2, 0) + rows
    return dict(sorted(found.items()))


def scan_pieces(
    held: Iterable[InputPart], table: str, iso2: str, most: int
) -> Iterator[pl.LazyFrame]:
    """The rows of a country, at most `most` at a time; one empty piece where there is none."""
    found = False
    for path, _ in held:
        rows = canonical.scan(path, table)
        height = _height(path)
        alike = -(-height // -(-height // most)) if height else most  # pieces of one size
        for start in range(0, height, alike):
            found = True
            yield keep_country(rows.slice(start, alike), iso2)
    if not found:
        yield pl.LazyFrame(schema=dict(TABLES[table][0]))


def scan_country(held: Iterable[InputPart], table: str, iso2: str) -> pl.LazyFrame:
    """All rows of a country, as one scan."""
    none = pl.LazyFrame(schema=dict(TABLES[table][0]))
    return keep_country(pl.concat([none, *(canonical.scan(path, table) for path, _ in held)]), iso2)


def keep_country(frame: pl.LazyFrame, iso2: str) -> pl.LazyFrame:
    """The rows of a country, whichever way it is spelt there."""
    spelt = [iso2, *(other for other, known in SPELLINGS.items() if known == iso2)]
    return frame.filter(pl.col("iso2").is_in(spelt)).with_columns(iso2=pl.lit(iso2))


def scan_unknown_countries(paths: Iterable[Path], table: str, known: Iterable[str]) -> pl.LazyFrame:
    """The rows of these files whose country is not one of `known`."""
    none = pl.LazyFrame(schema=dict(TABLES[table][0]))
    rows = pl.concat([none, *(canonical.scan(path, table) for path in paths)])
    spelt = [*known, *SPELLINGS]
    return rows.filter(~pl.col("iso2").is_in(spelt).fill_null(False))


def _parquet(folder: Path, table: str) -> list[Path]:
    # Spark, Dask and DuckDB write a folder of this name, with the files in it.
    return sorted(path for path in (folder / table).rglob("*.parquet") if not path.is_dir())


def _countries(path: Path, table: str) -> dict[str, int]:
    country = pl.col("iso2").replace(SPELLINGS).fill_null("")
    found = canonical.scan(path, table).group_by(country).len().sort("iso2")
    with canonical.name_unreadable([path]):
        return dict(found.collect(engine="streaming").iter_rows())


def _height(path: Path) -> int:
    return int(pl.scan_parquet(path).select(pl.len()).collect().item())


def _source(path: Path) -> InputSource:
    digest = blake3(max_threads=blake3.AUTO).update_mmap(path)
    return InputSource(path.name, path.stat().st_size, digest.hexdigest())
