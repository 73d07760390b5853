"""United Kingdom: the excerpt of the register, compared with rows written by hand."""

import csv
import zipfile
from pathlib import Path

import polars as pl
from polars.testing import assert_frame_equal

from seeds import TABLES
from tests.pipeline.registers.published import read, rows_by_id

RAW = TABLES / "raw"
UK = RAW / "uk" / "BasicCompanyData-southyorkshire.zip"


def test_published_rows_become_companies(tmp_path: Path) -> None:
    reading = read("uk-basic", [UK], tmp_path)
    expected = pl.DataFrame(
        {
            "iso2": ["UK", "UK", "UK"],
            "id": ["00051350", "05424123", "09179823"],
            "nom": [
                "00051350 LIMITED",
                '"ST MARY\'S HEATH" AT ARMTHORPE PROPERTY MANAGEMENT LIMITED',
                "M TECH AUTO SERVICES LIMITED",
            ],
            "forme": [
                "Private Limited Company",
                "PRI/LTD BY GUAR/NSC (Private, limited by guarantee, no share capital)",
                "Private Limited Company",
            ],
            "statut": ["Active", "Active", "Active - Proposal to Strike off"],
            "activite": [
                "Non-trading company",
                "Non-trading company",
                "Maintenance and repair of motor vehicles",
            ],
            "ville": [None, "BARNSLEY", "DONCASTER"],
            "code_postal": ["S9 1QT", "S70 2SB", "DN7 6PQ"],
            "date_creation": ["1897-02-21", "2005-04-14", "2014-08-18"],
            # 7499 is UK SIC 2003, though it looks like a class; 74990 is SIC 2007.
            "nace_code": [None, "74990", "45200"],
            "nace_version": [None, "2", "2"],
            "url_registre": pl.Series([None, None, None], dtype=pl.String),
        }
    )

    assert_frame_equal(rows_by_id(reading, expected["id"].to_list(), expected.columns), expected)


def test_a_four_digit_uk_code_is_sic_2003_and_never_a_nace_class(tmp_path: Path) -> None:
    reading = read("uk-basic", [UK], tmp_path)

    row = rows_by_id(reading, ["00405649"], ["activite", "nace_code", "nace_version"]).row(0)

    # 4521 reads as a class of NACE Rev. 2's division 45, motor trade; in 2003 it was building.
    assert row == ("Gen construction & civil engineer", None, None)
    assert reading.counts.noted["SIC 2003"] == 217
    # The examples are the first five texts in alphabetical order.
    assert "4521 - Gen construction & civil engineer" not in reading.counts.examples["SIC 2003"]
    assert reading.counts.examples["SIC 2003"][0] == "0125 - Other farming of animals"


def test_the_sic_text_none_supplied_is_no_activity(tmp_path: Path) -> None:
    reading = read("uk-basic", [UK], tmp_path)

    assert rows_by_id(reading, ["00150707"], ["activite", "nace_code"]).row(0) == (None, None)
    assert reading.counts.noted["SIC None Supplied"] == 50


def test_the_two_address_lines_are_one_address(tmp_path: Path) -> None:
    file = tmp_path / "BasicCompanyData.csv"
    header, row = _header_and_row()
    cells = row.split('","')
    cells[4:6] = ["1 High Street", "Heeley, Upper"]
    file.write_text(header + '","'.join(cells), encoding="utf-8", newline="")

    reading = read("uk-basic", [file], tmp_path)

    assert reading.kept.collect()["adresse"].to_list() == ["1 High Street, Heeley, Upper"]


def test_former_names_and_further_activities_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "BasicCompanyData.csv"
    header, row = _header_and_row()
    column_names, values = csv.reader([header, row])
    cells = dict(zip(map(str.strip, column_names), values, strict=True))
    cells |= {
        "PreviousName_1.CompanyName": "DÉJÀ LIMITED",
        "PreviousName_1.CONDATE": "01/02/2003",
        "PreviousName_2.CompanyName": "FIRST, LIMITED",
        "PreviousName_10.CompanyName": "OLDEST LIMITED",
        "SICCode.SicText_2": "45190 - Sale of other motor vehicles",
        "SICCode.SicText_3": "5020 - Maintenance & repair of motors",  # of SIC 2003
        "SICCode.SicText_4": "45400 - Sale, maintenance and repair of motorcycles",
    }
    file.write_text(header + '"' + '","'.join(cells.values()) + '"\n', encoding="utf-8")

    reading = read("uk-basic", [file], tmp_path)

    [company_row] = reading.kept.collect().to_dicts()
    assert company_row["nom"] == "M TECH AUTO SERVICES LIMITED"
    assert company_row["noms_anterieurs"] == ["DÉJÀ LIMITED", "FIRST, LIMITED", "OLDEST LIMITED"]
    assert company_row["nace_secondaires"] == ["45190", "45400"]
    assert reading.counts.noted == {"SIC secondaire illisible": 1}


def test_565_companies_of_the_excerpt_have_further_activities(tmp_path: Path) -> None:
    frame = read("uk-basic", [UK], tmp_path).kept.collect()

    with_further_codes = frame.filter(pl.col("nace_secondaires").is_not_null())
    assert with_further_codes.height == 565
    assert with_further_codes.filter(id="05424123")["nace_secondaires"].to_list() == [["98000"]]


def _header_and_row() -> tuple[str, str]:
    """The published header and the published row of M TECH AUTO SERVICES, with their line ends."""
    with zipfile.ZipFile(UK) as archive:
        text = archive.read(archive.namelist()[0]).decode("utf-8")
    lines = text.splitlines(keepends=True)
    return lines[0], next(line for line in lines if '"09179823"' in line)
