"""Texts that a search may have meant that finds nothing, compared with the oracle."""

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shards.query import Query, Range
from shards.search.suggest import spelling
from tests import oracle
from tests.shards.search.open_shards import ENGINES, OpenShards
from tests.world import COUNTRIES, Company, companies, company

LETTERS = "abéΨя"
WORDS = st.text(LETTERS, min_size=1, max_size=7)


@given(
    st.lists(st.lists(WORDS, min_size=1, max_size=2).map(" ".join), min_size=1, max_size=6),
    st.lists(WORDS, min_size=1, max_size=2).map(" ".join),
    companies(max_size=8),
    st.sampled_from([(), ("EE",), ("FR", "UK")]),
    st.booleans(),
)
def test_the_nearest_texts_are_those_of_the_oracle(
    names: list[str], q: str, some: list[Company], pays: tuple[str, ...], site: bool
) -> None:
    """Compiled and interpreted, with other filters"""
    found = [{**one, "nom": names[n % len(names)]} for n, one in enumerate(some)]
    query = Query(pays=pays, q=q, site_web=site)
    assume(not oracle.search(found, query))
    with OpenShards(found) as world:
        for engine in ENGINES.values():
            nearest = spelling.nearest_texts(world.bases[id(engine)], query)
            assert [tuple(one) for one in nearest] == oracle.meant(found, query)


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ("boulangeire", [("boulangerie", 2)]),  # two neighbours swapped
        ("voulangerie", [("boulangerie", 2)]),  # the first letter
        ("boulngrie", [("boulangerie", 2)]),  # two errors
        ("bolngrie", []),  # three
        (
            "boulangerie lefebvr",  # a part of a word is known too
            [("boulangerie lefebvre", 1), ("boulangerie", 2), ("lefebvr", 1)],
        ),
        ("lefbvre boulangrie", []),  # not neighbours
        ("la boulagnrie", [("la boulangerie", 1)]),
        ("lz boulangerie", []),  # two letters
        ("boulangrie lefebvrz", [("boulangerie lefebvre", 1)]),  # one in each word
        ("lbb", [("lab", 1)]),
        ("lbbb", []),  # two errors in four letters
        ("la1", [("la", 3), ("lab", 1)]),
        ("944111", [("00944111", 1)]),
        ("0000944111", [("00944111", 1)]),
        ("944112", []),
        ("GB00944111", [("00944111", 1)]),
        ("uk 944111", [("00944111", 1)]),
        ("SC12345", [("SC012345", 1)]),
        ("GBSC12345", [("SC012345", 1)]),
        ("lefebvre la", [("la", 3), ("lefebvre", 1)]),  # two words that do not meet
        (
            "boulangerie lefebvre la",
            [("boulangerie lefebvre", 1), ("la", 3), ("boulangerie", 2)],
        ),
        ("…", []),
    ],
)
def test_an_error_is_seen_through(q: str, expected: list[tuple[str, int]]) -> None:
    found = [
        company("FR", "1", "Boulangerie Lefebvre"),
        company("FR", "2", "La Boulangerie"),
        company("UK", "00944111", "Lab"),
        company("UK", "SC012345", "Coal"),
    ]
    with OpenShards(found) as world:
        nearest = [tuple(one) for one in spelling.nearest_texts(world.shards, Query(q=q))]
        elsewhere = spelling.nearest_texts(world.shards, Query(q=q, pays=(COUNTRIES[0],)))

    assert nearest == expected
    assert elsewhere == []


def test_the_other_filters_are_kept() -> None:
    found = [
        company("FR", "1", "Orléans", effectif=3),
        company("FR", "2", "Orléanas"),
        company("FR", "3", "Orléant"),
        company("FR", "4", "Orléant", effectif=9),
    ]
    query = Query(q="orleanq", ranges=(Range("effectif", 1),))
    with OpenShards(found) as world:
        nearest = spelling.nearest_texts(world.shards, query)

        assert [tuple(one) for one in nearest] == [("orleans", 1), ("orleant", 1)]
        every = spelling.nearest_texts(world.shards, replace(query, ranges=()))
        assert [tuple(one) for one in every] == [("orleant", 2), ("orleans", 1), ("orleanas", 1)]
