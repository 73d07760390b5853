"""Hostile values of a register must stay text in a workbook, and not become formulas, links or markup (F8, F9)."""

import re
import tempfile
from pathlib import Path

import pytest

from serve.contract import company_fields
from serve.features.export.workbook import table_sheet
from serve.features.export.workbook.sheet import (
    LONGEST_CELL,
    LONGEST_LINK,
    MOST_LINKS,
    Book,
    can_be_link,
    link_target,
)
from serve.features.export.workbook.table_sheet import TableColumn
from tests.serve.features.export.workbook.workbooks import (
    WorkbookFile,
    cells_with_values,
    make_workbook,
    sheet_rows,
)
from tests.serve.world import STATEMENTS
from tests.world import company

# Texts that Excel, its file format or xlsxwriter could take for something else.
HOSTILE_TEXTS = [
    "=cmd|' /C calc'!A0", "=HYPERLINK(\"http://x.eu\")", "+33 1", "-1+1", "@SUM(A1)", "\t=1+1",
    "\n=1+1", "{=1}", "http://x.eu/", "https://x.eu/", "mailto:a@b.ee", "internal:Intro!A1",
    "external:c:\\x.xlsx", "file:///etc/passwd", "ftp://x.eu", "00123", "1e5", "TRUE", "#REF!",
    "2026-11-21", "<r><t>x</t></r>", "<c><f>1+1</f></c>", "]]>&amp;&lt;", "_x0041_", "'quoted",
    " blanks ", "Ψυχή 🚀", "{0}", "%s", "",
]  # fmt: skip


@pytest.fixture(scope="module")
def hostile_workbook(tmp_path_factory: pytest.TempPathFactory) -> WorkbookFile:
    """A company for each hostile text, whose number is its place, and statement lines with these texts."""
    companies = [
        # A legal form must not have a line break (shards/writing/writer.py).
        company("EE", f"{number:04}", text.strip() or "-", forme=text.strip("\n"), ville=text, email=text,
                description=text, url_registre=text, date_creation=None)
        for number, text in enumerate(HOSTILE_TEXTS)
    ]  # fmt: skip
    lines = [{**STATEMENTS[0], "libelle": text, "code": text, "ordre": order}
             for order, text in enumerate(HOSTILE_TEXTS)]  # fmt: skip
    folder = tmp_path_factory.mktemp("hostile")
    return make_workbook(folder, companies, {("EE", "0000"): lines})


def test_hostile_text_is_stored_unchanged(hostile_workbook: WorkbookFile) -> None:
    """F9"""
    for row in sheet_rows(hostile_workbook.sheets["Liste"]):
        expected = HOSTILE_TEXTS[int(row["Identifiant"])]
        stored = expected
        if stored.endswith("</r>"):
            stored += " "  # without it, xlsxwriter would write the text as markup
        for title in ("Ville", "Description", "Fiche au registre"):
            assert row[title] == stored
        assert row["Forme juridique"] == stored.strip("\n")


def test_hostile_text_creates_no_formula_and_only_plain_links(
    hostile_workbook: WorkbookFile,
) -> None:
    """F9"""
    all_cells = cells_with_values(hostile_workbook)

    # Our own formulas, of ratios and changes, have cells, functions and no text except "".
    own_formula = re.compile(r'=[A-Z0-9()*/+\-,<>=.]*(""[),A-Z0-9()*/+\-,<>=.]*)*')
    formulas = [cell for cell in all_cells if cell.data_type == "f"]
    assert formulas
    assert {cell.parent.title for cell in formulas} <= {"Chiffres clés", "EE 0000"}
    assert not [cell.value for cell in formulas if not own_formula.fullmatch(str(cell.value))]
    assert {cell.data_type for cell in all_cells} <= {"s", "n", "d", "f"}
    link_targets = {cell.hyperlink.target for cell in all_cells if cell.hyperlink} - {None}
    assert link_targets == {"http://x.eu/", "https://x.eu/"}
    assert {cell.column_letter for cell in all_cells if cell.hyperlink and cell.hyperlink.target} == {
        cell.column_letter for cell in hostile_workbook.sheets["Liste"][1]
        if cell.value == "Fiche au registre"
    }  # fmt: skip


def test_text_that_would_run_when_edited_is_marked_as_text(hostile_workbook: WorkbookFile) -> None:
    """F9"""
    sheet = hostile_workbook.sheets["Liste"]
    column = next(cell.column for cell in sheet[1] if cell.value == "Ville")

    quote_prefixes = {str(cell.value): cell.quotePrefix for cell in
              (line[column - 1] for line in sheet.iter_rows(min_row=2)) if cell.value}  # fmt: skip

    assert quote_prefixes["=cmd|' /C calc'!A0"]
    assert {text for text, quoted in quote_prefixes.items() if quoted} == {
        text for text in quote_prefixes if text[0] in "=+-@\t\n"
    }
    assert sheet.cell(2, column).number_format == "@"


def test_identifiers_with_the_same_sheet_name_get_different_sheets(tmp_path: Path) -> None:
    """F8"""
    long_id = "X" * 40
    ids = ["A/B", "A:B", "a?b", "'", long_id, f"{long_id}2", "História 🚀"]
    companies = [
        company("EE", identifier, identifier, ca_eur=float(-number))
        for number, identifier in enumerate(ids)
    ]
    book = make_workbook(
        tmp_path, companies, {("EE", identifier): STATEMENTS for identifier in ids}
    ).sheets

    # The statement sheets are between nine general sheets and the last two.
    names = book.sheetnames[9:-2]
    assert names == [
        "EE A_B", "EE A_B~2", "EE a_b~3", "EE _", f"EE {'X' * 27}…", f"EE {'X' * 25}…~2",
        "EE História 🚀",
    ]  # fmt: skip
    for row, name in enumerate(names, 2):
        cell = book["Liste"].cell(row, 3)
        assert cell.hyperlink.location == link_target(name).removeprefix("internal:")
        assert book[name]["A1"].value == cell.value


def test_a_long_text_is_cut_at_the_limit_of_excel_and_counted_in_the_log(tmp_path: Path) -> None:
    """F8"""
    companies = [
        company("EE", "1", "x" * 40_000, ville="🚀" * 20_000, forme="a\x00b\x0b"),
        company("EE", "2", "y" * LONGEST_CELL, ville="ok"),
    ]
    book = make_workbook(tmp_path, companies).sheets

    cut_company, longest_company = sheet_rows(book["Liste"])
    assert cut_company["Nom"] == "x" * (LONGEST_CELL - 1) + "…"
    assert len(cut_company["Ville"].encode("utf-16-le")) // 2 == LONGEST_CELL
    assert cut_company["Forme juridique"] == "a b "
    assert longest_company["Nom"] == "y" * LONGEST_CELL
    journal = {line[0]: line[1] for line in book["Journal"].iter_rows(values_only=True)}
    # Three in the list, and two of these again in the contacts.
    assert journal["Textes raccourcis ou nettoyés pour tenir dans une cellule"] == 5


def test_a_sheet_has_no_more_links_than_excel_reads(tmp_path: Path) -> None:
    """65 530 links a sheet; further links are text, and are counted."""
    path = tmp_path / "links.xlsx"
    pages = ["https://x.eu"] * (MOST_LINKS + 3)
    column = TableColumn("Site", company_fields.LINK, pages, 9)
    book = Book(path, Path(tempfile.mkdtemp(dir=tmp_path)), {}, "fr")
    table_sheet.write(book.sheet("a", "#000000"), "pages", [column])
    book.close()

    text = WorkbookFile(path, None).parts["xl/worksheets/sheet1.xml"]  # type: ignore[arg-type]
    assert text.count(b"<hyperlink ") == MOST_LINKS == 65_530
    assert text.count(b' t="s"><v>') == 1 + len(pages)
    assert book.altered.links == 3


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://ariregister.rik.ee/est/company/10000018?a=%20#b", True),
        ("http://[::1]/", True),
        (f"https://x.eu/{'a' * (LONGEST_LINK - 13)}", True),
        (f"https://x.eu/{'a' * (LONGEST_LINK - 12)}", False),
        ("https://x.eu/é", False),
        ("https://x.eu/ a", False),
        ('https://x.eu/"', False),
        ("https://", False),
        ("javascript:alert(1)", False),
        ("HTTP//x", False),
        ("https://x.eu/\n", False),
        ("https://bank.example@x.eu/", False),
        ("https://bank.example:443@x.eu/", False),
        ("https://bank.example%2F@x.eu", False),
        ("https://x.eu/@user?to=a@b#@", True),
    ],
)
def test_only_a_plain_address_becomes_a_link(url: str, expected: bool) -> None:
    assert can_be_link(url) == expected
