"""The figures of a market, compared with plain Python over the companies of the oracle (X11)."""

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
# By country and identifier: last year, equity, total assets, turnover of the year before.
AccountsByCompany = Mapping[tuple[str, str], tuple[int, float, float, float]]
accounts = st.tuples(
    st.integers(2020, 2024), st.sampled_from([-5.0, 0.0, 20.0, 90.0]), st.sampled_from([0.0, 100.0]),
    st.sampled_from([0.0, 40.0, 80.0]),
)  # fmt: skip


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[Company], AccountsByCompany, list[Query]]:
    """Companies, the accounts of some (last year, equity, total assets, turnover of the year before), and searches."""
    dataset = draw(companies())
    filers = [(entry["iso2"], entry["id"]) for entry in dataset if entry["a_comptes"]]
    accounts_by_key = {key: draw(accounts) for key in filers}
    return dataset, accounts_by_key, [Query(), *draw(st.lists(queries(dataset), max_size=4))]


def statement_lines(annual_accounts: tuple[int, float, float, float]) -> list[dict[str, Any]]:
    """The statement lines of these accounts; the turnover of the last year is 80."""
    year, equity, assets, turnover_before = annual_accounts
    values = [(year, "Equity", equity), (year, "TotalAssets", assets), (year, "TurnoverRevenue", 80.0),
              (year - 1, "TurnoverRevenue", turnover_before)]  # fmt: skip
    return [
        {"etat": "annexe", "code": code, "libelle": code, "valeur": value, "devise": "EUR",
         "exercice": line_year, "ordre": order}
        for order, (line_year, code, value) in enumerate(values)
    ]  # fmt: skip


@given(cases(), st.sampled_from([1, 4, 10**9]), st.sampled_from([0, 1, 10**9]))
def test_a_market_has_the_figures_of_the_oracle(
    case: tuple[list[Company], AccountsByCompany, list[Query]], dense_from: int, ordered_from: int
) -> None:
    """The bounds decide whether rows are marked or listed, and whether ratios are read in order or sorted."""
    dataset, accounts_by_key, searches = case
    with (
        pytest.MonkeyPatch.context() as patch,
        OpenShards(
            dataset,
            {
                key: statement_lines(accounts_of_key)
                for key, accounts_of_key in accounts_by_key.items()
            },
        ) as world,
    ):
        patch.setattr(market, "_DENSE", dense_from)
        patch.setattr(market, "_ORDERED", ordered_from)
        for query in searches:
            matching = oracle.search(dataset, query)
            parts = [
                market.market_part(world.shards, part, OLDEST)
                for part in distribution.split_search(world.shards, query)
            ]
            assert_counts(parts, matching)
            turnovers = MarketTurnovers(world.shards, parts)
            for half in (1, 0):  # both halves of the marked rows, in any order
                turnovers.write(half)
            assert_turnovers(turnovers, matching)
            assert_ratios(
                parts, [(match["iso2"], match["id"]) for match in matching], accounts_by_key
            )


def assert_counts(parts: list[MarketPart], matching: list[Company]) -> None:
    """The numbers of all and of ceased companies, and the distributions of their headcounts and years, are right."""
    assert sum(part.total for part in parts) == len(matching)
    assert sum(part.ceased for part in parts) == sum(
        match["etat"] == "cessee" for match in matching
    )
    for dimension in ("tranche_effectif", "annee_creation"):
        result = market.count_by(parts, dimension)
        expected, _, null = oracle.distribution(matching, dimension)
        assert (dict(result.top_values()), result.null) == (dict(expected), null)


def assert_turnovers(turnovers: MarketTurnovers, matching: list[Company]) -> None:
    """The turnovers, their quantiles and their concentration are those of the oracle."""
    expected = sorted(match["ca_eur"] for match in matching if match["ca_eur"] is not None)
    shares, expected_shares = (
        turnovers.concentration(turnovers.figures()),
        oracle.concentration(expected),
    )

    assert turnovers.figures().tolist() == expected
    assert quantiles(turnovers.figures(), ascending=True).values == pytest.approx(
        tuple(oracle.quantile(expected, share) for share in QUANTILES)
    )
    assert (shares is None) == (expected_shares is None)
    if shares is not None:
        result = {name: getattr(shares, name) for name in expected_shares or {}}
        assert result == pytest.approx(expected_shares, abs=1e-9)


def assert_ratios(
    parts: list[MarketPart], matching: list[tuple[str, str]], accounts_by_key: AccountsByCompany
) -> None:
    """The growth of turnovers, and the quantiles of equity / total assets in each country, are the computed ones.

    `matching` are the keys (country, identifier) of the companies found; only accounts since OLDEST count.
    """
    equity_ratios: dict[str, list[float]] = {}
    growth = []
    for key in matching:
        if key in accounts_by_key and accounts_by_key[key][0] >= OLDEST:
            _, own_equity, assets, turnover_before = accounts_by_key[key]
            if assets:
                equity_ratios.setdefault(key[0], []).append(own_equity / assets)
            growth += [(80.0 - turnover_before) / turnover_before] if turnover_before else []

    result = {
        iso2: quantiles_of_country
        for part in parts
        for iso2, quantiles_of_country in part.quantiles["autonomie_financiere"].items()
    }

    assert sorted(np.concatenate([part.growth for part in parts])) == pytest.approx(sorted(growth))
    assert result.keys() == equity_ratios.keys()
    for iso2, quantiles_of_country in result.items():
        assert quantiles_of_country.n == len(equity_ratios[iso2])
        expected = tuple(oracle.quantile(equity_ratios[iso2], share) for share in QUANTILES)
        assert quantiles_of_country.values == pytest.approx(expected)


ratio_values = st.sampled_from([float("nan"), -2.0, -0.0, 0.0, 1e-300, 0.1, 0.3, 1e300])


@given(
    st.lists(st.tuples(st.lists(ratio_values, min_size=3, max_size=3), st.booleans()), max_size=20)
)
def test_quantiles_from_stored_orders_equal_quantiles_of_sorted_values(
    cases: list[tuple[list[float], bool]],
) -> None:
    """A case is a company: three figures that the ratios take in turn, and whether it is chosen."""
    codes = stored_codes()
    ratios = {
        code: np.array([values[place % 3] for values, _ in cases], float)
        for place, code in enumerate(codes)
    }
    rows = np.flatnonzero([is_chosen for _, is_chosen in cases])
    dataset = [company("EE", f"{i:02}", "A", a_comptes=True) for i in range(len(cases))]
    years = np.full(len(cases), OLDEST, np.uint16)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "EE"
        write_shard(path, "EE", dataset, ratios=LastYearRatios({"exercice": years, **ratios}))
        with Shard(path) as shard:
            quantiles_of = {code: quantiles(values[rows]) for code, values in ratios.items()}
            expected = {code: result for code, result in quantiles_of.items() if result.n}
            assert dict(market._ordered_quantiles(shard, rows)) == expected
            assert dict(market._sorted_quantiles(shard, rows)) == expected


@given(st.permutations(range(20)), st.lists(st.booleans(), min_size=20, max_size=20))
def test_both_engines_gather_marked_numbers_in_their_order(
    order: list[int], marked: list[bool]
) -> None:
    numbers, bits = np.array(order, np.uint32), np.packbits(marked, bitorder="little")
    gather = INTERPRETED_MODULES["shards.analyses.market"].gather_marked
    expected = [number for number in order if marked[number]]
    for gather_numbers, argument_of in ((run_marked, address_of), (gather, view)):
        output = np.empty(20, np.uint32)
        arrays = [argument_of(array) for array in (numbers, bits, output)]
        count = gather_numbers(arrays[0], 20, arrays[1], 20, arrays[2])
        assert output[:count].tolist() == expected
        with pytest.raises(CorruptError):  # number 19 has no bit among 19 bits
            gather_numbers(arrays[0], 20, arrays[1], 19, arrays[2])


@given(companies().flatmap(lambda dataset: st.tuples(st.just(dataset), queries(dataset))))
def test_both_engines_list_all_matches(case: tuple[list[Company], Query]) -> None:
    dataset, query = case
    expected = sorted((match["iso2"], match["id"]) for match in oracle.search(dataset, query))
    with OpenShards(dataset) as world:
        for base in world.bases.values():
            rows_by_shard = base.own_session().rows_by_shard(query)
            rows = [
                (shard, row) for shard, shard_rows in rows_by_shard for row in shard_rows.tolist()
            ]
            assert sorted((shard.iso2, shard.company(row)["id"]) for shard, row in rows) == expected
            # The working memory is clean: the next search has the same total.
            assert INTERPRETED.search(
                world.bases[id(INTERPRETED)], query, offset=0, limit=1
            ).total == len(expected)
