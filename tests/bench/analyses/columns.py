"""The companies of a generation as columns for DuckDB: the columns of filters and figures, without records and names.

The columns come from the arrays of the shards. `python -m shards verify` proves that the arrays agree with the records;
the bench compares the figures that are computed from them.
"""

from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shards.codec import bands, codes
from shards.query import STATES
from shards.ratios.ratio_table import stored_codes
from shards.reader.shard import Shard
from shards.search.search import ShardSet

COMPANIES: Final = "company"
RATIOS: Final = "ratio"


def write(base: ShardSet, folder: Path) -> None:
    """Write the companies of each country and the ratios of their last year as Parquet, if not there yet."""
    for iso2, shard in base.items():
        path = folder / f"{COMPANIES}-{iso2}.parquet"
        if shard.rows and not path.exists():
            _ratios(shard).write_parquet(folder / f"{RATIOS}-{iso2}.parquet")
            _companies(shard).write_parquet(path)


def _companies(shard: Shard) -> pl.DataFrame:
    """The columns of which DuckDB computes its figures: a row per company, in the row order of the shard."""
    rows = np.arange(shard.rows, dtype=np.uint32)
    cells = shard.layout.cells
    sizes = [cell.stop - cell.start for cell in cells]
    # Keys of descending orders are negated values; a missing value has the greatest key.
    dates = -shard.keys("recent", rows).astype(np.int64)
    staff = -shard.keys("effectif_desc", rows).astype(np.int64)
    assets = codes.amounts(shard.codes("actif"), shard.code_array("actif.amounts", "<f8"))
    missing = -int(np.iinfo(np.int32).max)
    # The highest bit of `facts` says that the company has a web site.
    site = shard.facts >> (8 * shard.facts.dtype.itemsize - 1)
    return pl.DataFrame({
        "iso2": pl.repeat(shard.iso2, shard.rows, eager=True),
        "row": rows,
        "division": _spread([cell.secteur for cell in cells], sizes),
        "groupe": _spread([cell.sous_secteur for cell in cells], sizes),
        "ca_eur": pl.Series(-shard.keys("ca_desc", rows), nan_to_null=True),
        "effectif": _null_unless(staff, staff != missing),
        "least_staff": _least_staff(shard.codes("tranche")),
        "creation": _null_unless(_first_day(dates), dates != missing),
        "born": _null_unless(dates // 10_000, dates != missing),
        "etat": pl.Series(STATES).gather(shard.codes("etat") % len(STATES)),
        "forme": _texts(shard, "forme"),
        "town": _texts(shard, "ville"),
        "postcode": _texts(shard, "code_postal"),
        "nace_code": _activities(shard),
        "actif_eur": pl.Series(assets, nan_to_null=True),
        "with_statements": np.isin(rows, shard.statement_rows),
        "site_web": site.astype(np.bool_),
    })  # fmt: skip


def _ratios(shard: Shard) -> pl.DataFrame:
    """The ratios of the last statements, a row per company that has statements."""
    return pl.DataFrame({
        "iso2": pl.repeat(shard.iso2, len(shard.statement_rows), eager=True),
        "row": shard.statement_rows,
        "year": shard.ratio_years,
        **{code: pl.Series(shard.ratio(code), nan_to_null=True) for code in stored_codes()},
    })  # fmt: skip


def _spread(texts: list[str | None], sizes: list[int]) -> pl.Series:
    """The text of its cell for each company; `sizes` are the companies of the cells."""
    numbers = np.repeat(np.arange(len(texts)), sizes)
    return pl.Series(texts, dtype=pl.String).gather(numbers)


def _null_unless(values: NDArray[np.int64], mask: NDArray[np.bool_]) -> pl.Series:
    """The values where `mask` is true, null elsewhere."""
    return pl.select(pl.when(pl.Series(mask)).then(pl.Series(values))).to_series()


def _least_staff(tranches: NDArray[np.uint8]) -> pl.Series:
    """The least headcount of a band, by its code (FORMAT.md §7): a company may publish only its band."""
    return pl.Series([None, -1, *bands.HEADCOUNTS], dtype=pl.Int64).gather(tranches)


def _first_day(dates: NDArray[np.int64]) -> NDArray[np.int64]:
    """Dates yyyymmdd, with 01 for an unknown month or day."""
    dates = dates + np.where(dates // 100 % 100, 0, 100)
    return dates + np.where(dates % 100, 0, 1)


def _texts(shard: Shard, name: str) -> pl.Series:
    """The text of each company in a coded column."""
    return _code_texts(shard, name).gather(shard.codes(name))


def _code_texts(shard: Shard, name: str) -> pl.Series:
    """The texts of a coded column by code; code 0 is null."""
    code_texts = shard.code_texts(name)
    texts = bytes(code_texts.data).decode().split("\n")[: len(code_texts)]
    return pl.Series([None, *texts], dtype=pl.String)


def _activities(shard: Shard) -> pl.Series:
    """The activity of each company. Its code is a number within its cell (FORMAT.md §7)."""
    cell_starts = shard.code_array("nace.cells")[:-1].astype(np.int64)
    stops = np.array([cell.stop for cell in shard.layout.cells])
    start_of_row = np.repeat(cell_starts, np.diff(stops, prepend=0))
    return _code_texts(shard, "nace").gather(
        shard.code_array("nace.codes")[start_of_row + shard.codes("nace")]
    )
