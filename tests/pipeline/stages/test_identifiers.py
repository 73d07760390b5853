"""Identifiers of a wrong form are counted and not rejected, and companies are linked to their register."""

from dataclasses import replace

import polars as pl
import pytest

from pipeline import seeds
from pipeline.errors import SeedError
from pipeline.stages import identifiers
from pipeline.stages.identifiers import Conformity
from tests.pipeline.rows import companies_frame, company
from tests.world import lei

SEEDS = seeds.read()
ESTONIA = SEEDS.country("EE")


def test_format_and_check_digit_are_counted() -> None:
    ids = pl.Series(["12652512", "12652513", "0123", "Ψ"])

    # The second identifier has a wrong check digit; the last two have another format, and so a wrong check digit too.
    assert identifiers.conformity(ids, ESTONIA) == Conformity(
        hors_format=2, cles_verifiees=4, cles_fausses=3
    )


def test_without_a_check_digit_only_the_format_is_counted() -> None:
    ids = pl.Series(["08209948", "x"])

    assert identifiers.conformity(ids, SEEDS.country("UK")) == Conformity(
        hors_format=1, cles_verifiees=0, cles_fausses=0
    )


def test_a_module_that_refuses_the_example_of_the_register_is_not_used() -> None:
    """pl.nip checks the tax number; the register has KRS numbers."""
    poland = SEEDS.country("PL")

    assert poland.stdnum_module == "pl.nip"
    assert identifiers.conformity(pl.Series(["0000028860"]), poland) == Conformity(0, 0, 0)


def test_check_digits_are_counted_over_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identifiers, "SAMPLE", 10)

    counts = identifiers.conformity(pl.Series(["12652513"] * 25), ESTONIA)

    # Every third of the 25 identifiers is checked, because every second would be more than 10.
    assert counts == Conformity(hors_format=0, cles_verifiees=9, cles_fausses=9)


def test_without_a_company_all_counts_are_zero() -> None:
    empty = pl.Series([], dtype=pl.String)

    assert identifiers.conformity(empty, ESTONIA) == Conformity(0, 0, 0)


@pytest.mark.parametrize(
    "country",
    [replace(ESTONIA, stdnum_module="ee.rien"), replace(ESTONIA, id_regex="^(")],
    ids=["module", "pattern"],
)
def test_a_rule_that_cannot_be_used_is_named(country: seeds.Country) -> None:
    with pytest.raises(SeedError, match=r"pays\.csv.*EE"):
        identifiers.conformity(pl.Series(["12652512"]), country)


def test_every_country_has_rules_that_can_be_used() -> None:
    for country in SEEDS.pays:
        counts = identifiers.conformity(pl.Series([country.id_exemple]), country)
        assert (counts.hors_format, counts.cles_fausses) == (0, 0), country.iso2


def test_a_company_is_linked_to_its_register_unless_a_link_is_published() -> None:
    rows = [
        company("EE", "12652512", "Ä"),
        company("EE", "2", "Ö", url_registre="https://exemple.ee/2"),
        company("EE", "3/4 é", "Õ"),
    ]

    links = (
        identifiers.fill_register_url(companies_frame(*rows), ESTONIA)
        .collect()["url_registre"]
        .to_list()
    )

    assert links == [
        "https://ariregister.rik.ee/est/company/12652512",
        "https://exemple.ee/2",
        None,
    ]


def test_a_company_of_a_country_without_a_link_template_has_no_link() -> None:
    frame = companies_frame(company("DE", "F1103R_HRB218916", "Ü"))

    assert (
        identifiers.fill_register_url(frame, SEEDS.country("DE")).collect()["url_registre"].item()
        is None
    )


@pytest.mark.parametrize("iso2", ["NL", "BG", "DE"])
def test_a_company_that_is_identified_by_its_lei_is_linked_to_the_lei_data(iso2: str) -> None:
    """Fixed: the link led to a search in a national register, which has no LEI."""
    rows = [company(iso2, lei(1), "Ü", lei=lei(1)), company(iso2, "34237362", "Ö", lei=lei(2))]

    frame = identifiers.fill_register_url(companies_frame(*rows), SEEDS.country(iso2)).collect()

    first, second = frame["url_registre"].to_list()
    assert first == f"https://search.gleif.org/#/record/{lei(1)}"
    assert second is None or second.endswith("34237362")
