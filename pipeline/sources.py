"""The input folders of a build: what is in them, country by country.

Several folders are one input; the order in which they are named, and the names of folders, change
nothing. A folder may hold companies, statement lines or both. Frames are scans: nothing is read
until a stage asks, and then only the rows of one country.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import polars as pl

from pipeline import canonical
from pipeline.errors import BuildError
from shards import manifest
from shards.manifest import Source

# What else a country is called in the input (§1: GB is accepted).
SPELLINGS: Final = {"GB": "UK"}
TABLES: Final = ("companies", "comptes")


def check(inputs: Sequence[Path]) -> None:
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


def digests(inputs: Iterable[Path]) -> list[Source]:
    """Name, size and digest of every file of the input."""
    found = (path for table in TABLES for path in files(inputs, table))
    return [_source(path) for path in found]


def companies(inputs: Sequence[Path]) -> pl.LazyFrame:
    """Every company of the input, canonical.

    Raises:
        InputError: a column that is unknown, missing or of another type.
    """
    folders = [folder for folder in inputs if _parquet(folder, "companies")]
    return _together(canonical.COMPANIES, [canonical.scan_companies(f) for f in folders])


def comptes(inputs: Sequence[Path]) -> pl.LazyFrame:
    """Every statement line of the input, canonical.

    Raises:
        InputError: a column that is unknown, missing or of another type.
    """
    return _together(canonical.COMPTES, [canonical.scan_comptes(folder) for folder in inputs])


def of_country(frame: pl.LazyFrame, iso2: str) -> pl.LazyFrame:
    """The rows of a country, whichever way it is spelt there."""
    spelt = [iso2, *(other for other, known in SPELLINGS.items() if known == iso2)]
    return frame.filter(pl.col("iso2").is_in(spelt)).with_columns(iso2=pl.lit(iso2))


def of_no_country(frame: pl.LazyFrame, known: Iterable[str]) -> pl.LazyFrame:
    """The rows whose country is not one of `known`."""
    spelt = [*known, *SPELLINGS]
    return frame.filter(~pl.col("iso2").is_in(spelt).fill_null(False))


def survey(frame: pl.LazyFrame) -> dict[str, int]:
    """How many rows each country has; "" for the rows without one."""
    country = pl.col("iso2").replace(SPELLINGS).fill_null("")
    found = frame.group_by(country).len().sort("iso2").collect(engine="streaming")
    return dict(found.iter_rows())


def _parquet(folder: Path, table: str) -> list[Path]:
    return sorted((folder / table).rglob("*.parquet"))


def _together(schema: canonical.Schema, frames: Iterable[pl.LazyFrame]) -> pl.LazyFrame:
    return pl.concat([pl.LazyFrame(schema=dict(schema)), *frames])


def _source(path: Path) -> Source:
    file = manifest.digest(path)
    return Source(path.name, file.size, file.blake3)
