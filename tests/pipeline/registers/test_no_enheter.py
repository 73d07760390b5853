"""Norway: the two excerpts of Enhetsregisteret, JSON of 2026 and CSV of 2024."""

import csv
import json
from pathlib import Path

import polars as pl
import pytest

from pipeline.canonical import InputError
from tests.pipeline.registers.reading import RAW, company, read

JSON = RAW / "no" / "enheter_6.json"
CSV = RAW / "no" / "enheter_2024_54col.csv"


def test_the_six_units_of_the_excerpt_are_kept(tmp_path: Path) -> None:
    reading = read("no-enheter", [JSON], tmp_path)

    assert (reading.counts.read, reading.counts.kept) == (6, 6)
    assert company(reading, "923609016") == {
        "iso2": "NO",
        "id": "923609016",
        "nom": "EQUINOR ASA",
        "forme": "Allmennaksjeselskap",
        "statut": "Aktiv",
        "ville": "STAVANGER",
        "code_postal": "4035",
        "region": "STAVANGER",
        "adresse": "Forusbeen 50",
        "date_creation": "1972-09-18",
        "date_source": "2019-11-22",
        "effectif": 21408,
        "capital_social": 6392018780.0,
        "capital_devise": "NOK",
        "nace_code": "06.100",
        "nace_version": "2.1",
        "nace_secondaires": ["06.200", "19.200"],
        "description": (
            "Selv, eller gjennom deltakelse i eller sammen med andre selskaper å utvikle, produsere"
            " og markedsføre ulike former for energi, avledede produkter og tjenester, samt annen"
            " virksomhet. Utleie av bygg og anlegg."
        ),
        "site_web": "www.equinor.com",
        "telephone": "51 99 00 00",
        "tva": "NO923609016MVA",
    }
    unregistered = reading.kept.filter(pl.col("tva").is_null()).collect()
    assert unregistered.height == 1  # `registrertIMvaregisteret` is false for this unit


def test_activities_of_the_csv_of_2024_are_of_nace_rev_2(tmp_path: Path) -> None:
    reading = read("no-enheter", [CSV], tmp_path)

    assert (reading.counts.read, reading.counts.kept) == (4, 4)
    row = company(reading, "810034882")
    assert (row["nace_code"], row["nace_version"], row["effectif"]) == ("43.210", "2", 11)
    assert (row["adresse"], row["date_creation"]) == ("Langgata 87", "1977-06-15")


def test_a_csv_with_semicolons_gives_the_rows_of_the_csv_with_commas(tmp_path: Path) -> None:
    """Some copies of 2026 have semicolons."""
    with CSV.open(encoding="utf-8", newline="") as published:
        lines = list(csv.reader(published))
    copy = tmp_path / "enheter_alle.csv"
    with copy.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=";", quoting=csv.QUOTE_ALL).writerows(lines)

    rows = read("no-enheter", [copy], tmp_path).kept.collect()

    work = tmp_path / "commas"
    work.mkdir()
    assert rows.height == 4
    assert rows.equals(read("no-enheter", [CSV], work).kept.collect())


def test_sole_traders_are_dropped_and_bankruptcy_or_liquidation_is_the_status(
    tmp_path: Path,
) -> None:
    units = json.loads(JSON.read_text(encoding="utf-8"))
    units[0]["organisasjonsform"]["kode"] = "ENK"  # a sole trader
    units[1]["konkurs"] = True  # bankrupt
    units[2]["underAvvikling"] = True  # in liquidation
    file = tmp_path / "enheter_alle.json"
    file.write_text(json.dumps(units), encoding="utf-8")

    reading = read("no-enheter", [file], tmp_path)

    assert reading.counts.dropped == {"personne physique": 1}
    statuses = reading.kept.select("statut").collect()["statut"].to_list()
    assert statuses == ["Konkurs", "Under avvikling", "Aktiv", "Aktiv", "Aktiv"]


def test_an_unknown_key_stops_the_import(tmp_path: Path) -> None:
    units = json.loads(JSON.read_text(encoding="utf-8"))
    units[3]["kapital2"] = {"belop": 1}
    file = tmp_path / "enheter_alle.json"
    file.write_text(json.dumps(units), encoding="utf-8")

    with pytest.raises(
        InputError, match=r"enheter_alle\.json as json: unknown key 'kapital2' in record 4"
    ):
        read("no-enheter", [file], tmp_path)
