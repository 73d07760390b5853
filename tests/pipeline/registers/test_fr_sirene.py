"""France: the excerpt of SIRENE, and rows of the same layout for cases that it lacks."""

import csv
from pathlib import Path

import polars as pl

from tests.pipeline.registers.reading import RAW, company, read

# Units are companies; a seat is the establishment with the address of a unit.
UNITS = RAW / "fr" / "StockUniteLegale_utf8.csv"
SEATS = RAW / "fr" / "StockEtablissement_utf8.csv"


def _changed_units(path: Path, *changes: dict[str, str]) -> Path:
    """Write the published header, and for each of `changes` the first published row so changed; returns `path`."""
    with UNITS.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        first_row = next(rows)
        column_names = list(rows.fieldnames or [])
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, column_names)
        writer.writeheader()
        writer.writerows(first_row | change for change in changes)
    return path


def test_every_unit_is_kept_with_its_seat(tmp_path: Path) -> None:
    reading = read("fr-sirene", [UNITS, SEATS], tmp_path)

    assert (reading.counts.read, reading.counts.kept) == (5, 5)
    assert (reading.counts.dropped, reading.counts.rejected, reading.counts.noted) == ({}, {}, {})
    assert company(reading, "213300759") == {
        "iso2": "FR",
        "id": "213300759",
        "nom": "COMMUNE DE BRUGES",
        "forme": "Commune et commune nouvelle",
        "statut": "Active",
        "ville": "BRUGES",
        "code_postal": "33520",
        "region": "33",
        "adresse": "87 AVENUE CHARLES DE GAULLE",
        "date_creation": "1980-01-01",
        "tranche_effectif": "32",
        "nace_code": "84.11",
        "nace_version": "2",
        "date_source": "2025-06-27",
    }


def test_the_placeholder_1900_01_01_is_no_day_of_creation(tmp_path: Path) -> None:
    days = ("1900-01-01", "1900-01-02")
    units = _changed_units(
        tmp_path / "StockUniteLegale_utf8.csv",
        *(
            {"siren": f"10000000{number}", "dateCreationUniteLegale": day}
            for number, day in enumerate(days)
        ),
    )
    rows = read("fr-sirene", [units, SEATS], tmp_path).kept.sort("id").collect()

    assert rows["date_creation"].to_list() == [None, "1900-01-02"]


def test_parquet_gives_the_rows_of_csv(tmp_path: Path) -> None:
    expected = read("fr-sirene", [UNITS, SEATS], tmp_path).kept.collect()
    files = [
        tmp_path / "StockUniteLegale_utf8.parquet",
        tmp_path / "StockEtablissement_utf8.parquet",
    ]
    for published, file in zip((UNITS, SEATS), files, strict=True):
        typed_table = pl.read_csv(published, infer_schema=False).with_columns(
            pl.col("^dateCreation.*$").str.to_date(), pl.col("^etablissementSiege$") == "true"
        )
        typed_table.write_parquet(file)
    work = tmp_path / "work"
    work.mkdir()

    assert read("fr-sirene", files, work).kept.collect().equals(expected)


def test_persons_partial_diffusion_and_ceased_units_are_dropped_and_counted(tmp_path: Path) -> None:
    units = _changed_units(
        tmp_path / "units.csv",
        {"siren": "000000001", "categorieJuridiqueUniteLegale": "1000"},
        {
            "siren": "000000002",
            "statutDiffusionUniteLegale": "P",
            "denominationUniteLegale": "[ND]",
        },
        {"siren": "000000003", "etatAdministratifUniteLegale": "C"},
        {"siren": "000000004", "trancheEffectifsUniteLegale": "NN"},
    )

    reading = read("fr-sirene", [units, SEATS], tmp_path)

    assert reading.counts.dropped == {"cessée": 1, "diffusion partielle": 1, "personne physique": 1}
    assert reading.counts.noted == {"siège absent": 1}
    assert reading.kept.select("id", "tranche_effectif").collect().rows() == [("000000004", None)]


def test_the_activity_is_of_the_newest_nomenclature_that_is_a_nace(tmp_path: Path) -> None:
    nomenclature = "nomenclatureActivitePrincipaleUniteLegale"
    activity, naf25 = "activitePrincipaleUniteLegale", "activitePrincipaleNAF25UniteLegale"
    units = _changed_units(
        tmp_path / "units.csv",
        {"siren": "000000001", activity: "62.01Z", naf25: "62.10Y"},
        {"siren": "000000002", activity: "62.01Z"},
        {"siren": "000000003", activity: "72.2C", nomenclature: "NAFRev1"},
    )

    reading = read("fr-sirene", [units, SEATS], tmp_path)

    assert reading.kept.select("nace_code", "nace_version").collect().rows() == [
        ("62.10", "2.1"),
        ("62.01", "2"),
        (None, None),
    ]
