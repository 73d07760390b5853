"""The sheets with accounts side by side, and ratios as formulas, beside the values of the API."""

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
    File,
    annual,
    grown,
    of_world,
    rows,
)
from tests.serve.world import WITH_STATEMENTS

BRITISH = ("UK", "08209948")
PROPER = [ratio for ratio in ratios().values() if not ratio.is_amount]


def of_company(file: File, sheet: str, key: tuple[str, str]) -> list[dict[str, Any]]:
    found = rows(file.values[sheet])
    return [row for row in found if (row["Pays"], row["Identifiant"]) == key]


def rate(devise: str, year: int) -> float:
    return 1.0 if devise == "EUR" else 1 / seed_tables.rates()[devise, year].taux


@pytest.mark.parametrize(
    ("key", "devise", "last"), [(WITH_STATEMENTS, "EUR", 2024), (BRITISH, "GBP", 2023)]
)
def test_key_figures_are_five_years_in_euros_at_the_rate_of_each(
    whole: File, key: tuple[str, str], devise: str, last: int
) -> None:
    (row,) = of_company(whole, "Chiffres clés", key)
    known = accounts.values(accounts.by_year(ACCOUNTS[key]))

    assert (row["Dernier exercice (N)"], row["Devise"]) == (last, devise)
    for ratio in ratios().values():
        if ratio.unite != "montant" or ratio.annual:
            continue
        for before in range(5):
            value = known[last - before][ratio.code].value if last - before in known else None
            shown = row[f"{ratio.libelle['fr']} N{f'-{before}' if before else ''} (EUR)"]
            expected = None if value is None else value * rate(devise, last - before)
            assert shown == pytest.approx(expected), (ratio.code, before)


@pytest.mark.parametrize("key", [WITH_STATEMENTS, BRITISH])
def test_ratios_are_formulas_whose_values_are_those_of_the_api(
    whole: File, key: tuple[str, str]
) -> None:
    (row,) = of_company(whole, "Chiffres clés", key)
    by_year = accounts.values(accounts.by_year(ACCOUNTS[key]))
    known = by_year[max(by_year)]

    assert sum(known[ratio.code].value is not None for ratio in PROPER) >= (
        21 if key == WITH_STATEMENTS else 1
    )
    for ratio in PROPER:
        assert (row[ratio.libelle["fr"]] or None) == pytest.approx(known[ratio.code].value), (
            ratio.code
        )


def test_flows_of_an_unlike_year_count_as_those_of_twelve_months() -> None:
    """Cells: C is the line with the months, A any other of the year, B of the year before, which has twelve."""

    def cell(name: str, before: int) -> str | None:
        if name[0].islower():
            return None
        return ("B" if name != MONTHS else None) if before else ("C" if name == MONTHS else "A")

    known = {
        code: company_accounts.excel_formula(ratios()[code], cell)
        for code in ("rotation_actif", "delai_clients")
    }
    growth = company_accounts.excel_formula(ratios()["croissance_ca"], cell)

    assert known == {"rotation_actif": "A/A*12/C", "delai_clients": "365*A/A*C/12"}
    assert growth == "(A*12/C-B)/B"
    assert company_accounts.excel_formula(ratios()["marge_nette"], cell) == "A/A"


def test_a_ratio_is_one_formula_for_all_companies(whole: File) -> None:
    sheet = whole.sheets["Chiffres clés"]
    titles = {cell.value: cell.column for cell in sheet[1]}

    for ratio in PROPER:
        column = [sheet.cell(row, titles[ratio.libelle["fr"]]).value for row in (2, 3)]
        assert column[0].startswith("=")
        general = [
            re.sub(rf"([A-Z]){row}\b", r"\1#", text)
            for row, text in zip((2, 3), column, strict=True)
        ]
        assert general[0] == general[1]


def test_each_amount_has_its_sparklines(whole: File) -> None:
    body = next(
        body for name, body in whole.parts.items()
        if name.startswith("xl/worksheets/sheet") and b"x14:sparklineGroup " in body
    )  # fmt: skip

    assert body.count(b"<x14:sparklineGroup ") == 6
    assert body.count(b"<x14:sparkline>") == 6 * len(ACCOUNTS)
    assert "'Chiffres clés'!G2:K2".encode() in body


def test_the_flat_sheet_has_every_line_with_its_value_in_euros(whole: File) -> None:
    for key, lines in ACCOUNTS.items():
        found = of_company(whole, "Comptes (lignes)", key)
        expected = {
            (line["exercice"], line["code"]): (line["libelle"], line["valeur"], line["devise"])
            for line in lines
        }
        assert len(found) == len(lines)
        for row in found:
            libelle, valeur, devise = expected[row["Exercice"], row["Code"]]
            assert (row["Poste"], row["Valeur (devise)"], row["Devise"]) == (
                libelle,
                valeur,
                devise,
            )
            euros = valeur * rate(devise, row["Exercice"]) if devise else None
            assert row["Valeur (EUR)"] == pytest.approx(euros)


def test_in_english_lines_and_ratios_have_english_names(english: File) -> None:
    listed = {row["Line"] for row in rows(english.values["Statements (lines)"])}
    tab = {row[0] for row in english.values["FR 552100554"].iter_rows(values_only=True)}

    names = {seed_tables.line_labels()[line["code"]][1] for line in ACCOUNTS[WITH_STATEMENTS]}
    assert listed == names
    assert tab >= names | {ratio.libelle["en"] for ratio in PROPER}


def test_a_sheet_has_changes_euros_ratios_and_a_chart(whole: File) -> None:
    values, formulas = whole.values["UK 08209948"], whole.sheets["UK 08209948"]
    told = {line[0]: line for line in values.iter_rows(values_only=True)}
    written = {line[0]: line for line in formulas.iter_rows(values_only=True)}
    row = next(cell.row for cell in formulas["A"] if cell.value == "Total de l'actif circulant")

    assert told["Total de l'actif circulant"][1:5] == (50, 40, 10, pytest.approx(0.25))
    assert written["Total de l'actif circulant"][3:5] == (f"=B{row}-C{row}", f"=B{row}/C{row}-1")
    assert told["Capitaux propres"][1:3] == pytest.approx(
        (-10 * rate("GBP", 2023), 12.5 * rate("GBP", 2022))
    )
    assert told["Croissance du chiffre d'affaires"][1] == pytest.approx(-0.1)
    # Of the total of assets there is no line in 2022: the sum of its parts is the formula.
    assert re.fullmatch(r"=\(C\d+\+C\d+\)\*C\d+", written["Total de l'actif"][2])
    assert [len(whole.sheets[name]._charts) for name in ("FR 552100554", "UK 08209948")] == [1, 1]


def test_amounts_of_another_currency_are_not_compared(tmp_path: Path) -> None:
    key = ("EE", "12652512")
    lines = annual("EUR", {2011: {"TurnoverRevenue": 10.0}}) + annual(
        "EEK", {2010: {"TurnoverRevenue": 150.0}}
    )
    file = of_world(tmp_path, comptes={key: lines})
    (row,) = of_company(file, "Chiffres clés", key)

    assert row["Chiffre d'affaires N-1 (EUR)"] == pytest.approx(150 * rate("EEK", 2010))
    assert row["Chiffre d'affaires N-1 au taux de N (EUR)"] is None
    assert not row["Croissance du chiffre d'affaires"]
    tab = {line[0]: line for line in file.values["EE 12652512"].iter_rows(values_only=True)}
    assert "Croissance du chiffre d'affaires" not in tab


def test_no_accounts_stand_in_a_file_but_those_of_the_companies_with_a_sheet(
    tmp_path: Path,
) -> None:
    """§8.2 rule 6"""
    comptes = {
        ("DE", f"K1101R_HRB{number:03}"): annual("EUR", {2024: grown(1 + number)})
        for number in range(9)
    }
    file = of_world(tmp_path, comptes=comptes, plan="free")
    cap = PLANS["free"].societes_avec_comptes_par_export

    ids = {row["Identifiant"] for row in rows(file.values["Index des comptes"])}

    assert len(ids) == cap < len(comptes)
    for sheet in ("Chiffres clés", "Comptes (lignes)"):
        assert {row["Identifiant"] for row in rows(file.values[sheet])} == ids
    listed = rows(file.values["Liste"])
    assert {row["Identifiant"] for row in listed if row["Feuille de comptes"] == "oui"} == ids
