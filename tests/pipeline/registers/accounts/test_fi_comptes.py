"""Finnish accounts, compared with the three filings of the excerpt."""

from pathlib import Path

import pytest

from tests.pipeline.registers.accounts.filed import (
    RAW,
    ImportedAccounts,
    import_accounts,
    instance_xml,
    outcome_counts,
    statement_values,
)

SCHOOL = "2919415-2"  # New Nordic School Suomi Oy
HOUSING = "0100843-4"  # Mittaritalo Oy
# Concept di121 is the closing date.
CLOSING_FACT = '<f:di121 contextRef="c">2024-12-31</f:di121>'


@pytest.fixture(scope="module")
def excerpt(tmp_path_factory: pytest.TempPathFactory) -> ImportedAccounts:
    """The imported excerpt."""
    return import_accounts(
        "fi-comptes", [RAW / "fi" / "prh_xbrl_excerpt.zip"], tmp_path_factory.mktemp("fi")
    )


def test_costs_are_positive_although_published_negative(
    excerpt: ImportedAccounts,
) -> None:
    assert statement_values(excerpt.lines, SCHOOL, 2024, "compte_resultat") == {
        "TurnoverRevenue": 481773.33,
        "OtherOperatingIncome": 300.0,
        "RawMaterialsConsumablesUsed": 34253.72,
        "StaffCostsEmployeeBenefitsExpense": 326911.86,
        "WagesSalaries": 279487.31,
        "SocialSecurityCosts": 5450.02,
        "PensionCosts": 41974.53,
        "DepreciationAmortisationImpairment": 1304.55,
        "OtherOperatingExpenses": 47054.08,
        "OperatingProfitLoss": 72549.12,
        "OtherInterestReceivableSimilarIncomeFinanceIncome": 25.0,
        "InterestPayableSimilarChargesFinanceCosts": 0.1,
        "NetFinancialResult": 24.9,
        "ProfitLossBeforeTax": 72574.02,
        "TaxTaxCreditOnProfitOrLossOnOrdinaryActivities": 15013.72,
        "ProfitLoss": 57560.3,
    }


@pytest.mark.parametrize("number", [SCHOOL, HOUSING, "0100379-9"])
@pytest.mark.parametrize("years_before", [0, 1])
def test_equity_and_creditors_are_equal_to_total_assets(
    excerpt: ImportedAccounts, number: str, years_before: int
) -> None:
    year = (2024 if number == SCHOOL else 2023) - years_before
    assets = statement_values(excerpt.lines, number, year, "bilan_actif")
    liabilities = statement_values(excerpt.lines, number, year, "bilan_passif")

    total = assets.get("FixedAssets", 0) + assets["CurrentAssets"]
    assert total == pytest.approx(assets["TotalAssets"], abs=0.01)
    assert liabilities["Equity"] + liabilities["Creditors"] == pytest.approx(
        assets["TotalAssets"], abs=0.01
    )


def test_the_equity_of_an_indebted_company_is_negative(
    excerpt: ImportedAccounts,
) -> None:
    liabilities = statement_values(excerpt.lines, HOUSING, 2023, "bilan_passif")

    assert liabilities["Equity"] == -59015.4
    assert liabilities["ProfitLossForYearWithinEquity"] == -1576.56
    assert outcome_counts(excerpt.report) == {"read": 3, "kept": 3, "dropped": {}, "rejected": {}}


def test_group_accounts_have_codes_of_their_own(tmp_path: Path) -> None:
    dimension = '<xbrldi:explicitMember dimension="d:MCY">d:x673</xbrldi:explicitMember>'
    turnover = '<f:md103 contextRef="g" unitRef="EUR" decimals="2">7.5</f:md103>'
    schema = (
        '<l:schemaRef xmlns:l="http://www.xbrl.org/2003/linkbase" xmlns:x='
        '"http://www.w3.org/1999/xlink" x:href="http://example.org/mod/oytp_gaap_con.xsd"/>'
    )
    filing = tmp_path / "group.xml"
    filing.write_text(
        instance_xml(schema + CLOSING_FACT + turnover, number="0112038-9", dimensions=dimension)
    )

    _, lines = import_accounts("fi-comptes", [filing], tmp_path / "out")
    assert lines.select("code", "libelle", "valeur").rows() == [
        ("TurnoverRevenueConsolidated", "Chiffre d'affaires (comptes consolidés)", 7.5)
    ]
