"""Danish accounts, compared with the filings of the excerpt; group accounts, with small ones."""

import gzip
from pathlib import Path

import polars as pl
import pytest

from pipeline import importing
from tests.pipeline.registers.accounts.filed import RAW, counts, imported, instance, values

ARCHIVE = RAW / "dk" / "virk_excerpt.zip"
# A made-up filing that does not name its company.
ESEF = Path(__file__).with_name("dk_esef_slice.xml")
TAXI = "42710644"  # Taxikørsel 011 ApS
GROUP = (
    '<xbrldi:explicitMember dimension="cmn:ConsolidatedSoloDimension">cmn:ConsolidatedMember'
    "</xbrldi:explicitMember>"
)


@pytest.fixture(scope="module")
def excerpt(tmp_path_factory: pytest.TempPathFactory) -> tuple[importing.Report, pl.DataFrame]:
    return imported("dk-comptes", [ARCHIVE, ESEF], tmp_path_factory.mktemp("dk"))


def test_a_filing_gives_both_years_in_kroner(
    excerpt: tuple[importing.Report, pl.DataFrame],
) -> None:
    assert values(excerpt[1], TAXI, 2025, "bilan_passif") == {
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
    assert values(excerpt[1], TAXI, 2024, "bilan_actif")["TotalAssets"] == 307596.0
    assert set(excerpt[1].filter(pl.col("etat") != "annexe")["devise"]) == {"DKK"}


def test_gross_profit_is_no_turnover(excerpt: tuple[importing.Report, pl.DataFrame]) -> None:
    found = values(excerpt[1], TAXI, 2025, "compte_resultat")

    assert "TurnoverRevenue" not in found
    assert (found["GrossProfitLoss"], found["ProfitLoss"]) == (1335417.0, 63109.0)
    assert found["TaxTaxCreditOnProfitOrLossOnOrdinaryActivities"] == -13582.0  # a tax income
    # Sneaks2Peak stated its turnover of 2024 and not that of 2025.
    assert values(excerpt[1], "42566551", 2024, "compte_resultat")["TurnoverRevenue"] == 36536.0


def test_a_filing_without_company_number_is_rejected_with_what_it_has(
    excerpt: tuple[importing.Report, pl.DataFrame],
) -> None:
    assert counts(excerpt[0]) == {
        "read": 5,
        "kept": 4,
        "dropped": {},
        "rejected": {"numéro de société absent": 1},
    }


def test_an_ifrs_filing_named_by_its_company_gives_group_accounts(tmp_path: Path) -> None:
    # «Assets 1,000,000 = Equity 600,000 + Liabilities 400,000»; a part of equity is no total.
    filing = tmp_path / "24256790-2025.xml"
    filing.write_bytes(ESEF.read_bytes())
    report, lines = imported("dk-comptes", [filing], tmp_path / "out")

    assert values(lines, "24256790", 2025, "bilan_actif")["TotalAssetsConsolidated"] == 1e6
    assert values(lines, "24256790", 2025, "compte_resultat")["TurnoverRevenueConsolidated"] == 2e6
    assert all(code.endswith("Consolidated") for code in lines["code"])
    assert report.counts.detail["faits ventilés (le total est repris)"] == 1


def test_a_filing_with_both_accounts_keeps_them_apart(tmp_path: Path) -> None:
    own = '<f:Revenue contextRef="p" unitRef="EUR" decimals="0">1</f:Revenue>'
    group = '<f:Revenue contextRef="g" unitRef="EUR" decimals="0">9</f:Revenue>'
    filing = tmp_path / "accounts.xml"
    filing.write_text(instance(own + group, dimensions=GROUP))
    _, lines = imported("dk-comptes", [filing], tmp_path / "out")

    assert values(lines, "24256790", 2024, "compte_resultat") == {
        "TurnoverRevenue": 1.0,
        "TurnoverRevenueConsolidated": 9.0,
    }


def test_a_packed_filing_needs_no_suffix_that_says_so(tmp_path: Path) -> None:
    fact = '<f:Assets contextRef="c" unitRef="EUR" decimals="0">5</f:Assets>'
    filing = tmp_path / "accounts.xml"
    filing.write_bytes(gzip.compress(instance(fact).encode()))
    _, lines = imported("dk-comptes", [filing], tmp_path / "out")

    assert values(lines, "24256790", 2024, "bilan_actif") == {"TotalAssets": 5.0}
