"""Key figures, statement lines and ratios of a workbook, compared with the values of the API."""

import re
from pathlib import Path
from typing import Any

import pytest

from serve.contract import seed_tables
from serve.features.export.workbook import company_accounts
from shards.ratios import accounts
from shards.ratios.ratio_table import MONTHS, ratios
from tests.serve.features.export.workbook.workbooks import (
    ACCOUNTS,
    PLANS,
    WorkbookFile,
    make_workbook,
    scaled_figures,
    sheet_rows,
    statement_lines,
)
from tests.serve.world import WITH_STATEMENTS

BRITISH = ("UK", "08209948")
# The quotients; an entry of `ratios` may also be an amount, such as the turnover.
RATIOS_WITHOUT_AMOUNTS = [ratio for ratio in ratios().values() if not ratio.is_amount]


def company_rows(file: WorkbookFile, sheet: str, key: tuple[str, str]) -> list[dict[str, Any]]:
    """The rows of a company in a sheet, with the values of formulas."""
    table = sheet_rows(file.values[sheet])
    return [row for row in table if (row["Pays"], row["Identifiant"]) == key]


def euros_per_unit(devise: str, year: int) -> float:
    """Euros for one unit of a currency, at the rate of a year."""
    return 1.0 if devise == "EUR" else 1 / seed_tables.rates()[devise, year].taux


@pytest.mark.parametrize(
    ("key", "devise", "last_year"), [(WITH_STATEMENTS, "EUR", 2024), (BRITISH, "GBP", 2023)]
)
def test_key_figures_are_five_years_in_euros_at_the_rate_of_each_year(
    full_workbook: WorkbookFile, key: tuple[str, str], devise: str, last_year: int
) -> None:
    """The column N is the last year, N-1 the year before; an unknown year is empty"""
    (row,) = company_rows(full_workbook, "Chiffres clés", key)
    values_by_year = accounts.values(accounts.accounts_by_year(ACCOUNTS[key]))

    assert (row["Dernier exercice (N)"], row["Devise"]) == (last_year, devise)
    for ratio in ratios().values():
        if ratio.unite != "montant" or ratio.annual:
            continue
        for years_back in range(5):
            value = (
                values_by_year[last_year - years_back][ratio.code].value
                if last_year - years_back in values_by_year
                else None
            )
            cell = row[f"{ratio.libelle['fr']} N{f'-{years_back}' if years_back else ''} (EUR)"]
            expected = (
                None if value is None else value * euros_per_unit(devise, last_year - years_back)
            )
            assert cell == pytest.approx(expected), (ratio.code, years_back)


@pytest.mark.parametrize("key", [WITH_STATEMENTS, BRITISH])
def test_ratios_are_formulas_with_the_values_of_the_api(
    full_workbook: WorkbookFile, key: tuple[str, str]
) -> None:
    (row,) = company_rows(full_workbook, "Chiffres clés", key)
    by_year = accounts.values(accounts.accounts_by_year(ACCOUNTS[key]))
    last_year = by_year[max(by_year)]

    # Enough ratios have values, so that not only empty cells are compared below.
    assert sum(last_year[ratio.code].value is not None for ratio in RATIOS_WITHOUT_AMOUNTS) >= (
        21 if key == WITH_STATEMENTS else 1
    )
    for ratio in RATIOS_WITHOUT_AMOUNTS:
        assert (row[ratio.libelle["fr"]] or None) == pytest.approx(last_year[ratio.code].value), (
            ratio.code
        )


def test_flows_of_a_longer_or_shorter_year_are_converted_to_twelve_months() -> None:
    """The cell C has the months of the year, A any other line of the year, and B any line of the year before.

    The year before has no line for its months, so it has twelve.
    """

    def cell_of_line(name: str, years_back: int) -> str | None:
        """The cell "A", "B" or "C" of a line, in this year (`years_back` 0) or in the year before (1).

        None for the months of the year before, and for an amount that is not a line and so has no cell.
        """
        if name[0].islower():  # the code of an amount; that of a line begins with a capital
            return None
        return ("B" if name != MONTHS else None) if years_back else ("C" if name == MONTHS else "A")

    formulas = {
        code: company_accounts.excel_formula(ratios()[code], cell_of_line)
        for code in ("rotation_actif", "delai_clients")
    }
    growth = company_accounts.excel_formula(ratios()["croissance_ca"], cell_of_line)

    assert formulas == {"rotation_actif": "A/A*12/C", "delai_clients": "365*A/A*C/12"}
    assert growth == "(A*12/C-B)/B"
    assert company_accounts.excel_formula(ratios()["marge_nette"], cell_of_line) == "A/A"


def test_a_ratio_has_the_same_formula_for_all_companies(full_workbook: WorkbookFile) -> None:
    sheet = full_workbook.sheets["Chiffres clés"]
    titles = {cell.value: cell.column for cell in sheet[1]}

    for ratio in RATIOS_WITHOUT_AMOUNTS:
        formulas = [sheet.cell(row, titles[ratio.libelle["fr"]]).value for row in (2, 3)]
        assert formulas[0].startswith("=")
        formulas_without_row = [
            re.sub(rf"([A-Z]){row}\b", r"\1#", text)
            for row, text in zip((2, 3), formulas, strict=True)
        ]
        assert formulas_without_row[0] == formulas_without_row[1]


def test_each_amount_has_its_sparklines(full_workbook: WorkbookFile) -> None:
    body = next(
        body for name, body in full_workbook.parts.items()
        if name.startswith("xl/worksheets/sheet") and b"x14:sparklineGroup " in body
    )  # fmt: skip

    assert body.count(b"<x14:sparklineGroup ") == 6  # one for each amount
    assert body.count(b"<x14:sparkline>") == 6 * len(ACCOUNTS)
    assert "'Chiffres clés'!G2:K2".encode() in body


def test_the_flat_sheet_has_every_line_with_its_value_in_euros(full_workbook: WorkbookFile) -> None:
    for key, lines in ACCOUNTS.items():
        table = company_rows(full_workbook, "Comptes (lignes)", key)
        expected = {
            (line["exercice"], line["code"]): (line["libelle"], line["valeur"], line["devise"])
            for line in lines
        }
        assert len(table) == len(lines)
        for row in table:
            libelle, valeur, devise = expected[row["Exercice"], row["Code"]]
            assert (row["Poste"], row["Valeur (devise)"], row["Devise"]) == (
                libelle,
                valeur,
                devise,
            )
            euros = valeur * euros_per_unit(devise, row["Exercice"]) if devise else None
            assert row["Valeur (EUR)"] == pytest.approx(euros)


def test_in_english_lines_and_ratios_have_english_names(english_workbook: WorkbookFile) -> None:
    listed_names = {
        row["Line"] for row in sheet_rows(english_workbook.values["Statements (lines)"])
    }
    names_in_sheet = {
        row[0] for row in english_workbook.values["FR 552100554"].iter_rows(values_only=True)
    }

    english_names = {
        seed_tables.line_labels()[line["code"]][1] for line in ACCOUNTS[WITH_STATEMENTS]
    }
    assert listed_names == english_names
    assert names_in_sheet >= english_names | {
        ratio.libelle["en"] for ratio in RATIOS_WITHOUT_AMOUNTS
    }


def test_a_sheet_has_changes_euros_ratios_and_a_chart(full_workbook: WorkbookFile) -> None:
    values, formulas = full_workbook.values["UK 08209948"], full_workbook.sheets["UK 08209948"]
    by_label = {line[0]: line for line in values.iter_rows(values_only=True)}
    formulas_by_label = {line[0]: line for line in formulas.iter_rows(values_only=True)}
    row = next(cell.row for cell in formulas["A"] if cell.value == "Total de l'actif circulant")

    assert by_label["Total de l'actif circulant"][1:5] == (50, 40, 10, pytest.approx(0.25))
    assert formulas_by_label["Total de l'actif circulant"][3:5] == (
        f"=B{row}-C{row}",
        f"=B{row}/C{row}-1",
    )
    assert by_label["Capitaux propres"][1:3] == pytest.approx(
        (-10 * euros_per_unit("GBP", 2023), 12.5 * euros_per_unit("GBP", 2022))
    )
    assert by_label["Croissance du chiffre d'affaires"][1] == pytest.approx(-0.1)
    # The company filed no total assets for 2022, so the formula adds their parts.
    assert re.fullmatch(r"=\(C\d+\+C\d+\)\*C\d+", formulas_by_label["Total de l'actif"][2])
    assert [
        len(full_workbook.sheets[name]._charts) for name in ("FR 552100554", "UK 08209948")
    ] == [1, 1]


def test_amounts_in_different_currencies_are_not_compared(tmp_path: Path) -> None:
    """The last year is in euros, the year before in kroons, so there is no growth"""
    # Estonia replaced its kroon by the euro in 2011.
    key = ("EE", "12652512")
    lines = statement_lines("EUR", {2011: {"TurnoverRevenue": 10.0}}) + statement_lines(
        "EEK", {2010: {"TurnoverRevenue": 150.0}}
    )
    file = make_workbook(tmp_path, comptes={key: lines})
    (row,) = company_rows(file, "Chiffres clés", key)

    assert row["Chiffre d'affaires N-1 (EUR)"] == pytest.approx(150 * euros_per_unit("EEK", 2010))
    assert row["Chiffre d'affaires N-1 au taux de N (EUR)"] is None
    assert not row["Croissance du chiffre d'affaires"]
    lines_of_sheet = {
        line[0]: line for line in file.values["EE 12652512"].iter_rows(values_only=True)
    }
    assert "Croissance du chiffre d'affaires" not in lines_of_sheet


def test_a_file_has_only_the_accounts_of_the_companies_with_a_sheet(
    tmp_path: Path,
) -> None:
    """§8.2 rule 6: as many as the plan `free` allows, of nine companies"""
    comptes = {
        ("DE", f"K1101R_HRB{number:03}"): statement_lines("EUR", {2024: scaled_figures(1 + number)})
        for number in range(9)
    }
    file = make_workbook(tmp_path, comptes=comptes, plan="free")
    cap = PLANS["free"].societes_avec_comptes_par_export

    ids = {row["Identifiant"] for row in sheet_rows(file.values["Index des comptes"])}

    assert len(ids) == cap < len(comptes)
    for sheet in ("Chiffres clés", "Comptes (lignes)"):
        assert {row["Identifiant"] for row in sheet_rows(file.values[sheet])} == ids
    listed = sheet_rows(file.values["Liste"])
    assert {row["Identifiant"] for row in listed if row["Feuille de comptes"] == "oui"} == ids
