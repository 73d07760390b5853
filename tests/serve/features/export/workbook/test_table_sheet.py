"""The cells of a long list for each kind of column, read back by openpyxl (F8, F9)."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from openpyxl import load_workbook
from openpyxl.cell import Cell

from serve.contract import company_fields
from serve.features.export.workbook import table_sheet
from serve.features.export.workbook.sheet import AlterationCounts, Book
from serve.features.export.workbook.table_sheet import HEADCOUNT, Band, TableColumn


def write_and_read(
    folder: Path, genre: str, values: Sequence[Any]
) -> tuple[list[Cell], AlterationCounts]:
    """The cells of a list with a single column, and the counts of changed texts and links."""
    path = folder / "a.xlsx"
    book = Book(path, Path(tempfile.mkdtemp(dir=folder)), {}, "fr")
    column = TableColumn("A", genre, values, 9)
    table_sheet.write(book.sheet("a", "#000000"), "liste", [column])
    book.close()
    sheet = load_workbook(path)["a"]
    return [sheet.cell(row, 1) for row in range(2, 2 + len(values))], book.altered


def test_a_text_is_read_back_and_a_changed_text_is_counted(tmp_path: Path) -> None:
    """A text is changed if it is too long for a cell, or has a character or markup that no cell can have"""
    unchanged = [
        "Łódź 1",
        "A & B",
        "",
        " x",
        "x ",
        "=1",
        "-",
        "+33 1",
        "a=b",
        "<b>",
        "a>b",
        "5\u202f000",
        "x\ty",
        "🚀 & <",
    ]
    changed = {"y" * 40_000: "y" * 32_766 + "…", "x\x00y": "x y", "<r>z</r>": "<r>z</r> "}

    cells, altered = write_and_read(
        tmp_path, company_fields.TEXT, [*unchanged, None, *changed, *changed]
    )

    read = [cell.value for cell in cells]
    assert [value or "" for value in read[: len(unchanged)]] == unchanged
    assert read[len(unchanged)] is None
    assert read[len(unchanged) + 1 :] == [*changed.values()] * 2
    assert altered.texts == 2 * len(changed)
    assert {cell.value for cell in cells if cell.quotePrefix} == {"=1", "-", "+33 1"}
    assert {cell.number_format for cell in cells if cell.value is not None} == {"@"}


def test_a_number_keeps_the_digits_that_excel_stores(tmp_path: Path) -> None:
    values = [2024, 0.1, -1.5e300, 1 / 3, 123_456_789_012_345, 0]

    cells, _ = write_and_read(tmp_path, company_fields.AMOUNT, values)

    assert [cell.value for cell in cells] == pytest.approx(values, rel=1e-15)


def test_an_infinite_or_nan_amount_is_an_error_in_its_cell_only(tmp_path: Path) -> None:
    cells, _ = write_and_read(
        tmp_path, company_fields.AMOUNT, [1.0, float("inf"), float("nan"), 2.0]
    )

    assert [cell.value for cell in cells][::3] == [1, 2]
    # xlsxwriter writes an infinite or NaN number as a formula ("f") with the value #DIV/0! or #NUM!.
    assert [cell.data_type for cell in cells] == ["n", "f", "f", "n"]


def test_a_day_that_excel_supports_is_a_date_and_others_are_texts(tmp_path: Path) -> None:
    cells, _ = write_and_read(
        tmp_path, company_fields.DATE, ["2026-11-21", "1899-12-31", "2015-06", None]
    )

    assert [cell.is_date for cell in cells] == [True, False, False, False]
    assert [cell.value for cell in cells[1:]] == ["1899-12-31", "2015-06", None]


def test_bands_beyond_the_number_formats_of_a_workbook_are_texts(tmp_path: Path) -> None:
    """500 bands, and the first band again, which has its format already"""
    bands = [Band(least, f"{least}-{least + 9}") for least in range(0, 5_000, 10)]

    cells, _ = write_and_read(tmp_path, HEADCOUNT, [*bands, bands[0]])

    texts = [
        cell.number_format.strip('"') if cell.data_type == "n" else cell.value for cell in cells
    ]
    assert texts == [band.words for band in [*bands, bands[0]]]
    assert cells[0].value == cells[-1].value == 0 and cells[-2].value == bands[-1].words
    assert len({cell.number_format for cell in cells}) < 200


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
def test_an_http_address_is_a_link_with_the_address_as_text(tmp_path: Path, address: str) -> None:
    (cell, plain_cell), _ = write_and_read(tmp_path, company_fields.LINK, [address, "ftp://x.eu"])

    assert cell.value == address
    assert cell.hyperlink is not None
    page, _, anchor = address.partition("#")
    # Versions of xlsxwriter escape different characters in a target.
    assert unquote(cell.hyperlink.target) == unquote(page)
    assert unquote(cell.hyperlink.location or "") == anchor
    assert (plain_cell.value, plain_cell.hyperlink) == ("ftp://x.eu", None)
