"""The ratios of the last year of each company, from its sorted statement lines.

The lines become one array per line of the chart and year, a block of companies at a time; the
formulas are evaluated over these arrays (`shards.ratios.last_year`).
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import polars as pl

from pipeline.stages.money import EURO
from shards import format
from shards.ratios import last_year
from shards.ratios.last_year import LastYearRatios, YearFigures
from shards.ratios.ratio_table import chart_lines

# Companies whose figures are arrays at once: about 80 arrays of 8 bytes each.
_BLOCK: Final = 1 << 16


def of_lines(lines: pl.DataFrame, rates: pl.DataFrame) -> LastYearRatios:
    """The ratios of every company of `lines`, in their order.

    Args:
        lines: `row` (ascending), `exercice`, `code`, `valeur`, `devise`; of a line that comes twice
            in a year the first counts.
        rates: `devise`, `annee`, `taux` (units of the currency for one euro).
    """
    parts = [_block(block, rates) for block in _blocks(lines)]
    if not parts:
        return last_year.NO_RATIOS
    return LastYearRatios(
        {name: np.concatenate([part.arrays[name] for part in parts]) for name in parts[0].arrays}
    )


def _blocks(lines: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The last two years of the companies, with `place` (0, 1, … in a block) and `age` (0 or 1)."""
    numbered = lines.select("row", "exercice", "code", "valeur", "devise").with_columns(
        place=pl.col("row").rle_id(), last=pl.col("exercice").max().over("row")
    )
    recent = numbered.with_columns(age=pl.col("last") - pl.col("exercice")).filter(
        pl.col("age") <= 1
    )
    for _, block in recent.group_by(pl.col("place") // _BLOCK, maintain_order=True):
        yield block.with_columns(pl.col("place") - pl.col("place").min())


def _block(block: pl.DataFrame, rates: pl.DataFrame) -> LastYearRatios:
    heads = block.group_by("place", maintain_order=True).agg(pl.col("last").first())
    known = block.filter(pl.col("code").is_not_null() & pl.col("valeur").is_not_null())
    currencies = _currencies(known, heads, rates)
    last, before = (_figures(known, currencies, age) for age in (0, 1))
    return last_year.compute(heads["last"].to_numpy().astype(format.U2), last, before)


def _currencies(known: pl.DataFrame, heads: pl.DataFrame, rates: pl.DataFrame) -> pl.DataFrame:
    """By place and age: the number of currencies, the one of them, and its `taux`."""
    used = known.group_by("place", "age").agg(
        count=pl.col("devise").drop_nulls().n_unique(), devise=pl.col("devise").drop_nulls().first()
    )
    places = heads.join(
        pl.DataFrame({"age": [0, 1]}, schema={"age": known["age"].dtype}), how="cross"
    )
    joined = (
        places.join(used, on=["place", "age"], how="left")
        .with_columns(annee=(pl.col("last") - pl.col("age")).cast(pl.Int64))
        .join(rates, on=["devise", "annee"], how="left")
        .with_columns(
            taux=pl.when(pl.col("devise") == EURO).then(1.0).otherwise(pl.col("taux")),
            devise=pl.when(pl.col("count") == 1).then("devise"),
        )
    )
    return joined.sort("place", "age")


def _figures(known: pl.DataFrame, currencies: pl.DataFrame, age: int) -> YearFigures:
    of_year, of_other = (currencies.filter(pl.col("age") == wanted) for wanted in (age, 1 - age))
    mixed = (of_year["count"].fill_null(0) > 1).to_numpy()
    wanted = known.filter((pl.col("age") == age) & pl.col("code").is_in(sorted(chart_lines())))
    lines = {}
    first = wanted.unique(["place", "code"], keep="first", maintain_order=True)
    for (code,), found in first.group_by("code"):
        figures = np.full(len(mixed), np.nan)
        figures[found["place"].to_numpy()] = found["valeur"].to_numpy()
        figures[mixed] = np.nan
        lines[str(code)] = figures
    single = of_year["taux"].fill_null(np.nan).to_numpy()
    return YearFigures(
        lines,
        1 / np.where(mixed, np.nan, single),
        of_year["devise"].eq_missing(of_other["devise"]).to_numpy(),
    )
