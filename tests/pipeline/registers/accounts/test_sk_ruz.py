"""Slovak statements, compared with the three of the excerpt and with their templates."""

import json
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipeline import importing
from pipeline.canonical import InputError
from pipeline.registers.accounts.sk_ruz import LAYOUTS
from tests.pipeline.registers.accounts.filed import RAW, counts, imported, values

Imported = tuple[importing.Report, pl.DataFrame]
ARCHIVE = RAW / "sk" / "ruz_excerpt.zip"
FULL, MICRO = "36319007", "54953006"  # M.J.K. - SLOVPIL s.r.o., r.s.p.; FORESTECH s. r. o.


@pytest.fixture(scope="module")
def excerpt(tmp_path_factory: pytest.TempPathFactory) -> Imported:
    return imported("sk-ruz", [ARCHIVE], tmp_path_factory.mktemp("sk"))


def member(name: str) -> Any:
    with zipfile.ZipFile(ARCHIVE) as archive:
        return json.loads(archive.read(name))


def test_both_templates_are_read_and_passed_over_themselves(excerpt: Imported) -> None:
    assert counts(excerpt[0]) == {
        "read": 5,
        "kept": 3,
        "dropped": {"modèle d'état (aucune donnée)": 2},
        "rejected": {},
    }


def test_assets_are_net_of_their_correction(excerpt: Imported) -> None:
    # The first row: gross 1 418 215, correction 366 908, net 1 051 307, net of 2022 949 885.
    assert values(excerpt[1], FULL, 2023, "bilan_actif")["TotalAssets"] == 1051307.0
    assert values(excerpt[1], FULL, 2022, "bilan_actif")["TotalAssets"] == 949885.0


def test_net_turnover_is_not_all_operating_income(excerpt: Imported) -> None:
    found = values(excerpt[1], FULL, 2023, "compte_resultat")

    assert found["TurnoverRevenue"] == 1950307.0
    assert found["OperatingIncome"] == 2005372.0
    assert (found["ProfitLossBeforeTax"], found["ProfitLoss"]) == (34838.0, 30719.0)


def test_the_turnover_of_a_micro_entity_is_the_sum_of_its_sales_and_says_so(
    excerpt: Imported,
) -> None:
    # Rows 2 and 3: goods 2 276, own products and services 12 132.
    turnover = excerpt[1].filter(pl.col("id") == MICRO, pl.col("code") == "TurnoverRevenue")

    assert turnover.select("exercice", "libelle", "valeur").rows() == [
        (2022, "Chiffre d'affaires (calculé)", 1000.0),
        (2023, "Chiffre d'affaires (calculé)", 14408.0),
    ]


@pytest.mark.parametrize("number", [FULL, MICRO, "50296353"])
@pytest.mark.parametrize("year", [2022, 2023])
def test_every_balance_sheet_closes(excerpt: Imported, number: str, year: int) -> None:
    assets = values(excerpt[1], number, year, "bilan_actif")["TotalAssets"]
    owed = values(excerpt[1], number, year, "bilan_passif")

    after = owed.get("AccruedLiabilitiesNotExpressedWithinCreditorsSubtotal", 0.0)
    assert assets == owed["LiabilitiesAndEquity"]
    assert owed["Equity"] + owed.get("Liabilities", 0.0) + after == assets


@pytest.mark.parametrize("template", LAYOUTS)
def test_the_layout_is_that_of_the_published_template(template: int) -> None:
    tables = member(f"sk_sablona_{template}.json")["tabulky"]

    assert [
        (rows[0]["cisloRiadku"], rows[-1]["cisloRiadku"], table["pocetDatovychStlpcov"])
        for table in tables
        if (rows := table["riadky"])
    ] == [(layout.first, layout.last, layout.columns) for layout in LAYOUTS[template]]


def changed(**values: Any) -> Any:
    statement = member("sk_54953006_MUJ.json")
    statement["obsah"]["titulnaStrana"].update(values.pop("title", {}))
    statement.update(values)
    return statement


@pytest.mark.parametrize(
    ("statement", "dropped", "rejected"),
    [
        (changed(idSablony=12), {}, {"modèle d'état inconnu": 1}),
        (changed(pristupnostDat="Neverejné"), {"données non publiques": 1}, {}),
        (changed(title={"typZavierky": "Priebežná"}), {"comptes intermédiaires": 1}, {}),
        (changed(title={"obdobieDo": None}), {}, {"date de clôture absente": 1}),
        (changed(title={"ico": None}), {}, {"numéro de société absent": 1}),
        (changed(obsah=None), {}, {"structure inattendue": 1}),
        ([1], {}, {"structure inattendue": 1}),
        (changed(idSablony=699), {}, {"tableau d'une autre taille que son modèle": 1}),
    ],
)
def test_a_statement_that_gives_nothing_does_not_stop_the_others(
    tmp_path: Path, statement: Any, dropped: dict[str, int], rejected: dict[str, int]
) -> None:
    file = tmp_path / "array.json"
    file.write_text(json.dumps([statement, member("sk_36319007_POD.json")]))
    report, lines = imported("sk-ruz", [file], tmp_path / "out")

    assert counts(report) == {"read": 2, "kept": 1, "dropped": dropped, "rejected": rejected}
    assert set(lines["id"]) == {FULL}


def test_a_damaged_file_is_rejected_by_name(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.json"
    damaged.write_text('{"idSablony": 687, ')
    report, _ = imported("sk-ruz", [damaged, ARCHIVE], tmp_path / "out")

    assert report.counts.rejected == {"pas un document JSON": 1}


def test_the_year_before_is_as_long_as_the_statement_says(tmp_path: Path) -> None:
    before = {"predchadzajuceObdobieOd": "2021-07", "predchadzajuceObdobieDo": "2021-12"}
    file = tmp_path / "statement.json"
    file.write_text(json.dumps(changed(title=before)))
    _, lines = imported("sk-ruz", [file], tmp_path / "out")

    assert set(lines["exercice"]) == {2021, 2023}
    months = lines.filter(pl.col("code") == "PeriodMonths")
    assert months.select("exercice", "valeur").rows() == [(2021, 6.0)]


def test_an_array_of_statements_that_is_cut_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(RAW / "sk" / "ruz_excerpt.zip") as archive:
        name = next(name for name in archive.namelist() if "36319007" in name)
        one = archive.read(name).decode()
    file = tmp_path / "a.json"
    file.write_text(f"[{one},{one[:-9]}")

    with pytest.raises(InputError, match=r"a\.json: no JSON.*download it again"):
        imported("sk-ruz", [file], tmp_path / "out")
