"""French accounts in the layout of the RNE; no real deposit is bundled, the boxes are the forms'."""

import json
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipeline.canonical import InputError
from tests.pipeline.registers.accounts.filed import counts, imported, values

SIREN = "552059024"


def box(code: str, **amounts: int | str) -> dict[str, str]:
    """A box as published: 15 digits, the sign first."""
    return {"code": code} | {
        name: f"{'-' if value < 0 else ''}{abs(value):015}" if isinstance(value, int) else value
        for name, value in amounts.items()
    }


def deposit(*pages: list[dict[str, str]], **changed: Any) -> dict[str, Any]:
    """A deposit of 2023; keywords change its head."""
    usual = {
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
    keyed = [{"numero": at, "liasses": boxes} for at, boxes in enumerate(pages, start=1)]
    head = {"codeDevise": "EUR", "dureeExerciceN": months}
    bilan = {"identite": head, "detail": {"pages": keyed}}
    return usual | {"bilanSaisi": {"bilan": bilan}} | changed


FULL = [
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
SIMPLIFIED = [
    [box("044", m1=70, m2=20, m3=50, m4=60), box("110", m1=120, m2=20, m3=100, m4=110)],
    [box("210", m1=10, m2=8), box("218", m1=5), box("232", m1=99, m2=80), box("310", m1=2, m2=1)],
]


def published(path: Path, *deposits: dict[str, Any]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("stock_000001.json", json.dumps(deposits))
    return path


def test_each_page_of_the_full_form_has_its_own_column_of_the_year(tmp_path: Path) -> None:
    _, lines = imported("fr-comptes", [published(tmp_path / "c.zip", deposit(*FULL))], tmp_path)

    assert values(lines, SIREN, 2023, "bilan_actif") == {
        "IntangibleAssets": 80.0,
        "Goodwill": 30.0,
        "ConcessionsPatentsLicences": 50.0,
        "FixedAssets": 80.0,
        "Debtors": 20.0,
        "TradeDebtorsTradeReceivables": 20.0,
        "TotalAssets": 100.0,
    }
    assert values(lines, SIREN, 2023, "bilan_passif")["Equity"] == -60.0
    assert values(lines, SIREN, 2023, "compte_resultat") == {
        "TurnoverRevenue": 1000.0,
        "StaffCostsEmployeeBenefitsExpense": 280.0,
        "WagesSalaries": 200.0,
        "SocialSecurityCosts": 80.0,
        "OperatingProfitLoss": -15.0,
        "TaxTaxCreditOnProfitOrLossOnOrdinaryActivities": 0.0,
        "ProfitLoss": -20.0,
    }
    assert values(lines, SIREN, 2022, "compte_resultat")["TurnoverRevenue"] == 900.0
    assert values(lines, SIREN, 2022, "bilan_actif")["TotalAssets"] == 100.0


def test_the_turnover_of_a_simplified_form_is_the_sum_of_its_sales(tmp_path: Path) -> None:
    file = published(tmp_path / "s.zip", deposit(*SIMPLIFIED, typeBilan="S"))
    _, lines = imported("fr-comptes", [file], tmp_path)

    found = values(lines, SIREN, 2023, "compte_resultat")
    assert (found["TurnoverRevenue"], found["OperatingIncome"]) == (15.0, 99.0)
    assert values(lines, SIREN, 2022, "compte_resultat")["TurnoverRevenue"] == 8.0
    assert values(lines, SIREN, 2023, "bilan_actif")["TotalAssets"] == 100.0
    label = lines.filter(pl.col("code") == "TurnoverRevenue")["libelle"]
    assert set(label) == {"Chiffre d'affaires (calculé)"}


def test_consolidated_accounts_are_those_of_the_group(tmp_path: Path) -> None:
    pages = [[], [], [box("FJ", m3=25287000, m4=1)], [box("R6", m1=4), box("R8", m1=3)]]
    file = published(tmp_path / "k.zip", deposit(*pages, typeBilan="K"), deposit(*FULL))
    _, lines = imported("fr-comptes", [file], tmp_path)

    found = values(lines, SIREN, 2023, "compte_resultat")
    assert (found["TurnoverRevenue"], found["TurnoverRevenueConsolidated"]) == (1000.0, 25287000.0)
    assert found["ProfitLossConsolidated"] == 3.0


@pytest.mark.parametrize(
    ("months", "closing", "before"),
    [("12", "2023-12-31", 2022), ("18", "2023-06-30", 2021), ("06", "2023-12-31", 2023)],
)
def test_the_year_before_closed_as_many_months_earlier_as_the_year_has(
    tmp_path: Path, months: str, closing: str, before: int
) -> None:
    account = deposit(*FULL, months=months, dateCloture=closing)
    _, lines = imported("fr-comptes", [published(tmp_path / "c.zip", account)], tmp_path)

    # Of two closings in one calendar year the later one counts.
    assert set(lines["exercice"]) == {before, 2023}


@pytest.mark.parametrize(
    ("account", "dropped", "rejected"),
    [
        (deposit(*FULL, confidentiality="Confidentiel"), {"comptes confidentiels": 1}, {}),
        (deposit(*FULL, deleted=True), {"dépôt supprimé": 1}, {}),
        (deposit(*FULL, typeBilan="B"), {}, {"type de bilan inconnu": 1}),
        (deposit(*FULL, dateCloture="31/12/2023"), {}, {"date de clôture absente": 1}),
        (deposit(), {}, {"dépôt sans page saisie": 1}),
        (deposit([box("CO", m3="O00000000000100")]), {}, {"nombre illisible": 1}),
        (deposit(*FULL, siren=""), {}, {"numéro de société absent": 1}),
        (deposit(*FULL, bilanSaisi="texte"), {}, {"structure inattendue": 1}),
        (deposit(*FULL, months="999999"), {}, {"structure inattendue": 1}),
        (["a list"], {}, {"structure inattendue": 1}),
    ],
)
def test_a_deposit_that_gives_nothing_does_not_stop_the_others(
    tmp_path: Path, account: dict[str, Any], dropped: dict[str, int], rejected: dict[str, int]
) -> None:
    file = published(tmp_path / "stock.zip", account, deposit(*FULL, siren="732829320"))
    report, lines = imported("fr-comptes", [file], tmp_path / "out")

    assert counts(report) == {"read": 2, "kept": 1, "dropped": dropped, "rejected": rejected}
    assert set(lines["id"]) == {"732829320"}


def test_a_damaged_file_of_the_stock_stops_the_import(tmp_path: Path) -> None:
    file = tmp_path / "stock_000001.json"
    file.write_text("[" + json.dumps(deposit(*FULL)))

    with pytest.raises(InputError, match=r"stock_000001\.json: .*; download it again"):
        imported("fr-comptes", [file], tmp_path / "out")
