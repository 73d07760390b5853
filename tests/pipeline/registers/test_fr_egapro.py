"""France: the index of professional equality; the person who declares for a company types its name."""

import csv
from pathlib import Path

import pytest

from tests.pipeline.registers.reading import RAW, company, read

INDEX = RAW / "fr" / "index-egalite-fh.csv.zip"
SIRENE = RAW / "fr" / "index-egalite-fh_sirene.csv.zip"
COLUMNS = (
    "Raison Sociale", "SIREN", "Année", "Note", "Structure", "Nom UES",
    "Entreprises UES (SIREN)", "Région", "Département",
)  # fmt: skip


def _write_index(path: Path, *names: str, siren: str = "100000009") -> Path:
    """An index with one declaration of a company a year, from 2018 on, each with the next of `names`."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, delimiter=";", lineterminator="\n")
        table.writerow(COLUMNS)
        table.writerows(
            (name, siren, 2018 + number, 80, "Entreprise", "", "", "Bretagne", "Finistère")
            for number, name in enumerate(names)
        )
    return path


def test_every_declaration_of_the_excerpt_is_counted(tmp_path: Path) -> None:
    reading = read("fr-egapro", [INDEX, SIRENE], tmp_path)

    assert (reading.counts.read, reading.counts.kept) == (14_688, 5_786)
    assert reading.counts.dropped == {
        "déclaration d'une autre année": 8_743,
        "forme juridique au lieu du nom": 141,
        "nom d'une personne": 1,
        "numéro au lieu du nom": 17,
    }
    assert (reading.counts.rejected, reading.counts.noted) == ({}, {})
    assert company(reading, "340636158") == {
        "iso2": "FR",
        "id": "340636158",
        "nom": "KUHN - HUARD S.A.S",
        "region": "Pays de la Loire",
        "tranche_effectif": "32",
        "date_creation": "1987-02-27",
        "date_source": "2021-02-02",
        "nace_code": "28.30",
        "nace_version": "2",
    }
    # SIRENE writes 1900-01-01 for an unknown day, so this company, Accenture, has no date.
    assert "date_creation" not in company(reading, "732075312")
    # The declarations of this company for 2019 and 2020 have its legal form in place of its name.
    assert company(reading, "775667637")["nom"] == "BORGWARNER"
    # The index gives neither the state nor the legal form of a company.
    assert reading.kept.select("statut", "forme").collect().drop_nulls().is_empty()


@pytest.mark.parametrize(
    ("names", "used_name"),
    [
        (("Moulins du Léon", "MOULINS DU LEON SAS"), "MOULINS DU LEON SAS"),  # the newest name
        (("Moulins du Léon", "Anne-Laure QUERE"), "Moulins du Léon"),
        (("Moulins du Léon", "QUERE Anne-Laure"), "Moulins du Léon"),
        (("Moulins du Léon", "Hervé"), "Moulins du Léon"),
        (("Moulins du Léon", "S.A.S."), "Moulins du Léon"),
        (("Moulins du Léon", "Société anonyme", "10000000900012"), "Moulins du Léon"),
        (("Moulins du Léon", "Minoteries Réunies"), "Minoteries Réunies"),  # a new name
        (("Hervé Thermique", "HERVE THERMIQUE"), "HERVE THERMIQUE"),
        (("Établissements Jean Quéré", "Jean Quéré"), "Jean Quéré"),  # a company of that name
        (("Jean Quéré", "JEAN QUERE"), "JEAN QUERE"),
        (("Bernard", "Olivier"), "Olivier"),  # nothing shows which name is right
        (("Quéré", "UES Quéré"), "Quéré"),  # UES: a group that declares together
    ],
)
def test_the_newest_declared_name_that_is_no_person_form_or_number_is_used(
    tmp_path: Path, names: tuple[str, ...], used_name: str
) -> None:
    reading = read("fr-egapro", [_write_index(tmp_path / "index.csv", *names)], tmp_path)

    assert company(reading, "100000009")["nom"] == used_name
    assert (reading.counts.read, reading.counts.kept) == (len(names), 1)


def test_a_person_in_place_of_the_company_name_is_left_out_and_counted(tmp_path: Path) -> None:
    index = _write_index(tmp_path / "index.csv", "Moulins du Léon", "Anne-Laure QUERE", "Hervé")

    reading = read("fr-egapro", [index], tmp_path)

    assert reading.counts.dropped == {"nom d'une personne": 2}
    assert "QUERE" not in str(reading.rejected.collect().to_dicts())


def test_a_company_without_any_name_is_left_out(tmp_path: Path) -> None:
    reading = read("fr-egapro", [_write_index(tmp_path / "index.csv", "SAS", "SASU")], tmp_path)

    assert (reading.counts.kept, reading.counts.dropped) == (
        0,
        {"forme juridique au lieu du nom": 2},
    )
