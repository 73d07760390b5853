"""French accounts in the layout of the RNE: invented deposits, with codes of boxes as in the official forms."""

import json
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipeline.canonical import InputError
from tests.pipeline.registers.accounts.filed import (
    import_accounts,
    outcome_counts,
    statement_values,
)

SIREN = "552059024"


def box(code: str, **amounts: int | str) -> dict[str, str]:
    """A box with its amounts m1 to m4 as published: 15 digits, a minus sign first. Texts stay unchanged."""
    return {"code": code} | {
        name: f"{'-' if value < 0 else ''}{abs(value):015}" if isinstance(value, int) else value
        for name, value in amounts.items()
    }


def deposit(*pages: list[dict[str, str]], **changed: Any) -> dict[str, Any]:
    """A public deposit of 2023 with these pages of boxes.

    `changed` replaces values of the deposit; `months` is the length of its fiscal year.
    """
    usual_values = {
        "siren": SIREN,
        "denomination": "SOCIÉTÉ D'ESSAI",
        "dateDepot": "2024-06-30",
        "dateCloture": "2023-12-31",
        "numChrono": "1",
        "confidentiality": "Public",
        "typeBilan": "C",
        "deleted": False,
    }
    months = changed.pop("months", "12")
    numbered_pages = [
        {"numero": number, "liasses": boxes} for number, boxes in enumerate(pages, start=1)
    ]
    identity = {"codeDevise": "EUR", "dureeExerciceN": months}
    bilan = {"identite": identity, "detail": {"pages": numbered_pages}}
    return usual_values | {"bilanSaisi": {"bilan": bilan}} | changed


# The pages of a full form and of a simplified form; m1 to m4 are the columns of a page.
FULL_FORM = [
    [
        box("AF", m1=90, m2=40, m3=50, m4=60),
        box("AH", m1=30, m3=30, m4=30),
        box("BJ", m1=120, m2=40, m3=80, m4=90),
        box("BX", m1=25, m2=5, m3=20, m4=10),
        box("CO", m1=145, m2=45, m3=100, m4=100),
    ],
    [box("DA", m1=37000, m2=37000), box("DL", m1=-60, m2=5), box("EE", m1=100, m2=100)],
    [
        box("FJ", m1=700, m2=300, m3=1000, m4=900),
        box("FY", m3=200, m4=180),
        box("FZ", m3=80, m4=70),
        box("GG", m3=-15, m4=12),
    ],
    [box("HK", m1=0, m2=3), box("HN", m1=-20, m2=9)],
    [box("YP", m1=12)],
]
SIMPLIFIED_FORM = [
    [box("044", m1=70, m2=20, m3=50, m4=60), box("110", m1=120, m2=20, m3=100, m4=110)],
    [box("210", m1=10, m2=8), box("218", m1=5), box("232", m1=99, m2=80), box("310", m1=2, m2=1)],
]


def pages_numbered(number: Any) -> dict[str, Any]:
    """The data of a form with one page, that of the turnover, with this number."""
    return {"bilan": {"detail": {"pages": [{"numero": number, "liasses": [box("FJ", m3=700)]}]}}}


def write_stock(path: Path, *deposits: dict[str, Any]) -> Path:
    """Write a zip of the stock (the published archive of filings) with these deposits to `path`; returns the path."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("stock_000001.json", json.dumps(deposits))
    return path


def test_the_amounts_of_the_full_form_are_in_the_columns_of_their_pages(tmp_path: Path) -> None:
    _, lines = import_accounts(
        "fr-comptes", [write_stock(tmp_path / "c.zip", deposit(*FULL_FORM))], tmp_path
    )

    assert statement_values(lines, SIREN, 2023, "bilan_actif") == {
        "IntangibleAssets": 80.0,
        "Goodwill": 30.0,
        "ConcessionsPatentsLicences": 50.0,
        "FixedAssets": 80.0,
        "Debtors": 20.0,
        "TradeDebtorsTradeReceivables": 20.0,
        "TotalAssets": 100.0,
    }
    assert statement_values(lines, SIREN, 2023, "bilan_passif")["Equity"] == -60.0
    assert statement_values(lines, SIREN, 2023, "compte_resultat") == {
        "TurnoverRevenue": 1000.0,
        "StaffCostsEmployeeBenefitsExpense": 280.0,
        "WagesSalaries": 200.0,
        "SocialSecurityCosts": 80.0,
        "OperatingProfitLoss": -15.0,
        "TaxTaxCreditOnProfitOrLossOnOrdinaryActivities": 0.0,
        "ProfitLoss": -20.0,
    }
    assert statement_values(lines, SIREN, 2022, "compte_resultat")["TurnoverRevenue"] == 900.0
    assert statement_values(lines, SIREN, 2022, "bilan_actif")["TotalAssets"] == 100.0


def test_the_turnover_of_a_simplified_form_is_the_sum_of_its_sales(tmp_path: Path) -> None:
    file = write_stock(tmp_path / "s.zip", deposit(*SIMPLIFIED_FORM, typeBilan="S"))
    _, lines = import_accounts("fr-comptes", [file], tmp_path)

    by_code = statement_values(lines, SIREN, 2023, "compte_resultat")
    assert (by_code["TurnoverRevenue"], by_code["OperatingIncome"]) == (15.0, 99.0)
    assert statement_values(lines, SIREN, 2022, "compte_resultat")["TurnoverRevenue"] == 8.0
    assert statement_values(lines, SIREN, 2023, "bilan_actif")["TotalAssets"] == 100.0
    label = lines.filter(pl.col("code") == "TurnoverRevenue")["libelle"]
    assert set(label) == {"Chiffre d'affaires (calculé)"}


def test_consolidated_accounts_have_the_codes_of_group_accounts(tmp_path: Path) -> None:
    pages = [[], [], [box("FJ", m3=25287000, m4=1)], [box("R6", m1=4), box("R8", m1=3)]]
    file = write_stock(tmp_path / "k.zip", deposit(*pages, typeBilan="K"), deposit(*FULL_FORM))
    _, lines = import_accounts("fr-comptes", [file], tmp_path)

    by_code = statement_values(lines, SIREN, 2023, "compte_resultat")
    assert (by_code["TurnoverRevenue"], by_code["TurnoverRevenueConsolidated"]) == (
        1000.0,
        25287000.0,
    )
    assert by_code["ProfitLossConsolidated"] == 3.0


@pytest.mark.parametrize(
    ("months", "closing", "year_before"),
    [("12", "2023-12-31", 2022), ("18", "2023-06-30", 2021), ("06", "2023-12-31", 2023)],
)
def test_the_previous_closing_date_is_earlier_by_the_months_of_the_fiscal_year(
    tmp_path: Path, months: str, closing: str, year_before: int
) -> None:
    changed_deposit = deposit(*FULL_FORM, months=months, dateCloture=closing)
    _, lines = import_accounts(
        "fr-comptes", [write_stock(tmp_path / "c.zip", changed_deposit)], tmp_path
    )

    # The later of two closings in a calendar year counts, so the case of six months gives only 2023.
    assert set(lines["exercice"]) == {year_before, 2023}


@pytest.mark.parametrize(
    ("unusable_deposit", "dropped", "rejected"),
    [
        (deposit(*FULL_FORM, confidentiality="Confidentiel"), {"comptes confidentiels": 1}, {}),
        (deposit(*FULL_FORM, deleted=True), {"dépôt supprimé": 1}, {}),
        (deposit(*FULL_FORM, deleted="True"), {"dépôt supprimé": 1}, {}),
        (deposit(*FULL_FORM, deleted="peut-être"), {}, {"structure inattendue": 1}),
        (deposit(bilanSaisi=pages_numbered("trois")), {}, {"nombre illisible": 1}),
        (deposit(bilanSaisi=pages_numbered(None)), {}, {"nombre illisible": 1}),
        (deposit(*FULL_FORM, typeBilan="B"), {}, {"type de bilan inconnu": 1}),
        (deposit(*FULL_FORM, dateCloture="31/12/2023"), {}, {"date de clôture absente": 1}),
        (deposit(), {}, {"dépôt sans page saisie": 1}),
        (deposit([box("CO", m3="O00000000000100")]), {}, {"nombre illisible": 1}),
        (deposit(*FULL_FORM, siren=""), {}, {"numéro de société absent": 1}),
        (deposit(*FULL_FORM, bilanSaisi="texte"), {}, {"structure inattendue": 1}),
        (deposit(*FULL_FORM, months="999999"), {}, {"structure inattendue": 1}),
        (["a list"], {}, {"structure inattendue": 1}),
    ],
)
def test_an_unusable_deposit_does_not_stop_the_import_of_the_next(
    tmp_path: Path,
    unusable_deposit: dict[str, Any],
    dropped: dict[str, int],
    rejected: dict[str, int],
) -> None:
    file = write_stock(
        tmp_path / "stock.zip", unusable_deposit, deposit(*FULL_FORM, siren="732829320")
    )
    report, lines = import_accounts("fr-comptes", [file], tmp_path / "out")

    assert outcome_counts(report) == {
        "read": 2,
        "kept": 1,
        "dropped": dropped,
        "rejected": rejected,
    }
    assert set(lines["id"]) == {"732829320"}


@pytest.mark.parametrize("numbers", [("999", "1000"), (999, 1000)])
def test_of_two_deposits_of_a_day_the_one_with_the_higher_number_counts(
    tmp_path: Path, numbers: tuple[Any, Any]
) -> None:
    first, second = numbers
    file = write_stock(
        tmp_path / "stock.zip",
        deposit([], [], [box("FJ", m3=2222)], numChrono=second),
        deposit([], [], [box("FJ", m3=1111)], numChrono=first),
    )
    _, lines = import_accounts("fr-comptes", [file], tmp_path / "out")

    assert lines.select("code", "valeur").rows() == [("TurnoverRevenue", 2222.0)]


def test_words_in_another_case_and_the_number_of_a_page_as_text_are_read(tmp_path: Path) -> None:
    words = {"confidentiality": "PUBLIC", "deleted": "false"}
    file = write_stock(tmp_path / "s.zip", deposit(bilanSaisi=pages_numbered("3"), **words))
    _, lines = import_accounts("fr-comptes", [file], tmp_path / "out")

    assert lines.select("code", "valeur").rows() == [("TurnoverRevenue", 700.0)]


def test_a_damaged_file_of_the_stock_stops_the_import(tmp_path: Path) -> None:
    file = tmp_path / "stock_000001.json"
    file.write_text("[" + json.dumps(deposit(*FULL_FORM)))

    with pytest.raises(InputError, match=r"stock_000001\.json: .*; download it again"):
        import_accounts("fr-comptes", [file], tmp_path / "out")
