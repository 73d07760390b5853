"""Proposed texts for a search without results, compared with the oracle."""

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
# Words that, like a preposition, are not proposed alone.
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
    names: list[str],
    q: str,
    companies_to_rename: list[Company],
    pays: tuple[str, ...],
    has_site: bool,
) -> None:
    """Both engines propose the texts of the oracle, also with filters of country and website"""
    dataset = [
        {**entry, "nom": names[number % len(names)]}
        for number, entry in enumerate(companies_to_rename)
    ]
    query = Query(pays=pays, q=q, site_web=has_site)
    assume(not oracle.search(dataset, query))
    with OpenShards(dataset) as world:
        for engine in ENGINES.values():
            nearest = module_of(engine, proposals).nearest_texts(
                world.bases[id(engine)], query, number_notation()
            )
            assert [tuple(text) for text in nearest] == oracle.meant_texts(dataset, query)


@given(
    st.lists(st.lists(WORDS, min_size=1, max_size=3).map(" ".join), min_size=1, max_size=6),
    st.lists(WORDS, min_size=1, max_size=9).map(" ".join),
    companies(max_size=8),
    st.sampled_from([(), ("EE",), ("FR", "UK")]),
    st.booleans(),
)
def test_the_longest_parts_are_those_of_the_oracle(
    names: list[str],
    q: str,
    companies_to_rename: list[Company],
    pays: tuple[str, ...],
    has_site: bool,
) -> None:
    dataset = [
        {**entry, "nom": names[number % len(names)]}
        for number, entry in enumerate(companies_to_rename)
    ]
    query = Query(pays=pays, q=q, site_web=has_site)
    with OpenShards(dataset) as world:
        for engine in ENGINES.values():
            parts = proposals.longest_parts(world.bases[id(engine)], query, SILENT)
            assert [tuple(part) for part in parts] == oracle.parts(dataset, query, SILENT)


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ("commerce de gros", [("commerce", 2), ("gros", 1)]),  # a preposition is not proposed
        ("vins en gros", [("gros", 1), ("vins", 1)]),
        ("boulangerie des vins de lyon", [("boulangerie des vins", 1), ("boulangerie", 1), ("vins", 1)]),
        ("sarl commerce", [("commerce", 2)]),  # a word of half of the names is not proposed
        ("de la", []),
        ("commerce", []),
    ],
)  # fmt: skip
def test_proposed_parts_are_long_and_informative(q: str, expected: list[tuple[str, int]]) -> None:
    names = (
        "Commerce Dupont",
        "Commerce Durand",
        "Gros SARL",
        "Boulangerie des Vins SARL",
        "De la Tour SARL",
        "A",
    )
    dataset = [company("FR", str(number), name) for number, name in enumerate(names)]
    with OpenShards(dataset) as world:
        parts = proposals.longest_parts(world.shards, Query(q=q), {"de", "des", "la", "en"})

    assert [tuple(part) for part in parts] == expected


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ("boulangeire", [("boulangerie", 2)]),  # two adjacent letters swapped
        ("voulangerie", [("boulangerie", 2)]),  # the first letter is wrong
        ("boulngrie", [("boulangerie", 2)]),  # two errors
        ("bolngrie", []),  # three errors
        (
            "boulangerie lefebvr",  # a part of a word may be right
            [("boulangerie lefebvre", 1)],
        ),
        ("lefbvre boulangrie", []),  # a name has the correct words only in the other order
        ("la boulagnrie", [("la boulangerie", 1)]),
        ("lz boulangerie", []),  # an error in a word of two letters is not corrected
        ("boulangrie lefebvrz", [("boulangerie lefebvre", 1)]),  # one error in each word
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
        ("lefebvre la", []),  # correct words that are not neighbours in any name
        ("…", []),
    ],
)
def test_a_text_with_typing_errors_finds_the_nearest_texts(
    q: str, expected: list[tuple[str, int]]
) -> None:
    """A word may have one error, a long word two; a country without companies proposes nothing."""
    dataset = [
        company("FR", "1", "Boulangerie Lefebvre"),
        company("FR", "2", "La Boulangerie"),
        company("UK", "00944111", "Lab"),
        company("UK", "SC012345", "Coal"),
    ]
    with OpenShards(dataset) as world:
        nearest = [
            tuple(text)
            for text in proposals.nearest_texts(world.shards, Query(q=q), number_notation())
        ]
        elsewhere = proposals.nearest_texts(
            world.shards, Query(q=q, pays=(COUNTRIES[0],)), number_notation()
        )

    assert nearest == expected
    assert elsewhere == []


def test_proposals_match_the_other_filters() -> None:
    """With a bound on headcounts, only companies with a headcount are counted."""
    dataset = [
        company("FR", "1", "Orléans", effectif=3),
        company("FR", "2", "Orléanas"),
        company("FR", "3", "Orléant"),
        company("FR", "4", "Orléant", effectif=9),
    ]
    query = Query(q="orleanq", ranges=(Range("effectif", 1),))
    with OpenShards(dataset) as world:
        nearest = proposals.nearest_texts(world.shards, query, number_notation())

        assert [tuple(text) for text in nearest] == [("orleans", 1), ("orleant", 1)]
        without_ranges = proposals.nearest_texts(
            world.shards, replace(query, ranges=()), number_notation()
        )
        assert [tuple(text) for text in without_ranges] == [
            ("orleant", 2),
            ("orleans", 1),
            ("orleanas", 1),
        ]
