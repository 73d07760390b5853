"""The figures of a market, against sums in plain Python over the companies of the oracle (X11)."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shards.analyses import market
from shards.analyses.market import MarketPart, MarketTurnovers
from shards.errors import CorruptError
from shards.kernel.memory import address_of, view
from shards.kernel.scope import run_marked
from shards.query import Query
from shards.ratios.accounts import LastYearRatios
from shards.ratios.distribution import QUANTILES, quantiles
from shards.ratios.ratio_table import stored_codes
from shards.reader.shard import Shard
from shards.search import distribution
from tests import oracle
from tests.shards.search.open_shards import INTERPRETED, INTERPRETED_MODULES, OpenShards
from tests.shards.search.query_strategies import queries
from tests.world import Company, companies, company, write_shard

OLDEST = 2022
Accounts = Mapping[tuple[str, str], tuple[int, float, float, float]]
accounts = st.tuples(
    st.integers(2020, 2024), st.sampled_from([-5.0, 0.0, 20.0, 90.0]), st.sampled_from([0.0, 100.0]),
    st.sampled_from([0.0, 40.0, 80.0]),
)  # fmt: skip


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[Company], Accounts, list[Query]]:
    """Companies, some with accounts (last year, equity, total assets, turnover of the year before), and searches."""
    found = draw(companies())
    keys = [(one["iso2"], one["id"]) for one in found if one["a_comptes"]]
    filed = {key: draw(accounts) for key in keys}
    return found, filed, [Query(), *draw(st.lists(queries(found), max_size=4))]


def lines(filed: tuple[int, float, float, float]) -> list[dict[str, Any]]:
    year, equity, assets, before = filed
    values = [(year, "Equity", equity), (year, "TotalAssets", assets), (year, "TurnoverRevenue", 80.0),
              (year - 1, "TurnoverRevenue", before)]  # fmt: skip
    return [
        {"etat": "annexe", "code": code, "libelle": code, "valeur": value, "devise": "EUR",
         "exercice": at, "ordre": order}
        for order, (at, code, value) in enumerate(values)
    ]  # fmt: skip


@given(cases(), st.sampled_from([1, 4, 10**9]), st.sampled_from([0, 1, 10**9]))
def test_a_market_has_the_figures_of_the_oracle(
    case: tuple[list[Company], Accounts, list[Query]], dense: int, ordered: int
) -> None:
    found, filed, asked = case
    with (
        pytest.MonkeyPatch.context() as patch,
        OpenShards(found, {key: lines(one) for key, one in filed.items()}) as world,
    ):
        patch.setattr(market, "_DENSE", dense)
        patch.setattr(market, "_ORDERED", ordered)
        for query in asked:
            matching = oracle.search(found, query)
            parts = [
                market.part(world.shards, one, OLDEST)
                for one in distribution.parts(world.shards, query)
            ]
            assert_counts(parts, matching)
            turnovers = MarketTurnovers(world.shards, parts)
            for half in (1, 0):
                turnovers.write(half)
            assert_turnovers(turnovers, matching)
            assert_ratios(parts, [(one["iso2"], one["id"]) for one in matching], filed)


def assert_counts(parts: list[MarketPart], matching: list[Company]) -> None:
    assert sum(one.total for one in parts) == len(matching)
    assert sum(one.ceased for one in parts) == sum(one["etat"] == "cessee" for one in matching)
    for dimension in ("tranche_effectif", "annee_creation"):
        made = market.count_by(parts, dimension)
        wanted, _, null = oracle.distribution(matching, dimension)
        assert (dict(made.top_values()), made.null) == (dict(wanted), null)


def assert_turnovers(turnovers: MarketTurnovers, matching: list[Company]) -> None:
    expected = sorted(one["ca_eur"] for one in matching if one["ca_eur"] is not None)
    shares, wanted = turnovers.concentration(turnovers.figures()), oracle.concentration(expected)

    assert turnovers.figures().tolist() == expected
    assert quantiles(turnovers.figures(), ascending=True).values == pytest.approx(
        tuple(oracle.quantile(expected, share) for share in QUANTILES)
    )
    assert (shares is None) == (wanted is None)
    if shares is not None:
        made = {name: getattr(shares, name) for name in wanted or {}}
        assert made == pytest.approx(wanted, abs=1e-9)


def assert_ratios(
    parts: list[MarketPart], matching: list[tuple[str, str]], filed: Accounts
) -> None:
    equity: dict[str, list[float]] = {}
    growth = []
    for key in matching:
        if key in filed and filed[key][0] >= OLDEST:
            _, own, assets, before = filed[key]
            if assets:
                equity.setdefault(key[0], []).append(own / assets)
            growth += [(80.0 - before) / before] if before else []

    made = {
        iso2: one for part in parts for iso2, one in part.quantiles["autonomie_financiere"].items()
    }

    assert sorted(np.concatenate([one.growth for one in parts])) == pytest.approx(sorted(growth))
    assert made.keys() == equity.keys()
    for iso2, one in made.items():
        assert one.n == len(equity[iso2])
        wanted = tuple(oracle.quantile(equity[iso2], share) for share in QUANTILES)
        assert one.values == pytest.approx(wanted)


ratio_values = st.sampled_from([float("nan"), -2.0, -0.0, 0.0, 1e-300, 0.1, 0.3, 1e300])


@given(
    st.lists(st.tuples(st.lists(ratio_values, min_size=3, max_size=3), st.booleans()), max_size=20)
)
def test_ratios_along_their_orders_are_those_that_were_gathered_and_sorted(
    drawn: list[tuple[list[float], bool]],
) -> None:
    codes = stored_codes()
    ratios = {
        code: np.array([values[place % 3] for values, _ in drawn], float)
        for place, code in enumerate(codes)
    }
    chosen = np.flatnonzero([one for _, one in drawn])
    found = [company("EE", f"{i:02}", "A", a_comptes=True) for i in range(len(drawn))]
    years = np.full(len(drawn), OLDEST, np.uint16)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "EE"
        write_shard(path, "EE", found, ratios=LastYearRatios({"exercice": years, **ratios}))
        with Shard(path) as shard:
            quantiles_of = {code: quantiles(values[chosen]) for code, values in ratios.items()}
            expected = {code: one for code, one in quantiles_of.items() if one.n}
            assert dict(market._along_orders(shard, chosen)) == expected
            assert dict(market._of_few(shard, chosen)) == expected


@given(st.permutations(range(20)), st.lists(st.booleans(), min_size=20, max_size=20))
def test_marked_numbers_are_gathered_in_their_order_by_both_engines(
    order: list[int], marked: list[bool]
) -> None:
    given_order, bits = np.array(order, np.uint32), np.packbits(marked, bitorder="little")
    gather = INTERPRETED_MODULES["shards.analyses.market"].gather_marked
    expected = [number for number in order if marked[number]]
    for run, place in ((run_marked, address_of), (gather, view)):
        room = np.empty(20, np.uint32)
        arrays = [place(one) for one in (given_order, bits, room)]
        count = run(arrays[0], 20, arrays[1], 20, arrays[2])
        assert room[:count].tolist() == expected
        with pytest.raises(CorruptError):
            run(arrays[0], 20, arrays[1], 19, arrays[2])


@given(companies().flatmap(lambda found: st.tuples(st.just(found), queries(found))))
def test_all_matches_are_listed_by_both_engines(case: tuple[list[Company], Query]) -> None:
    found, query = case
    expected = sorted((one["iso2"], one["id"]) for one in oracle.search(found, query))
    with OpenShards(found) as world:
        for base in world.bases.values():
            listed = base.own_session().rows_by_shard(query)
            rows = [(shard, row) for shard, many in listed for row in many.tolist()]
            assert sorted((s.iso2, s.company(row)["id"]) for s, row in rows) == expected
            # The working memory is clean: the same search counts as before.
            assert INTERPRETED.search(
                world.bases[id(INTERPRETED)], query, offset=0, limit=1
            ).total == len(expected)
