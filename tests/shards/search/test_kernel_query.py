"""Queries in the form that the kernel reads: keys, folded words, numbers of sectors."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from shards.kernel import types
from shards.query import Query, Range
from shards.search.kernel_query import QueryMemory
from shards.search.search import ShardSet, search
from tests.shards.search.open_shards import OpenShards
from tests.world import company


@pytest.fixture(scope="module")
def memory() -> Iterator[QueryMemory]:
    """The memory for queries of a generation with three sectors."""
    divisions = ("47", "62", "70")
    with OpenShards([company("EE", code, "Ä", division=code) for code in divisions]) as world:
        session = world.shards.own_session()
        yield QueryMemory(session.arrays, session.joiner)


def write_query(memory: QueryMemory, query: Query) -> types.KernelQuery:
    """Write a query for its first 9 rows, without a bound on costs; return the record that the kernel reads."""
    assert memory.write(query, 0, 9, 0, math.inf) is not None
    return memory.record


@pytest.mark.parametrize(
    "filters",
    [
        {"sous_secteurs": ()},  # B9
        {"ids": ()},
        {"q": " & "},  # B16
        {"villes": ("-",)},  # B15
        {"nace": ("56",), "activites": ("47.11",)},
        {"ranges": (Range("ca_eur", 2.0, 1.0),)},
        {"ranges": (Range("effectif", 2, 1),)},
        {"ranges": (Range("effectif", 2**40),)},  # no 32-bit headcount is this large
        {"ranges": (Range("effectif", None, -(2**40)),)},
    ],
)
def test_a_query_that_no_company_can_match_is_not_written(
    memory: QueryMemory, filters: dict[str, Any]
) -> None:
    assert memory.write(Query(**filters), 0, 9, 0, math.inf) is None


def test_bounds_are_written_as_keys_which_are_negated_values(memory: QueryMemory) -> None:
    record = write_query(
        memory, Query(ranges=(Range("ca_eur", -0.5, 3.0), Range("effectif", 10, 20)))
    )

    assert (record.turnover_low, record.turnover_high) == (-3.0, 0.5)
    assert (record.headcount_low, record.headcount_high) == (-20, -10)
    assert record.has_turnover
    assert record.has_headcount
    assert not record.any_turnover


@pytest.mark.parametrize(
    ("filters", "turnover"),
    [
        ({"avec_ca": True}, (-math.inf, math.inf)),
        ({"ranges": (Range("ca_eur", 5),)}, (-math.inf, -5.0)),
        ({"ranges": (Range("ca_eur", None, 5),), "avec_ca": True}, (-5.0, math.inf)),
        ({}, None),
        ({"ranges": (Range("ca_eur"),)}, None),
    ],
)
def test_a_turnover_filter_without_bounds_has_infinite_bounds(
    memory: QueryMemory, filters: dict[str, Any], turnover: tuple[float, float] | None
) -> None:
    record = write_query(memory, Query(**filters))

    assert record.has_turnover == (turnover is not None)
    if turnover is not None:
        assert (record.turnover_low, record.turnover_high) == turnover
        assert record.any_turnover == (turnover == (-math.inf, math.inf))


def test_a_text_is_folded_into_words_and_an_identifier_prefix(memory: QueryMemory) -> None:
    """B15"""
    query = Query(q="Société  L'Œuvre")

    # The folded text, the words that a blank follows, the prefix of identifiers, and no values of filters.
    assert memory.write(query, 0, 9, 0, math.inf) == (
        b"societe l oeuvre", b"societe\n", "SOCIÉTÉLŒUVRE".encode(), b"",
    )  # fmt: skip
    assert memory.record.word_count == 3
    # The first byte of each word, and the end of the text with a blank after it.
    assert list(memory.record.word_starts[:4]) == [0, 8, 10, 17]


def test_sectors_are_written_sorted_and_without_repeats(memory: QueryMemory) -> None:
    """B1"""
    record = write_query(memory, Query(secteurs=("62", "47", "62")))

    # 47 and 62 are numbers 0 and 1 among the sectors of the generation.
    assert record.scope == types.SECTORS
    assert list(record.scope_codes[: record.scope_count]) == [0, 1]


def test_a_query_overwrites_all_fields_of_the_query_before_it(memory: QueryMemory) -> None:
    all_ranges = (Range("ca_eur", 1), Range("effectif", 1), Range("actif_eur", 1))
    full_query = Query(
        q="ä b", ranges=all_ranges, pays=("EE",), secteurs=("47",), etats=("active",),
        formes=("x",), ids=(("EE", "47"),), site_web=True, avec_comptes=True,
    )  # fmt: skip
    write_query(memory, full_query)

    record = write_query(memory, Query())

    assert record.scope == types.EVERYWHERE
    for field in (
        "word_count", "has_turnover", "has_headcount", "columns", "states", "value_count", "has_ids",
        "scope_count", "website",
    ):  # fmt: skip
        assert not getattr(record, field)


def test_a_search_without_shards_finds_no_companies() -> None:
    """Each call of the engine gets the addresses of the shards, an empty list here"""
    base = ShardSet()
    session = base.own_session()
    bits, totals = np.zeros(1, np.uint32), np.zeros(1, np.int64)

    assert search(base, Query(tri="nom"), offset=0, limit=5).total == 0
    assert session.rows_by_shard(Query()) == []
    assert session.mark(Query(), (), bits, totals, needed=True) == (0, {})
