"""The same request on the same generation gives the same file, but for the Journal and its texts."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from zipfile import ZipFile

from serve.features.export.workbook.export_data import ExportRequest
from tests.serve import world
from tests.serve.features.export.workbook.workbooks import asked, make


def test_two_files_of_one_request_differ_in_the_journal_only(tmp_path: Path) -> None:
    wanted = _asked(tmp_path)
    later = replace(wanted, now=wanted.now + timedelta(days=40), request_id="another")

    one, other = make(wanted, tmp_path), make(later, tmp_path)

    journal = f"xl/worksheets/sheet{len(one.sheets.sheetnames)}.xml"
    assert list(one.parts) == list(other.parts)
    different = {name for name in one.parts if one.parts[name] != other.parts[name]}
    assert different == {journal, "xl/sharedStrings.xml"}
    # The texts of all sheets are in one part, so those of the others are compared as cells.
    for name in one.sheets.sheetnames[:-1]:
        cells, others = one.sheets[name].iter_rows(), other.sheets[name].iter_rows()
        assert [[cell.value for cell in row] for row in cells] == [
            [cell.value for cell in row] for row in others
        ]


def test_nothing_in_the_package_tells_when_it_was_written(tmp_path: Path) -> None:
    with ZipFile(make(_asked(tmp_path), tmp_path).path) as package:
        assert {entry.date_time[:3] for entry in package.infolist()} == {(1980, 1, 31)}


def _asked(folder: Path) -> ExportRequest:
    data = folder / "data"
    return asked(data, world.publish(data), given=(("q", ""),))
