"""Queries as keys and folded words, before any shard is looked at."""

import math
from typing import Any

import pytest

from shards.query import Query, Range
from shards.search.kernel_query import compile_query


@pytest.mark.parametrize(
    "filters",
    [
        {"sous_secteurs": ()},  # B9
        {"q": " & "},  # B16
        {"ranges": (Range("ca_eur", 2.0, 1.0),)},
        {"ranges": (Range("effectif", 2, 1),)},
        {"ranges": (Range("effectif", 2**40),)},  # no 32-bit headcount is so large
        {"ranges": (Range("effectif", None, -(2**40)),)},
    ],
)
def test_a_query_that_nothing_can_match_is_not_compiled(filters: dict[str, Any]) -> None:
    assert compile_query(Query(**filters)) is None


def test_bounds_become_keys_which_are_negated_values() -> None:
    compiled = compile_query(Query(ranges=(Range("ca_eur", -0.5, 3.0), Range("effectif", 10, 20))))

    assert compiled is not None
    assert compiled.ranges == {"ca_eur": (-3.0, 0.5), "effectif": (-20, -10)}


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
def test_a_known_turnover_is_a_bound_without_ends(
    filters: dict[str, Any], turnover: tuple[float, float] | None
) -> None:
    compiled = compile_query(Query(**filters))

    assert compiled is not None
    assert compiled.ranges.get("ca_eur") == turnover


def test_a_text_is_folded_into_words_and_an_identifier_prefix() -> None:
    """B15"""
    compiled = compile_query(Query(q="Société  L'Œuvre"))

    assert compiled is not None
    assert compiled.q is not None
    assert compiled.q.parts == (b"societe", b"l", b"oeuvre")
    assert compiled.q.identifier == "SOCIÉTÉLŒUVRE".encode()


def test_sectors_are_sorted_and_each_counted_once() -> None:
    """B1"""
    compiled = compile_query(Query(secteurs=("62", "47", "62")))

    assert compiled is not None
    assert compiled.secteurs == ("47", "62")
