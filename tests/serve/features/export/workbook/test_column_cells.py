"""The cells of a column, many at once: the same as each alone."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest
from openpyxl import load_workbook

from serve.contract import company_fields
from serve.features.export.workbook import column_cells
from serve.features.export.workbook.cell_values import is_page
from serve.features.export.workbook.column_cells import Band
from serve.features.export.workbook.sheet import Book, Sheet

TEXTS = [
    "Łódź 1", "A & B", "a^b", "^", "", " x", "x ", "=1", "-", "+33 1", "a=b", "<b>", "a>b", "a_x0041_b",
    "5\u202f000", "x\ty", "y" * 40_000, "🚀 & <", None,
]  # fmt: skip


@pytest.fixture
def sheet(tmp_path: Path) -> Iterator[Sheet]:
    with Book(tmp_path / "a.xlsx", Path(tempfile.mkdtemp(dir=tmp_path)), {}) as book:
        yield book.sheet("a", "#000000")


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_has_the_same_cell_alone_and_among_others(sheet: Sheet, text: str | None) -> None:
    """F9: what is joined is split where it was joined"""
    (alone,) = column_cells.column(sheet, 0, company_fields.TEXT)(0, [text])

    among = column_cells.column(sheet, 0, company_fields.TEXT)(0, ["a", text, None, "b & c"])

    assert among[1:3] == [alone, ""]
    assert column_cells.column(sheet, 0, company_fields.TEXT)(0, TEXTS)[TEXTS.index(text)] == alone
    assert (alone == "") == (text is None)


def test_texts_that_come_again_stand_once_in_the_file(tmp_path: Path) -> None:
    """F8, F9: and what is shared is read back; what does not fit is counted for each cell"""
    path = tmp_path / "a.xlsx"
    often = ["Services & conseil", "=1+1", " a", None, "x\x00y", "<r>z</r>", "_x0041_"]
    once = [f"société {number}" for number in range(600)]
    with Book(path, Path(tempfile.mkdtemp(dir=tmp_path)), {}) as book:
        sheet = book.sheet("a", "#000000")
        columns = [column_cells.column(sheet, col, company_fields.TEXT) for col in (0, 1)]
        sheet.texts(0, ("often", "once"), sheet.styles.header)
        for start in (0, 300):
            several = (often * 100)[start : start + 300]
            made = columns[0](start + 1, several), columns[1](start + 1, once[start : start + 300])
            sheet.raw.add_rows(start + 1, zip(*made, strict=True))
        book.close()

    found = list(load_workbook(path)["a"].iter_rows(min_row=2))
    read = {None: None, "x\x00y": "x y", "<r>z</r>": "<r>z</r> "}
    assert [row[0].value for row in found] == [read.get(one, one) for one in (often * 100)[:600]]
    assert [row[1].value for row in found] == once
    assert {row[0].value for row in found if row[0].quotePrefix} == {"=1+1"}
    shared = ZipFile(path).read("xl/sharedStrings.xml").decode()
    assert "<t>_x005F_x0041_</t>" in shared  # which openpyxl undoes there
    assert shared.count("<si>") == 4 and "soci" not in shared and "x y" not in shared
    assert book.altered.texts == sum(one in ("x\x00y", "<r>z</r>") for one in (often * 100)[:600])


def test_a_number_has_the_same_cell_alone_and_again_and_again(sheet: Sheet) -> None:
    values = [2024, None, 0.1, -1.5e300, 2024, 2024, 2024, 2024, 0.1, 0.1]

    cells = column_cells.column(sheet, 0, company_fields.AMOUNT)(0, values)

    alone = [column_cells.column(sheet, 0, company_fields.AMOUNT)(0, [one])[0] for one in values]
    assert cells == alone
    assert cells[1] == ""
    assert cells[3].endswith("<v>-1.5e+300</v></c>")


def test_bands_of_more_kinds_than_a_workbook_has_formats_for_are_texts(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    bands = [Band(least, f"{least}-{least + 9}") for least in range(0, 5_000, 10)]
    with Book(path, Path(tempfile.mkdtemp(dir=tmp_path)), {}) as book:
        sheet = book.sheet("a", "#000000")
        sheet.texts(0, ("headcount",), sheet.styles.header)
        made = column_cells.column(sheet, 0, column_cells.HEADCOUNT)(1, bands)
        sheet.raw.add_rows(1, ([cell] for cell in made))
        book.close()

    found = [row[0] for row in load_workbook(path)["a"].iter_rows(min_row=2)]

    shown = [
        cell.number_format.strip('"') if cell.data_type == "n" else cell.value for cell in found
    ]
    assert shown == [band.words for band in bands]
    assert found[0].value == 0 and found[-1].value == bands[-1].words
    assert len({cell.number_format for cell in found}) < 200


@pytest.mark.parametrize(
    "address",
    [
        "https://x.eu",
        "http://x.eu/a?b=c&d=%C3%A9#e&f",
        "https://x.eu/100%",
        "http://[::1]/[a]#[b]",
        "https://x.eu/#",
    ],
)
def test_a_page_is_linked_as_xlsxwriter_would(sheet: Sheet, address: str) -> None:
    assert is_page(address)
    raw = sheet.raw
    raw.add_link(0, 0, address)
    raw.write_url(1, 0, address)

    ours, theirs = raw.hyperlinks[0][0], raw.hyperlinks[1][0]

    assert (ours._target(), ours._anchor) == (theirs._target(), theirs._anchor)
    assert (ours._link_type, ours._target_mode()) == (theirs._link_type, "External")
