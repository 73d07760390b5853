"""Texts that a search may have meant that finds nothing, compared with the oracle."""

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from serve.contract.seed_tables import number_notation
from shards.query import Query, Range
from shards.suggest import proposals
from tests import oracle
from tests.shards.search.open_shards import ENGINES, OpenShards, module_of
from tests.world import COUNTRIES, Company, companies, company

LETTERS = "abéΨя"
SILENT = ("a", "b")
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
            nearest = module_of(engine, proposals).nearest_texts(
                world.bases[id(engine)], query, number_notation()
            )
            assert [tuple(one) for one in nearest] == oracle.meant(found, query)


@given(
    st.lists(st.lists(WORDS, min_size=1, max_size=3).map(" ".join), min_size=1, max_size=6),
    st.lists(WORDS, min_size=1, max_size=9).map(" ".join),
    companies(max_size=8),
    st.sampled_from([(), ("EE",), ("FR", "UK")]),
    st.booleans(),
)
def test_the_longest_parts_are_those_of_the_oracle(
    names: list[str], q: str, some: list[Company], pays: tuple[str, ...], site: bool
) -> None:
    found = [{**one, "nom": names[n % len(names)]} for n, one in enumerate(some)]
    query = Query(pays=pays, q=q, site_web=site)
    with OpenShards(found) as world:
        for engine in ENGINES.values():
            parts = proposals.longest_parts(world.bases[id(engine)], query, SILENT)
            assert [tuple(part) for part in parts] == oracle.parts(found, query, SILENT)


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ("commerce de gros", [("commerce", 2), ("gros", 1)]),  # never a preposition
        ("vins en gros", [("gros", 1), ("vins", 1)]),
        ("boulangerie des vins de lyon", [("boulangerie des vins", 1), ("boulangerie", 1), ("vins", 1)]),
        ("sarl commerce", [("commerce", 2)]),  # never a word of half the names
        ("de la", []),
        ("commerce", []),
    ],
)  # fmt: skip
def test_a_part_is_long_and_tells_something(q: str, expected: list[tuple[str, int]]) -> None:
    names = (
        "Commerce Dupont",
        "Commerce Durand",
        "Gros SARL",
        "Boulangerie des Vins SARL",
        "De la Tour SARL",
        "A",
    )
    found = [company("FR", str(n), name) for n, name in enumerate(names)]
    with OpenShards(found) as world:
        parts = proposals.longest_parts(world.shards, Query(q=q), {"de", "des", "la", "en"})

    assert [tuple(part) for part in parts] == expected


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ("boulangeire", [("boulangerie", 2)]),  # two neighbours swapped
        ("voulangerie", [("boulangerie", 2)]),  # the first letter
        ("boulngrie", [("boulangerie", 2)]),  # two errors
        ("bolngrie", []),  # three
        (
            "boulangerie lefebvr",  # a part of a word is known too
            [("boulangerie lefebvre", 1)],
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
        ("lefebvre la", []),  # two words that do not meet
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
        nearest = [
            tuple(one)
            for one in proposals.nearest_texts(world.shards, Query(q=q), number_notation())
        ]
        elsewhere = proposals.nearest_texts(
            world.shards, Query(q=q, pays=(COUNTRIES[0],)), number_notation()
        )

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
        nearest = proposals.nearest_texts(world.shards, query, number_notation())

        assert [tuple(one) for one in nearest] == [("orleans", 1), ("orleant", 1)]
        every = proposals.nearest_texts(world.shards, replace(query, ranges=()), number_notation())
        assert [tuple(one) for one in every] == [("orleant", 2), ("orleans", 1), ("orleanas", 1)]
