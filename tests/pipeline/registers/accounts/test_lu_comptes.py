"""Luxembourg accounts, compared with the three declarers of the excerpt."""

from pathlib import Path

import pytest

from pipeline.canonical import InputError
from tests.pipeline.registers.accounts.filed import (
    RAW,
    ImportedAccounts,
    import_accounts,
    outcome_counts,
    statement_values,
)

# Three companies of the excerpt; the third files abridged accounts.
FERRERO, KROKUS, ABRIDGED = "B60814", "B138357", "B154370"


@pytest.fixture(scope="module")
def excerpt(tmp_path_factory: pytest.TempPathFactory) -> ImportedAccounts:
    """The imported excerpt."""
    file = RAW / "lu" / "centrale_des_bilans_excerpt.zip"
    return import_accounts("lu-comptes", [file], tmp_path_factory.mktemp("lu"))


def write_quarterly_file(path: Path, *declarations: str) -> Path:
    """A quarterly file with these declarations of the company B1."""
    path.write_text(
        "<STATECCDBDeclarations><Declarer><RcsNumber>B1</RcsNumber>"
        + "".join(declarations)
        + "</Declarer></STATECCDBDeclarations>"
    )
    return path


def declaration_xml(form: str, start: str = "2024-01-01", **fields: str) -> str:
    """A declaration of 2024 on the form `form`; `c201="5"` fills the field 201."""
    amounts = "".join(
        f'<Field ecdf="{code[1:]}"><Data>{value}</Data><PreviousData/></Field>'
        for code, value in fields.items()
    )
    return (
        f'<Declaration type="{form}"><StartDate>{start}</StartDate><EndDate>2024-12-31</EndDate>'
        f"<Currency>EUR</Currency><FormData>{amounts}</FormData></Declaration>"
    )


def test_costs_of_the_forms_since_2016_are_positive_although_published_negative(
    excerpt: ImportedAccounts,
) -> None:
    assert outcome_counts(excerpt.report) == {"read": 6, "kept": 6, "dropped": {}, "rejected": {}}
    assert statement_values(excerpt.lines, FERRERO, 2021, "compte_resultat") == {
        "TurnoverRevenue": 237229504.0,
        "OtherOperatingIncome": 10434393.0,
        "OtherExternalCharges": 235404393.0,
        "StaffCostsEmployeeBenefitsExpense": 48258181.0,
        "WagesSalaries": 36809538.0,
        "SocialSecurityCosts": 11448643.0,
        "DepreciationAmortisationImpairment": 51509751.0,
        "OtherOperatingExpenses": 38739698.0,
        "IncomeFromParticipatingInterests": 1014702785.0,
        "OtherInterestReceivableSimilarIncomeFinanceIncome": 5203996.0,
        "OtherFinancialIncome": 61491711.0,
        "ImpairmentFinancialAssets": 16670791.0,
        "InterestPayableSimilarChargesFinanceCosts": 153611574.0,
        "TaxTaxCreditOnProfitOrLossOnOrdinaryActivities": 107661564.0,
        "ProfitLoss": 677206437.0,
    }


def test_costs_of_the_older_forms_are_positive_as_published(excerpt: ImportedAccounts) -> None:
    lines = statement_values(excerpt.lines, KROKUS, 2011, "compte_resultat")

    assert lines["StaffCostsEmployeeBenefitsExpense"] == 45534.48
    assert lines["TotalIncome"] == lines["TotalExpenses"] == 255023.84
    assert lines["ProfitLoss"] == 24384.16  # field 639; field 735, for a loss, is 0


def test_an_abridged_form_has_a_gross_result_and_no_turnover(excerpt: ImportedAccounts) -> None:
    lines = statement_values(excerpt.lines, ABRIDGED, 2020, "compte_resultat")

    assert (lines["GrossProfitLoss"], lines["ProfitLoss"]) == (-67346.13, -44229.7)
    assert "TurnoverRevenue" not in lines


@pytest.mark.parametrize(
    ("number", "year"),
    [(FERRERO, 2021), (FERRERO, 2020), (KROKUS, 2011), (KROKUS, 2010), (ABRIDGED, 2020)],
)
def test_both_sides_of_every_balance_sheet_are_equal(
    excerpt: ImportedAccounts, number: str, year: int
) -> None:
    assets = statement_values(excerpt.lines, number, year, "bilan_actif")
    liabilities = statement_values(excerpt.lines, number, year, "bilan_passif")

    parts = ("Equity", "ProvisionsForLiabilities", "Creditors")
    accruals = liabilities.get("AccruedLiabilitiesNotExpressedWithinCreditorsSubtotal", 0.0)
    assert liabilities["LiabilitiesAndEquity"] == assets["TotalAssets"]
    assert sum(liabilities.get(part, 0.0) for part in parts) + accruals == pytest.approx(
        assets["TotalAssets"], abs=1
    )


def test_a_loss_of_an_older_form_is_negative(tmp_path: Path) -> None:
    file = write_quarterly_file(
        tmp_path / "q.xml", declaration_xml("CA_COMPP", c639="0.00", c735="120.50")
    )
    _, lines = import_accounts("lu-comptes", [file], tmp_path / "out")

    assert statement_values(lines, "B1", 2024, "compte_resultat") == {"ProfitLoss": -120.5}


def test_other_types_of_declaration_are_dropped_and_damaged_declarations_rejected(
    tmp_path: Path,
) -> None:
    file = write_quarterly_file(
        tmp_path / "q.xml",
        declaration_xml("CA_PLANCOMPTA", c201="1"),
        declaration_xml("CA_BILAN", start="", c201="1"),
        declaration_xml("CA_BILAN", c201="12,5"),
        declaration_xml("CA_BILAN", c201="6").replace("<Currency>EUR</Currency>", ""),
        declaration_xml("CA_BILAN", c201="5"),
    )
    report, lines = import_accounts("lu-comptes", [file], tmp_path / "out")

    assert outcome_counts(report) == {
        "read": 5,
        "kept": 1,
        "dropped": {"déclaration d'un autre type": 1},
        "rejected": {"date de clôture absente": 1, "devise absente": 1, "nombre illisible": 1},
    }
    assert lines["valeur"].to_list() == [5.0]


def test_of_two_declarations_of_a_day_the_one_with_the_higher_number_counts(
    tmp_path: Path,
) -> None:
    deposit = "<RCSDepositDate>2025-01-10T14:20:03Z</RCSDepositDate><ID_Doc>{}</ID_Doc><FormData>"
    later, earlier = (
        declaration_xml("CA_BILAN", c201=amount).replace("<FormData>", deposit.format(number))
        for amount, number in (("2222", 1000), ("1111", 999))
    )
    file = write_quarterly_file(tmp_path / "q.xml", later, earlier)
    _, lines = import_accounts("lu-comptes", [file], tmp_path / "out")

    assert lines["valeur"].to_list() == [2222.0]


def test_a_quarterly_file_that_ends_early_stops_the_import(tmp_path: Path) -> None:
    file = write_quarterly_file(tmp_path / "q.xml", declaration_xml("CA_BILAN", c201="5"))
    file.write_text(file.read_text()[:-20])

    with pytest.raises(InputError, match=r"q\.xml: no XML: .*; download it again"):
        import_accounts("lu-comptes", [file], tmp_path / "out")
