"""The input folders of a build: their files, and the countries of the rows in each file.

Several folders are one input; their order and their names do not matter. A folder may hold
companies, statement lines or both. The rows of every country are counted once, file by file, before
anything else is read. The stages of a country then open only the files with rows of it, a piece at
a time.
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

Survey = Mapping[Path, Mapping[str, int]]  # rows per file and country; "" for no country


class InputPart(NamedTuple):
    """A file of the input, with its number of rows of one country."""

    path: Path
    rows: int


def check_folders(inputs: Sequence[Path]) -> None:
    """Check that the folders are an input.

    Raises:
        BuildError: a folder that is missing, given twice or without Parquet, or no companies at
            all.
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
                f"{folder} holds none of {', '.join(f'{table}/*.parquet' for table in TABLES)}; "
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
    """Count the rows of each country in every file of `table`.

    Raises:
        InputError: an unreadable file, or a column that is unknown, missing or of another type.
    """
    return {path: count_rows(path, table) for path in files(inputs, table)}


def parts_of_country(survey: Survey, iso2: str) -> tuple[InputPart, ...]:
    """The files with rows of a country."""
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
    """Scan the rows of a country, at most `most` at a time; one empty piece if there is none."""
    any_rows = False
    for path, _ in parts:
        rows = canonical.scan(path, table)
        height = int(pl.scan_parquet(path).select(pl.len()).collect().item())
        size = -(-height // -(-height // most)) if height else most  # equal pieces
        for start in range(0, height, size):
            any_rows = True
            yield keep_country(rows.slice(start, size), iso2)
    if not any_rows:
        yield pl.LazyFrame(schema=dict(TABLES[table][0]))


def scan_country(parts: Iterable[InputPart], table: str, iso2: str) -> pl.LazyFrame:
    """Scan all rows of a country together."""
    none = pl.LazyFrame(schema=dict(TABLES[table][0]))
    return keep_country(
        pl.concat([none, *(canonical.scan(path, table) for path, _ in parts)]), iso2
    )


def keep_country(frame: pl.LazyFrame, iso2: str) -> pl.LazyFrame:
    """The rows of a country, in any spelling of its code."""
    spelt = [iso2, *(other for other, known in SPELLINGS.items() if known == iso2)]
    return frame.filter(pl.col("iso2").is_in(spelt)).with_columns(iso2=pl.lit(iso2))


def scan_unknown_countries(paths: Iterable[Path], table: str, known: Iterable[str]) -> pl.LazyFrame:
    """Scan the rows of these files whose country is not in `known`."""
    none = pl.LazyFrame(schema=dict(TABLES[table][0]))
    rows = pl.concat([none, *(canonical.scan(path, table) for path in paths)])
    spelt = [*known, *SPELLINGS]
    return rows.filter(~pl.col("iso2").is_in(spelt).fill_null(False))


def _parquet(folder: Path, table: str) -> list[Path]:
    # Spark, Dask and DuckDB write a folder named *.parquet with the files in it.
    return sorted(path for path in (folder / table).rglob("*.parquet") if not path.is_dir())


def count_rows(path: Path, table: str) -> dict[str, int]:
    """The rows of each country in a file; of no country under the empty text."""
    country = pl.col("iso2").replace(SPELLINGS).fill_null("")
    found = canonical.scan(path, table).group_by(country).len().sort("iso2")
    with canonical.name_unreadable([path]):
        return dict(found.collect(engine="streaming").iter_rows())


def _source(path: Path) -> InputSource:
    digest = blake3(max_threads=blake3.AUTO).update_mmap(path)
    return InputSource(path.name, path.stat().st_size, digest.hexdigest())
