"""Danish accounts, compared with the filings of the excerpt; group accounts, with small ones."""

import gzip
from pathlib import Path

import polars as pl
import pytest

from tests.pipeline.registers.accounts.filed import (
    RAW,
    ImportedAccounts,
    import_accounts,
    instance_xml,
    outcome_counts,
    statement_values,
)

ARCHIVE = RAW / "dk" / "virk_excerpt.zip"
# A made-up filing that does not name its company.
ESEF_FILING = Path(__file__).with_name("dk_esef_slice.xml")
TAXI = "42710644"  # Taxikørsel 011 ApS
# The dimension member of facts of the group.
GROUP_MEMBER = (
    '<xbrldi:explicitMember dimension="cmn:ConsolidatedSoloDimension">cmn:ConsolidatedMember'
    "</xbrldi:explicitMember>"
)


@pytest.fixture(scope="module")
def excerpt(tmp_path_factory: pytest.TempPathFactory) -> ImportedAccounts:
    """The imported excerpt."""
    return import_accounts("dk-comptes", [ARCHIVE, ESEF_FILING], tmp_path_factory.mktemp("dk"))


def test_a_filing_gives_both_years_in_kroner(
    excerpt: ImportedAccounts,
) -> None:
    assert statement_values(excerpt.lines, TAXI, 2025, "bilan_passif") == {
        "CalledUpShareCapital": 40000.0,
        "ProfitLossAccountReserve": 3118.0,
        "ProposedDividends": 40000.0,
        "Equity": 83118.0,
        "ProvisionsForLiabilities": 4469.0,
        "DeferredTaxLiabilities": 4469.0,
        "CreditorsDueWithinOneYear": 191438.0,
        "AmountsOwedToDirectors": 19705.0,
        "OtherCreditorsDueWithinOneYear": 171733.0,
        "Creditors": 191438.0,
        "LiabilitiesAndEquity": 279025.0,
    }
    assert statement_values(excerpt.lines, TAXI, 2024, "bilan_actif")["TotalAssets"] == 307596.0
    assert set(excerpt.lines.filter(pl.col("etat") != "annexe")["devise"]) == {"DKK"}


def test_a_gross_profit_without_turnover_gives_no_turnover(
    excerpt: ImportedAccounts,
) -> None:
    lines = statement_values(excerpt.lines, TAXI, 2025, "compte_resultat")

    assert "TurnoverRevenue" not in lines
    assert (lines["GrossProfitLoss"], lines["ProfitLoss"]) == (1335417.0, 63109.0)
    assert lines["TaxTaxCreditOnProfitOrLossOnOrdinaryActivities"] == -13582.0  # a tax income
    # Sneaks2Peak stated its turnover of 2024 and not that of 2025.
    assert (
        statement_values(excerpt.lines, "42566551", 2024, "compte_resultat")["TurnoverRevenue"]
        == 36536.0
    )


def test_a_filing_without_company_number_is_rejected(
    excerpt: ImportedAccounts,
) -> None:
    assert outcome_counts(excerpt.report) == {
        "read": 5,
        "kept": 4,
        "dropped": {},
        "rejected": {"numéro de société absent": 1},
    }


def test_an_ifrs_filing_with_its_company_number_in_its_name_gives_group_accounts(
    tmp_path: Path,
) -> None:
    # The filing states assets 1,000,000, equity 600,000, liabilities 400,000; a part of equity is left out.
    filing = tmp_path / "24256790-2025.xml"
    filing.write_bytes(ESEF_FILING.read_bytes())
    report, lines = import_accounts("dk-comptes", [filing], tmp_path / "out")

    assert (
        statement_values(lines, "24256790", 2025, "bilan_actif")["TotalAssetsConsolidated"] == 1e6
    )
    assert (
        statement_values(lines, "24256790", 2025, "compte_resultat")["TurnoverRevenueConsolidated"]
        == 2e6
    )
    assert all(code.endswith("Consolidated") for code in lines["code"])
    assert report.counts.detail["faits ventilés (le total est repris)"] == 1


def test_accounts_of_a_company_and_its_group_in_one_filing_have_different_codes(
    tmp_path: Path,
) -> None:
    company_fact = '<f:Revenue contextRef="p" unitRef="EUR" decimals="0">1</f:Revenue>'
    group_fact = '<f:Revenue contextRef="g" unitRef="EUR" decimals="0">9</f:Revenue>'
    filing = tmp_path / "accounts.xml"
    filing.write_text(instance_xml(company_fact + group_fact, dimensions=GROUP_MEMBER))
    _, lines = import_accounts("dk-comptes", [filing], tmp_path / "out")

    assert statement_values(lines, "24256790", 2024, "compte_resultat") == {
        "TurnoverRevenue": 1.0,
        "TurnoverRevenueConsolidated": 9.0,
    }


def test_a_fact_of_an_unknown_scope_is_not_of_the_company(tmp_path: Path) -> None:
    facts = (
        '<f:Assets contextRef="c" unitRef="EUR" decimals="0">5</f:Assets>'
        '<f:Revenue contextRef="g" unitRef="EUR" decimals="0">9</f:Revenue>'
    )
    unknown_scope = GROUP_MEMBER.replace("ConsolidatedMember", "CombinedMember")
    filing = tmp_path / "accounts.xml"
    filing.write_text(instance_xml(facts, dimensions=unknown_scope))
    _, lines = import_accounts("dk-comptes", [filing], tmp_path / "out")

    assert lines["code"].to_list() == ["TotalAssets"]


def test_a_gzipped_filing_needs_no_suffix_gz(tmp_path: Path) -> None:
    fact = '<f:Assets contextRef="c" unitRef="EUR" decimals="0">5</f:Assets>'
    filing = tmp_path / "accounts.xml"
    filing.write_bytes(gzip.compress(instance_xml(fact).encode()))
    _, lines = import_accounts("dk-comptes", [filing], tmp_path / "out")

    assert statement_values(lines, "24256790", 2024, "bilan_actif") == {"TotalAssets": 5.0}


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("24256790-2024.xml", "24256790"),
        ("20241231_annual_report.xml", None),  # a date, whose check digit is wrong
        ("21380067ABCDEFGHIJ34-2024-12-31.xml", None),  # an LEI
    ],
)
def test_a_number_at_the_beginning_of_a_file_name_is_that_of_a_company_only_if_it_can_be_one(
    tmp_path: Path, name: str, number: str | None
) -> None:
    file = tmp_path / name
    file.write_bytes(ESEF_FILING.read_bytes())
    report, lines = import_accounts("dk-comptes", [ARCHIVE, file], tmp_path / "out")

    assert report.counts.rejected == ({} if number else {"numéro de société absent": 1})
    assert lines["id"].n_unique() == 4 + bool(number)
    assert number is None or number in lines["id"]
