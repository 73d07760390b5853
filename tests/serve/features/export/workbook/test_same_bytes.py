"""A repeated request on the same generation gives the same file, except the sheet Journal and its texts."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from zipfile import ZipFile

from serve.features.export.workbook.export_data import ExportRequest
from tests.serve import world
from tests.serve.features.export.workbook.workbooks import export_request, workbook_of_request


def test_two_files_of_a_request_differ_only_in_the_journal(tmp_path: Path) -> None:
    request = _request(tmp_path)
    later_request = replace(request, now=request.now + timedelta(days=40), request_id="another")

    first_file, later_file = (
        workbook_of_request(request, tmp_path),
        workbook_of_request(later_request, tmp_path),
    )

    journal = f"xl/worksheets/sheet{len(first_file.sheets.sheetnames)}.xml"
    assert list(first_file.parts) == list(later_file.parts)
    different = {
        name for name in first_file.parts if first_file.parts[name] != later_file.parts[name]
    }
    assert different == {journal, "xl/sharedStrings.xml"}
    # One file of the package has the texts of all sheets, so the sheets before the Journal are compared by cells.
    for name in first_file.sheets.sheetnames[:-1]:
        cells, other_cells = (
            first_file.sheets[name].iter_rows(),
            later_file.sheets[name].iter_rows(),
        )
        assert [[cell.value for cell in row] for row in cells] == [
            [cell.value for cell in row] for row in other_cells
        ]


def test_the_package_has_no_time_of_writing(tmp_path: Path) -> None:
    with ZipFile(workbook_of_request(_request(tmp_path), tmp_path).path) as package:
        # Every file has the same fixed date.
        assert {entry.date_time[:3] for entry in package.infolist()} == {(1980, 1, 31)}


def _request(folder: Path) -> ExportRequest:
    """An export of all companies."""
    data = folder / "data"
    return export_request(data, world.publish(data), parameters=(("q", ""),))
