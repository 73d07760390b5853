"""Hostile values of a register, which a workbook must not obey: formulas, links, markup (F8, F9)."""

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
    is_page,
    link_target,
)
from serve.features.export.workbook.table_sheet import TableColumn
from tests.serve.features.export.workbook.workbooks import File, cells, of_world, rows
from tests.serve.world import STATEMENTS
from tests.world import company

ACTIVE = [
    "=cmd|' /C calc'!A0", "=HYPERLINK(\"http://x.eu\")", "+33 1", "-1+1", "@SUM(A1)", "\t=1+1",
    "\n=1+1", "{=1}", "http://x.eu/", "https://x.eu/", "mailto:a@b.ee", "internal:Intro!A1",
    "external:c:\\x.xlsx", "file:///etc/passwd", "ftp://x.eu", "00123", "1e5", "TRUE", "#REF!",
    "2026-11-21", "<r><t>x</t></r>", "<c><f>1+1</f></c>", "]]>&amp;&lt;", "_x0041_", "'quoted",
    " blanks ", "Ψυχή 🚀", "{0}", "%s", "",
]  # fmt: skip


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> File:
    found = [
        # A legal form is one line (shards/writing/writer.py).
        company("EE", f"{number:04}", text.strip() or "-", forme=text.strip("\n"), ville=text, email=text,
                description=text, url_registre=text, date_creation=None)
        for number, text in enumerate(ACTIVE)
    ]  # fmt: skip
    labels = [{**STATEMENTS[0], "libelle": text, "code": text, "ordre": n}
              for n, text in enumerate(ACTIVE)]  # fmt: skip
    folder = tmp_path_factory.mktemp("hostile")
    return of_world(folder, found, {("EE", "0000"): labels})


def test_text_stays_text_to_the_letter(hostile: File) -> None:
    """F9"""
    for row in rows(hostile.sheets["Liste"]):
        expected = ACTIVE[int(row["Identifiant"])]
        literal = expected
        if literal.endswith("</r>"):
            literal += " "  # else xlsxwriter would take it for markup
        for title in ("Ville", "Description", "Fiche au registre"):
            assert row[title] == literal
        assert row["Forme juridique"] == literal.strip("\n")


def test_there_is_no_formula_and_no_link_that_the_text_made(hostile: File) -> None:
    """F9"""
    found = cells(hostile)

    # Ratios and changes are formulas of our own: sums of cells, without a text but the empty one.
    ours = re.compile(r'=[A-Z0-9()*/+\-,<>=.]*(""[),A-Z0-9()*/+\-,<>=.]*)*')
    formulas = [cell for cell in found if cell.data_type == "f"]
    assert formulas
    assert {cell.parent.title for cell in formulas} <= {"Chiffres clés", "EE 0000"}
    assert not [cell.value for cell in formulas if not ours.fullmatch(str(cell.value))]
    assert {cell.data_type for cell in found} <= {"s", "n", "d", "f"}
    outside = {cell.hyperlink.target for cell in found if cell.hyperlink} - {None}
    assert outside == {"http://x.eu/", "https://x.eu/"}
    assert {cell.column_letter for cell in found if cell.hyperlink and cell.hyperlink.target} == {
        cell.column_letter for cell in hostile.sheets["Liste"][1]
        if cell.value == "Fiche au registre"
    }  # fmt: skip


def test_text_that_would_run_when_edited_is_marked_as_text(hostile: File) -> None:
    """F9"""
    sheet = hostile.sheets["Liste"]
    column = next(cell.column for cell in sheet[1] if cell.value == "Ville")

    marked = {str(cell.value): cell.quotePrefix for cell in
              (line[column - 1] for line in sheet.iter_rows(min_row=2)) if cell.value}  # fmt: skip

    assert marked["=cmd|' /C calc'!A0"]
    assert {text for text, quoted in marked.items() if quoted} == {
        text for text in marked if text[0] in "=+-@\t\n"
    }
    assert sheet.cell(2, column).number_format == "@"


def test_identifiers_that_make_one_name_get_two_sheets(tmp_path: Path) -> None:
    """F8"""
    long = "X" * 40
    ids = ["A/B", "A:B", "a?b", "'", long, f"{long}2", "História 🚀"]
    found = [company("EE", one, one, ca_eur=float(-n)) for n, one in enumerate(ids)]
    book = of_world(tmp_path, found, {("EE", one): STATEMENTS for one in ids}).sheets

    names = book.sheetnames[9:-2]
    assert names == [
        "EE A_B", "EE A_B~2", "EE a_b~3", "EE _", f"EE {'X' * 27}…", f"EE {'X' * 25}…~2",
        "EE História 🚀",
    ]  # fmt: skip
    for row, name in enumerate(names, 2):
        cell = book["Liste"].cell(row, 3)
        assert cell.hyperlink.location == link_target(name).removeprefix("internal:")
        assert book[name]["A1"].value == cell.value


def test_a_cell_is_cut_where_excel_ends_and_the_log_counts_it(tmp_path: Path) -> None:
    """F8"""
    found = [
        company("EE", "1", "x" * 40_000, ville="🚀" * 20_000, forme="a\x00b\x0b"),
        company("EE", "2", "y" * LONGEST_CELL, ville="ok"),
    ]
    book = of_world(tmp_path, found).sheets

    first, second = rows(book["Liste"])
    assert first["Nom"] == "x" * (LONGEST_CELL - 1) + "…"
    assert len(first["Ville"].encode("utf-16-le")) // 2 == LONGEST_CELL
    assert first["Forme juridique"] == "a b "
    assert second["Nom"] == "y" * LONGEST_CELL
    told = {line[0]: line[1] for line in book["Journal"].iter_rows(values_only=True)}
    # The list has three of them, the contacts two again.
    assert told["Textes raccourcis ou nettoyés pour tenir dans une cellule"] == 5


def test_a_sheet_has_no_more_links_than_excel_reads(tmp_path: Path) -> None:
    """65 530 links a sheet; the next ones are text, and counted"""
    path = tmp_path / "links.xlsx"
    pages = ["https://x.eu"] * (MOST_LINKS + 3)
    column = TableColumn("Site", company_fields.LINK, pages, 9)
    book = Book(path, Path(tempfile.mkdtemp(dir=tmp_path)), {}, "fr")
    table_sheet.write(book.sheet("a", "#000000"), "pages", [column])
    book.close()

    text = File(path, None).parts["xl/worksheets/sheet1.xml"]  # type: ignore[arg-type]
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
    assert is_page(url) == expected
