"""Luxembourg accounts, compared with the three declarers of the excerpt."""

from pathlib import Path

import polars as pl
import pytest

from pipeline import importing
from pipeline.canonical import InputError
from tests.pipeline.registers.accounts.filed import RAW, counts, imported, values

Imported = tuple[importing.Report, pl.DataFrame]
FERRERO, KROKUS, ABRIDGED = "B60814", "B138357", "B154370"


@pytest.fixture(scope="module")
def excerpt(tmp_path_factory: pytest.TempPathFactory) -> Imported:
    file = RAW / "lu" / "centrale_des_bilans_excerpt.zip"
    return imported("lu-comptes", [file], tmp_path_factory.mktemp("lu"))


def quarter(path: Path, *declarations: str) -> Path:
    path.write_text(
        "<STATECCDBDeclarations><Declarer><RcsNumber>B1</RcsNumber>"
        + "".join(declarations)
        + "</Declarer></STATECCDBDeclarations>"
    )
    return path


def declaration(form: str, start: str = "2024-01-01", **fields: str) -> str:
    amounts = "".join(
        f'<Field ecdf="{code[1:]}"><Data>{value}</Data><PreviousData/></Field>'
        for code, value in fields.items()
    )
    return (
        f'<Declaration type="{form}"><StartDate>{start}</StartDate><EndDate>2024-12-31</EndDate>'
        f"<Currency>EUR</Currency><FormData>{amounts}</FormData></Declaration>"
    )


def test_costs_of_the_forms_since_2016_are_positive_although_published_negative(
    excerpt: Imported,
) -> None:
    assert counts(excerpt[0]) == {"read": 6, "kept": 6, "dropped": {}, "rejected": {}}
    assert values(excerpt[1], FERRERO, 2021, "compte_resultat") == {
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


def test_costs_of_the_older_forms_are_positive_as_published(excerpt: Imported) -> None:
    found = values(excerpt[1], KROKUS, 2011, "compte_resultat")

    assert found["StaffCostsEmployeeBenefitsExpense"] == 45534.48
    assert found["TotalIncome"] == found["TotalExpenses"] == 255023.84
    assert found["ProfitLoss"] == 24384.16  # 639; 735 is 0


def test_an_abridged_form_has_a_gross_result_and_no_turnover(excerpt: Imported) -> None:
    found = values(excerpt[1], ABRIDGED, 2020, "compte_resultat")

    assert (found["GrossProfitLoss"], found["ProfitLoss"]) == (-67346.13, -44229.7)
    assert "TurnoverRevenue" not in found


@pytest.mark.parametrize(
    ("number", "year"),
    [(FERRERO, 2021), (FERRERO, 2020), (KROKUS, 2011), (KROKUS, 2010), (ABRIDGED, 2020)],
)
def test_every_balance_sheet_closes(excerpt: Imported, number: str, year: int) -> None:
    assets = values(excerpt[1], number, year, "bilan_actif")
    owed = values(excerpt[1], number, year, "bilan_passif")

    parts = ("Equity", "ProvisionsForLiabilities", "Creditors")
    after = owed.get("AccruedLiabilitiesNotExpressedWithinCreditorsSubtotal", 0.0)
    assert owed["LiabilitiesAndEquity"] == assets["TotalAssets"]
    assert sum(owed.get(part, 0.0) for part in parts) + after == pytest.approx(
        assets["TotalAssets"], abs=1
    )


def test_a_loss_of_an_older_form_is_negative(tmp_path: Path) -> None:
    file = quarter(tmp_path / "q.xml", declaration("CA_COMPP", c639="0.00", c735="120.50"))
    _, lines = imported("lu-comptes", [file], tmp_path / "out")

    assert values(lines, "B1", 2024, "compte_resultat") == {"ProfitLoss": -120.5}


def test_other_declarations_are_dropped_and_a_damaged_one_is_rejected(tmp_path: Path) -> None:
    file = quarter(
        tmp_path / "q.xml",
        declaration("CA_PLANCOMPTA", c201="1"),
        declaration("CA_BILAN", start="", c201="1"),
        declaration("CA_BILAN", c201="12,5"),
        declaration("CA_BILAN", c201="5"),
    )
    report, lines = imported("lu-comptes", [file], tmp_path / "out")

    assert counts(report) == {
        "read": 4,
        "kept": 1,
        "dropped": {"déclaration d'un autre type": 1},
        "rejected": {"date de clôture absente": 1, "nombre illisible": 1},
    }
    assert lines["valeur"].to_list() == [5.0]


def test_a_quarterly_file_that_ends_early_stops_the_import(tmp_path: Path) -> None:
    file = quarter(tmp_path / "q.xml", declaration("CA_BILAN", c201="5"))
    file.write_text(file.read_text()[:-20])

    with pytest.raises(InputError, match=r"q\.xml: no XML: .*; download it again"):
        imported("lu-comptes", [file], tmp_path / "out")
