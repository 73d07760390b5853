"""`python -m tests.bench.analyses DATA`: analyses by the server and by DuckDB, compared figure by figure, with times.

Markets are of random searches of all kinds of the bench, and of searches with most companies. The server computes each
market, then DuckDB does; the first figure that differs ends the run. The server's times are processor time, of all
threads together, and wall time. Each is of the second of two calls, without memos.
"""

import argparse
import math
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
import orjson

from serve.features.analyses import entreprise, marche
from serve.generation import open_generation
from serve.generation.open_generation import OpenGeneration
from shards.analyses import comparables, market
from shards.generations import pointer
from shards.query import Query, Range
from shards.reader.shard import Shard
from tests.bench.analyses import columns
from tests.bench.analyses.duckdb_figures import DuckFigures
from tests.bench.questions import mix, values
from tests.bench.questions.question import Question

T = TypeVar("T")

# Searches that most companies match.
_LARGE: Final = (
    Query(),
    Query(etats=("active",)),
    Query(q="a"),
    Query(ranges=(Range("creation", 20150101),)),
    Query(ranges=(Range("ca_eur", 0),)),
    Query(ranges=(Range("effectif", 1),)),
    Query(site_web=True),
    Query(ranges=(Range("effectif", 10),)),
    Query(secteurs=("47",)),
    Query(secteurs=("43", "46", "47")),
    Query(q="in"),
    Query(q="ti"),
    Query(q="ho"),
    Query(pays=("FR",), etats=("active",)),
)
_NEAREST: Final = 10  # comparable companies per question
# Relative tolerances: sums of millions of floats depend on their order, all other figures do not.
_SUM_TOLERANCE: Final = 1e-9
_TOLERANCE: Final = 1e-12


class Times(NamedTuple):
    """Milliseconds: processor time, wall time, and wall time of DuckDB."""

    processor: float
    wall: float
    duckdb: float


def main(arguments: Sequence[str]) -> None:
    """Write the columns, compare all analyses, and print a table of times."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.analyses")
    parser.add_argument("data", metavar="DATA", type=Path)
    parser.add_argument(
        "--work", metavar="DIR", type=Path, required=True, help="folder of the columns"
    )
    parser.add_argument(
        "--searches", metavar="N", type=int, default=5, help="random searches per kind"
    )
    parser.add_argument(
        "--companies", metavar="N", type=int, default=400, help="companies to analyse"
    )
    parser.add_argument(
        "--compared", metavar="N", type=int, default=40, help="companies to compare with DuckDB"
    )
    parser.add_argument("--seed", metavar="S", type=int, default=1)
    options = parser.parse_args(arguments)
    generation = open_generation.load(options.data, pointer.require(options.data).generation)
    options.work.mkdir(parents=True, exist_ok=True)
    columns.write(generation.shards, options.work)
    chance = random.Random(options.seed)
    duck = DuckFigures(options.work)
    bench = Bench(generation, duck, chance)
    print(
        "| analysis | questions | processor p50 | p99 | max | wall p99 | max | DuckDB p50 | p99 | max |"
    )
    print("| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |", flush=True)
    bench.markets(options.searches)
    if any(len(shard.statement_rows) for shard in generation.shards.values()):
        bench.companies(options.companies, options.compared)
    bench.comparables(options.companies, options.compared)
    generation.close()


class Bench:
    """The three analyses of one generation, by the server and by DuckDB."""

    def __init__(
        self, generation: OpenGeneration, duck: DuckFigures, chance: random.Random
    ) -> None:
        self._generation, self._duck, self._chance = generation, duck, chance
        newest = market.newest_year(generation.shards)
        self._years = [newest - market.YEARS + 1, newest]

    def markets(self, per_kind: int) -> None:
        """Compare `per_kind` random markets of each kind, and those of `_LARGE`; print their times."""
        sample = values.sample(self._generation.generation, self._chance)
        random_queries = [
            question.query for question in mix.questions(sample, self._chance, per_kind)
        ]
        queries = [*_LARGE, *(_use_default_order(query) for query in random_queries)]
        times = {query: self._market(query) for query in self._chance.sample(queries, len(queries))}
        for query in _LARGE:
            _print_row(f"market: {Question('', '', query).text}", [times[query]])
        _print_row("markets of random searches", [times[query] for query in queries[len(_LARGE) :]])
        _print_row("all markets", list(times.values()))
        _print_row("the whole base, from the memo", [_time_second(self._market_from_memo)[1]])

    def _market_from_memo(self) -> Any:
        """The market of all companies; the second call finds it in the memo."""
        return self._generation.markets.get(Query())

    def _market(self, query: Query) -> Times:
        """Compare a market with DuckDB's, figure by figure; return the times."""

        def compute_without_memo() -> Any:
            """Compute the market; the memo of an earlier run would give its time."""
            self._generation.markets.clear()
            return marche._figures(self._generation, query)

        figures, times = _time_second(compute_without_memo)
        theirs, duckdb_ms = _time_once(
            lambda: self._duck.market(self._generation.shards, query, self._years)
        )
        _expect_market(Question("", "", query).text, orjson.loads(orjson.dumps(figures)), theirs)
        return times._replace(duckdb=duckdb_ms)

    def companies(self, count: int, compared: int) -> None:
        """Analyse random companies with statements; the memo has the quantiles of repeated sectors."""
        times = []
        for number in range(count):
            shard, row = self._random_company(filed=True)
            analysis, times_of_call = _time_second(partial(self._company, shard, row))
            if number < compared:
                _, duckdb_ms = _time_once(partial(self._expect_company, shard, row, analysis))
                times_of_call = times_of_call._replace(duckdb=duckdb_ms)
            times.append(times_of_call)
        _print_row("company", times)

    def _company(self, shard: Shard, row: int) -> Any:
        """The analysis of a company by the server, as values of JSON."""
        company = entreprise._read_company(shard, row)
        analysis = entreprise._analysis(company, self._generation, "integral", b"null")
        return orjson.loads(analysis.json())

    def _expect_company(self, shard: Shard, row: int, analysis: Any) -> None:
        """Expect the ranks and the quantiles of the sector in our analysis of a company to equal DuckDB's."""
        text = f"{shard.iso2} row {row}"
        euros = shard.company(row)["ca_eur"]
        for scope, iso2 in (("pays", shard.iso2), ("europe", None)):
            if euros is not None:
                ranked = analysis["rangs"][scope]
                _expect(text, scope, (ranked["rang"], ranked["n"]), self._duck.rank(euros, iso2))
        division = shard.cell_at(row).secteur
        if division is None:
            return
        theirs = self._duck.sector(shard.iso2, division, self._years)
        for ratio in analysis["ratios"]:
            sector = ratio["secteur"]
            pays, values_count, quantiles = theirs[ratio["code"]]
            ours = [sector[name] for name in entreprise.QUANTILES]
            _expect(
                text,
                ratio["code"],
                (sector["perimetre"]["pays"], sector["n"]),
                (pays, values_count),
            )
            _expect(text, ratio["code"], ours, quantiles or [None] * len(ours))

    def comparables(self, count: int, compared: int) -> None:
        """Find the comparable companies of `count` random companies, and print the times.

        The distances of the first `compared` must equal those that DuckDB computes.
        """
        times = []
        shards = self._generation.shards
        for number in range(count):
            shard, row = self._random_company(filed=False)
            subject = shard.iso2, row, _NEAREST
            nearest, times_of_call = _time_second(
                partial(comparables.comparables, shards, *subject)
            )
            if number < compared:
                theirs, duckdb_ms = _time_once(partial(self._duck.comparables, *subject))
                times_of_call = times_of_call._replace(duckdb=duckdb_ms)
                _expect(
                    f"{shard.iso2} row {row}",
                    "distances",
                    [company.distance for company in nearest],
                    theirs,
                )
            times.append(times_of_call)
        _print_row("comparable companies", times)

    def _random_company(self, *, filed: bool) -> tuple[Shard, int]:
        """Draw a shard by its size and a row of it; only rows with statements if `filed`."""
        shards = [shard for shard in self._generation.shards.values() if shard.rows]
        weights = [len(shard.statement_rows) if filed else shard.rows for shard in shards]
        (shard,) = self._chance.choices(shards, weights)
        if filed:
            return shard, int(
                shard.statement_rows[self._chance.randrange(len(shard.statement_rows))]
            )
        return shard, self._chance.randrange(shard.rows)


def _use_default_order(query: Query) -> Query:
    """The search in the default order: a market does not depend on the order."""
    return replace(query, tri=Query().tri)


def _expect_market(text: str, market: Any, theirs: Any) -> None:
    """Expect each figure of our market to equal that of DuckDB (`theirs`); `text` names the search in the error."""
    size, shares = market["taille"], market["concentration"]
    bands, growth = market["tranches"], market["croissance"]
    _expect(text, "total", market["total"], theirs["total"])
    _expect(text, "ceased", market["cessations"]["societes"], theirs["ceased"])
    _expect(text, "companies with a turnover", size["avec_ca"], theirs["with_turnover"])
    _expect(text, "turnover", size["ca_total"], theirs["whole"], _SUM_TOLERANCE)
    _expect(text, "quantiles", [size[name] for name in entreprise.QUANTILES], theirs["quantiles"])
    ours = [shares[name] for name in ("hhi", "cr4", "cr10", "gini")]
    _expect(text, "shares", ours, theirs["shares"] or [None] * 4, _SUM_TOLERANCE)
    _expect(text, "bands", [row["n"] for row in bands["ca"]], theirs["bands"])
    _expect(text, "headcounts", [row["n"] for row in bands["effectif"]], theirs["headcounts"])
    births = {row["annee"]: row["n"] for row in market["creations"]["annees"]}
    if market["creations"]["sans_date"]:
        births[None] = market["creations"]["sans_date"]
    _expect(text, "births", births, theirs["births"])
    _expect(text, "first", [row["ca_eur"] for row in market["premieres"]], theirs["first"])
    growth_count, growing, quantiles = theirs["growth"]
    _expect(text, "growth", (growth["n"], growth["en_hausse"]), (growth_count, growing))
    ours = [growth[name] for name in entreprise.QUANTILES]
    _expect(text, "growth", ours, quantiles or [None] * len(ours))
    for ratio in market["ratios"]:
        by_country = theirs["ratios"][ratio["code"]]
        _expect(text, ratio["code"], {row["pays"]: row["n"] for row in ratio["pays"]},
                {iso2: growth_count for iso2, (growth_count, _) in by_country.items()})  # fmt: skip
        for row in ratio["pays"]:
            ours = [row[name] for name in entreprise.QUANTILES[1:-1]]
            _expect(text, f"{ratio['code']} {row['pays']}", ours, by_country[row["pays"]][1][1:-1])


def _expect(text: str, figure: str, ours: Any, theirs: Any, tolerance: float = _TOLERANCE) -> None:
    """Raise SystemExit unless a figure is equal; floats may differ by `tolerance` times their size (at least 0.01)."""
    if not _same(ours, theirs, tolerance):
        raise SystemExit(f"{text}: {figure} is {ours!r} here, {theirs!r} in DuckDB")


def _same(ours: Any, theirs: Any, tolerance: float) -> bool:
    """Whether two values are equal, item by item; floats within a relative tolerance."""
    if isinstance(ours, list | tuple):
        pairs = zip(ours, theirs, strict=True) if len(ours) == len(theirs) else ()
        return len(ours) == len(theirs) and all(_same(*pair, tolerance) for pair in pairs)
    if isinstance(ours, float) and theirs is not None:
        return math.isclose(ours, theirs, rel_tol=tolerance, abs_tol=0.01 * tolerance)
    return bool(ours == theirs)


def _time_second(call: Callable[[], T]) -> tuple[T, Times]:
    """The result and the milliseconds of the second of two calls; the first call fills the memos."""
    call()
    wall, processor = time.perf_counter(), time.process_time()
    result = call()
    milliseconds = 1e3 * (time.process_time() - processor), 1e3 * (time.perf_counter() - wall)
    return result, Times(*milliseconds, float("nan"))


def _time_once(call: Callable[[], T]) -> tuple[T, float]:
    """The result and the wall milliseconds of one call."""
    start = time.perf_counter()
    result = call()
    return result, 1e3 * (time.perf_counter() - start)


def _print_row(name: str, times: Sequence[Times]) -> None:
    """Print quantiles of times as a row of the table; NaN is a call that DuckDB did not answer."""
    processor, wall, duckdb = np.array(times).T
    duckdb_times = duckdb[~np.isnan(duckdb)]
    figures = [*np.quantile(processor, (0.5, 0.99, 1)), *np.quantile(wall, (0.99, 1))]
    figures += np.quantile(duckdb_times, (0.5, 0.99, 1)).tolist() if len(duckdb_times) else []
    print(
        f"| {name} | {len(times)} | " + " | ".join(f"{figure:.2f}" for figure in figures) + " |",
        flush=True,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
