"""The content of the sheets (§4.6, F7, F8, F11, F12), compared with the companies."""

import re
from collections import Counter
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from openpyxl.utils import get_column_letter

from serve.contract import seed_tables
from serve.features.export.workbook import table_sheet
from serve.features.export.workbook.labels import Labels
from shards.codec.record import CONTACTS, FIELDS
from shards.query import ORDERS, Query, Range
from shards.ratios import accounts
from tests import oracle
from tests.serve import world
from tests.serve.features.export.workbook.workbooks import (
    DAY,
    PLANS,
    WorkbookFile,
    export_request,
    make_workbook,
    sheet_rows,
    workbook_of_request,
)
from tests.serve.world import COMPANIES, CONTACT, LISTS, STATEMENTS
from tests.world import company

# The columns of the sheet Liste, and the companies in its order.
COLUMNS = table_sheet.list_columns(Labels("fr"))
HEADINGS = {column.title: column for column in COLUMNS}
IN_ORDER = oracle.search(COMPANIES, Query())  # by turnover, the largest first


def cell_value(champ: str, value: Any) -> Any:
    """The value that a cell must have.

    A date from March 1900 is a date, because Excel has wrong dates before; a list is a text.
    """
    is_date = champ in ("date_creation", "date_source") and value is not None
    if is_date and len(value) == 10 and value >= "1900-03":
        return datetime.fromisoformat(value)
    return "; ".join(value) if isinstance(value, list) else value


# -- the sheets ------------------------------------------------------------------------


def test_the_sheets_have_the_order_of_the_contract(full_workbook: WorkbookFile) -> None:
    """F8"""
    assert full_workbook.sheets.sheetnames == [
        "Intro", "Périmètre", "Par pays", "Par secteur", "Liste", "Contacts",
        "Chiffres clés", "Comptes (lignes)", "Index des comptes", "FR 552100554", "UK 08209948",
        "Méthodologie", "Journal",
    ]  # fmt: skip


def test_in_english_sheets_headings_and_names_are_english_and_data_are_not(
    english_workbook: WorkbookFile,
) -> None:
    """F11"""
    sheets = english_workbook.sheets

    assert sheets.sheetnames == [
        "Intro", "Scope", "By country", "By sector", "List", "Contacts",
        "Key figures", "Statements (lines)", "Index of statements", "FR 552100554", "UK 08209948",
        "Methodology", "Log",
    ]  # fmt: skip
    names = {country.nom_en for country in LISTS.pays}
    assert {row["Country"] for row in sheet_rows(sheets["By country"], 4)} <= {*names, None}
    sectors = {sector.secteur_en for sector in LISTS.secteurs} | {"Without a sector", "Total"}
    assert {row["Sector"] for row in sheet_rows(sheets["By sector"], 4)} <= sectors
    listed = sheet_rows(sheets["List"])
    assert {row["Sector"] for row in listed} == (sectors - {"Without a sector", "Total"}) & {
        row["Sector"] for row in sheet_rows(sheets["By sector"], 4)
    } | {None}
    by_id = {row["Identifier"]: row for row in listed}
    general = by_id["552100554"]
    assert general["State"] == "Active"
    assert by_id["12652512"]["Legal form in English"] == "Limited liability company"
    assert by_id["12652512"]["Sub-sector"] == seed_tables.nace_labels()["62.0"][1]
    assert general["Name"] == "Société Générale d'Orléans"


# -- the companies ----------------------------------------------------------------------


def test_the_list_has_every_public_field_of_every_company_with_its_type(
    full_workbook: WorkbookFile,
) -> None:
    """§4.6, C8"""
    listed = sheet_rows(full_workbook.sheets["Liste"])
    fields = [name for name in FIELDS if name not in CONTACTS and name != "etat"]
    titles = {column.name: column.title for column in COLUMNS}

    assert len(listed) == len(COMPANIES)
    for row, expected_company in zip(listed, IN_ORDER, strict=True):
        for name in fields:
            value, expected = row[titles[name]], cell_value(name, expected_company[name])
            assert (type(value), value) == (type(expected), expected) or (
                isinstance(expected, float) and value == expected
            ), name


def test_the_columns_are_the_same_for_any_plan_and_data(
    full_workbook: WorkbookFile, free_workbook: WorkbookFile, tmp_path: Path
) -> None:
    """X7"""
    empty_workbook = make_workbook(
        tmp_path, [company("EE", "1", "a")], {}, "free", query=Query(q="introuvable")
    )

    heads = [
        [cell.value for cell in file.sheets["Liste"][1]]
        for file in (full_workbook, free_workbook, empty_workbook)
    ]
    contacts = [
        [cell.value for cell in file.sheets["Contacts"][1]]
        for file in (full_workbook, free_workbook, empty_workbook)
    ]

    assert heads[0] == heads[1] == heads[2] == [column.title for column in COLUMNS]
    assert contacts[0] == contacts[1] == contacts[2]
    names = {column.name for column in COLUMNS}
    assert names == set(FIELDS) - set(CONTACTS) | set(table_sheet.COMPUTED) - {"forme_libelle"}


def test_amounts_are_in_units_and_in_euros_and_raw_columns_are_collapsed_at_the_right(
    tmp_path: Path,
) -> None:
    """The register has amounts in thousands (`ca_mult`, `unite_mult`) and in other currencies"""
    companies = [
        company("UK", "1", "a", ca_eur=2e6, ca_last=1_700.0, ca_mult=1_000, ca_devise="GBP",
                total_actif_last=775.5, unite_mult=1_000, devise="SEK", actif_eur=70_000.0, etat="procedure",
                tranche_effectif="32", capital_social=1_000.0, capital_devise="GBP", exercice_actif=2020),
        company("UK", "2", "b", ca_last=5.0, capital_social=7.0, capital_devise="EUR"),
    ]  # fmt: skip
    sheet = make_workbook(tmp_path, companies).sheets["Liste"]
    british_row, other_row = sheet_rows(sheet)

    by_name = {column.name: british_row[column.title] for column in COLUMNS}
    assert (by_name["ca_publie"], by_name["ca_last"], by_name["ca_mult"]) == (
        1_700_000,
        1_700,
        1_000,
    )
    assert (by_name["total_actif"], by_name["total_actif_eur"]) == (775_500, 70_000)
    assert (by_name["etat"], by_name["tranche_libelle"], by_name["tranche_effectif"]) == (
        "En procédure", "250–499", "32",
    )  # fmt: skip
    euros_per_pound = accounts.euros_per_unit("GBP", 2020)
    assert euros_per_pound
    assert by_name["capital_social_eur"] == pytest.approx(1_000 * euros_per_pound)
    assert other_row["Capital social (EUR)"] == 7
    assert other_row["Chiffre d'affaires (devise)"] == 5
    collapsed = {
        col
        for columns in sheet.column_dimensions.values()
        for col in range(columns.min, columns.max + 1)
        if columns.hidden and columns.outlineLevel == 1
    }
    assert collapsed == {col for col, column in enumerate(COLUMNS, 1) if column.is_raw}
    assert max(collapsed) == len(COLUMNS)


@pytest.mark.parametrize(
    ("lang", "sheet", "title", "largest_band"),
    [
        ("fr", "Liste", "Effectif ou tranche", "10\u202f000 et plus"),
        ("en", "List", "Headcount or band", "10,000 and more"),
    ],
)
def test_a_band_is_shown_if_no_number_is_published_and_sorts_by_its_lower_bound(
    tmp_path: Path, lang: str, sheet: str, title: str, largest_band: str
) -> None:
    """The value of a cell is the lower bound, and its number format shows the band"""
    headcounts = [(21, "12"), (None, "12"), (None, "53"), (None, "200-249"), (None, "00"), (None, "NN"), (0, None),
             (None, None)]  # fmt: skip
    companies = [company("CZ", str(number), "a", effectif=effectif, tranche_effectif=code)
             for number, (effectif, code) in enumerate(headcounts)]  # fmt: skip
    listed = make_workbook(tmp_path, companies, {}, lang=lang).sheets[sheet]
    letter_by_heading = {cell.value: cell.column_letter for cell in listed[1]}

    cells = {
        listed.cell(row, 2).value: listed[f"{letter_by_heading[title]}{row}"]
        for row in range(2, 10)
    }

    shown_cells = [
        (cells[str(number)].value, cells[str(number)].number_format) for number in range(8)
    ]
    assert shown_cells[:5] == [
        (21, "#,##0"), (20, '"20–49"'), (10_000, f'"{largest_band}"'), (200, '"200-249"'), (0, '"0"'),
    ]  # fmt: skip
    assert [value for value, _ in shown_cells[5:]] == ["NN", 0, None]
    exact_headcounts = Counter(
        row["Effectif" if lang == "fr" else "Headcount"] for row in sheet_rows(listed)
    )
    assert exact_headcounts == Counter(effectif for effectif, _ in headcounts)


@pytest.mark.parametrize("tri", ORDERS)
def test_rows_have_the_requested_order_and_limit(tmp_path: Path, tri: str) -> None:
    """F1"""
    data = tmp_path / "data"
    query = Query(tri=tri, pays=("DE", "FR"))
    file = workbook_of_request(
        export_request(data, world.publish(data), query=query, limit=9), tmp_path
    )
    expected = oracle.search(COMPANIES, query)

    ids = [row["Identifiant"] for row in sheet_rows(file.sheets["Liste"])]

    assert ids == [company["id"] for company in expected[:9]]
    assert (file.result.lignes, file.result.total) == (9, len(expected))


def test_a_plan_with_the_right_gets_contacts(full_workbook: WorkbookFile) -> None:
    """§2.1, §4.6"""
    table = sheet_rows(full_workbook.sheets["Contacts"])

    titles = {"Site web": "site_web", "Email": "email", "Téléphone": "telephone"}
    for row, expected_company in zip(table, IN_ORDER, strict=True):
        assert {title: row[title] for title in titles} == {
            title: expected_company[name] for title, name in titles.items()
        }


def test_without_the_right_the_contact_columns_are_empty_and_no_contact_leaks(
    free_workbook: WorkbookFile,
) -> None:
    """§4.6: not in a cell, a link, a comment, a chart or a property"""
    sheet = free_workbook.sheets["Contacts"]
    table = sheet_rows(sheet)

    # This text is in a box, not in a cell.
    assert "sont incluses à partir de l'offre Données" in free_workbook.all_bytes.decode()
    assert sheet.freeze_panes == "D2"
    assert len(table) == PLANS["free"].lignes_par_export
    assert {"Site web", "Domaine", "Email", "Téléphone"} <= set(table[0])
    contacts = ("Site web", "Domaine", "Email", "Téléphone")
    assert {row[title] for row in table for title in contacts} == {None}
    assert CONTACT.encode() not in free_workbook.all_bytes


def test_an_empty_scope_gives_a_complete_workbook_that_says_so(tmp_path: Path) -> None:
    file = make_workbook(tmp_path, query=Query(q="introuvable"))

    assert (file.result.lignes, file.result.total, file.result.comptes) == (0, 0, 0)
    assert "Aucune société" in file.sheets["Intro"]["A4"].value
    assert sheet_rows(file.sheets["Liste"]) == []


# -- the scope ---------------------------------------------------------------------------


@pytest.mark.parametrize("sheet", ["Par pays", "Par secteur"])
def test_counts_are_of_the_complete_scope_and_amounts_of_the_file(
    tmp_path: Path, sheet: str
) -> None:
    """F12: the file has the first six companies of the scope"""
    query = Query(tri="ca_asc", ranges=(Range("effectif", 0),))
    file = make_workbook(tmp_path, query=query, limit=6)
    scope = oracle.search(COMPANIES, query)
    field, title = {"Par pays": ("iso2", "Code"), "Par secteur": ("secteur", "Secteur")}[sheet]

    *table, total_row = sheet_rows(file.sheets[sheet], 4)

    counts = Counter(company[field] for company in scope)
    in_file = Counter(company[field] for company in scope[:6])
    assert {row[title]: row["Sociétés du périmètre"] for row in table} == {
        key or "Sans secteur": number for key, number in counts.items()
    }
    for row in table:
        key = None if row[title] == "Sans secteur" else row[title]
        amounts = [company["ca_eur"] for company in scope[:6]
                   if company[field] == key and company["ca_eur"] is not None]  # fmt: skip
        assert row["Dans ce fichier"] == in_file[key]
        assert row["Part du périmètre"] == pytest.approx(counts[key] / len(scope))
        assert row["Part du fichier"] == pytest.approx(in_file[key] / 6)
        assert row["Chiffre d'affaires cumulé (EUR)"] == (sum(amounts) if amounts else None)
        assert row["Chiffre d'affaires médian (EUR)"] == (median(amounts) if amounts else None)
    assert (total_row["Sociétés du périmètre"], total_row["Dans ce fichier"]) == (len(scope), 6)
    assert [row["Sociétés du périmètre"] for row in table] == sorted(counts.values())[::-1]


def test_the_scope_sheet_lists_the_filters(tmp_path: Path) -> None:
    query = Query(pays=("FR", "UK"), secteurs=("62",), q="a",
                  ranges=(Range("ca_eur", 1e6), Range("effectif", None, 50)), site_web=True,
                  avec_ca=True, tri="recent")  # fmt: skip
    sheet = make_workbook(tmp_path, query=query).sheets["Périmètre"]

    filters = {
        line[0]: line[1] for line in sheet.iter_rows(min_row=4, max_row=11, values_only=True)
    }

    assert filters == {
        "Pays": "France, Royaume-Uni",
        "Secteurs": world.IT,
        "Nom ou identifiant": "« a »",
        "Chiffre d'affaires (EUR)": "à partir de 1\u202f000\u202f000",
        "Effectif": "jusqu'à 50",
        "Site web déclaré": "oui",
        "Chiffre d'affaires publié": "oui",
        "Ordre": "création la plus récente",
    }


def test_the_scope_sheet_lists_the_filters_of_the_extensions(tmp_path: Path) -> None:
    """X2"""
    query = Query(secteurs=("47",), sous_secteurs=("47.9",), villes=("Orléans", "Tallinn"),
                  codes_postaux=("45",), formes=("SARL",), nace=("47", "56.1"), etats=("active", "cessee"),
                  ranges=(Range("creation", 20240201), Range("actif_eur", 1e6, 2.5e6)), avec_comptes=True,
                  activites=("47.24", "96.21"))  # fmt: skip
    sheet = make_workbook(tmp_path, query=query).sheets["Périmètre"]

    filters = {
        line[0]: line[1] for line in sheet.iter_rows(min_row=6, max_row=15, values_only=True)
    }

    assert filters == {
        "Sous-secteurs": world.TWO_SECTORS_LABEL,
        "État": "Active, Cessée",
        "Ville": "Orléans ; Tallinn",
        "Code postal": "45",
        "Forme juridique": "SARL",
        "Code NACE": "47 ; 56.1",
        "Date de création": "à partir de 2024-02-01",
        "Total de l'actif (EUR)": "de 1\u202f000\u202f000 à 2\u202f500\u202f000",
        "États financiers publiés": "oui",
        "Activité en mots": "47.24 Commerce de détail de pain, pâtisserie et confiserie en magasin spécialisé ; "
        "96.21 Coiffure et activités de barbier",
    }


def test_three_sheets_have_a_native_chart_with_cached_values_for_previews(
    full_workbook: WorkbookFile,
) -> None:
    """F12"""
    all_charts = [body for name, body in full_workbook.parts.items() if "/charts/chart" in name]

    # The charts of statement sheets have vertical columns instead of bars.
    charts = [body for body in all_charts if b'<c:barDir val="bar"/>' in body]
    assert len(charts) == 3
    for body in charts:
        assert body.count(b"<c:barChart>") == 1
        # The names of countries and sectors and their numbers are cached, not only referenced.
        assert re.search(rb'<c:strCache><c:ptCount val="\d+"/><c:pt ', body)
        assert re.search(rb"<c:numCache>.*?<c:v>\d+</c:v>", body)
    sheets = [full_workbook.sheets[name] for name in ("Périmètre", "Par pays", "Par secteur")]
    assert [len(sheet._charts) for sheet in sheets] == [1, 1, 1]


# -- sources, log, layout -----------------------------------------------------------------------------


def test_the_method_sheet_has_the_sources_and_the_rates_used(tmp_path: Path) -> None:
    """No amount in euros is from kronor, so their rate is not listed"""
    companies = [
        company("UK", "1", "a", ca_eur=2.0, ca_last=1.7, ca_devise="GBP", ca_year=2024),
        company("EE", "1", "b", ca_eur=2.0, ca_devise="EEK", ca_year=2008),
        company("EE", "2", "c", ca_devise="SEK", ca_year=2008),
    ]
    sheet = make_workbook(tmp_path, companies).sheets["Méthodologie"]
    lines = [line[:3] for line in sheet.iter_rows(values_only=True)]

    rates = {line[0]: line[1] for line in lines if line[0] in ("GBP 2024", "EEK 2008", "SEK 2008")}
    assert rates == {
        key: seed_tables.rates()[key[:3], int(key[4:])].taux for key in ("GBP 2024", "EEK 2008")
    }
    assert ("Royaume-Uni", "GBP", "Companies House") in lines
    assert {line[1] for line in lines} >= set(FIELDS)


def test_the_file_has_the_attributions_of_its_scope_and_the_dates_of_the_source_files(
    full_workbook: WorkbookFile, tmp_path: Path
) -> None:
    """X9"""
    lines = [line[:3] for line in full_workbook.sheets["Méthodologie"].iter_rows(values_only=True)]
    estonia = make_workbook(tmp_path, query=Query(pays=("EE",)), lang="en").sheets

    licence = "Source : ee-registre & Cie (CC BY 4.0) · https://licence.example/ee-registre"
    assert ("Estonie", "15 janvier 2022", licence) in lines
    france = [line[1] for line in lines if line[0] == "France" and "licence.example" in line[2]]
    assert france == ["1er novembre 2026", "1er septembre 2018", "19 novembre 2026"]
    assert full_workbook.sheets["Intro"]["A2"].value == (
        "Export du registre des sociétés · fichiers des registres : 15 janvier 2022 – 1er novembre 2026"
    )
    assert estonia["Intro"]["A2"].value == (
        "Export of the company register · register files of 15 January 2022"
    )
    assert not any(
        "fr-registre" in str(cell) for line in estonia["Methodology"].iter_rows(values_only=True)
        for cell in line
    )  # fmt: skip


def test_the_log_has_the_parameters_and_the_counts(tmp_path: Path) -> None:
    sheet = make_workbook(tmp_path, parameters=(("q", "=1+1"), ("pays", "FR"))).sheets["Journal"]
    journal = {line[0]: line[1] for line in sheet.iter_rows(values_only=True)}

    assert (journal["q"], journal["pays"]) == ("=1+1", "FR")
    assert journal["Date de l'export (UTC)"] == DAY.replace(tzinfo=None)
    assert (journal["Sociétés dans le périmètre"], journal["Sociétés dans ce fichier"]) == (41, 41)
    assert (journal["Identifiant de la requête"], journal["Offre"]) == ("essai-1", "Intégrale")


def test_lists_are_tables_with_frozen_headings_and_print_settings(
    full_workbook: WorkbookFile,
) -> None:
    for name, top in (("Liste", 1), ("Contacts", 1)):
        sheet = full_workbook.sheets[name]
        assert sheet.freeze_panes == "D2"
        (table,) = sheet.tables.values()
        assert table.name == {"Liste": "societes", "Contacts": "contacts"}[name]
        assert table.ref == f"A1:{get_column_letter(sheet.max_column)}{top + len(COMPANIES)}"
        assert table.autoFilter.ref == table.ref
        assert table.column_names == [cell.value for cell in sheet[1]]
        assert sheet.page_setup.fitToWidth in (None, 1)  # 1 is the default
        assert sheet.print_title_rows == "$1:$1"
    for sheet in full_workbook.sheets.worksheets:
        assert sheet.page_setup.paperSize == 9
        assert sheet.sheet_properties.pageSetUpPr.fitToPage
        assert "&P" in sheet.oddFooter.right.text
    properties = full_workbook.sheets.properties
    assert full_workbook.sheets.custom_doc_props["Language"].value == "fr"
    assert (properties.title, properties.creator) == ("Sociétés européennes", "societes")
    assert properties.created == DAY.replace(tzinfo=None)


def test_the_first_companies_with_statements_get_a_sheet(tmp_path: Path) -> None:
    """F7: the first three German companies of the list have no statements, and the six after them have some."""
    german_companies = [company for company in IN_ORDER if company["iso2"] == "DE"]
    filers = german_companies[3:9]
    comptes = {("DE", company["id"]): STATEMENTS for company in filers}
    comptes[("DE", german_companies[0]["id"])] = []

    file = make_workbook(tmp_path, comptes=comptes, plan="free")

    assert file.result.comptes == PLANS["free"].societes_avec_comptes_par_export == 3
    # The statement sheets are between nine general sheets and the last two.
    assert file.sheets.sheetnames[9:-2] == [f"DE {company['id']}" for company in filers[:3]]
