"""Distributions, compared with the oracle for every dimension and kind of search."""

from itertools import product
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shards import format
from shards.codec import bands
from shards.query import Query, Range
from shards.search import kernel_session
from shards.search.distribution import DIMENSIONS, distributions
from shards.search.search import UNLIMITED
from tests import oracle
from tests.shards.search.open_shards import OpenShards
from tests.shards.search.query_strategies import queries
from tests.world import BANDS, Company, companies, company

# A budget that no search of these tests reaches.
LARGE: Final = 1e18


@given(
    companies().flatmap(
        lambda dataset: st.tuples(st.just(dataset), st.lists(queries(dataset), max_size=6))
    ),
    st.sets(st.sampled_from(sorted(DIMENSIONS)), min_size=1),
    st.sampled_from([None, 1, 2]),
)
def test_a_distribution_has_the_counts_of_the_oracle(
    case: tuple[list[Company], list[Query]], dimensions: set[str], limit: int | None
) -> None:
    """X3: the numbers of companies found by value of a dimension, such as the town; at most `limit` values"""
    dataset, searches = case
    with OpenShards(dataset) as world:
        for query in [*searches, Query()]:
            assert_equals_oracle(world, dataset, query, dimensions, limit)


@pytest.mark.parametrize("counted_least", [0, 1_024])
def test_rows_of_a_text_are_counted_by_value_even_if_their_total_is_stored(
    monkeypatch: pytest.MonkeyPatch, counted_least: int
) -> None:
    """The stored set of a frequent text has the number of its rows, but not their values."""
    for name, least in (("HEAD_ROWS", 2), ("HEADED_LEAST", 2), ("HEAVY_LEAST", 3)):
        monkeypatch.setattr(format, name, least)
    monkeypatch.setattr(format, "COUNTED_LEAST", counted_least)
    dataset = [
        company("FR", f"{number:04}", f"Żabka {number}", ville="Łódź" if number % 3 else None)
        for number in range(90)
    ]

    with OpenShards(dataset) as world:
        for q in ("zabka", "zab", "0", "0 1"):
            assert_equals_oracle(world, dataset, Query(q=q), {"ville", "pays"}, None)


def test_a_count_that_changes_to_a_scan_of_arrays_counts_each_row_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With this cost of a scan, the count changes its method in the middle of the 180 companies found."""
    monkeypatch.setattr(kernel_session, "_SCAN_COST", 1.0)
    dataset = [
        company(iso2, f"{number:04}", f"Żabka {number}")
        for iso2 in ("EE", "FR")
        for number in range(90)
    ]

    with OpenShards(dataset) as world:
        answer = distributions(world.shards, Query(q="zabka"), ["pays"], LARGE)

        assert answer is not None
        assert (answer[0], answer[1]["pays"].top_values()) == (180, [("EE", 90), ("FR", 90)])
        assert world.shards.own_session().arrays.expects_scans


def test_a_town_has_its_most_frequent_spelling_over_all_countries() -> None:
    """X3: not the most frequent spelling of FR, which has most companies of the town"""
    spellings = {
        "FR": ["Orléans"] * 3 + ["ORLEANS"] * 2 + ["Orleans"] * 2,
        "EE": ["ORLEANS"] * 2 + ["Orleans"],
        "UK": ["Łódź", "łodz"],
    }
    dataset = [
        company(iso2, f"{number:04}", "Zoë", ville=ville)
        for iso2, villes in spellings.items()
        for number, ville in enumerate(villes)
    ]

    with OpenShards(dataset) as world:
        answers = [
            distributions(world.shards, Query(pays=pays), ["ville"], UNLIMITED)
            for pays in ((), ("FR",), ("EE",))
        ]

        top_values = [answer[1]["ville"].top_values() for answer in answers if answer is not None]

    assert top_values == [[("ORLEANS", 10), ("Łódź", 2)], [("ORLEANS", 7)], [("ORLEANS", 3)]]


def test_a_published_headcount_band_counts_if_there_is_no_headcount() -> None:
    """X3: it counts in the band that contains it; a headcount takes precedence over a published band"""
    # Published band, headcount.
    published = [
        ("02", None), ("6-9", None), ("31", None), ("22", None), ("53", None), ("10000+", None),
        ("00", None), ("0", None), ("12", 300), ("NN", None), ("5-12", None), (None, None), (None, -1),
    ]  # fmt: skip
    dataset = [
        company("FR", f"{number:04}", "Été", tranche_effectif=tranche, effectif=effectif)
        for number, (tranche, effectif) in enumerate(published)
    ]

    with OpenShards(dataset) as world:
        for query in (Query(), Query(q="ete")):
            answer = distributions(world.shards, query, ["tranche_effectif"], UNLIMITED)

            assert answer is not None
            assert dict(answer[1]["tranche_effectif"].top_values()) == {
                "1-9": 2, "50-249": 2, "1000+": 2, "0": 2, "250-999": 1, "<0": 1,
            }  # fmt: skip
            assert answer[1]["tranche_effectif"].null == 3
        with_headcount = distributions(
            world.shards, Query(ranges=(Range("effectif", 0),)), ["pays"], UNLIMITED
        )
        assert with_headcount is not None
        assert with_headcount[0] == 1  # the filter ignores bands


def test_a_published_band_is_in_at_most_one_of_our_bands() -> None:
    """Codes of INSEE, and bands written with numbers, as in the oracle"""
    names = bands.headcount_names()
    for published in (*bands.INSEE, *BANDS, "1 - 5", "١-٣", "12-", "+", ""):
        code = bands.published_code(published)

        assert (names[code - 1] if code else None) == oracle.published_band(published), published


def test_a_count_that_costs_more_than_the_budget_is_not_started() -> None:
    dataset = [company("FR", f"{number:04}", "Été", ca_eur=number) for number in range(900)]

    with OpenShards(dataset) as world:
        base = world.shards
        # The first count must also gather the towns of the shards.
        assert distributions(base, Query(), ["ville"], 1.0) is None
        assert distributions(base, Query(), ["ville"], UNLIMITED) is not None
        assert distributions(base, Query(ranges=(Range("ca_eur", 5),)), ["ville"], 1.0) is None
        assert distributions(base, Query(), ["ville"], 1.0) is not None


def assert_equals_oracle(
    world: OpenShards, dataset: list[Company], query: Query, dimensions: set[str], limit: int | None
) -> None:
    """The counts of both engines, by either method, are those of the oracle."""
    matches = oracle.search(dataset, query)
    # With both engines and both methods: an unlimited budget counts along the lists of values; a large budget marks
    # the rows found and counts these, if that is faster.
    bases = list(world.bases.values())
    for base, budget in product(bases, (UNLIMITED, LARGE)):
        answer = distributions(base, query, dimensions, budget)
        assert answer is not None
        total, result = answer

        assert total == len(matches)
        assert result.keys() == dimensions
        for name, counts in result.items():
            top_values, other_count, null = oracle.distribution(matches, name, limit)
            if name == "ville":
                top_values = [(oracle.spelling(dataset, town), count) for town, count in top_values]
            assert counts.top_values(limit) == top_values, name
            assert counts.null == null, name
            assert (
                int(counts.counts.sum())
                == total - null
                == other_count + sum(count for _, count in top_values)
            ), name
