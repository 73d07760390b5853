"""Lists as Excel workbooks: the first visible sheet is read like CSV, within limits."""

import html
import io
import zipfile
from collections.abc import Callable, Sequence
from datetime import date, datetime, time
from typing import Any, Final

import pytest
from openpyxl import Workbook
from openpyxl.utils.datetime import CALENDAR_MAC_1904

from serve.contract.errors import ApiError
from serve.features.matching import list_file, xlsx_file
from tests.serve.client import Server
from tests.serve.features.matching.test_pages import match_list, read_card, verdicts_of
from tests.serve.surfaces.site.visitor import Visitor

# A document that says which part of the package has a type.
RELATIONSHIPS: Final = (
    "<Relationships><Relationship Id='a' Type='x/{}' Target='{}'/></Relationships>"
)
WORKBOOK_XML: Final = (
    "<workbook xmlns:r='r'><sheets><sheet name='A' sheetId='1' r:id='a'/></sheets></workbook>"
)
TIME: Final = datetime(2020, 1, 2, 3, 4)  # noqa: DTZ001 - a cell has no time zone
CELL_XML: Final = "<c><v>1</v></c>"


def workbook_bytes(*rows: Sequence[Any], formats: dict[str, str] | None = None) -> bytes:
    """A workbook written by openpyxl; `formats` are the number formats of cells."""
    book = Workbook()
    for row in rows:
        book.active.append(row)
    for cell, code in (formats or {}).items():
        book.active[cell].number_format = code
    return file_content(book)


def file_content(book: Workbook) -> bytes:
    """The bytes of a workbook."""
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def package_bytes(sheet: str, **documents: str) -> bytes:
    """A workbook with one sheet, written document by document.

    Args:
        sheet: the XML of the sheet.
        documents: other contents of `workbook`, `relations` or `strings`.
    """
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_rels/.rels", RELATIONSHIPS.format("officeDocument", "xl/workbook.xml"))
        archive.writestr("xl/workbook.xml", documents.get("workbook", WORKBOOK_XML))
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            documents.get("relations", RELATIONSHIPS.format("worksheet", "worksheets/sheet1.xml")),
        )
        archive.writestr("xl/worksheets/sheet1.xml", sheet)
        archive.writestr("xl/strings.xml", documents.get("strings", "<sst/>"))
    return file.getvalue()


def sheet_xml(rows: int, columns: int, cell: str = CELL_XML) -> str:
    """A sheet of equal cells."""
    row = f"<row>{cell * columns}</row>"
    return f"<worksheet><sheetData>{row * rows}</sheetData></worksheet>"


def rows_of(raw: bytes) -> list[list[str]]:
    """The headings and the rows of a workbook, read as a list."""
    table = list_file.read(xlsx_file.read(raw).content, "UTF-8", xlsx_file.SEPARATOR)
    return [list(table.headings), *map(list, table.rows)]


def test_cells_are_read_as_displayed() -> None:
    raw = workbook_bytes(
        ["nom", "id", "cp", "siren", "creation", "heure", "vu", "part", "oui", "tel"],
        ["A", 542065479.0, 1000, 5420654, date(2010, 4, 3), time(9, 30), TIME, 0.5, True, 612345678],
        formats={"C2": "00000", "D2": r"000\ 000\ 000", "H2": "0%", "J2": r"0#\ ##\ ##\ ##\ ##"},
    )  # fmt: skip

    assert rows_of(raw)[1] == [
        "A", "542065479", "01000", "005 420 654", "2010-04-03", "09:30:00", "2020-01-02 03:04:00", "0.5", "TRUE",
        "06 12 34 56 78",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "code", "shown"),
    [
        ("5.4206547900000001E8", "General", "542065479"),
        ("12345678901234", "", "12345678901234"),
        ("40271", "[$-40C]d mmmm yyyy;@", "2010-04-03"),
        ("40271", '"day" 0', "day 40271"),
        ("40271", "[Red]#,##0.00", "40271"),
        ("1", "d/m/yyyy", "1900-01-01"),
        ("99999999999", "d/m/yyyy", "99999999999"),
        ("-1", "d/m/yyyy", "-1"),
        ("0.25", "[h]:mm", "06:00:00"),
        ("542065479", '"FR"000000000', "FR542065479"),
        ("7", "0", "7"),
        ("NaN", "", "NaN"),
        ("abc", "00000", "abc"),
        ("0", "h:mm", "00:00:00"),  # midnight
        ("-0.5", "h:mm", "-0.5"),
    ],
)
def test_a_number_is_shown_in_its_format(value: str, code: str, shown: str) -> None:
    assert xlsx_file.display_number(value, code) == shown


def test_dates_of_the_1904_date_system_are_the_same_days() -> None:
    book = Workbook()
    book.epoch = CALENDAR_MAC_1904
    book.active.append(["nom", "creation"])
    book.active.append(["A", date(2010, 4, 3)])

    assert rows_of(file_content(book))[1] == ["A", "2010-04-03"]


def test_hidden_sheets_are_skipped_and_the_label_names_the_sheet() -> None:
    book = Workbook()
    book.active.sheet_state = "hidden"
    book.active.append(["secret"])
    book.create_chartsheet("Graphique")
    book.create_sheet("Clients").append(["nom", "ville"])
    book["Clients"].append(["Été", "Łódź"])
    book.create_sheet("Autre").append(["nom"])

    assert rows_of(file_content(book)) == [["nom", "ville"], ["Été", "Łódź"]]
    assert xlsx_file.read(file_content(book)).label == ".xlsx · Clients (1/2)"


def test_formulas_are_read_by_their_stored_value_and_rich_text_without_phonetics() -> None:
    cells = (
        "<c t='inlineStr'><is><r><t>no</t></r><r><t>m</t></r><rPh><t>x</t></rPh></is></c>"
        "<c t='str'><f>A1&amp;A2</f><v>a_x000D_&amp;b</v></c><c/><c><f>1+1</f><v>2</v></c>"
    )
    # The same sheet with a namespace prefix on every element.
    prefixed = sheet_xml(1, 1, cells).replace("<", "<x:").replace("<x:/", "</x:")

    for text in (
        sheet_xml(1, 1, cells),
        prefixed.replace("<x:worksheet>", "<x:worksheet xmlns:x='y'>"),
    ):
        assert xlsx_file.read(package_bytes(text)).content == b'nom;"a\r&b";;2\r\n'


def test_blank_rows_and_cells_between_values_stay_and_trailing_ones_are_dropped() -> None:
    text = (
        "<worksheet><row r='1'><c r='A1' t='str'><v>nom</v></c><c r='C1' t='str'><v>pays</v></c></row>"
        "<row r='4'><c r='A4' t='str'><v>A</v></c><c r='XFD4' s='1'/></row><row r='1048576'/></worksheet>"
    )

    assert xlsx_file.read(package_bytes(text)).content == b"nom;;pays\r\n;;\r\n;;\r\nA;;\r\n"


def first_half(raw: bytes) -> bytes:
    """The first half of a file, as after a broken download."""
    return raw[: len(raw) // 2]


def archive_bytes(name: str, kind: int = zipfile.ZIP_STORED) -> bytes:
    """A ZIP archive with one document of this name."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", kind) as archive_file:
        archive_file.writestr(name, RELATIONSHIPS.format("officeDocument", "xl/workbook.xml"))
    return file.getvalue()


# Names a sheet that the package does not have.
MISSING_SHEET: Final = RELATIONSHIPS.format("worksheet", "b")
# Each is a function that makes a workbook, and the reason of its refusal. The largest has 90 MB, so workbooks are not
# made when a test process imports this module.
HOSTILE_WORKBOOKS: Final[dict[str, tuple[Callable[[], bytes], str]]] = {
    "many bytes": (lambda: package_bytes(f"<worksheet><c><v>{'a' * (90 << 20)}</v></c></worksheet>"), "50 fois"),
    "a million cells": (lambda: package_bytes(sheet_xml(10_000, 100)), "500000 cellules"),
    "a million rows": (lambda: package_bytes(sheet_xml(40_000, 1)), "10000 au plus"),
    "a tag without end": (lambda: package_bytes(f"<worksheet x='{'a' * (1 << 20)}'/>"), "without end"),
    "a document type": (lambda: package_bytes("<!DOCTYPE a [<!ENTITY a 'b'>]><a>&a;</a>"), "DOCTYPE a"),
    "a column far away": (
        lambda: package_bytes("<a><row r='1'><c r='XFD1'><v>1</v></c></row></a>"), "16384 colonnes, 200",
    ),
    "a row far away": (lambda: package_bytes("<a><row r='1048576'><c><v>1</v></c></row></a>"), "1048576 lignes"),
    "an invalid column": (lambda: package_bytes("<a><row><c r='1A:'><v>1</v></c></row></a>"), "ne peut être lu"),
    "an invalid row": (lambda: package_bytes(f"<a><row r='{'9' * 5_000}'/></a>"), "ne peut être lu"),
    "a string that is missing": (lambda: package_bytes("<a><row><c t='s'><v>7</v></c></row></a>"), "ne peut être lu"),
    "a sheet that is missing": (lambda: package_bytes("<a/>", relations=MISSING_SHEET), "ne peut être lu"),
    "no sheets": (lambda: package_bytes("<a/>", workbook="<workbook/>"), "ne peut être lu"),
    "an empty sheet": (lambda: package_bytes("<a/>"), "la première feuille visible du classeur, 'A', est vide"),
    "half a file": (lambda: first_half(workbook_bytes(["nom"], ["A"])), "ne peut être lu"),
    "a document": (lambda: archive_bytes("word/document.xml"), "archive sans classeur"),
    "an unusual compression": (lambda: archive_bytes("_rels/.rels", zipfile.ZIP_LZMA), "ne peut être lu"),
    "a single part": (lambda: archive_bytes("_rels/.rels"), "ne peut être lu"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE_WORKBOOKS)
def test_a_hostile_workbook_is_refused_with_the_reason(name: str) -> None:
    make_bytes, reason = HOSTILE_WORKBOOKS[name]
    raw = make_bytes()

    with pytest.raises(ApiError) as refused:
        list_file.read(xlsx_file.read(raw).content)

    assert reason in refused.value.texts[0]


def test_a_shared_string_counts_for_each_cell_that_uses_it() -> None:
    relations = RELATIONSHIPS.format("worksheet", "worksheets/sheet1.xml").replace(
        "</", "<Relationship Id='b' Type='x/sharedStrings' Target='/xl/strings.xml'/></"
    )
    strings = f"<sst><si><t>{'é' * 30_000}</t></si></sst>"
    raw = package_bytes(
        sheet_xml(600, 1, "<c t='s'><v>0</v></c>"), relations=relations, strings=strings
    )

    with pytest.raises(ApiError, match="4194304 octets"):
        xlsx_file.read(raw)


def test_the_form_matches_a_workbook_like_its_csv(server: Server) -> None:
    """The encoding and the separator of the form do not apply to a workbook"""
    rows: list[list[str | None]] = [
        ["Firma", "Land", "Ort"],
        ["Mueller Maschinenbau", "Deutschland", None],
        ["Société Générale d'Orléans", "FR", "Orléans"],
    ]
    text = "\n".join(";".join(cell or "" for cell in row) for row in rows)
    visitor = Visitor(server)

    of_workbook = match_list(
        visitor, workbook_bytes(*rows), encodage="Windows-1252", separateur=","
    )
    of_csv = match_list(visitor, text.encode())

    assert of_workbook.status == 200, of_workbook.text[:2_000]
    assert verdicts_of(of_workbook) == verdicts_of(of_csv)
    assert ".xlsx · Sheet" in html.unescape(of_workbook.html)


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "enregistrez la liste en .xlsx sans mot de passe"),
        (archive_bytes("content.xml"), "archive sans classeur .xlsx"),
        (workbook_bytes(["a", "b"], [1, 2]), "aucune colonne de nom"),
    ],
)
def test_the_form_says_why_a_workbook_is_refused(server: Server, file: bytes, reason: str) -> None:
    page = match_list(Visitor(server), file)

    assert (page.status, reason in html.unescape(page.html)) == (400, True), page.text[:2_000]


def test_a_script_gets_the_pieces_of_a_workbook(server: Server) -> None:
    """With `sortie=lecture` the list is only read: the script of the page sends its pieces one by one to be matched."""
    page = match_list(
        Visitor(server),
        workbook_bytes(["nom", "cp"], ["A", 1000], formats={"B2": "00000"}),
        sortie="lecture",
    )

    assert read_card(page)["Encodage"] == ".xlsx · Sheet"
    assert "A;01000" in page.html
