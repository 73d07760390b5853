"""Clauses that name a person beside a company: cut, counted, and the company stays."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline import seeds as tables
from pipeline.errors import SeedError
from pipeline.stages import personal_data
from seeds import TABLES
from tests.pipeline.builds import accounted, run, served
from tests.pipeline.rows import companies, company, write

SEEDS = tables.read()
OF_COUNTRY = {pays.iso2: personal_data.clauses_of_country(SEEDS, pays.iso2) for pays in SEEDS.pays}
MARKS = SEEDS.tables["aux_soins_de"]
STAYS = "stays as it is"
OWNERS = [row for row in SEEDS.tables["personnes"] if row["raison"] == personal_data.OWNER]


def cut_name(iso2: str, nom: str) -> str:
    frame = companies(company(iso2, "1", nom)).collect()
    name: str = personal_data.cut_clauses(frame, OF_COUNTRY[iso2])[0]["nom"].item()
    return name


# -- the owner in a name -------------------------------------------------------------


@pytest.mark.parametrize("row", OWNERS, ids=lambda row: f"{row['iso2']} {row['exemple'][:20]}")
def test_the_clause_of_an_owner_is_cut_in_every_language_of_the_table(row: dict[str, str]) -> None:
    clause, other, iso2 = row["exemple"], row["contre_exemple"], row["iso2"]

    for name in (f"Œuvre 3 AB, {clause}", f"Œuvre 3 AB - {clause}", f"Œuvre 3 AB ({clause})"):
        assert cut_name(iso2, name) == "Œuvre 3 AB"
    assert cut_name(iso2, f"Œuvre ({clause.replace('2) ', '')}) 3 AB") == "Œuvre 3 AB"
    assert cut_name(iso2, other) == other


def test_every_country_has_the_clause_of_an_owner() -> None:
    assert {row["iso2"] for row in OWNERS} == set(OF_COUNTRY)


@pytest.mark.parametrize(
    "name",
    ["Geschäftsführer:2) Muster, Erna", "Inhaberin: Erna Muster", "x, Inhaberin: Erna Muster"],
)
def test_a_name_of_nothing_else_stays_to_be_rejected(name: str) -> None:
    assert cut_name("DE", name) == name


@pytest.mark.parametrize(
    ("name", "left"),
    [
        ("Blumenhaus, Inhaberin: Erna Muster, *31.08.1958, Heide", "Blumenhaus"),
        ("Muster, Erna, *31.08.1958, Inhaberin: Erna Muster", "Muster, Erna, *31.08.1958"),
        ("Inhaberschulung GmbH", "Inhaberschulung GmbH"),
        ("Vorstand: Beratung", "Vorstand: Beratung"),
    ],
)
def test_a_birth_date_goes_with_the_clause_and_before_it_stays_to_be_rejected(
    name: str, left: str
) -> None:
    assert cut_name("DE", name) == left


# -- care of, in an address ----------------------------------------------------------


@pytest.mark.parametrize("row", MARKS, ids=lambda row: f"{row['iso2']} {row['exemple'][:20]}")
@pytest.mark.parametrize("column", personal_data.ADDRESS)
def test_a_clause_of_a_person_is_cut_and_that_of_a_firm_stays(
    row: dict[str, str], column: str
) -> None:
    for iso2 in [row["iso2"]] if row["iso2"] else OF_COUNTRY:
        rows = [
            company(iso2, "1", "Ä", **{column: row["exemple"]}),
            company(iso2, "2", "Ö", **{column: row["contre_exemple"]}),
        ]
        cut, counts = personal_data.cut_clauses(companies(*rows).collect(), OF_COUNTRY[iso2])

        first, second = cut[column]
        assert first
        assert not any(word in first.upper() for word in ("ERNA", "MODELE", "ЕРНА"))
        assert second == row["contre_exemple"]
        assert counts == {column: 1}


@pytest.mark.parametrize(
    ("iso2", "address", "left"),
    [
        ("DE", "c/o Andreas Halter, Ottersbergstraße 7", "Ottersbergstraße 7"),
        ("DE", "Jacobistraße 39 c/o Doctor Bertil Muster", "Jacobistraße 39"),
        ("DE", "Dischlerstraße 17 (c/o Erna Muster)", "Dischlerstraße 17"),
        ("DE", "c/o Muster & Kollegen Richard-Wagner-Straße 5", "Richard-Wagner-Straße 5"),
        ("DE", "c/o Frau Muster, Am Markt 5", "Am Markt 5"),
        ("DE", "c/o Muster, Erna, Am Markt 5", "Am Markt 5"),
        ("DE", "c/o p/A Erna Muster, Am Markt 5", "Am Markt 5"),
        ("DE", "Am Markt 1/c/o Erna Muster", "Am Markt 1"),
        ("DE", "C / O: Erna Muster; Am Markt 1", "Am Markt 1"),
        ("DE", "z.Hd., Erna Muster, Am Markt 1", "Am Markt 1"),
        ("DE", "Am Markt 17 (c/o Erna Muster), 41066 Ort", "Am Markt 17, 41066 Ort"),
        ("DE", "c/o Erna Muster", None),
        ("FR", "C/O MODELE ERNA 3 RUE DU LAC", "3 RUE DU LAC"),
        ("FR", "3 RUE DU LAC CHEZ MODELE ERNA", "3 RUE DU LAC"),
        ("FI", "c/o Erna Malli Kauppakatu 1 A 2", "Kauppakatu 1 A 2"),
        ("SE", "C/O Erna Modell, Swedenborgsgatan 61 B", "Swedenborgsgatan 61 B"),
        ("DE", "Am Markt 8, c/o MUSTER | MODELL Rechtsanwalts PartG mbB", STAYS),
        ("SE", "C/O Modell R.E. Scandinavia Ab, Frihamnsallén 8", STAYS),
        ("DE", "c/o Muster, Am Markt 5", STAYS),
        ("DE", "c/o Muster Treuhand AG Kopenhagener Straße 10, 65552 Ort", STAYS),
        ("DK", "C/O Modelgaard, Ole Bruuns Vej 12", STAYS),
        ("UK", "C/O Model & Co LLP, 3 High Street", STAYS),
        ("BE", "Rue Jean Jaurès(CO) 2", STAYS),
        ("DE", "Bei der oberen Kirche 10", STAYS),
        ("FR", "LIEU DIT CHEZ JEAN BERNARD", STAYS),
        ("FR", "Attenhoffen 3, Colmar", STAYS),
    ],
)
def test_addresses_as_registers_publish_them(iso2: str, address: str, left: str | None) -> None:
    assert personal_data.without_carer(address, OF_COUNTRY[iso2]) == (
        address if left == STAYS else left
    )


@given(address=st.text(alphabet="c/oO, aÄ1(|)-.:;\u00a0v", max_size=40))
def test_any_address_is_cut_without_an_error_and_cutting_again_changes_nothing(
    address: str,
) -> None:
    once = personal_data.without_carer(address, OF_COUNTRY["DK"])

    assert once is None or len(once) <= len(address) + 2
    assert once is None or personal_data.without_carer(once, OF_COUNTRY["DK"]) == once


def test_a_mark_that_is_no_regular_expression_is_named(tmp_path: Path) -> None:
    for table in TABLES.glob("*.csv"):
        (tmp_path / table.name).write_bytes(table.read_bytes())
    (tmp_path / "aux_soins_de.csv").write_text("iso2,ailleurs,marque\n,,(\n")

    with pytest.raises(SeedError, match=r"aux_soins_de.csv: '\(' is no regular expression"):
        personal_data.clauses_of_country(tables.read(tmp_path), "EE")


# -- in a build ----------------------------------------------------------------------


def test_a_build_serves_the_rest_and_counts_the_clauses(tmp_path: Path) -> None:
    rows = [
        company("DE", "1", "Ö GmbH, Geschäftsführer: Erna Muster", adresse="Am Markt 1"),
        company("DE", "2", "Ä GmbH", adresse="c/o Erna Muster, Am Markt 1", ville="Köln"),
        *(company("DE", f"{n}", "Ü", adresse="c/o Erna Muster, Weg 1") for n in range(3, 40)),
    ]

    built = run(tmp_path, write(tmp_path / "in", rows))

    found = {row["id"]: row for row in served(tmp_path, "DE")}
    assert found["1"]["nom"] == "Ö GmbH"
    assert (found["2"]["adresse"], found["2"]["ville"]) == ("Am Markt 1", "Köln")
    quality = built.pays["DE"]
    assert quality.clauses_coupees == {"adresse": 38, "nom": 1}
    assert (quality.donnees_personnelles, quality.rejetees) == ({}, {})
    assert accounted(quality)


def test_a_name_that_keeps_a_birth_date_is_rejected_as_before() -> None:
    frame = companies(company("DE", "1", "Muster, Erna, *31.08.1958, Inhaberin: Erna Muster"))
    cut, _ = personal_data.cut_clauses(frame.collect(), OF_COUNTRY["DE"])

    refused = personal_data.refuse(cut.lazy(), personal_data.patterns(SEEDS, "DE")).collect()

    assert refused["nom"].to_list() == [None]
