"""Slovak statements, compared with the three of the excerpt and with their templates."""

import json
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipeline.canonical import InputError
from pipeline.registers.accounts.sk_ruz import LAYOUTS
from tests.pipeline.registers.accounts.filed import (
    RAW,
    ImportedAccounts,
    import_accounts,
    outcome_counts,
    statement_values,
)

ARCHIVE = RAW / "sk" / "ruz_excerpt.zip"
# The companies with the full template and with that of micro entities.
FULL, MICRO = "36319007", "54953006"  # M.J.K. - SLOVPIL s.r.o., r.s.p.; FORESTECH s. r. o.


@pytest.fixture(scope="module")
def excerpt(tmp_path_factory: pytest.TempPathFactory) -> ImportedAccounts:
    """The imported excerpt."""
    return import_accounts("sk-ruz", [ARCHIVE], tmp_path_factory.mktemp("sk"))


def json_member(name: str) -> Any:
    """A JSON file of the excerpt."""
    with zipfile.ZipFile(ARCHIVE) as archive:
        return json.loads(archive.read(name))


def test_statements_of_both_templates_are_kept_and_the_templates_dropped(
    excerpt: ImportedAccounts,
) -> None:
    assert outcome_counts(excerpt.report) == {
        "read": 5,
        "kept": 3,
        "dropped": {"modèle d'état (aucune donnée)": 2},
        "rejected": {},
    }


def test_assets_are_the_net_amounts_after_correction(excerpt: ImportedAccounts) -> None:
    # The first row of the statement: gross 1 418 215, correction 366 908, net 1 051 307, net of 2022 949 885.
    assert statement_values(excerpt.lines, FULL, 2023, "bilan_actif")["TotalAssets"] == 1051307.0
    assert statement_values(excerpt.lines, FULL, 2022, "bilan_actif")["TotalAssets"] == 949885.0


def test_turnover_is_a_part_of_operating_income(excerpt: ImportedAccounts) -> None:
    lines = statement_values(excerpt.lines, FULL, 2023, "compte_resultat")

    assert lines["TurnoverRevenue"] == 1950307.0
    assert lines["OperatingIncome"] == 2005372.0
    assert (lines["ProfitLossBeforeTax"], lines["ProfitLoss"]) == (34838.0, 30719.0)


def test_the_turnover_of_a_micro_entity_is_the_sum_of_its_sales(
    excerpt: ImportedAccounts,
) -> None:
    # Sales of 2023 are in row 2 (goods, 2 276) and row 3 (own products and services, 12 132).
    turnover = excerpt.lines.filter(pl.col("id") == MICRO, pl.col("code") == "TurnoverRevenue")

    assert turnover.select("exercice", "libelle", "valeur").rows() == [
        (2022, "Chiffre d'affaires (calculé)", 1000.0),
        (2023, "Chiffre d'affaires (calculé)", 14408.0),
    ]


@pytest.mark.parametrize("number", [FULL, MICRO, "50296353"])
@pytest.mark.parametrize("year", [2022, 2023])
def test_both_sides_of_every_balance_sheet_are_equal(
    excerpt: ImportedAccounts, number: str, year: int
) -> None:
    assets = statement_values(excerpt.lines, number, year, "bilan_actif")["TotalAssets"]
    liabilities = statement_values(excerpt.lines, number, year, "bilan_passif")

    accruals = liabilities.get("AccruedLiabilitiesNotExpressedWithinCreditorsSubtotal", 0.0)
    assert assets == liabilities["LiabilitiesAndEquity"]
    assert liabilities["Equity"] + liabilities.get("Liabilities", 0.0) + accruals == assets


@pytest.mark.parametrize("template", LAYOUTS)
def test_layouts_have_the_rows_and_columns_of_the_published_templates(template: str) -> None:
    tables = json_member(f"sk_sablona_{template}.json")["tabulky"]

    # The first and last number of a row, and the number of columns, of each table with rows.
    assert [
        (rows[0]["cisloRiadku"], rows[-1]["cisloRiadku"], table["pocetDatovychStlpcov"])
        for table in tables
        if (rows := table["riadky"])
    ] == [(layout.first, layout.last, layout.columns) for layout in LAYOUTS[template]]


def changed_micro_statement(**values: Any) -> Any:
    """The statement of the micro entity with other `values`; `title` changes its title page."""
    statement = json_member("sk_54953006_MUJ.json")
    statement["obsah"]["titulnaStrana"].update(values.pop("title", {}))
    statement.update(values)
    return statement


@pytest.mark.parametrize(
    ("unusable_statement", "dropped", "rejected"),
    [
        (changed_micro_statement(idSablony=12), {}, {"modèle d'état inconnu": 1}),
        (changed_micro_statement(pristupnostDat="Neverejné"), {"données non publiques": 1}, {}),
        (
            changed_micro_statement(title={"typZavierky": "Priebežná"}),
            {"comptes intermédiaires": 1},
            {},
        ),
        (
            changed_micro_statement(title={"typZavierky": "priebežná"}),
            {"comptes intermédiaires": 1},
            {},
        ),
        (
            changed_micro_statement(title={"typZavierky": "Čiastková"}),
            {},
            {"nature de comptes inconnue": 1},
        ),
        (changed_micro_statement(title={"obdobieDo": None}), {}, {"date de clôture absente": 1}),
        (changed_micro_statement(title={"ico": None}), {}, {"numéro de société absent": 1}),
        (changed_micro_statement(obsah=None), {}, {"structure inattendue": 1}),
        ([1], {}, {"structure inattendue": 1}),
        (
            changed_micro_statement(idSablony=699),
            {},
            {"tableau d'une autre taille que son modèle": 1},
        ),
    ],
)
def test_an_unusable_statement_does_not_stop_the_import_of_the_next(
    tmp_path: Path, unusable_statement: Any, dropped: dict[str, int], rejected: dict[str, int]
) -> None:
    file = tmp_path / "array.json"
    file.write_text(json.dumps([unusable_statement, json_member("sk_36319007_POD.json")]))
    report, lines = import_accounts("sk-ruz", [file], tmp_path / "out")

    assert outcome_counts(report) == {
        "read": 2,
        "kept": 1,
        "dropped": dropped,
        "rejected": rejected,
    }
    assert set(lines["id"]) == {FULL}


def test_a_json_file_that_breaks_off_is_rejected_and_the_import_goes_on(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.json"
    damaged.write_text('{"idSablony": 687, ')
    report, _ = import_accounts("sk-ruz", [damaged, ARCHIVE], tmp_path / "out")

    assert report.counts.rejected == {"pas un document JSON": 1}


def test_the_year_before_is_as_long_as_the_statement_says(tmp_path: Path) -> None:
    previous_year = {"predchadzajuceObdobieOd": "2021-07", "predchadzajuceObdobieDo": "2021-12"}
    file = tmp_path / "statement.json"
    file.write_text(json.dumps(changed_micro_statement(title=previous_year)))
    _, lines = import_accounts("sk-ruz", [file], tmp_path / "out")

    assert set(lines["exercice"]) == {2021, 2023}
    months = lines.filter(pl.col("code") == "PeriodMonths")
    assert months.select("exercice", "valeur").rows() == [(2021, 6.0)]


def test_an_array_of_statements_that_is_cut_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(RAW / "sk" / "ruz_excerpt.zip") as archive:
        name = next(name for name in archive.namelist() if "36319007" in name)
        statement = archive.read(name).decode()
    file = tmp_path / "a.json"
    file.write_text(f"[{statement},{statement[:-9]}")

    with pytest.raises(InputError, match=r"a\.json: not JSON.*download it again"):
        import_accounts("sk-ruz", [file], tmp_path / "out")
