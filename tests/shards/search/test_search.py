"""The search, compared with the slow one of tests/oracle.py: totals, rows, order, every page."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shards import format
from shards.build import writer
from shards.codec import arrays, row_sets
from shards.query import ORDERS, Query
from shards.search import access_paths, merge, phrase_lookup, predicates, top_rows
from shards.search.predicates import BoundQuery
from tests import oracle
from tests.shards.search.open_shards import OpenShards
from tests.shards.search.query_strategies import queries
from tests.world import Company, companies, company

Tuning = Mapping[tuple[Any, str], Any]


@contextmanager
def _tuned(tuning: Tuning) -> Iterator[None]:
    """Set estimates and thresholds as in `tuning`, so that small shards take the paths of large ones."""
    with pytest.MonkeyPatch.context() as patch:
        for (module, name), value in tuning.items():
            patch.setattr(module, name, value)
        yield


def _nth_path(number: int) -> Any:
    """A replacement of `cheapest_path` that takes one of the paths, whatever its cost."""

    def chosen(bound: BoundQuery) -> access_paths.AccessPath:
        paths = list(access_paths._paths(bound))
        return paths[number % len(paths)]

    return chosen


# None of these may change an answer. The first ones change what the build stores, the others what a search does.
TUNINGS: st.SearchStrategy[Tuning] = st.fixed_dictionaries(
    {
        (format, "HEAVY_LEAST"): st.sampled_from((0, 1, 3, 1_024)),
        (format, "HEAVY_SHARE"): st.just(2**31),
        (format, "COUNTED_LEAST"): st.sampled_from((0, 1)),
        (format, "COUNTED_SHARE"): st.just(2**31),
        (format, "PHRASE_SHARE"): st.just(2**31),
        (format, "HEADED_LEAST"): st.sampled_from((2, 4, format.HEADED_LEAST)),
        (format, "HEAD_ROWS"): st.sampled_from((1, 2)),
        (format, "TOP_ROWS"): st.sampled_from((8, format.TOP_ROWS)),
        (format, "TOP_LEAST"): st.sampled_from((0, 4, format.TOP_LEAST)),
        (row_sets, "_DENSE"): st.sampled_from((0, 3, 32)),
        (writer, "FEWEST_SAMPLES"): st.just(12),
    },
    optional={
        (access_paths, "cheapest_path"): st.builds(_nth_path, st.integers(0, 2)),
        (access_paths, "SPAN"): st.sampled_from((0, 10**9)),
        (top_rows, "RANKING"): st.sampled_from((0, 10**9)),
        (top_rows, "WALKING"): st.sampled_from((0.1, 10**9)),
        (top_rows, "STARTING"): st.just(0),
        (top_rows, "_LEAST_BLOCK"): st.just(1),
        (top_rows, "_LARGEST_BLOCK"): st.just(2),
        (top_rows, "HEAD"): st.sampled_from((0, 10**9)),
        (merge, "SPARE"): st.just(1),
        (merge, "SHARES"): st.just(0),
        (phrase_lookup, "_ENDINGS"): st.just(0),
        (phrase_lookup, "_MERGED"): st.sampled_from((0, 10**9)),
        (phrase_lookup, "BATCH"): st.just(2),
        (arrays, "_FEW"): st.just(1),
        (predicates, "_TOGETHER"): st.just(1),
        (predicates, "_BLOCK"): st.just(2),
    },
)


@given(
    companies().flatmap(lambda c: st.tuples(st.just(c), st.lists(queries(c), max_size=12))),
    st.just({}) | TUNINGS,
)
def test_search_answers_as_the_oracle_does(
    case: tuple[list[Company], list[Query]], tuning: Tuning
) -> None:
    found, asked = case
    with _tuned(tuning), OpenShards(found) as world:
        for query in asked:
            expected = [(c["iso2"], c["id"]) for c in oracle.search(found, query)]
            total, rows = world.pages(query, 4)

            assert (total, rows) == (len(expected), expected[: len(rows)])
            assert len(rows) == min(total, format.TOP_ROWS)


@given(companies(), st.sampled_from(ORDERS), st.integers(1, 9))
@example([], "nom", 1)
def test_every_order_is_walked_page_by_page_without_a_gap_or_a_repeat(
    found: list[Company], tri: str, limit: int
) -> None:
    expected = [(c["iso2"], c["id"]) for c in oracle.search(found, Query(tri=tri))]

    with OpenShards(found) as world:
        assert world.pages(Query(tri=tri), limit) == (len(expected), expected)


def test_a_country_named_twice_is_counted_once() -> None:
    """B1"""
    with OpenShards([company("EE", "1", "Ä")]) as world:
        assert world.pages(Query(pays=("EE", "EE")), 9) == (1, [("EE", "1")])


def test_equal_values_are_ordered_by_country_then_identifier() -> None:
    """B28"""
    found = [company(iso2, i, "Ä", ca_eur=5.0) for iso2 in ("UK", "EE") for i in ("2", "10", "1")]

    with OpenShards(found) as world:
        _, rows = world.pages(Query(), 6)

    assert rows == [("EE", "1"), ("EE", "10"), ("EE", "2"), ("UK", "1"), ("UK", "10"), ("UK", "2")]


def test_a_null_is_last_whichever_the_direction() -> None:
    """B27"""
    found = [company("EE", "1", "a"), company("EE", "2", "b", ca_eur=-1.0)]

    with OpenShards(found) as world:
        assert world.pages(Query(tri="ca_asc"), 2)[1] == [("EE", "2"), ("EE", "1")]
        assert world.pages(Query(tri="ca_desc"), 2)[1] == [("EE", "2"), ("EE", "1")]


def test_a_word_is_found_inside_another_and_across_a_blank() -> None:
    """B15"""
    found = [company("EE", "1", "Fitlab OÜ"), company("EE", "2", "Lab. Orléans")]

    with OpenShards(found) as world:
        assert world.pages(Query(q="LAB", tri="nom"), 9)[0] == 2
        assert world.pages(Query(q="b o", tri="nom"), 9)[0] == 2
        assert world.pages(Query(q="lab orleans"), 9)[1] == [("EE", "2")]


@pytest.mark.parametrize("length", [23, 24, 25, 30])
def test_a_long_word_is_found_by_any_long_part_of_it(
    length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B15: words are sorted by 24 bytes, but compared by all."""
    monkeypatch.setattr(format, "HEAVY_LEAST", 0)
    alike = "донаудампфшиффартс"  # two bytes a letter
    found = [company("EE", str(i), alike + "ё" * i + "я" * 20 + str(i % 3)) for i in range(9)]
    queries = [Query(q=c["nom"][start : start + length]) for c in found for start in range(4)]

    with OpenShards(found) as world:
        for query in queries:
            expected = [(c["iso2"], c["id"]) for c in oracle.search(found, query)]
            assert world.pages(query, 20) == (len(expected), expected)


def test_words_must_be_neighbours_to_match_across_a_blank() -> None:
    """B15"""
    found = [company("EE", "1", "red blue green"), company("EE", "2", "blue red")]

    with OpenShards(found) as world:
        assert world.pages(Query(q="red green"), 9)[0] == 0
        assert world.pages(Query(q="ed b"), 9)[1] == [("EE", "1")]


def test_punctuation_alone_finds_nothing() -> None:
    """B16"""
    with OpenShards([company("EE", "1", "A & B")]) as world:
        assert world.pages(Query(q=" & "), 9) == (0, [])


def test_an_identifier_is_found_by_its_letters_and_digits() -> None:
    """B15"""
    with OpenShards([company("FR", "fn 122-m", "Ψ")]) as world:
        assert world.pages(Query(q="FN1.22"), 9)[0] == 1
        assert world.pages(Query(q="22m"), 9)[0] == 0
