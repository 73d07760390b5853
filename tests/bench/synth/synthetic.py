"""Readers and measures of synthetic companies, for the tests of this folder."""

from pathlib import Path

import polars as pl

from pipeline import canonical, seeds
from tests.bench.synth import lexicon

WORLD = lexicon.load()
SEEDS = seeds.read()
CODES = [country.iso2 for country in SEEDS.pays]
PROFILES = {profile.iso2: profile for profile in WORLD.profiles}


def rows(folder: Path, table: str) -> pl.DataFrame:
    """All rows of a table of synthetic input."""
    files = sorted((folder / table).glob("*.parquet"))
    return pl.concat([canonical.scan(file, table) for file in files]).collect()


def contents(folder: Path) -> dict[str, bytes]:
    """The bytes of every file below a folder, by relative path."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def share(companies: pl.DataFrame, condition: pl.Expr) -> float:
    """The share of companies that meet a condition."""
    return float(companies.select(condition.mean()).item())
