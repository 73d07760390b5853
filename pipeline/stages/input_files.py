"""The input folders of a build: their files, and the countries of the rows in each file.

Several folders are one input; their order and their names do not matter. A folder can have
any of the tables of `canonical.TABLES`. Before anything else is read, the rows of each country in each file are
counted. The stages of a country then open only the files with rows of this country, and read them in pieces.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl
from blake3 import blake3

from pipeline import canonical
from pipeline.canonical import TABLES
from pipeline.errors import BuildError
from shards.codec.folding import SPELLINGS
from shards.generations.manifest import InputSource

# The number of rows by file and country; the country "" stands for rows without a country.
Survey = Mapping[Path, Mapping[str, int]]


class InputPart(NamedTuple):
    """A file of the input, with its number of rows of one country."""

    path: Path
    rows: int


def check_folders(inputs: Sequence[Path]) -> None:
    """Check that the folders can be the input of a build.

    Raises:
        BuildError: a folder is missing, given twice or without Parquet, or no folder has companies.
    """
    resolved = [folder.resolve() for folder in inputs]
    for index, folder in enumerate(inputs):
        if not folder.is_dir():
            raise BuildError(
                f"{folder} is not a folder; give a folder that `python -m pipeline import` wrote"
            )
        if resolved[index] in resolved[:index]:
            raise BuildError(f"{folder} is given twice; name each input once")
        if not any(_parquet_files(folder, table) for table in TABLES):
            raise BuildError(
                f"{folder} holds none of {', '.join(f'{table}/*.parquet' for table in TABLES)}; "
                "fill it with `python -m pipeline import`"
            )
    if not files(inputs, "companies"):
        raise BuildError(f"no companies/*.parquet in {', '.join(map(str, inputs))}; import some")


def files(inputs: Iterable[Path], table: str) -> list[Path]:
    """The Parquet files of a table: folder by folder, sorted by name in each folder."""
    return [path for folder in inputs for path in _parquet_files(folder, table)]


def digests(inputs: Iterable[Path]) -> dict[Path, InputSource]:
    """Name, size and digest of every file of the input."""
    return {path: _input_source(path) for table in TABLES for path in files(inputs, table)}


def survey(inputs: Iterable[Path], table: str) -> Survey:
    """Count the rows of each country in every file of `table`.

    Raises:
        InputError: an unreadable file, or a column that is unknown, missing or of another type.
    """
    return {path: count_rows(path, table) for path in files(inputs, table)}


def parts_of_country(survey: Survey, iso2: str) -> tuple[InputPart, ...]:
    """The files with rows of a country, with the number of these rows."""
    return tuple(InputPart(path, rows[iso2]) for path, rows in survey.items() if iso2 in rows)


def rows_per_country(survey: Survey) -> dict[str, int]:
    """The rows of each country in all files together."""
    counts: dict[str, int] = {}
    for rows in survey.values():
        for iso2, count in rows.items():
            counts[iso2] = counts.get(iso2, 0) + count
    return dict(sorted(counts.items()))


def scan_pieces(
    parts: Iterable[InputPart], table: str, iso2: str, most: int
) -> Iterator[pl.LazyFrame]:
    """Scan the rows of a country in pieces; one empty piece if the files are empty.

    Args:
        most: the largest number of file rows in a piece; the rows of other countries are then removed.
    """
    any_rows = False
    for path, _ in parts:
        rows = canonical.scan(path, table)
        height = int(pl.scan_parquet(path).select(pl.len()).collect().item())
        # Equal pieces, each of at most `most` rows.
        size = -(-height // -(-height // most)) if height else most
        for start in range(0, height, size):
            any_rows = True
            yield keep_country(rows.slice(start, size), iso2)
    if not any_rows:
        yield pl.LazyFrame(schema=dict(TABLES[table][0]))


def scan_country(parts: Iterable[InputPart], table: str, iso2: str) -> pl.LazyFrame:
    """Scan all rows of a country in one frame."""
    # Without files, the frame is empty, but it has the columns of the table.
    empty = pl.LazyFrame(schema=dict(TABLES[table][0]))
    return keep_country(
        pl.concat([empty, *(canonical.scan(path, table) for path, _ in parts)]), iso2
    )


def keep_country(frame: pl.LazyFrame, iso2: str) -> pl.LazyFrame:
    """The rows of a country, in any spelling of its code."""
    spellings = [iso2, *(other for other, official in SPELLINGS.items() if official == iso2)]
    return frame.filter(pl.col("iso2").is_in(spellings)).with_columns(iso2=pl.lit(iso2))


def scan_unknown_countries(
    paths: Iterable[Path], table: str, countries: Iterable[str]
) -> pl.LazyFrame:
    """Scan the rows of the files `paths` whose country is not one of `countries`, in no spelling."""
    empty = pl.LazyFrame(schema=dict(TABLES[table][0]))
    rows = pl.concat([empty, *(canonical.scan(path, table) for path in paths)])
    spellings = [*countries, *SPELLINGS]
    # A row without a country (null) also has no known country.
    return rows.filter(~pl.col("iso2").is_in(spellings).fill_null(False))


def _parquet_files(folder: Path, table: str) -> list[Path]:
    """The Parquet files of a table in one folder and its subfolders, sorted."""
    # Spark, Dask and DuckDB write a folder named *.parquet, so folders are left out, and the files in them are found.
    return sorted(path for path in (folder / table).rglob("*.parquet") if not path.is_dir())


def count_rows(path: Path, table: str) -> dict[str, int]:
    """The number of rows of each country in a file; rows without a country have the empty text as key."""
    country = pl.col("iso2").replace(SPELLINGS).fill_null("")
    counts = canonical.scan(path, table).group_by(country).len().sort("iso2")
    with canonical.name_unreadable([path]):
        return dict(counts.collect(engine="streaming").iter_rows())


def _input_source(path: Path) -> InputSource:
    """Name, size and digest of one file."""
    digest = blake3(max_threads=blake3.AUTO).update_mmap(path)
    return InputSource(path.name, path.stat().st_size, digest.hexdigest())
