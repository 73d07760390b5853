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
    File,
    asked,
    make,
    of_world,
    rows,
)
from tests.serve.world import COMPANIES, CONTACT, LISTS, STATEMENTS
from tests.world import company

COLUMNS = table_sheet.list_columns(Labels("fr"))
HEADINGS = {column.title: column for column in COLUMNS}
IN_ORDER = oracle.search(COMPANIES, Query())


def as_read(champ: str, value: Any) -> Any:
    """A value as a reader must get it: days since 1900 as dates, lists as one text, all else as it is."""
    is_date = champ in ("date_creation", "date_source") and value is not None
    if is_date and len(value) == 10 and value >= "1900-03":
        return datetime.fromisoformat(value)
    return "; ".join(value) if isinstance(value, list) else value


# -- the sheets ------------------------------------------------------------------------


def test_the_sheets_stand_in_the_order_of_the_contract(whole: File) -> None:
    """F8"""
    assert whole.sheets.sheetnames == [
        "Intro", "Périmètre", "Par pays", "Par secteur", "Liste", "Contacts",
        "Chiffres clés", "Comptes (lignes)", "Index des comptes", "FR 552100554", "UK 08209948",
        "Méthodologie", "Journal",
    ]  # fmt: skip


def test_in_english_sheets_headings_and_names_are_english_and_data_are_not(english: File) -> None:
    """F11"""
    sheets = english.sheets

    assert sheets.sheetnames == [
        "Intro", "Scope", "By country", "By sector", "List", "Contacts",
        "Key figures", "Statements (lines)", "Index of statements", "FR 552100554", "UK 08209948",
        "Methodology", "Log",
    ]  # fmt: skip
    names = {one.nom_en for one in LISTS.pays}
    assert {row["Country"] for row in rows(sheets["By country"], 4)} <= {*names, None}
    sectors = {one.secteur_en for one in LISTS.secteurs} | {"Without a sector", "Total"}
    assert {row["Sector"] for row in rows(sheets["By sector"], 4)} <= sectors
    listed = rows(sheets["List"])
    assert {row["Sector"] for row in listed} == (sectors - {"Without a sector", "Total"}) & {
        row["Sector"] for row in rows(sheets["By sector"], 4)
    } | {None}
    by_id = {row["Identifier"]: row for row in listed}
    general = by_id["552100554"]
    assert general["State"] == "Active"
    assert by_id["12652512"]["Legal form in English"] == "Limited liability company"
    assert by_id["12652512"]["Sub-sector"] == seed_tables.nace_labels()["62.0"][1]
    assert general["Name"] == "Société Générale d'Orléans"


# -- the companies ----------------------------------------------------------------------


def test_the_list_has_every_public_field_of_every_company_and_its_type(whole: File) -> None:
    """§4.6, C8"""
    found = rows(whole.sheets["Liste"])
    fields = [name for name in FIELDS if name not in CONTACTS and name != "etat"]
    titles = {column.name: column.title for column in COLUMNS}

    assert len(found) == len(COMPANIES)
    for row, known in zip(found, IN_ORDER, strict=True):
        for name in fields:
            value, expected = row[titles[name]], as_read(name, known[name])
            assert (type(value), value) == (type(expected), expected) or (
                isinstance(expected, float) and value == expected
            ), name


def test_the_columns_are_the_same_whatever_the_plan_and_the_data(
    whole: File, free: File, tmp_path: Path
) -> None:
    """X7"""
    nothing = of_world(
        tmp_path, [company("EE", "1", "a")], {}, "free", query=Query(q="introuvable")
    )

    heads = [[cell.value for cell in file.sheets["Liste"][1]] for file in (whole, free, nothing)]
    contacts = [
        [cell.value for cell in one.sheets["Contacts"][1]] for one in (whole, free, nothing)
    ]

    assert heads[0] == heads[1] == heads[2] == [column.title for column in COLUMNS]
    assert contacts[0] == contacts[1] == contacts[2]
    names = {column.name for column in COLUMNS}
    assert names == set(FIELDS) - set(CONTACTS) | set(table_sheet.MADE) - {"forme_libelle"}


def test_amounts_are_in_units_and_in_euros_and_raw_ones_are_closed_at_the_right(
    tmp_path: Path,
) -> None:
    found = [
        company("UK", "1", "a", ca_eur=2e6, ca_last=1_700.0, ca_mult=1_000, ca_devise="GBP",
                total_actif_last=775.5, unite_mult=1_000, devise="SEK", actif_eur=70_000.0, etat="procedure",
                tranche_effectif="32", capital_social=1_000.0, capital_devise="GBP", exercice_actif=2020),
        company("UK", "2", "b", ca_last=5.0, capital_social=7.0, capital_devise="EUR"),
    ]  # fmt: skip
    sheet = of_world(tmp_path, found).sheets["Liste"]
    first, second = rows(sheet)

    told = {column.name: first[column.title] for column in COLUMNS}
    assert (told["ca_publie"], told["ca_last"], told["ca_mult"]) == (1_700_000, 1_700, 1_000)
    assert (told["total_actif"], told["total_actif_eur"]) == (775_500, 70_000)
    assert (told["etat"], told["tranche_libelle"], told["tranche_effectif"]) == (
        "En procédure", "250–499", "32",
    )  # fmt: skip
    pounds = accounts.euros_per_unit("GBP", 2020)
    assert pounds
    assert told["capital_social_eur"] == pytest.approx(1_000 * pounds)
    assert second["Capital social (EUR)"] == 7
    assert second["Chiffre d'affaires (devise)"] == 5
    closed = {
        col
        for one in sheet.column_dimensions.values()
        for col in range(one.min, one.max + 1)
        if one.hidden and one.outlineLevel == 1
    }
    assert closed == {col for col, column in enumerate(COLUMNS, 1) if column.is_raw}
    assert max(closed) == len(COLUMNS)


@pytest.mark.parametrize(
    ("lang", "sheet", "title", "most"),
    [
        ("fr", "Liste", "Effectif ou tranche", "10\u202f000 et plus"),
        ("en", "List", "Headcount or band", "10,000 and more"),
    ],
)
def test_a_band_stands_where_no_number_is_published_and_sorts_by_its_lower_bound(
    tmp_path: Path, lang: str, sheet: str, title: str, most: str
) -> None:
    facts = [(21, "12"), (None, "12"), (None, "53"), (None, "200-249"), (None, "00"), (None, "NN"), (0, None),
             (None, None)]  # fmt: skip
    found = [company("CZ", str(number), "a", effectif=effectif, tranche_effectif=code)
             for number, (effectif, code) in enumerate(facts)]  # fmt: skip
    listed = of_world(tmp_path, found, {}, lang=lang).sheets[sheet]
    heads = {cell.value: cell.column_letter for cell in listed[1]}

    cells = {listed.cell(row, 2).value: listed[f"{heads[title]}{row}"] for row in range(2, 10)}

    told = [(cells[str(number)].value, cells[str(number)].number_format) for number in range(8)]
    assert told[:5] == [
        (21, "#,##0"), (20, '"20–49"'), (10_000, f'"{most}"'), (200, '"200-249"'), (0, '"0"'),
    ]  # fmt: skip
    assert [value for value, _ in told[5:]] == ["NN", 0, None]
    exact = Counter(row["Effectif" if lang == "fr" else "Headcount"] for row in rows(listed))
    assert exact == Counter(effectif for effectif, _ in facts)


@pytest.mark.parametrize("tri", ORDERS)
def test_rows_come_in_the_order_asked_for_and_no_more_than_asked(tmp_path: Path, tri: str) -> None:
    """F1"""
    data = tmp_path / "data"
    query = Query(tri=tri, pays=("DE", "FR"))
    file = make(asked(data, world.publish(data), query=query, limit=9), tmp_path)
    expected = oracle.search(COMPANIES, query)

    ids = [row["Identifiant"] for row in rows(file.sheets["Liste"])]

    assert ids == [one["id"] for one in expected[:9]]
    assert (file.made.lignes, file.made.total) == (9, len(expected))


def test_contacts_are_there_for_who_pays(whole: File) -> None:
    """§2.1, §4.6"""
    found = rows(whole.sheets["Contacts"])

    titles = {"Site web": "site_web", "Email": "email", "Téléphone": "telephone"}
    for row, known in zip(found, IN_ORDER, strict=True):
        assert {title: row[title] for title in titles} == {
            title: known[name] for title, name in titles.items()
        }


def test_without_the_right_the_columns_of_contacts_are_empty_and_nothing_leaks(free: File) -> None:
    """§4.6: not in a cell, a link, a comment, a chart or a property"""
    sheet = free.sheets["Contacts"]
    found = rows(sheet)

    assert (
        "sont incluses à partir de l'offre Données" in free.text.decode()
    )  # in a box, not in a cell
    assert sheet.freeze_panes == "D2"
    assert len(found) == PLANS["free"].lignes_par_export
    assert {"Site web", "Domaine", "Email", "Téléphone"} <= set(found[0])
    contacts = ("Site web", "Domaine", "Email", "Téléphone")
    assert {row[title] for row in found for title in contacts} == {None}
    assert CONTACT.encode() not in free.text


def test_an_empty_scope_is_a_whole_workbook_that_says_so(tmp_path: Path) -> None:
    file = of_world(tmp_path, query=Query(q="introuvable"))

    assert (file.made.lignes, file.made.total, file.made.comptes) == (0, 0, 0)
    assert "Aucune société" in file.sheets["Intro"]["A4"].value
    assert rows(file.sheets["Liste"]) == []


# -- the scope ---------------------------------------------------------------------------


@pytest.mark.parametrize("sheet", ["Par pays", "Par secteur"])
def test_counts_are_of_the_whole_scope_and_amounts_of_the_file(tmp_path: Path, sheet: str) -> None:
    """F12"""
    query = Query(tri="ca_asc", ranges=(Range("effectif", 0),))
    file = of_world(tmp_path, query=query, limit=6)
    scope = oracle.search(COMPANIES, query)
    part, title = {"Par pays": ("iso2", "Code"), "Par secteur": ("secteur", "Secteur")}[sheet]

    *found, last = rows(file.sheets[sheet], 4)

    counts = Counter(one[part] for one in scope)
    in_file = Counter(one[part] for one in scope[:6])
    assert {row[title]: row["Sociétés du périmètre"] for row in found} == {
        key or "Sans secteur": number for key, number in counts.items()
    }
    for row in found:
        key = None if row[title] == "Sans secteur" else row[title]
        amounts = [one["ca_eur"] for one in scope[:6]
                   if one[part] == key and one["ca_eur"] is not None]  # fmt: skip
        assert row["Dans ce fichier"] == in_file[key]
        assert row["Part du périmètre"] == pytest.approx(counts[key] / len(scope))
        assert row["Part du fichier"] == pytest.approx(in_file[key] / 6)
        assert row["Chiffre d'affaires cumulé (EUR)"] == (sum(amounts) if amounts else None)
        assert row["Chiffre d'affaires médian (EUR)"] == (median(amounts) if amounts else None)
    assert (last["Sociétés du périmètre"], last["Dans ce fichier"]) == (len(scope), 6)
    assert [row["Sociétés du périmètre"] for row in found] == sorted(counts.values())[::-1]


def test_the_scope_is_told_with_every_filter(tmp_path: Path) -> None:
    query = Query(pays=("FR", "UK"), secteurs=("62",), q="a",
                  ranges=(Range("ca_eur", 1e6), Range("effectif", None, 50)), site_web=True,
                  avec_ca=True, tri="recent")  # fmt: skip
    sheet = of_world(tmp_path, query=query).sheets["Périmètre"]

    told = {line[0]: line[1] for line in sheet.iter_rows(min_row=4, max_row=11, values_only=True)}

    assert told == {
        "Pays": "France, Royaume-Uni",
        "Secteurs": world.IT,
        "Nom ou identifiant": "« a »",
        "Chiffre d'affaires (EUR)": "à partir de 1\u202f000\u202f000",
        "Effectif": "jusqu'à 50",
        "Site web déclaré": "oui",
        "Chiffre d'affaires publié": "oui",
        "Ordre": "création la plus récente",
    }


def test_the_scope_is_told_with_every_filter_of_the_extensions(tmp_path: Path) -> None:
    """X2"""
    query = Query(secteurs=("47",), sous_secteurs=("47.9",), villes=("Orléans", "Tallinn"),
                  codes_postaux=("45",), formes=("SARL",), nace=("47", "56.1"), etats=("active", "cessee"),
                  ranges=(Range("creation", 20240201), Range("actif_eur", 1e6, 2.5e6)), avec_comptes=True,
                  activites=("47.24", "96.21"))  # fmt: skip
    sheet = of_world(tmp_path, query=query).sheets["Périmètre"]

    told = {line[0]: line[1] for line in sheet.iter_rows(min_row=6, max_row=15, values_only=True)}

    assert told == {
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


def test_three_sheets_have_a_native_chart_with_what_previews_show(whole: File) -> None:
    """F12"""
    charts = [body for name, body in whole.parts.items() if "/charts/chart" in name]

    charts = [body for body in charts if b'<c:barDir val="bar"/>' in body]
    assert len(charts) == 3
    for body in charts:
        assert body.count(b"<c:barChart>") == 1
        # Countries and sectors, their numbers: in the file, not only where they are to be found.
        assert re.search(rb'<c:strCache><c:ptCount val="\d+"/><c:pt ', body)
        assert re.search(rb"<c:numCache>.*?<c:v>\d+</c:v>", body)
    sheets = [whole.sheets[name] for name in ("Périmètre", "Par pays", "Par secteur")]
    assert [len(sheet._charts) for sheet in sheets] == [1, 1, 1]


# -- the rest -----------------------------------------------------------------------------


def test_a_file_that_is_not_the_whole_scope_says_so_and_why(free: File, tmp_path: Path) -> None:
    """§8.2 rule 3"""
    limited = of_world(tmp_path, limit=3)

    assert free.sheets["Intro"]["A4"].value == (
        "41 sociétés correspondent ; ce fichier contient les 25 premières "
        "(limite de l'offre Découverte : 25 lignes par export)."
    )
    assert "3 premières (limite demandée)" in limited.sheets["Intro"]["A4"].value


def test_the_method_names_sources_and_rates_that_were_used(tmp_path: Path) -> None:
    found = [
        company("UK", "1", "a", ca_eur=2.0, ca_last=1.7, ca_devise="GBP", ca_year=2024),
        company("EE", "1", "b", ca_eur=2.0, ca_devise="EEK", ca_year=2008),
        company("EE", "2", "c", ca_devise="SEK", ca_year=2008),
    ]
    sheet = of_world(tmp_path, found).sheets["Méthodologie"]
    lines = [line[:3] for line in sheet.iter_rows(values_only=True)]

    rates = {line[0]: line[1] for line in lines if line[0] in ("GBP 2024", "EEK 2008", "SEK 2008")}
    assert rates == {
        key: seed_tables.rates()[key[:3], int(key[4:])].taux for key in ("GBP 2024", "EEK 2008")
    }
    assert ("Royaume-Uni", "GBP", "Companies House") in lines
    assert {line[1] for line in lines} >= set(FIELDS)


def test_the_attributions_of_the_scope_stand_in_the_file_with_the_dates_of_its_files(
    whole: File, tmp_path: Path
) -> None:
    """X9"""
    lines = [line[:3] for line in whole.sheets["Méthodologie"].iter_rows(values_only=True)]
    estonia = of_world(tmp_path, query=Query(pays=("EE",)), lang="en").sheets

    wanted = "Source : ee-registre & Cie (CC BY 4.0) · https://licence.example/ee-registre"
    assert ("Estonie", "15 janvier 2022", wanted) in lines
    france = [line[1] for line in lines if line[0] == "France" and "licence.example" in line[2]]
    assert france == ["1er novembre 2026", "1er septembre 2018", "19 novembre 2026"]
    assert whole.sheets["Intro"]["A2"].value == (
        "Export du registre des sociétés · fichiers des registres : 15 janvier 2022 – 1er novembre 2026"
    )
    assert estonia["Intro"]["A2"].value == (
        "Export of the company register · files of the registers of 15 January 2022"
    )
    assert not any(
        "fr-registre" in str(cell) for line in estonia["Methodology"].iter_rows(values_only=True)
        for cell in line
    )  # fmt: skip


def test_the_log_tells_what_was_asked_and_found(tmp_path: Path) -> None:
    sheet = of_world(tmp_path, given=(("q", "=1+1"), ("pays", "FR"))).sheets["Journal"]
    told = {line[0]: line[1] for line in sheet.iter_rows(values_only=True)}

    assert (told["q"], told["pays"]) == ("=1+1", "FR")
    assert told["Date de l'export (UTC)"] == DAY.replace(tzinfo=None)
    assert (told["Sociétés dans le périmètre"], told["Sociétés dans ce fichier"]) == (41, 41)
    assert (told["Identifiant de la requête"], told["Offre"]) == ("essai-1", "Intégrale")


def test_lists_are_fit_to_be_worked_with_and_printed(whole: File) -> None:
    for name, top in (("Liste", 1), ("Contacts", 1)):
        sheet = whole.sheets[name]
        assert sheet.freeze_panes == "D2"
        (table,) = sheet.tables.values()
        assert table.name == {"Liste": "societes", "Contacts": "contacts"}[name]
        assert table.ref == f"A1:{get_column_letter(sheet.max_column)}{top + len(COMPANIES)}"
        assert table.autoFilter.ref == table.ref
        assert table.column_names == [cell.value for cell in sheet[1]]
        assert sheet.page_setup.fitToWidth in (None, 1)  # 1 is the default
        assert sheet.print_title_rows == "$1:$1"
    for sheet in whole.sheets.worksheets:
        assert sheet.page_setup.paperSize == 9
        assert sheet.sheet_properties.pageSetUpPr.fitToPage
        assert "&P" in sheet.oddFooter.right.text
    properties = whole.sheets.properties
    assert whole.sheets.custom_doc_props["Language"].value == "fr"
    assert (properties.title, properties.creator) == ("Sociétés européennes", "societes")
    assert properties.created == DAY.replace(tzinfo=None)


def test_the_statements_are_those_of_the_first_companies_that_have_some(tmp_path: Path) -> None:
    """F7"""
    with_some = [one for one in IN_ORDER if one["iso2"] == "DE"][3:9]
    comptes = {("DE", one["id"]): STATEMENTS for one in with_some}
    comptes[("DE", IN_ORDER[0]["id"])] = []

    file = of_world(tmp_path, comptes=comptes, plan="free")

    assert file.made.comptes == PLANS["free"].societes_avec_comptes_par_export == 3
    assert file.sheets.sheetnames[9:-2] == [f"DE {one['id']}" for one in with_some[:3]]
