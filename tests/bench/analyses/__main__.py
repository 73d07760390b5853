"""`python -m tests.bench.analyses DATA`: analyses and DuckDB's, figure by figure, and the time of each.

Markets are those of random searches of all kinds of the bench, and of searches that keep most of the base. Each is
asked of both in turn; the first figure that differs ends the run. Times of ours are of the processor, all threads
together, and of the wall; nothing is remembered. They are the second of two calls.
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
_NEAREST: Final = 10
# Sums of millions of floats differ by their order; quantiles are the same figures.
_SUM: Final = 1e-9
_EQUAL: Final = 1e-12


class Times(NamedTuple):
    """Milliseconds of the processor, of the wall, and of DuckDB."""

    processor: float
    wall: float
    duckdb: float


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.analyses")
    parser.add_argument("data", metavar="DATA", type=Path)
    parser.add_argument("--work", metavar="DIR", type=Path, required=True, help="of the columns")
    parser.add_argument("--searches", metavar="N", type=int, default=5, help="random, of a kind")
    parser.add_argument("--companies", metavar="N", type=int, default=400, help="that are analysed")
    parser.add_argument(
        "--compared", metavar="N", type=int, default=40, help="of these, with DuckDB"
    )
    parser.add_argument("--seed", metavar="S", type=int, default=1)
    options = parser.parse_args(arguments)
    generation = open_generation.load(options.data, pointer.require(options.data).generation)
    options.work.mkdir(parents=True, exist_ok=True)
    columns.write(generation.shards, options.work)
    chance = random.Random(options.seed)
    duck = DuckFigures(options.work)
    bench = Bench(generation, duck, chance)
    print("| what | asked | processor p50 | p99 | max | wall p99 | max | DuckDB p50 | p99 | max |")
    print("| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |", flush=True)
    bench.markets(options.searches)
    if any(len(shard.statement_rows) for shard in generation.shards.values()):
        bench.companies(options.companies, options.compared)
    bench.comparables(options.companies, options.compared)
    generation.close()


class Bench:
    """The three analyses of one generation, beside DuckDB's."""

    def __init__(
        self, generation: OpenGeneration, duck: DuckFigures, chance: random.Random
    ) -> None:
        self._generation, self._duck, self._chance = generation, duck, chance
        newest = market.newest_year(generation.shards)
        self._years = [newest - market.YEARS + 1, newest]

    def markets(self, each: int) -> None:
        sample = values.sample(self._generation.generation, self._chance)
        asked = [one.query for one in mix.questions(sample, self._chance, each)]
        queries = [*_LARGE, *(_in_default_order(query) for query in asked)]
        times = {query: self._market(query) for query in self._chance.sample(queries, len(queries))}
        for query in _LARGE:
            _row(f"market: {Question('', '', query).text}", [times[query]])
        _row("markets of random searches", [times[query] for query in queries[len(_LARGE) :]])
        _row("all of these", list(times.values()))
        _row("the whole base, remembered", [_timed(self._remembered)[1]])

    def _remembered(self) -> Any:
        return self._generation.markets.get(Query())

    def _market(self, query: Query) -> Times:
        def ours() -> Any:
            self._generation.markets.clear()
            return marche._figures(self._generation, query)

        made, times = _timed(ours)
        theirs, took = _once(lambda: self._duck.market(self._generation.shards, query, self._years))
        _expect_market(Question("", "", query).text, orjson.loads(orjson.dumps(made)), theirs)
        return times._replace(duckdb=took)

    def companies(self, count: int, compared: int) -> None:
        """The analyses of random companies with statements, each sector for the first time or not."""
        times = []
        for number in range(count):
            shard, row = self._random(filed=True)
            made, took = _timed(partial(self._company, shard, row))
            if number < compared:
                _, duck = _once(partial(self._expect_company, shard, row, made))
                took = took._replace(duckdb=duck)
            times.append(took)
        _row("company", times)

    def _company(self, shard: Shard, row: int) -> Any:
        found = entreprise._company(shard, row)
        analysis = entreprise._analysis(found, self._generation, "integral", b"null")
        return orjson.loads(analysis.json())

    def _expect_company(self, shard: Shard, row: int, made: Any) -> None:
        text = f"{shard.iso2} row {row}"
        euros = shard.company(row)["ca_eur"]
        for scope, iso2 in (("pays", shard.iso2), ("europe", None)):
            if euros is not None:
                ranked = made["rangs"][scope]
                _expect(text, scope, (ranked["rang"], ranked["n"]), self._duck.rank(euros, iso2))
        division = shard.cell_at(row).secteur
        if division is None:
            return
        theirs = self._duck.sector(shard.iso2, division, self._years)
        for ratio in made["ratios"]:
            beside = ratio["secteur"]
            pays, n, quantiles = theirs[ratio["code"]]
            ours = [beside[name] for name in entreprise.QUANTILES]
            _expect(text, ratio["code"], (beside["perimetre"]["pays"], beside["n"]), (pays, n))
            _expect(text, ratio["code"], ours, quantiles or [None] * len(ours))

    def comparables(self, count: int, compared: int) -> None:
        """The companies nearest to random ones."""
        times = []
        shards = self._generation.shards
        for number in range(count):
            shard, row = self._random(filed=False)
            subject = shard.iso2, row, _NEAREST
            made, took = _timed(partial(comparables.comparables, shards, *subject))
            if number < compared:
                theirs, duck = _once(partial(self._duck.comparables, *subject))
                took = took._replace(duckdb=duck)
                _expect(
                    f"{shard.iso2} row {row}", "distances", [one.distance for one in made], theirs
                )
            times.append(took)
        _row("comparable companies", times)

    def _random(self, *, filed: bool) -> tuple[Shard, int]:
        shards = [shard for shard in self._generation.shards.values() if shard.rows]
        weights = [len(one.statement_rows) if filed else one.rows for one in shards]
        (shard,) = self._chance.choices(shards, weights)
        if filed:
            return shard, int(
                shard.statement_rows[self._chance.randrange(len(shard.statement_rows))]
            )
        return shard, self._chance.randrange(shard.rows)


def _in_default_order(query: Query) -> Query:
    return replace(query, tri=Query().tri)


def _expect_market(text: str, made: Any, theirs: Any) -> None:
    size, shares = made["taille"], made["concentration"]
    bands, growth = made["tranches"], made["croissance"]
    _expect(text, "total", made["total"], theirs["total"])
    _expect(text, "ceased", made["cessations"]["societes"], theirs["ceased"])
    _expect(text, "companies with a turnover", size["avec_ca"], theirs["known"])
    _expect(text, "turnover", size["ca_total"], theirs["whole"], _SUM)
    _expect(text, "quantiles", [size[name] for name in entreprise.QUANTILES], theirs["quantiles"])
    ours = [shares[name] for name in ("hhi", "cr4", "cr10", "gini")]
    _expect(text, "shares", ours, theirs["shares"] or [None] * 4, _SUM)
    _expect(text, "bands", [one["n"] for one in bands["ca"]], theirs["bands"])
    _expect(text, "headcounts", [one["n"] for one in bands["effectif"]], theirs["headcounts"])
    births = {one["annee"]: one["n"] for one in made["creations"]["annees"]}
    if made["creations"]["sans_date"]:
        births[None] = made["creations"]["sans_date"]
    _expect(text, "births", births, theirs["births"])
    _expect(text, "first", [one["ca_eur"] for one in made["premieres"]], theirs["first"])
    n, growing, quantiles = theirs["growth"]
    _expect(text, "growth", (growth["n"], growth["en_hausse"]), (n, growing))
    ours = [growth[name] for name in entreprise.QUANTILES]
    _expect(text, "growth", ours, quantiles or [None] * len(ours))
    for ratio in made["ratios"]:
        known = theirs["ratios"][ratio["code"]]
        _expect(text, ratio["code"], {one["pays"]: one["n"] for one in ratio["pays"]},
                {iso2: n for iso2, (n, _) in known.items()})  # fmt: skip
        for one in ratio["pays"]:
            ours = [one[name] for name in entreprise.QUANTILES[1:-1]]
            _expect(text, f"{ratio['code']} {one['pays']}", ours, known[one["pays"]][1][1:-1])


def _expect(text: str, figure: str, ours: Any, theirs: Any, within: float = _EQUAL) -> None:
    """Raise SystemExit unless both are equal, floats within a share of their size or of a hundredth."""
    if not _same(ours, theirs, within):
        raise SystemExit(f"{text}: {figure} is {ours!r} here, {theirs!r} in DuckDB")


def _same(ours: Any, theirs: Any, within: float) -> bool:
    if isinstance(ours, list | tuple):
        pairs = zip(ours, theirs, strict=True) if len(ours) == len(theirs) else ()
        return len(ours) == len(theirs) and all(_same(*pair, within) for pair in pairs)
    if isinstance(ours, float) and theirs is not None:
        return math.isclose(ours, theirs, rel_tol=within, abs_tol=0.01 * within)
    return bool(ours == theirs)


def _timed(call: Callable[[], T]) -> tuple[T, Times]:
    """The second of two calls."""
    call()
    wall, processor = time.perf_counter(), time.process_time()
    made = call()
    taken = 1e3 * (time.process_time() - processor), 1e3 * (time.perf_counter() - wall)
    return made, Times(*taken, float("nan"))


def _once(call: Callable[[], T]) -> tuple[T, float]:
    start = time.perf_counter()
    made = call()
    return made, 1e3 * (time.perf_counter() - start)


def _row(what: str, times: Sequence[Times]) -> None:
    processor, wall, duckdb = np.array(times).T
    known = duckdb[~np.isnan(duckdb)]
    shown = [*np.quantile(processor, (0.5, 0.99, 1)), *np.quantile(wall, (0.99, 1))]
    shown += np.quantile(known, (0.5, 0.99, 1)).tolist() if len(known) else []
    print(
        f"| {what} | {len(times)} | " + " | ".join(f"{one:.2f}" for one in shown) + " |", flush=True
    )


if __name__ == "__main__":
    main(sys.argv[1:])
