"""France: the index of professional equality, whose names are typed by those who declare."""

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


def _index(path: Path, *names: str, siren: str = "100000009") -> Path:
    """The names of a company as declared from 2018 on."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, delimiter=";", lineterminator="\n")
        table.writerow(COLUMNS)
        table.writerows(
            (name, siren, 2018 + n, 80, "Entreprise", "", "", "Bretagne", "Finistère")
            for n, name in enumerate(names)
        )
    return path


def test_every_declaration_is_accounted_for(tmp_path: Path) -> None:
    found = read("fr-egapro", [INDEX, SIRENE], tmp_path)

    assert (found.counts.read, found.counts.kept) == (14_688, 5_786)
    assert found.counts.dropped == {
        "déclaration d'une autre année": 8_743,
        "forme juridique au lieu du nom": 141,
        "nom d'une personne": 1,
        "numéro au lieu du nom": 17,
    }
    assert (found.counts.rejected, found.counts.noted) == ({}, {})
    assert company(found, "340636158") == {
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
    # SIRENE writes 1900-01-01 where the day is not known: Accenture is not older than its SIREN.
    assert "date_creation" not in company(found, "732075312")
    # In 2019 and 2020 the form stood where the name stands.
    assert company(found, "775667637")["nom"] == "BORGWARNER"
    # Nothing tells the state of these companies, nor their form.
    assert found.kept.select("statut", "forme").collect().drop_nulls().is_empty()


@pytest.mark.parametrize(
    ("names", "taken"),
    [
        (("Moulins du Léon", "MOULINS DU LEON SAS"), "MOULINS DU LEON SAS"),  # the newest
        (("Moulins du Léon", "Anne-Laure QUERE"), "Moulins du Léon"),
        (("Moulins du Léon", "QUERE Anne-Laure"), "Moulins du Léon"),
        (("Moulins du Léon", "Hervé"), "Moulins du Léon"),
        (("Moulins du Léon", "S.A.S."), "Moulins du Léon"),
        (("Moulins du Léon", "Société anonyme", "10000000900012"), "Moulins du Léon"),
        (("Moulins du Léon", "Minoteries Réunies"), "Minoteries Réunies"),  # a new name
        (("Hervé Thermique", "HERVE THERMIQUE"), "HERVE THERMIQUE"),
        (("Établissements Jean Quéré", "Jean Quéré"), "Jean Quéré"),  # a company of that name
        (("Jean Quéré", "JEAN QUERE"), "JEAN QUERE"),
        (("Bernard", "Olivier"), "Olivier"),  # neither can be told to be right
        (("Quéré", "UES Quéré"), "Quéré"),  # the name of all that declare together
    ],
)
def test_the_name_is_that_of_the_company(
    tmp_path: Path, names: tuple[str, ...], taken: str
) -> None:
    found = read("fr-egapro", [_index(tmp_path / "index.csv", *names)], tmp_path)

    assert company(found, "100000009")["nom"] == taken
    assert (found.counts.read, found.counts.kept) == (len(names), 1)


def test_a_person_who_stands_for_a_company_is_left_out_and_counted(tmp_path: Path) -> None:
    index = _index(tmp_path / "index.csv", "Moulins du Léon", "Anne-Laure QUERE", "Hervé")

    found = read("fr-egapro", [index], tmp_path)

    assert found.counts.dropped == {"nom d'une personne": 2}
    assert "QUERE" not in str(found.rejected.collect().to_dicts())


def test_a_company_without_any_name_is_left_out(tmp_path: Path) -> None:
    found = read("fr-egapro", [_index(tmp_path / "index.csv", "SAS", "SASU")], tmp_path)

    assert (found.counts.kept, found.counts.dropped) == (0, {"forme juridique au lieu du nom": 2})
