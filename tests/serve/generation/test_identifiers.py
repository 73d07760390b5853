"""Companies by any of their numbers, held to a plain list (X6)."""

from hypothesis import given
from hypothesis import strategies as st

from serve.generation import identifiers
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
        match = identifiers.find(world.shards, number)
        places = {(iso2, world.shards[iso2].company(row)["id"]) for iso2, row in match.places}

    kind, wanted = oracle.numbered(found, number)
    assert places == {(one["iso2"], one["id"]) for one in wanted}
    assert match.type == (kind if wanted else identifiers.IDENTIFIER)
