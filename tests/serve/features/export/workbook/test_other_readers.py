"""Other programs read the workbooks: the values are equal, and no file has to be repaired."""

import re
import subprocess
from collections.abc import Iterable
from datetime import date, datetime
from itertools import zip_longest
from math import isclose
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook
from openxml_audit import OpenXmlValidator, ValidationSeverity
from python_calamine import CalamineWorkbook

from tests.proof.tools import need
from tests.serve.features.export.workbook.workbooks import WorkbookFile, make_workbook
from tests.world import company

WORKBOOK_FIXTURES = ["full_workbook", "free_workbook", "english_workbook"]
# Without this setting, LibreOffice shows the stored values of formulas.
ALWAYS_CALCULATE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load"><prop oor:name="OOXMLRecalcMode" oor:op="fuse">
<value>0</value></prop></item></oor:items>"""
ERROR = ValidationSeverity.ERROR


@pytest.fixture(params=WORKBOOK_FIXTURES)
def workbook(request: pytest.FixtureRequest) -> WorkbookFile:
    """Each workbook of conftest.py, one after the other."""
    requested: WorkbookFile = request.getfixturevalue(request.param)
    return requested


def test_calamine_reads_the_same_values_as_openpyxl(workbook: WorkbookFile) -> None:
    calamine_book, book = CalamineWorkbook.from_path(str(workbook.path)), workbook.values

    assert calamine_book.sheet_names == book.sheetnames
    for name in book.sheetnames:
        calamine_lines = calamine_book.get_sheet_by_name(name).to_python(skip_empty_area=False)
        lines = zip_longest(calamine_lines, book[name].iter_rows(values_only=True), fillvalue=())
        for line, expected in lines:
            # Readers may end a row at different empty cells.
            assert filled_cells(line) == filled_cells(expected)


def test_no_part_breaks_the_schema_of_office_open_xml(workbook: WorkbookFile) -> None:
    result = OpenXmlValidator().validate(workbook.path)

    assert [str(error) for error in result.errors if error.severity == ERROR] == []


def test_libreoffice_keeps_every_value_and_calculates_the_same(
    workbook: WorkbookFile, tmp_path: Path
) -> None:
    office = need("soffice", "libreoffice-calc")
    settings = tmp_path / "profile" / "user" / "registrymodifications.xcu"
    settings.parent.mkdir(parents=True)
    settings.write_text(ALWAYS_CALCULATE)
    command = [office, "--headless", f"-env:UserInstallation=file://{tmp_path}/profile",
               "--convert-to", "xlsx", "--outdir", str(tmp_path), str(workbook.path)]  # fmt: skip

    subprocess.run(command, check=True, capture_output=True, timeout=120)

    converted, book = load_workbook(tmp_path / workbook.path.name, data_only=True), workbook.values
    assert converted.sheetnames == book.sheetnames
    for name in book.sheetnames:
        for line in book[name].iter_rows():
            for cell in line:
                other_cell = converted[name].cell(cell.row, cell.column)
                assert is_same(plain_value(other_cell.value), plain_value(cell.value)), (
                    cell.coordinate
                )
        assert len(converted[name]._charts) == len(book[name]._charts)


@pytest.mark.parametrize(
    ("lang", "largest_band"), [("fr", "10\u202f000 et plus"), ("en", "10,000 and more")]
)
def test_a_headcount_band_is_shown_as_text_and_read_as_a_number(
    tmp_path: Path, lang: str, largest_band: str
) -> None:
    office = need("soffice", "libreoffice-calc")
    codes = {"1": "12", "2": "53", "3": "1000-1499"}
    companies = [
        company("CZ", number, "a", tranche_effectif=code) for number, code in codes.items()
    ]
    workbook = make_workbook(tmp_path, companies, {}, lang=lang)
    command = [office, "--headless", f"-env:UserInstallation=file://{tmp_path}/profile",
               "--convert-to", "html", "--outdir", str(tmp_path), str(workbook.path)]  # fmt: skip

    subprocess.run(command, check=True, capture_output=True, timeout=120)

    (page,) = tmp_path.glob("*.html")
    cells = re.findall(r'sdval="(\d+)"[^>]*>(?:<font[^>]*>)?([^<]*)<', page.read_text("utf-8"))
    assert {("20", "20–49"), ("10000", largest_band), ("1000", "1000-1499")} <= set(cells)
    _, *lines = CalamineWorkbook.from_path(str(workbook.path)).get_sheet_by_index(4).to_python()
    # The sheet Liste, with the identifier and the headcount of each company.
    assert {line[1]: line[7] for line in lines} == {"1": 20, "2": 10_000, "3": 1_000}


def is_same(value: Any, expected: Any) -> bool:
    """Whether values are equal; numbers up to rounding, since LibreOffice keeps 15 digits, as Excel does."""
    if isinstance(expected, float) and isinstance(value, float):
        return isclose(value, expected, rel_tol=1e-11)
    return bool(value == expected)


def filled_cells(line: Iterable[Any]) -> dict[int, Any]:
    """The values of a row by column, without empty cells."""
    return {
        col: plain_value(value) for col, value in enumerate(line) if plain_value(value) is not None
    }


def plain_value(value: Any) -> Any:
    """A value in one type for all readers: empty is None, a date is a datetime, a number is a float."""
    if value in ("", None):
        return None
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)  # noqa: DTZ001 - cells have no zone
    if isinstance(value, datetime):
        return value.replace(microsecond=0)
    return float(value) if isinstance(value, int | float) else value
