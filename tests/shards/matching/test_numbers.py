"""The companies with a number of any kind, compared with a plain list (X6)."""

from hypothesis import given
from hypothesis import strategies as st

from serve.contract.seed_tables import number_notation
from shards.search import company_numbers
from shards.search.written_numbers import IDENTIFIER
from tests import oracle
from tests.shards.search.open_shards import OpenShards
from tests.world import Company, company, lei

# Some differ only in zeros or in the letters before the digits.
IDENTIFIERS = (
    "1",
    "01",
    "0100",
    "SC012",
    "\N{FULLWIDTH DIGIT ZERO}1",
    "SC12",
    "SC0120",
    "327961538",
    "0327961538",
    "32796153",
    "12345674",
    "-",
)
VAT = (None, "EE102413223", "GB1", "FR32327961538")


@st.composite
def companies(draw: st.DrawFn) -> list[Company]:
    """Companies of three countries with similar numbers."""
    keys = draw(
        st.sets(
            st.tuples(st.sampled_from(("EE", "FR", "UK")), st.sampled_from(IDENTIFIERS)), max_size=8
        )
    )
    return [
        company(iso2, identifier, "Œuvre",
                lei=draw(st.sampled_from((None, lei(1), lei(2)))), tva=draw(st.sampled_from(VAT)))
        for iso2, identifier in sorted(keys)
    ]  # fmt: skip


NUMBERS = (
    st.sampled_from([*IDENTIFIERS, *filter(None, VAT), lei(1), "32796153800017", "FR 32 327961538"])
    | st.tuples(st.sampled_from(("", "0", "00", "GB", "uk ", "EE0", "fr")), st.sampled_from(IDENTIFIERS)).map("".join)
    | st.text("0123 SC.-é", max_size=6)
)  # fmt: skip


@given(companies(), NUMBERS)
def test_a_number_finds_the_companies_of_the_oracle(dataset: list[Company], number: str) -> None:
    """X6: the companies and the kind of a number; a number that finds nothing counts as an identifier"""
    with OpenShards(dataset) as world:
        match = company_numbers.find(world.shards, number, number_notation())
        places = {(iso2, world.shards[iso2].company(row)["id"]) for iso2, row in match.places}

    kind, expected = oracle.companies_by_number(dataset, number)
    assert places == {(entry["iso2"], entry["id"]) for entry in expected}
    assert match.type == (kind if expected else IDENTIFIER)


@given(companies(), NUMBERS | st.sampled_from(("-", "—")))
def test_a_number_means_its_only_company_in_a_country_or_the_exact_identifier(
    dataset: list[Company], number: str
) -> None:
    """E2, X6: an identifier equal to the number counts first, then the only company that the number means"""
    with OpenShards(dataset) as world:
        keys = [(iso2, number) for iso2 in world.shards]
        results = company_numbers.find_companies(world.shards, keys, number_notation())

    for (iso2, _), place in zip(keys, results, strict=True):
        local_companies = [entry for entry in dataset if entry["iso2"] == iso2]
        expected = oracle.companies_by_number(local_companies, number)[1]
        exact = [entry for entry in local_companies if entry["id"] == number]
        expected = exact or (expected if len(expected) == 1 else [])
        assert place == (next(((iso2, entry["id"]) for entry in expected), None))
