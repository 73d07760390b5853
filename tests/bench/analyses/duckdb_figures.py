"""The figures of analyses in SQL, as DuckDB computes them."""

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
_SHARES: Final = ", ".join(map(str, QUANTILES))
_LOG: Final = "(ln(1 + abs({0})) * sign({0}))"
_GAP: Final = (
    "CASE WHEN one.{0} IS NULL AND other.{0} IS NULL THEN 0 WHEN one.{0} IS NULL THEN 1 "
    "WHEN other.{0} IS NULL THEN 3 ELSE abs({1} - {2}) END"
)


class DuckFigures:
    """The columns in a database, sorted by sector, as a user of DuckDB would store them."""

    def __init__(self, folder: Path) -> None:
        """Open the database of `folder`; it is made of the columns there, if it does not exist."""
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
        """The market of a search; one with `q` is that of the rows that our search finds."""
        self._scope(base, query)
        total, ceased, known, whole, quantiles = self._one(
            "SELECT count(*), count(*) FILTER (etat = 'cessee'), count(ca_eur), sum(ca_eur), "
            f"quantile_cont(ca_eur, [{_SHARES}]) FROM scope"
        )
        return {
            "total": total, "ceased": ceased, "known": known, "whole": whole,
            "quantiles": quantiles if known else [None] * len(QUANTILES),
            **self._shares(),
            "bands": self._bands("ca_eur", bands.TURNOVERS),
            "headcounts": self._bands("least_staff", bands.HEADCOUNTS),
            "births": dict(self._all("SELECT born, count(*) FROM scope GROUP BY born")),
            "first": [one for (one,) in self._all(
                "SELECT ca_eur FROM scope WHERE ca_eur IS NOT NULL ORDER BY ca_eur DESC LIMIT 10")],
            **self._market_ratios(years or [0, 0]),
        }  # fmt: skip

    def sector(self, iso2: str, division: str, years: Sequence[int]) -> Mapping[str, Any]:
        """By ratio the country whose sector is compared, None for all, the count and the quantiles."""
        peers = f"FROM {RATIOS} JOIN {COMPANIES} USING (iso2, row) WHERE division = ? AND year >= ?"
        found: dict[str, tuple[str | None, int, list[float] | None]] = {}
        for code in stored_codes():
            asked = f"SELECT count({code}), quantile_cont({code}, [{_SHARES}]) {peers}"
            n, quantiles = self._one(f"{asked} AND iso2 = ?", [division, years[0], iso2])
            if n < FEWEST:
                n, quantiles = self._one(asked, [division, years[0]])
                found[code] = None, n, quantiles if n >= LEAST_QUANTILES else None
            else:
                found[code] = iso2, n, quantiles
        return found

    def rank(self, euros: float, iso2: str | None) -> tuple[int, int]:
        """The place of a turnover, and how many are known."""
        where = "TRUE" if iso2 is None else f"iso2 = '{iso2}'"
        greater, n = self._one(
            f"SELECT count(*) FILTER (ca_eur > ?), count(ca_eur) FROM {COMPANIES} WHERE {where}",
            [euros],
        )
        return greater + 1, n

    def comparables(self, iso2: str, row: int, n: int) -> list[float]:
        """The distances of the nearest companies: beside a turnover those with one first, then those of the country."""
        turnover, number, band = (
            _GAP.format(name, _LOG.format(f"one.{name}"), _LOG.format(f"other.{name}"))
            for name in ("ca_eur", "effectif", "least_staff")
        )
        numbered = "one.effectif IS NOT NULL AND other.effectif IS NOT NULL"
        headcount = f"CASE WHEN {numbered} THEN {number} ELSE {band} END"
        place = (
            "CASE WHEN one.iso2 != other.iso2 THEN 0.5 WHEN one.town = other.town THEN 0 "
            "WHEN left(one.postcode, 2) = left(other.postcode, 2) THEN 0.25 ELSE 0.5 END"
        )
        found = self._all(
            f"SELECT {turnover} + {headcount} + {place} AS distance "
            f"FROM {COMPANIES} one JOIN {COMPANIES} other ON one.division = other.division "
            "AND one.groupe IS NOT DISTINCT FROM other.groupe "
            "WHERE one.iso2 = ? AND one.row = ? AND other.etat != 'cessee' "
            "AND NOT (other.iso2 = one.iso2 AND other.row = one.row) "
            "ORDER BY one.ca_eur IS NOT NULL AND other.ca_eur IS NULL, other.iso2 != one.iso2, distance LIMIT ?",
            [iso2, row, n],
        )
        return [distance for (distance,) in found]

    def _scope(self, base: ShardSet, query: Query) -> None:
        where, values = "TRUE", list[Any]()
        if query.q is not None:
            listed = base.own_session().rows_by_shard(query)
            schema = {"iso2": pl.String, "row": pl.UInt32}
            frames = [pl.DataFrame({"row": rows}).select(pl.lit(shard.iso2).alias("iso2"), "row")
                      for shard, rows in listed]  # fmt: skip
            self._database.register(
                "named", pl.concat([pl.DataFrame(schema=schema), *frames]).to_arrow()
            )
            where = "(iso2, row) IN (SELECT (iso2, row) FROM named)"
        else:
            condition = sql.filters(query) & sql.coded(query)
            where, values = condition.sql, list(condition.values)
        self._database.execute(
            "CREATE OR REPLACE TEMP TABLE scope AS SELECT iso2, row, etat, ca_eur, least_staff, born "
            f"FROM {COMPANIES} WHERE {where}",
            values,
        )

    def _shares(self) -> Figures:
        n, whole, squares, ranked = self._one(
            "SELECT count(*), sum(ca_eur), sum(ca_eur * ca_eur), sum((2 * place - n - 1) * ca_eur) "
            "FROM (SELECT ca_eur, row_number() OVER (ORDER BY ca_eur) AS place, count(*) OVER () AS n "
            "FROM scope WHERE ca_eur > 0)"
        )
        largest = self._all(
            "SELECT ca_eur FROM scope WHERE ca_eur > 0 ORDER BY ca_eur DESC LIMIT 10"
        )
        if not n:
            return {"shares": None}
        return {"shares": (
            10_000 * squares / whole**2, sum(one for (one,) in largest[:4]) / whole,
            sum(one for (one,) in largest) / whole, ranked / (n * whole),
        )}  # fmt: skip

    def _bands(self, column: str, bounds: Sequence[int]) -> list[int]:
        """How many are below the first bound, between two, from the last one on, and null."""
        edges = [f"{column} < {bounds[0]}"]
        edges += [f"{column} >= {low} AND {column} < {high}" for low, high in pairwise(bounds)]
        edges += [f"{column} >= {bounds[-1]}", f"{column} IS NULL"]
        counted = ", ".join(f"count(*) FILTER ({edge})" for edge in edges)
        return list(self._one(f"SELECT {counted} FROM scope"))

    def _market_ratios(self, years: Sequence[int]) -> Figures:
        among = f"FROM {RATIOS} SEMI JOIN scope USING (iso2, row) WHERE year >= {max(1, years[0])}"
        asked = ", ".join(
            f"count({code}), quantile_cont({code}, [{_SHARES}])" for code in stored_codes()
        )
        found: dict[str, Any] = {code: {} for code in stored_codes()}
        for iso2, *values in self._all(f"SELECT iso2, {asked} {among} GROUP BY iso2"):
            for place, code in enumerate(found):
                if values[2 * place]:
                    found[code][iso2] = values[2 * place], values[2 * place + 1]
        growth = self._one(
            f"SELECT count({GROWTH}), count(*) FILTER ({GROWTH} > 0), "
            f"quantile_cont({GROWTH}, [{_SHARES}]) {among}"
        )
        return {"ratios": found, "growth": growth}

    def _one(self, statement: str, values: Sequence[Any] = ()) -> tuple[Any, ...]:
        return self._all(statement, values)[0]

    def _all(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = self._database.execute(statement, list(values)).fetchall()
        return found
