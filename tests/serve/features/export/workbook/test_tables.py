"""The tables and texts of a workbook: complete, and as the specification has them."""

import ast
import csv
from pathlib import Path
from string import Formatter

from seeds import TABLES
from serve.contract import company_fields, seed_tables
from serve.features.export.workbook import book, table_sheet
from serve.features.export.workbook.labels import TEXTS, Labels
from shards.codec.record import ETATS, FIELDS
from shards.query import ORDERS
from tests.serve.features.export.workbook.workbooks import make_workbook

# The kinds of company fields. Each must be the kind of at least one field.
KINDS = {
    company_fields.TEXT,
    company_fields.WHOLE,
    company_fields.AMOUNT,
    company_fields.YEAR,
    company_fields.DATE,
    company_fields.LINK,
    company_fields.TRUTH,
    company_fields.TEXTS,
}


def test_there_is_a_column_for_every_field_in_the_order_of_the_specification() -> None:
    """§2.1, extensions X1, X6, X9"""
    assert tuple(field.champ for field in company_fields.fields()) == FIELDS
    assert {field.genre for field in company_fields.fields()} == KINDS
    for lang in ("fr", "en"):
        assert len({field.title[lang] for field in company_fields.fields()}) == len(FIELDS)


def test_contact_columns_have_the_names_of_the_specification() -> None:
    """§4.6"""
    titles = {field.champ: field.title["fr"] for field in company_fields.fields()}

    assert (titles["site_web"], titles["email"], titles["telephone"]) == (
        "Site web",
        "Email",
        "Téléphone",
    )


def test_the_headings_of_a_list_are_unique() -> None:
    """Excel reports a damaged file if two columns of a table have names that are equal but for case."""
    for lang in ("fr", "en"):
        titles = [column.title.casefold() for column in table_sheet.list_columns(Labels(lang))]
        assert len(set(titles)) == len(titles)


def test_an_aggregate_of_a_company_or_its_group_is_a_line_of_the_chart() -> None:
    with (TABLES / "postes.csv").open(encoding="utf-8", newline="") as file:
        codes = {(row["etat"], row["code"]) for row in csv.DictReader(file)}

    assert len(seed_tables.aggregates() & codes) >= 12
    assert ("bilan_actif", "TotalAssets") in seed_tables.aggregates()
    assert ("bilan_actif", "TotalAssetsConsolidated") in seed_tables.aggregates()
    assert ("bilan_actif", "Debtors") not in seed_tables.aggregates()


def test_every_text_has_the_same_values_in_both_languages() -> None:
    """F11"""
    for name, (french, english) in TEXTS.items():
        values = [
            {field for _, field, _, _ in Formatter().parse(text)} for text in (french, english)
        ]
        assert values[0] == values[1], name
        assert french.strip() == french, name
    assert set(ORDERS) <= set(TEXTS)


def test_every_text_is_used_by_a_sheet() -> None:
    folder = Path(book.__file__).parent
    used = (
        {
            node.value
            for path in folder.rglob("*.py")
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        | {rate.source for rate in seed_tables.rates().values()}
        | set(ETATS)
    )
    # Names with these beginnings are put together by the code, so no constant has them.
    prefixes = ("about_", "chart_", "choice_", "col_", "def_", "verdict_")

    unused = {name for name in TEXTS if name not in used and not name.startswith(prefixes)}
    assert {name.removesuffix("_is") for name in unused} <= used | set(ORDERS)


def test_a_file_with_a_part_of_the_scope_says_so_and_why(tmp_path: Path) -> None:
    """§8.2 rule 3"""
    by_plan = make_workbook(tmp_path, plan="free")
    by_request = make_workbook(tmp_path, limit=3)

    assert by_plan.sheets["Intro"]["A4"].value == (
        "41 sociétés correspondent ; ce fichier contient les 25 premières "
        "(limite de l'offre Découverte : 25 lignes par export)."
    )
    assert "3 premières (limite demandée)" in by_request.sheets["Intro"]["A4"].value
