"""Other programs that read workbooks: all agree on every value, and none repairs a file."""

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
from tests.serve.features.export.workbook.workbooks import File, of_world
from tests.world import company

FILES = ["whole", "free", "english"]
# LibreOffice shows the values of formulas as they are stored unless it is told to calculate.
ALWAYS_CALCULATE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load"><prop oor:name="OOXMLRecalcMode" oor:op="fuse">
<value>0</value></prop></item></oor:items>"""
ERROR = ValidationSeverity.ERROR


@pytest.fixture(params=FILES)
def file(request: pytest.FixtureRequest) -> File:
    found: File = request.getfixturevalue(request.param)
    return found


def test_calamine_reads_what_openpyxl_reads(file: File) -> None:
    theirs, ours = CalamineWorkbook.from_path(str(file.path)), file.values

    assert theirs.sheet_names == ours.sheetnames
    for name in ours.sheetnames:
        read = theirs.get_sheet_by_name(name).to_python(skip_empty_area=False)
        lines = zip_longest(read, ours[name].iter_rows(values_only=True), fillvalue=())
        for line, expected in lines:
            # Where a row ends is a matter of taste.
            assert filled(line) == filled(expected)


def test_no_part_breaks_the_schema_of_office_open_xml(file: File) -> None:
    result = OpenXmlValidator().validate(file.path)

    assert [str(error) for error in result.errors if error.severity == ERROR] == []


def test_libreoffice_opens_it_keeps_every_value_and_calculates_the_same(
    file: File, tmp_path: Path
) -> None:
    office = need("soffice", "libreoffice-calc")
    settings = tmp_path / "profile" / "user" / "registrymodifications.xcu"
    settings.parent.mkdir(parents=True)
    settings.write_text(ALWAYS_CALCULATE)
    command = [office, "--headless", f"-env:UserInstallation=file://{tmp_path}/profile",
               "--convert-to", "xlsx", "--outdir", str(tmp_path), str(file.path)]  # fmt: skip

    subprocess.run(command, check=True, capture_output=True, timeout=120)

    theirs, ours = load_workbook(tmp_path / file.path.name, data_only=True), file.values
    assert theirs.sheetnames == ours.sheetnames
    for name in ours.sheetnames:
        for line in ours[name].iter_rows():
            for cell in line:
                found = theirs[name].cell(cell.row, cell.column)
                assert same(plain(found.value), plain(cell.value)), cell.coordinate
        assert len(theirs[name]._charts) == len(ours[name]._charts)


@pytest.mark.parametrize(
    ("lang", "most"), [("fr", "10\u202f000 et plus"), ("en", "10,000 and more")]
)
def test_libreoffice_shows_a_headcount_band_that_every_reader_takes_for_a_number(
    tmp_path: Path, lang: str, most: str
) -> None:
    office = need("soffice", "libreoffice-calc")
    codes = {"1": "12", "2": "53", "3": "1000-1499"}
    found = [company("CZ", number, "a", tranche_effectif=code) for number, code in codes.items()]
    file = of_world(tmp_path, found, {}, lang=lang)
    command = [office, "--headless", f"-env:UserInstallation=file://{tmp_path}/profile",
               "--convert-to", "html", "--outdir", str(tmp_path), str(file.path)]  # fmt: skip

    subprocess.run(command, check=True, capture_output=True, timeout=120)

    (page,) = tmp_path.glob("*.html")
    cells = re.findall(r'sdval="(\d+)"[^>]*>(?:<font[^>]*>)?([^<]*)<', page.read_text("utf-8"))
    assert {("20", "20–49"), ("10000", most), ("1000", "1000-1499")} <= set(cells)
    _, *read = CalamineWorkbook.from_path(str(file.path)).get_sheet_by_index(4).to_python()
    assert {line[1]: line[7] for line in read} == {"1": 20, "2": 10_000, "3": 1_000}


def same(found: Any, expected: Any) -> bool:
    """LibreOffice keeps 15 digits of a number, as Excel does; a difference has fewer."""
    if isinstance(expected, float) and isinstance(found, float):
        return isclose(found, expected, rel_tol=1e-11)
    return bool(found == expected)


def filled(line: Iterable[Any]) -> dict[int, Any]:
    """The values of a row by column, without the empty ones."""
    return {col: plain(value) for col, value in enumerate(line) if plain(value) is not None}


def plain(value: Any) -> Any:
    """A value whatever the reader calls its type: empty is None, a day is a moment."""
    if value in ("", None):
        return None
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)  # noqa: DTZ001 - cells have no zone
    if isinstance(value, datetime):
        return value.replace(microsecond=0)
    return float(value) if isinstance(value, int | float) else value
