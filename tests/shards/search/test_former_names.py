"""Companies that a former name has found, compared with the oracle; and what no text may extend over."""

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
        lambda found: st.tuples(st.just(found), words(found).map(lambda q: Query(**q)))
    ),
    st.booleans(),
)
def test_the_former_name_that_found_a_company_is_that_of_the_oracle(
    case: Case, coordonnees: bool
) -> None:
    found, query = case
    assert query.q is not None
    page = oracle.search(found, query)
    stored = [record.decode(record.encode(one), coordonnees=coordonnees) for one in page]

    matches = list(result_page.former_name_matches(b",".join(stored), query.q))

    expected = [(one, oracle.former_name(one, query.q)) for one in page]
    assert matches == [(one["iso2"], one["id"], nom) for one, nom in expected if nom is not None]


def test_a_text_is_within_one_name() -> None:
    """Extension X4: neither the end of a name and the beginning of the next one, nor a text around a whole name."""
    names = ["Blue Green", "«»", "Red Yellow"]
    found = [company("EE", "1", "Old Red", noms_anterieurs=names)]
    asked = ("red", "green", "red blue", "d b", "green red", "green red yellow", "red yellow", "w")
    with OpenShards(found) as world:
        totals = [search(world.shards, Query(q=q), offset=0, limit=1).total for q in asked]

    assert totals == [1, 1, 0, 0, 0, 0, 1, 1]


def test_a_former_name_changes_no_order() -> None:
    found = [
        company("EE", "1", "Beta", noms_anterieurs=["Aa"]),
        company("EE", "2", "Beta"),
        company("UK", "1", "Beta", noms_anterieurs=["Zz", "Aa"]),
        company("UK", "2", "Alpha", noms_anterieurs=["Zz"]),
    ]
    with OpenShards(found) as world:
        _, rows = world.pages(Query(tri="nom"), 4)

    assert rows == [("UK", "2"), ("EE", "1"), ("EE", "2"), ("UK", "1")]
