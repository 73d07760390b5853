"""The figures of analyses, computed in SQL by DuckDB."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import duckdb
import polars as pl

from serve.features.analyses.entreprise import LEAST_QUANTILES
from shards.analyses.market import GROWTH
from shards.codec import bands
from shards.query import Query
from shards.ratios.distribution import FEWEST, QUANTILES
from shards.ratios.ratio_table import stored_codes
from shards.search.search import ShardSet
from tests.bench.analyses.columns import COMPANIES, RATIOS
from tests.bench.peers import sql

Figures = dict[str, Any]

_MEMORY: Final = "3GB"  # other programs share the machine
_QUANTILE_LIST: Final = ", ".join(map(str, QUANTILES))
# A logarithm that keeps the sign, because turnovers can be negative.
_LOG: Final = "(ln(1 + abs({0})) * sign({0}))"
# The distance of two companies in column {0}, whose values are {1} and {2}; a missing value has a fixed distance.
_GAP: Final = (
    "CASE WHEN one.{0} IS NULL AND other.{0} IS NULL THEN 0 WHEN one.{0} IS NULL THEN 1 "
    "WHEN other.{0} IS NULL THEN 3 ELSE abs({1} - {2}) END"
)


class DuckFigures:
    """The columns in a database, sorted by sector, as a user of DuckDB would store them."""

    def __init__(self, folder: Path) -> None:
        """Open the database of `folder`; create it from the columns there if it does not exist."""
        path = folder / "analyses.duckdb"
        exists = path.exists()
        self._database = duckdb.connect(str(path))
        self._database.execute(f"SET memory_limit = '{_MEMORY}'")
        order = {COMPANIES: "division, groupe, iso2, ca_eur DESC", RATIOS: "iso2, row"}
        for name, by in () if exists else order.items():
            self._database.execute(
                f"CREATE TABLE {name} AS SELECT * FROM read_parquet(?) ORDER BY {by}",
                [str(folder / f"{name}-*.parquet")],
            )

    def market(self, base: ShardSet, query: Query, years: Sequence[int] | None) -> Figures:
        """The market of a search. The rows of a search with `q` come from our engine."""
        self._scope(base, query)
        total, ceased, with_turnover, turnover_sum, quantiles = self._row(
            "SELECT count(*), count(*) FILTER (etat = 'cessee'), count(ca_eur), sum(ca_eur), "
            f"quantile_cont(ca_eur, [{_QUANTILE_LIST}]) FROM scope"
        )
        return {
            "total": total, "ceased": ceased, "with_turnover": with_turnover, "whole": turnover_sum,
            "quantiles": quantiles if with_turnover else [None] * len(QUANTILES),
            **self._shares(),
            "bands": self._bands("ca_eur", bands.TURNOVERS),
            "headcounts": self._bands("least_staff", bands.HEADCOUNTS),
            "births": dict(self._rows("SELECT born, count(*) FROM scope GROUP BY born")),
            "first": [turnover for (turnover,) in self._rows(
                "SELECT ca_eur FROM scope WHERE ca_eur IS NOT NULL ORDER BY ca_eur DESC LIMIT 10")],
            **self._market_ratios(years or [0, 0]),
        }  # fmt: skip

    def sector(self, iso2: str, division: str, years: Sequence[int]) -> Mapping[str, Any]:
        """For each ratio: the country of the compared sector (None: all countries), the count and the quantiles.

        All countries are compared if the country has fewer than FEWEST values; the quantiles are None if even all
        have fewer than LEAST_QUANTILES.
        """
        peers = f"FROM {RATIOS} JOIN {COMPANIES} USING (iso2, row) WHERE division = ? AND year >= ?"
        by_ratio: dict[str, tuple[str | None, int, list[float] | None]] = {}
        for code in stored_codes():
            statement = f"SELECT count({code}), quantile_cont({code}, [{_QUANTILE_LIST}]) {peers}"
            ratio_count, quantiles = self._row(
                f"{statement} AND iso2 = ?", [division, years[0], iso2]
            )
            if ratio_count < FEWEST:
                ratio_count, quantiles = self._row(statement, [division, years[0]])
                by_ratio[code] = (
                    None,
                    ratio_count,
                    quantiles if ratio_count >= LEAST_QUANTILES else None,
                )
            else:
                by_ratio[code] = iso2, ratio_count, quantiles
        return by_ratio

    def rank(self, euros: float, iso2: str | None) -> tuple[int, int]:
        """The rank of a turnover and the number of known turnovers, in a country or (None) in all."""
        where = "TRUE" if iso2 is None else f"iso2 = '{iso2}'"
        greater, known_turnovers = self._row(
            f"SELECT count(*) FILTER (ca_eur > ?), count(ca_eur) FROM {COMPANIES} WHERE {where}",
            [euros],
        )
        return greater + 1, known_turnovers

    def comparables(self, iso2: str, row: int, count: int) -> list[float]:
        """The distances of the nearest companies.

        If the company has a turnover, companies with a turnover come first; then companies of its country.
        """
        turnover_gap, headcount_gap, band_gap = (
            _GAP.format(name, _LOG.format(f"one.{name}"), _LOG.format(f"other.{name}"))
            for name in ("ca_eur", "effectif", "least_staff")
        )
        both_published = "one.effectif IS NOT NULL AND other.effectif IS NOT NULL"
        staff_gap = f"CASE WHEN {both_published} THEN {headcount_gap} ELSE {band_gap} END"
        place_gap = (
            "CASE WHEN one.iso2 != other.iso2 THEN 0.5 WHEN one.town = other.town THEN 0 "
            "WHEN left(one.postcode, 2) = left(other.postcode, 2) THEN 0.25 ELSE 0.5 END"
        )
        rows = self._rows(
            f"SELECT {turnover_gap} + {staff_gap} + {place_gap} AS distance "
            f"FROM {COMPANIES} one JOIN {COMPANIES} other ON one.division = other.division "
            "AND one.groupe IS NOT DISTINCT FROM other.groupe "
            "WHERE one.iso2 = ? AND one.row = ? AND other.etat != 'cessee' "
            "AND NOT (other.iso2 = one.iso2 AND other.row = one.row) "
            "ORDER BY one.ca_eur IS NOT NULL AND other.ca_eur IS NULL, other.iso2 != one.iso2, distance LIMIT ?",
            [iso2, row, count],
        )
        return [distance for (distance,) in rows]

    def _scope(self, base: ShardSet, query: Query) -> None:
        """Create the table `scope`, the companies of a search; only our engine searches `q`."""
        where, values = "TRUE", list[Any]()
        if query.q is not None:
            rows_by_shard = base.own_session().rows_by_shard(query)
            schema = {"iso2": pl.String, "row": pl.UInt32}
            frames = [pl.DataFrame({"row": rows}).select(pl.lit(shard.iso2).alias("iso2"), "row")
                      for shard, rows in rows_by_shard]  # fmt: skip
            self._database.register(
                "named", pl.concat([pl.DataFrame(schema=schema), *frames]).to_arrow()
            )
            where = "(iso2, row) IN (SELECT (iso2, row) FROM named)"
        else:
            condition = sql.filters(query) & sql.coded_filters(query)
            where, values = condition.sql, list(condition.values)
        self._database.execute(
            "CREATE OR REPLACE TEMP TABLE scope AS SELECT iso2, row, etat, ca_eur, least_staff, born "
            f"FROM {COMPANIES} WHERE {where}",
            values,
        )

    def _shares(self) -> Figures:
        """The concentration of a market: HHI, CR4, CR10 and Gini coefficient of the positive turnovers, in this order.

        The value of `shares` is None if no turnover is positive.
        """
        companies, turnover_sum, squares, rank_weighted_sum = self._row(
            "SELECT count(*), sum(ca_eur), sum(ca_eur * ca_eur), sum((2 * place - n - 1) * ca_eur) "
            "FROM (SELECT ca_eur, row_number() OVER (ORDER BY ca_eur) AS place, count(*) OVER () AS n "
            "FROM scope WHERE ca_eur > 0)"
        )
        largest = self._rows(
            "SELECT ca_eur FROM scope WHERE ca_eur > 0 ORDER BY ca_eur DESC LIMIT 10"
        )
        if not companies:
            return {"shares": None}
        return {"shares": (
            10_000 * squares / turnover_sum**2, sum(turnover for (turnover,) in largest[:4]) / turnover_sum,
            sum(turnover for (turnover,) in largest) / turnover_sum, rank_weighted_sum / (companies * turnover_sum),
        )}  # fmt: skip

    def _bands(self, column: str, bounds: Sequence[int]) -> list[int]:
        """The numbers of values below the first bound, between two bounds, from the last bound on, and null."""
        conditions = [f"{column} < {bounds[0]}"]
        conditions += [f"{column} >= {low} AND {column} < {high}" for low, high in pairwise(bounds)]
        conditions += [f"{column} >= {bounds[-1]}", f"{column} IS NULL"]
        counts = ", ".join(f"count(*) FILTER ({condition})" for condition in conditions)
        return list(self._row(f"SELECT {counts} FROM scope"))

    def _market_ratios(self, years: Sequence[int]) -> Figures:
        """Count and quantiles of each ratio by country, of the years from the first of `years` on.

        `growth` has the count of growths, the count of positive ones, and the quantiles, over all countries.
        """
        from_scope = (
            f"FROM {RATIOS} SEMI JOIN scope USING (iso2, row) WHERE year >= {max(1, years[0])}"
        )
        aggregates = ", ".join(
            f"count({code}), quantile_cont({code}, [{_QUANTILE_LIST}])" for code in stored_codes()
        )
        ratios: dict[str, Any] = {code: {} for code in stored_codes()}
        for iso2, *values in self._rows(f"SELECT iso2, {aggregates} {from_scope} GROUP BY iso2"):
            for number, code in enumerate(ratios):
                if values[2 * number]:
                    ratios[code][iso2] = values[2 * number], values[2 * number + 1]
        growth = self._row(
            f"SELECT count({GROWTH}), count(*) FILTER ({GROWTH} > 0), "
            f"quantile_cont({GROWTH}, [{_QUANTILE_LIST}]) {from_scope}"
        )
        return {"ratios": ratios, "growth": growth}

    def _row(self, statement: str, values: Sequence[Any] = ()) -> tuple[Any, ...]:
        """The only row of a result."""
        return self._rows(statement, values)[0]

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a result."""
        rows: list[tuple[Any, ...]] = self._database.execute(statement, list(values)).fetchall()
        return rows
