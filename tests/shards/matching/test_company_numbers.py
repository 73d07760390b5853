"""The number of a company finds it in any spelling, in all 25 countries (extensions X5, X6)."""

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shards.codec.folding import fold_id
from shards.matching.line import Line
from shards.matching.matcher import Matcher
from tests.bench.synth import lexicon
from tests.bench.synth.identifiers import ids
from tests.world import Company, company

# VAT numbers that contain the identifier (`{}`), by country.
VAT = {
    "BE": "BE{}", "BG": "BG{}", "CZ": "CZ{}", "DK": "DK{}", "FI": "FI{}", "FR": "FR32{}",
    "HR": "HR{}", "IT": "IT{}", "LV": "LV{}", "NO": "NO{}MVA", "PT": "PT{}", "RO": "RO{}",
    "SE": "SE{}01",
}  # fmt: skip
OWN_VAT = "EE102413223"
LEI = "213800AAAAAAAAAAAA11"
# The reasons that a candidate gets if its number is that of the line, as written or after a correction.
SAME_NUMBER = {"id_identique", "id_corrige"}
DE_COURT, DE_NUMBER = "F1103R_", "HRB218916"


def _identifiers() -> Mapping[str, str]:
    """An identifier of each country in the form of its register, with a leading zero if the form allows it."""
    identifiers = {}
    for profile in lexicon.load().profiles:
        iso2 = profile.iso2
        candidates = ids(iso2, profile.segments, np.arange(4_000), 4_000, 12_345).to_list()
        identifiers[iso2] = min(candidates, key=lambda identifier: not identifier.startswith("0"))
    return identifiers | {"DE": DE_COURT + DE_NUMBER}


IDENTIFIERS = _identifiers()


@pytest.fixture(scope="module")
def companies() -> dict[str, list[Company]]:
    """Two companies of each country with one name, so that only a number says which of the two a line means."""
    return {
        iso2: [
            company(
                iso2,
                identifier,
                "Zephyr Lantern",
                lei=LEI if iso2 == "UK" else None,
                tva=OWN_VAT if iso2 == "EE" else None,
            ),
            company(iso2, f"{identifier[:-3]}998", "Zephyr Lantern"),
        ]
        for iso2, identifier in IDENTIFIERS.items()
    }


def spellings(iso2: str, identifier: str) -> st.SearchStrategy[str]:
    """The identifier with or without leading zeros, country code, marks and small letters."""
    folded = fold_id(identifier)
    codes = ["", iso2, *(["GB"] if iso2 == "UK" else [])]
    cores = [folded, folded.lstrip("0")]
    return st.builds(
        lambda code, core, marks, small: _insert_marks(code + core, marks, small=small),
        st.sampled_from(codes),
        st.sampled_from(cores),
        st.lists(st.tuples(st.integers(1, 20), st.sampled_from(" .-/")), max_size=4),
        st.booleans(),
    )


def _insert_marks(text: str, marks: list[tuple[int, str]], *, small: bool) -> str:
    """The text with each mark inserted at its position."""
    for place, mark in marks:
        text = text[:place] + mark + text[place:]
    return text.lower() if small else text


def reasons_of_first(matcher: Matcher, line: Line, iso2: str) -> tuple[str, ...]:
    """The reasons for the company of the country, which must be the first candidate."""
    candidates = matcher.match(line, 1).candidats
    assert candidates, line
    best = candidates[0]
    assert (best.iso2, best.id) == (iso2, IDENTIFIERS[iso2]), line
    return best.raisons


def test_there_is_an_identifier_of_every_country() -> None:
    assert len(IDENTIFIERS) == 25


@pytest.mark.parametrize("iso2", sorted(IDENTIFIERS))
def test_an_identifier_in_any_spelling_finds_its_company(matcher: Matcher, iso2: str) -> None:
    @given(spellings(iso2, IDENTIFIERS[iso2]))
    def check(text: str) -> None:
        """Match the number `text` with a name and alone: it must be recognised as the number of the first candidate."""
        reasons = reasons_of_first(matcher, Line("Zephyr Lantern", (iso2,), id=text), iso2)
        assert SAME_NUMBER & set(reasons)
        reasons_without_name = reasons_of_first(matcher, Line(pays=(iso2,), id=text), iso2)
        assert "id_different" not in reasons_without_name

    check()


@pytest.mark.parametrize("iso2", sorted(VAT))
def test_a_vat_number_that_contains_the_identifier_finds_the_company(
    matcher: Matcher, iso2: str
) -> None:
    number = VAT[iso2].format(fold_id(IDENTIFIERS[iso2]))
    for text in (number, number[2:], number.lower(), f"{number[:4]} {number[4:]}"):
        for line in (Line(pays=(iso2,), tva=text), Line(pays=(iso2,), id=text)):
            assert SAME_NUMBER & set(reasons_of_first(matcher, line, iso2))


@pytest.mark.parametrize(
    ("line", "iso2", "reason"),
    [
        (Line(tva="ee 102 413 223"), "EE", "tva_identique"),
        (Line(pays=("EE",), tva="102413223"), "EE", "tva_identique"),
        (Line(id=LEI.lower()), "UK", "id_corrige"),
        (Line(id=f"{IDENTIFIERS['FR']}00017"), "FR", "id_corrige"),
        (Line(id=f"FR {IDENTIFIERS['FR']} 00017"), "FR", "id_corrige"),
        (Line("Zephyr Lantern", ("DE",), id="HRB 218916"), "DE", "id_corrige"),
    ],
)
def test_other_numbers_of_a_company_find_it(
    matcher: Matcher, line: Line, iso2: str, reason: str
) -> None:
    assert reason in reasons_of_first(matcher, line, iso2)


def test_another_number_is_evidence_against_a_company(matcher: Matcher) -> None:
    line = Line("Zephyr Lantern", ("IT",), id="99999999997")

    assert "id_different" in matcher.match(line, 1).candidats[0].raisons
