"""Clauses in names and addresses that name a person are cut and counted, and the company stays."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline import seeds as tables
from pipeline.errors import SeedError
from pipeline.stages import personal_data
from seeds import TABLES
from tests.pipeline.builds import counts_add_up, published_companies, run_build
from tests.pipeline.rows import companies_frame, company, write_input

SEEDS = tables.read()
# The compiled clauses of each country.
CLAUSES = {pays.iso2: personal_data.clauses_of_country(SEEDS, pays.iso2) for pays in SEEDS.pays}
CARE_OF_ROWS = SEEDS.tables["aux_soins_de"]  # the marks of a care-of clause
UNCHANGED = "stays as it is"  # means, in the parameters below, that the address is not cut
OWNER_ROWS = [row for row in SEEDS.tables["personnes"] if row["raison"] == personal_data.OWNER]


def cut_name(iso2: str, nom: str) -> str:
    """The name of a company after its clauses of persons are cut."""
    frame = companies_frame(company(iso2, "1", nom)).collect()
    name: str = personal_data.cut_clauses(frame, CLAUSES[iso2])[0]["nom"].item()
    return name


# -- the owner in a name -------------------------------------------------------------


@pytest.mark.parametrize("row", OWNER_ROWS, ids=lambda row: f"{row['iso2']} {row['exemple'][:20]}")
def test_the_clause_of_an_owner_is_cut_in_every_language_of_the_table(row: dict[str, str]) -> None:
    clause, counterexample, iso2 = row["exemple"], row["contre_exemple"], row["iso2"]

    for name in (f"Œuvre 3 AB, {clause}", f"Œuvre 3 AB - {clause}", f"Œuvre 3 AB ({clause})"):
        assert cut_name(iso2, name) == "Œuvre 3 AB"
    assert cut_name(iso2, f"Œuvre ({clause.replace('2) ', '')}) 3 AB") == "Œuvre 3 AB"
    assert cut_name(iso2, counterexample) == counterexample


def test_every_country_has_the_clause_of_an_owner() -> None:
    assert {row["iso2"] for row in OWNER_ROWS} == set(CLAUSES)


@pytest.mark.parametrize(
    "name",
    ["Geschäftsführer:2) Muster, Erna", "Inhaberin: Erna Muster", "x, Inhaberin: Erna Muster"],
)
def test_a_name_that_is_a_clause_alone_is_not_cut_because_a_later_stage_rejects_it(
    name: str,
) -> None:
    assert cut_name("DE", name) == name


@pytest.mark.parametrize(
    ("name", "remaining"),
    [
        ("Blumenhaus, Inhaberin: Erna Muster, *31.08.1958, Heide", "Blumenhaus"),
        ("Muster, Erna, *31.08.1958, Inhaberin: Erna Muster", "Muster, Erna, *31.08.1958"),
        ("Inhaberschulung GmbH", "Inhaberschulung GmbH"),
        ("Vorstand: Beratung", "Vorstand: Beratung"),
    ],
)
def test_a_birth_date_after_the_clause_is_cut_with_it_and_one_before_it_stays(
    name: str, remaining: str
) -> None:
    assert cut_name("DE", name) == remaining


# -- care of, in an address ----------------------------------------------------------


@pytest.mark.parametrize(
    "row", CARE_OF_ROWS, ids=lambda row: f"{row['iso2']} {row['exemple'][:20]}"
)
@pytest.mark.parametrize("column", personal_data.ADDRESS)
def test_a_care_of_clause_with_a_person_is_cut_and_one_with_a_firm_stays(
    row: dict[str, str], column: str
) -> None:
    for iso2 in [row["iso2"]] if row["iso2"] else CLAUSES:
        rows = [
            company(iso2, "1", "Ä", **{column: row["exemple"]}),
            company(iso2, "2", "Ö", **{column: row["contre_exemple"]}),
        ]
        cut, counts = personal_data.cut_clauses(companies_frame(*rows).collect(), CLAUSES[iso2])

        without_person, with_firm = cut[column]
        assert without_person
        # The names of the invented persons in the table.
        assert not any(word in without_person.upper() for word in ("ERNA", "MODELE", "ЕРНА"))
        assert with_firm == row["contre_exemple"]
        assert counts == {column: 1}


@pytest.mark.parametrize(
    ("iso2", "address", "remaining"),
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
        ("DE", "Am Markt 8, c/o MUSTER | MODELL Rechtsanwalts PartG mbB", UNCHANGED),
        ("SE", "C/O Modell R.E. Scandinavia Ab, Frihamnsallén 8", UNCHANGED),
        ("DE", "c/o Muster, Am Markt 5", UNCHANGED),
        ("DE", "c/o Muster Treuhand AG Kopenhagener Straße 10, 65552 Ort", UNCHANGED),
        ("DK", "C/O Modelgaard, Ole Bruuns Vej 12", UNCHANGED),
        ("UK", "C/O Model & Co LLP, 3 High Street", UNCHANGED),
        ("BE", "Rue Jean Jaurès(CO) 2", UNCHANGED),
        ("DE", "Bei der oberen Kirche 10", UNCHANGED),
        ("FR", "LIEU DIT CHEZ JEAN BERNARD", UNCHANGED),
        ("FR", "Attenhoffen 3, Colmar", UNCHANGED),
    ],
)
def test_addresses_in_the_forms_of_registers_lose_only_the_clause_of_a_person(
    iso2: str, address: str, remaining: str | None
) -> None:
    assert personal_data.remove_address_clauses(address, CLAUSES[iso2]) == (
        address if remaining == UNCHANGED else remaining
    )


@given(address=st.text(alphabet="c/oO, aÄ1(|)-.:;\u00a0v", max_size=40))
def test_any_address_is_cut_without_an_error_and_cutting_again_changes_nothing(
    address: str,
) -> None:
    cut_address = personal_data.remove_address_clauses(address, CLAUSES["DK"])

    # A cut can put a comma and a blank in the place of a clause, but adds nothing else.
    assert cut_address is None or len(cut_address) <= len(address) + 2
    assert (
        cut_address is None
        or personal_data.remove_address_clauses(cut_address, CLAUSES["DK"]) == cut_address
    )


def test_a_care_of_mark_that_is_not_a_regular_expression_is_named(tmp_path: Path) -> None:
    for table in TABLES.glob("*.csv"):
        (tmp_path / table.name).write_bytes(table.read_bytes())
    (tmp_path / "aux_soins_de.csv").write_text("iso2,ailleurs,marque\n,,(\n")

    with pytest.raises(SeedError, match=r"aux_soins_de.csv: '\(' is not a regular expression"):
        personal_data.clauses_of_country(tables.read(tmp_path), "EE")


# -- in a build ----------------------------------------------------------------------


def test_a_build_publishes_cut_texts_and_counts_the_cut_clauses(tmp_path: Path) -> None:
    rows = [
        company("DE", "1", "Ö GmbH, Geschäftsführer: Erna Muster", adresse="Am Markt 1"),
        company("DE", "2", "Ä GmbH", adresse="c/o Erna Muster, Am Markt 1", ville="Köln"),
        *(
            company("DE", f"{number}", "Ü", adresse="c/o Erna Muster, Weg 1")
            for number in range(3, 40)
        ),
    ]

    built = run_build(tmp_path, write_input(tmp_path / "in", rows))

    by_id = {row["id"]: row for row in published_companies(tmp_path, "DE")}
    assert by_id["1"]["nom"] == "Ö GmbH"
    assert (by_id["2"]["adresse"], by_id["2"]["ville"]) == ("Am Markt 1", "Köln")
    quality = built.pays["DE"]
    assert quality.clauses_coupees == {"adresse": 38, "nom": 1}
    assert (quality.donnees_personnelles, quality.rejetees) == ({}, {})
    assert counts_add_up(quality)


def test_a_name_that_keeps_a_birth_date_after_the_cut_is_rejected() -> None:
    frame = companies_frame(company("DE", "1", "Muster, Erna, *31.08.1958, Inhaberin: Erna Muster"))
    cut, _ = personal_data.cut_clauses(frame.collect(), CLAUSES["DE"])

    refused = personal_data.clear_personal_texts(
        cut.lazy(), personal_data.patterns(SEEDS, "DE")
    ).collect()

    assert refused["nom"].to_list() == [None]
