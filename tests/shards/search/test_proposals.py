"""Proposed searches by activity and town for a `q`, compared with the oracle."""

from typing import Final

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shards.query import Query
from shards.suggest import proposals
from tests import oracle
from tests.shards.search.open_shards import ENGINES, OpenShards
from tests.world import Company, companies, company

# Labels of five classes.
LABELS: Final = [
    ("62.01", "web software"),
    ("47.11", "grocery"),
    ("84.11", "town hall"),
    ("62.02", "web advice"),
    ("46.90", "wholesale"),
]
WORDS: Final = (
    "web",
    "software",
    "grocery",
    "hall",
    "Orléans",
    "łódź",
    "road",
    "saint",
    "Étienne",
    "x",
    "ab",
    "de",
    "the",
    "wholesale",
)


VOCABULARY: Final = proposals.Vocabulary(
    classes=lambda text: tuple(oracle.activities(LABELS, text)),
    named=lambda text: tuple(oracle.named_activities(LABELS, text)),
    silent=oracle.SILENT_WORDS,
)


@given(
    companies(max_size=10),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join),
    st.sampled_from([(), ("EE",), ("FR", "UK")]),
    st.sampled_from([(), ("62.01",)]),
    st.sampled_from([(), ("Orléans",)]),
)
def test_the_proposals_are_those_of_the_oracle(
    dataset: list[Company],
    q: str,
    pays: tuple[str, ...],
    activites: tuple[str, ...],
    villes: tuple[str, ...],
) -> None:
    """Both engines propose the searches of the oracle, also with filters of country, activity and town"""
    query = Query(pays=pays, q=q, activites=activites, villes=villes)
    assume(not oracle.search(dataset, query))
    with OpenShards(dataset) as world:
        for engine in ENGINES.values():
            results = proposals.proposals(world.bases[id(engine)], query, VOCABULARY)
            assert [tuple(proposal) for proposal in results] == oracle.proposals(
                dataset, LABELS, query
            )


@pytest.mark.parametrize(
    # Each proposal: activity, town, remaining words, number of companies.
    ("q", "expected"),
    [
        ("grocery", [("grocery", "", "", 3)]),
        ("grocery orleans", [("grocery", "Orléans", "", 2)]),
        ("Orléans  grocery", [("grocery", "Orléans", "", 2)]),
        ("Saint Étienne grocery", [("grocery", "Saint-Étienne", "", 1)]),
        ("dupont orleans", [("", "Orléans", "dupont", 1)]),
        ("dupont grocery", [("grocery", "", "dupont", 1)]),
        ("xyzzy orleans", [("", "Orléans", "", 2)]),
        (
            "cheap grocery orleans",
            [
                ("grocery", "Orléans", "", 2),
                ("grocery", "", "", 3),
                ("", "Orléans", "", 2),
            ],
        ),
        ("xyzzy", []),
        ("grocery à orleans", [("grocery", "Orléans", "", 2)]),  # a preposition is not a name
        ("the grocery de orleans", [("grocery", "Orléans", "", 2)]),
        ("dupont de grocery", [("grocery", "", "dupont", 1)]),
        ("web grocery", [("grocery", "", "", 3)]),  # no label has both words
        ("orleans", [("", "Orléans", "", 2)]),
        ("…", []),
        ("a b c d e f g h grocery", []),  # nine words, more than are tried
    ],
)
def test_words_of_a_search_are_read_as_an_activity_and_a_town(
    q: str, expected: list[tuple[str, str, str, int]]
) -> None:
    """Two groceries in Orléans and one in Saint-Étienne; each expected proposal has results."""
    dataset = [
        company(
            "FR", "1", "Dupont", ville="Orléans", nace_code="47.11", groupe="47.1", division="47"
        ),
        company(
            "FR", "2", "Durand", ville="Orléans", nace_code="47.11", groupe="47.1", division="47"
        ),
        company(
            "UK",
            "3",
            "Smith",
            ville="Saint-Étienne",
            nace_code="47.11",
            groupe="47.1",
            division="47",
        ),
    ]
    with OpenShards(dataset) as world:
        results = proposals.proposals(world.shards, Query(q=q), VOCABULARY)
        assert [tuple(proposal) for proposal in results] == oracle.proposals(
            dataset, LABELS, Query(q=q)
        )

    assert [tuple(proposal) for proposal in results] == expected
