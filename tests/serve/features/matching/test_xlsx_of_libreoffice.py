"""An Excel workbook of LibreOffice is read like the CSV file that it was converted from."""

import subprocess
from pathlib import Path

from serve.features.matching import list_file
from tests.proof.tools import need
from tests.serve.features.matching.test_xlsx_file import rows_of


def test_a_workbook_of_libreoffice_is_read_like_its_csv(tmp_path: Path) -> None:
    office = need("soffice", "libreoffice-calc")
    path = tmp_path / "a.csv"
    path.write_text(
        'nom;siren;ville;cp;creation\n"A; ""B""";542065479;Orléans;01000;2010-04-03\n'
        'Żabka;;;;\n;;;;\n"x\ny";12;Łódź;1;2020-12-31\n'
    )
    command = [office, "--headless", f"-env:UserInstallation=file://{tmp_path}/profile",
               "--infilter=CSV:59,34,76,1,4/2", "--convert-to", "xlsx",
               "--outdir", str(tmp_path), str(path)]  # fmt: skip

    subprocess.run(command, check=True, capture_output=True, timeout=120)

    csv_list = list_file.read(path.read_bytes())
    workbook_rows = rows_of(path.with_suffix(".xlsx").read_bytes())
    assert workbook_rows == [list(csv_list.headings), *map(list, csv_list.rows)]
