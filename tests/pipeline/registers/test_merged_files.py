"""A company in several files of one import: which row counts, and which rows fill its empty fields."""

import csv
import zipfile
from pathlib import Path
from typing import Final

import polars as pl
import pytest

from pipeline.registers.register import RegisterRows
from tests.pipeline.registers.reading import RAW, company, read

COMPANY: Final = "Osaühing"
PERSON: Final = "Füüsilisest isikust ettevõtja"
ID: Final = "10000001"

Row = tuple[str, str, str]  # name, legal form, town


def _import(folder: Path, *files: list[Row]) -> RegisterRows:
    """Import Estonian registers, oldest first, whose rows are all of the company ID."""
    [packed] = (RAW / "ee").glob("*lihtandmed*")
    with zipfile.ZipFile(packed) as archive:
        header = archive.read(archive.namelist()[0]).decode("utf-8-sig").splitlines()[0].split(";")
    paths = [folder / f"lihtandmed-{number}.csv" for number in range(len(files))]
    for path, rows in zip(paths, files, strict=True):
        with path.open("w", encoding="utf-8", newline="") as out:
            table = csv.DictWriter(out, header, restval="", delimiter=";")
            table.writeheader()
            for name, form, town in rows:
                table.writerow({
                    "nimi": name, "ariregistri_kood": ID, "ettevotja_oiguslik_vorm": form,
                    "asukoha_ehak_tekstina": town, "ettevotja_staatus_tekstina": "Registrisse kantud",
                    "ettevotja_esmakande_kpv": "01.01.2020",
                })  # fmt: skip
    return read("ee", paths, folder)


def test_the_newest_row_counts_and_an_older_one_fills_its_empty_fields(tmp_path: Path) -> None:
    reading = _import(tmp_path, [("Vana OÜ", COMPANY, "Harju maakond")], [("Uus OÜ", COMPANY, "")])

    row = company(reading, ID)
    assert (row["nom"], row["ville"]) == ("Uus OÜ", "Harju maakond")
    assert (reading.counts.kept, reading.counts.merged) == (1, 1)


def test_the_row_of_a_person_fills_no_field_of_a_company(tmp_path: Path) -> None:
    reading = _import(tmp_path, [("Jaan Tamm", PERSON, "Kodu")], [("Jaan Tamm OÜ", COMPANY, "")])

    assert "ville" not in company(reading, ID)


def test_a_company_whose_newest_row_is_of_a_person_is_dropped(tmp_path: Path) -> None:
    reading = _import(tmp_path, [("Jaan Tamm OÜ", COMPANY, "Harju")], [("Jaan Tamm", PERSON, "")])

    assert reading.kept.collect().is_empty()
    assert reading.counts.dropped == {"personne physique": 1}


@pytest.mark.parametrize("is_older", [False, True])
def test_a_dropped_row_beside_a_kept_one_does_not_prevent_the_merge(
    tmp_path: Path, is_older: bool
) -> None:
    both = [("Tamm OÜ", COMPANY, "Harju"), ("Jaan Tamm", PERSON, "Kodu")]
    alone = [("Uus OÜ", COMPANY, "")]
    reading = _import(tmp_path, *((both, alone) if is_older else (alone, both)))

    row = company(reading, ID)
    assert (row["nom"], row["ville"]) == ("Uus OÜ" if is_older else "Tamm OÜ", "Harju")


def test_two_kept_rows_of_one_file_are_not_merged(tmp_path: Path) -> None:
    """The build stops on them (contract E3)."""
    reading = _import(
        tmp_path, [("A OÜ", COMPANY, ""), ("B OÜ", COMPANY, "")], [("C OÜ", COMPANY, "")]
    )

    assert reading.kept.select(pl.len()).collect().item() == 3


def test_a_company_with_only_a_region_keeps_it(tmp_path: Path) -> None:
    files = [tmp_path / f"index-{year}.csv" for year in (2021, 2022)]
    for file in files:
        file.write_text(
            "Raison Sociale;SIREN;Année;Note;Structure;Nom UES;Entreprises UES (SIREN);Région;Département\n"
            f"BETA;016250029;{file.stem[-4:]};90;Entreprise;;;Bretagne;Finistère\n",
            encoding="utf-8",
        )

    assert company(read("fr-egapro", files, tmp_path), "016250029")["region"] == "Bretagne"
