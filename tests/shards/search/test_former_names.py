"""Matches of former names, compared with the oracle; a text matches within one name."""

from hypothesis import given
from hypothesis import strategies as st

from shards.codec import record
from shards.query import Query
from shards.search import result_page
from shards.search.search import search
from tests import oracle
from tests.shards.search.open_shards import OpenShards
from tests.shards.search.query_strategies import words
from tests.world import Company, companies, company

Case = tuple[list[Company], Query]


@given(
    companies().flatmap(
        lambda dataset: st.tuples(st.just(dataset), words(dataset).map(lambda q: Query(**q)))
    ),
    st.booleans(),
)
def test_the_former_name_that_matches_is_that_of_the_oracle(case: Case, coordonnees: bool) -> None:
    dataset, query = case
    assert query.q is not None
    page = oracle.search(dataset, query)
    stored = [record.decode(record.encode(company), coordonnees=coordonnees) for company in page]

    matches = list(result_page.former_name_matches(b",".join(stored), query.q))

    expected = [(company, oracle.former_name(company, query.q)) for company in page]
    assert matches == [
        (company["iso2"], company["id"], nom) for company, nom in expected if nom is not None
    ]


def test_a_text_matches_within_one_name() -> None:
    """Extension X4: not the end of a name with the beginning of the next, nor a text longer than a name."""
    names = ["Blue Green", "«»", "Red Yellow"]
    dataset = [company("EE", "1", "Old Red", noms_anterieurs=names)]
    texts = ("red", "green", "red blue", "d b", "green red", "green red yellow", "red yellow", "w")
    with OpenShards(dataset) as world:
        totals = [search(world.shards, Query(q=q), offset=0, limit=1).total for q in texts]

    assert totals == [1, 1, 0, 0, 0, 0, 1, 1]


def test_a_former_name_does_not_change_the_order() -> None:
    dataset = [
        company("EE", "1", "Beta", noms_anterieurs=["Aa"]),
        company("EE", "2", "Beta"),
        company("UK", "1", "Beta", noms_anterieurs=["Zz", "Aa"]),
        company("UK", "2", "Alpha", noms_anterieurs=["Zz"]),
    ]
    with OpenShards(dataset) as world:
        _, rows = world.pages(Query(tri="nom"), 4)

    assert rows == [("UK", "2"), ("EE", "1"), ("EE", "2"), ("UK", "1")]
