"""United Kingdom: the excerpt of the register, compared with rows written by hand."""

import zipfile
from pathlib import Path

import polars as pl
from polars.testing import assert_frame_equal

from seeds import TABLES
from tests.pipeline.registers.published import read, rows

RAW = TABLES / "raw"
UK = RAW / "uk" / "BasicCompanyData-southyorkshire.zip"


def test_united_kingdom(tmp_path: Path) -> None:
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

    assert_frame_equal(rows(reading, expected["id"].to_list(), expected.columns), expected)


def test_a_four_digit_uk_code_is_sic_2003_and_never_a_nace_class(tmp_path: Path) -> None:
    reading = read("uk-basic", [UK], tmp_path)

    row = rows(reading, ["00405649"], ["activite", "nace_code", "nace_version"]).row(0)

    # 4521 reads as a class of NACE Rev. 2's division 45, motor trade; in 2003 it was building.
    assert row == ("Gen construction & civil engineer", None, None)
    assert reading.counts.noted["SIC 2003"] == 217
    assert "4521 - Gen construction & civil engineer" not in reading.counts.examples["SIC 2003"]
    assert reading.counts.examples["SIC 2003"][0] == "0125 - Other farming of animals"


def test_none_supplied_is_no_activity(tmp_path: Path) -> None:
    reading = read("uk-basic", [UK], tmp_path)

    assert rows(reading, ["00150707"], ["activite", "nace_code"]).row(0) == (None, None)
    assert reading.counts.noted["SIC None Supplied"] == 50


def test_the_two_address_lines_are_one_address(tmp_path: Path) -> None:
    with_address = tmp_path / "BasicCompanyData.csv"
    header, row = _uk_lines()
    cells = row.split('","')
    cells[4:6] = ["1 High Street", "Heeley, Upper"]
    with_address.write_text(header + '","'.join(cells), encoding="utf-8", newline="")

    reading = read("uk-basic", [with_address], tmp_path)

    assert reading.kept.collect()["adresse"].to_list() == ["1 High Street, Heeley, Upper"]


def _uk_lines() -> tuple[str, str]:
    """The published header and the published row of one company."""
    with zipfile.ZipFile(UK) as archive:
        text = archive.read(archive.namelist()[0]).decode("utf-8")
    lines = text.splitlines(keepends=True)
    return lines[0], next(line for line in lines if '"09179823"' in line)
