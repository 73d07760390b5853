"""Companies by any of their numbers, held to a plain list (X6)."""

from hypothesis import given
from hypothesis import strategies as st

from serve.contract.seed_tables import number_notation
from shards.search import company_numbers
from shards.search.written_numbers import IDENTIFIER
from tests import oracle
from tests.shards.search.open_shards import OpenShards
from tests.world import Company, company, lei

IDENTIFIERS = (
    "1",
    "01",
    "0100",
    "SC012",
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
    """Companies of three countries whose numbers are alike."""
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
def test_a_number_finds_the_companies_of_the_oracle(found: list[Company], number: str) -> None:
    """X6"""
    with OpenShards(found) as world:
        match = company_numbers.find(world.shards, number, number_notation())
        places = {(iso2, world.shards[iso2].company(row)["id"]) for iso2, row in match.places}

    kind, wanted = oracle.numbered(found, number)
    assert places == {(one["iso2"], one["id"]) for one in wanted}
    assert match.type == (kind if wanted else IDENTIFIER)


@given(companies(), NUMBERS | st.sampled_from(("-", "—")))
def test_a_spelling_means_one_company_of_a_country_or_that_which_is_written_so(
    found: list[Company], number: str
) -> None:
    """E2, X6"""
    with OpenShards(found) as world:
        asked = [(iso2, number) for iso2 in world.shards]
        known = company_numbers.find_each(world.shards, asked, number_notation())

    for (iso2, _), place in zip(asked, known, strict=True):
        of_country = [one for one in found if one["iso2"] == iso2]
        wanted = oracle.numbered(of_country, number)[1]
        if len(wanted) != 1:
            wanted = [one for one in of_country if one["id"] == number]
        assert place == (next(((iso2, one["id"]) for one in wanted), None))
