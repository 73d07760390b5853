"""Registers with few bundled real rows: each row is compared with a row written by hand."""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.pipeline.registers.reading import RAW, company, read


class Excerpt(NamedTuple):
    """An excerpt, the rows read, the rows dropped by reason, and one of its companies as written by hand."""

    source: str
    file: str
    rows_read: int
    dropped: dict[str, int]
    expected_company: dict[str, object]


EXCERPTS = [
    Excerpt("sk-rpo", "sk/rpo_slovnaft_2026.json", 1, {}, {
        "iso2": "SK",
        "id": "31322832",
        "nom": "SLOVNAFT, a.s.",
        "statut": "Aktívny",
        "ville": "Bratislava",
        "code_postal": "82412",
        "adresse": "Vlčie hrdlo 1",
        "date_creation": "1992-05-01",
        "noms_anterieurs": ["SLOVNAFT a.s.", "SLOVNAFT , a.s."],
        "date_source": "2026-07-09",
    }),
    Excerpt("lv-ur", "lv/register.csv", 2, {"personne physique": 1}, {
        "iso2": "LV",
        "id": "40008234596",
        "nom": '"House of Glory"',
        "forme": "Biedrība",
        "statut": "Reģistrēts",
        "ville": "Rīga",
        "code_postal": "LV-1019",
        "adresse": "Rīga, Latgales iela 180 - 5",
        "date_creation": "2015-03-02",
        "date_source": "2020-03-05",
    }),
    Excerpt("fi-prh", "fi/prh_v3_nokia_2026.json", 1, {}, {
        "iso2": "FI",
        "id": "0112038-9",
        "nom": "Nokia Oyj",
        "forme": "Julkinen osakeyhtiö",
        "statut": "Rekisterissä",
        "ville": "ESPOO",
        "code_postal": "02610",
        "adresse": "Karakaari 7",
        "date_creation": "1896-12-19",
        "nace_code": "7010",
        "nace_version": "2.1",
        "site_web": "www.nokia.com",
        "noms_anterieurs": ["Oy Nokia Ab"],
        "date_source": "2026-08-19",
    }),
    Excerpt("se-bolagsverket", "se/bolagsverket_bulkfil.txt", 1, {}, {
        "iso2": "SE",
        "id": "2220000000",
        "nom": 'Ensillre Väglyseförening "Ljuspunkten" med firma Ljuspunkten.',
        "forme": "Ideell förening som bedriver näringsverksamhet",
        "statut": "Avregistrerat",
        "ville": "ÅNGE",
        "code_postal": "84100",
        "adresse": "Ensillre 2286",
        "date_creation": "1985-10-01",
        "date_source": "1985-10-01",
        "description": "Anläggande av vägbelysning Ensillre - Hermanboda.",
    }),
    Excerpt("ro-onrc", "ro/od_firme_5_of_22_columns.csv", 4, {}, {
        "iso2": "RO",
        "id": "22724420",
        "nom": '" CARDIOFORCE SRL',
        "forme": "SRL",
        "adresse": "STR CANDIANO POPESCU",
    }),
    Excerpt("lt-jar", "lt/JAR_IREGISTRUOTI.csv", 1, {}, {
        "iso2": "LT",
        "id": "110003978",
        "nom": 'Uždaroji akcinė bendrovė "Lietkompexim"',
        "forme": "Uždaroji akcinė bendrovė",
        "statut": "Teisinis stat neįregistruotas",
        "ville": "Vilnius",
        "code_postal": "LT-07114",
        "adresse": "S. Stanevičiaus g. 95",
        "date_creation": "1991-04-25",
        "date_source": "2026-05-27",
    }),
    Excerpt("ie-cro", "ie/companies.csv", 1, {}, {
        "iso2": "IE",
        "id": "673935",
        "nom": "INNOVA-SHIELD LIMITED",
        "forme": "LTD - Private Company Limited by Shares",
        "statut": "Strike Off Listed",
        "ville": "DUBLIN 7, DUBLIN",
        "code_postal": "D07P4AX",
        "adresse": "THE BLACK CHURCH, ST. MARY'S PLACE, DUBLIN 7",
        "date_creation": "2020-07-15",
        "date_source": "2020-07-15",
        "nace_code": "4741",
        "nace_version": "2",
    }),
    Excerpt("pl-krs", "pl/krs_odpis_aktualny_0000413516.json", 1, {}, {
        "iso2": "PL",
        "id": "0000413516",
        "nom": "SWLEX SPÓŁKA Z OGRANICZONĄ ODPOWIEDZIALNOŚCIĄ",
        "forme": "SPÓŁKA Z OGRANICZONĄ ODPOWIEDZIALNOŚCIĄ",
        "statut": "Aktywny",
        "ville": "POZNAŃ",
        "code_postal": "61-626",
        "region": "WIELKOPOLSKIE",
        "adresse": "UL. SZELĄGOWSKA 49",
        "date_creation": "2012-03-08",
        "capital_social": 5000.0,
        "capital_devise": "PLN",
        "nace_code": "69.10",
        "nace_version": "2",
        "nace_secondaires": ["64.99", "66.19", "68.20", "69.20", "70.21", "70.22", "77.40", "82.11", "82.30"],
        "tva": "PL9721237317",
        "date_source": "2022-03-08",
    }),
    Excerpt("hr-sudreg", "hr/detalji_subjekta_ina.json", 1, {}, {
        "iso2": "HR",
        "id": "27759560625",
        "nom": "INA-INDUSTRIJA NAFTE, d.d.",
        "forme": "dioničko društvo",
        "statut": "Aktivan",
        "ville": "Zagreb",
        "region": "Grad Zagreb",
        "adresse": "Avenija Većeslava Holjevca 10",
        "date_creation": "1990-10-31",
        "date_source": "1990-10-31",
        "capital_social": 1_200_000_000.0,
        "capital_devise": "EUR",
    }),
]  # fmt: skip


@pytest.mark.parametrize("excerpt", EXCERPTS, ids=lambda excerpt: excerpt.source)
def test_an_excerpt_gives_its_company_and_every_row_is_counted(
    tmp_path: Path, excerpt: Excerpt
) -> None:
    reading = read(excerpt.source, [RAW / excerpt.file], tmp_path)

    assert reading.counts.read == excerpt.rows_read
    assert reading.counts.kept == excerpt.rows_read - sum(excerpt.dropped.values())
    assert reading.counts.dropped == excerpt.dropped
    assert (reading.counts.rejected, reading.counts.noted) == ({}, {})
    assert company(reading, str(excerpt.expected_company["id"])) == excerpt.expected_company


def test_a_company_of_the_french_formalities_has_its_capital(tmp_path: Path) -> None:
    reading = read("fr-rne", [RAW / "fr" / "rne_formalites_2.json"], tmp_path)

    # INSEE does not publish the other company: it is left out here, as in SIRENE.
    assert (reading.counts.read, reading.counts.kept) == (2, 1)
    assert reading.counts.dropped == {"hors diffusion INSEE": 1}
    row = company(reading, "980704894")
    assert str(row.pop("description")).startswith("La société a pour objet directement")
    assert row == {
        "iso2": "FR",
        "id": "980704894",
        "nom": "BKMD CAPITAL",
        "forme": "SAS, société par actions simplifiée",
        "statut": "Active",
        "ville": "Champigny-sur-Marne",
        "code_postal": "94500",
        "region": "94",
        "adresse": "185 RUE Albert",
        "date_creation": "2023-11-02",
        "capital_social": 1000.0,
        "capital_devise": "EUR",
        "nace_code": "4110",
        "nace_version": "2",
        "date_source": "2025-08-12",
    }


def test_a_swedish_field_ends_only_where_quotes_meet_a_separator(tmp_path: Path) -> None:
    published = (RAW / "se" / "bolagsverket_bulkfil.txt").read_text(encoding="utf-8")
    changed = published.replace("Anläggande av vägbelysning", 'Försäljning av "frukt"; även')
    changed = changed.replace("2220000000", "5560000001")
    file = tmp_path / "bolagsverket_bulkfil.txt"
    file.write_text(changed, encoding="utf-8")
    # The file of SCB (Statistics Sweden) has the activities.
    scb = tmp_path / "scb_bulkfil_JE.txt"
    scb.write_bytes(
        "PeOrgNr\tNamn\tJurForm\tFtgStat\tNg1\tNg2\tNg3\tNg4\tNg5\n"
        "165560000001\tÅkeri\t61\t1\t46310\t47210\t00000\t\t\n".encode("latin-1")
    )

    row = company(read("se-bolagsverket", [file, scb], tmp_path), "5560000001")

    assert row["description"] == 'Försäljning av "frukt"; även Ensillre - Hermanboda.'
    assert (row["nace_code"], row["nace_version"]) == ("4631", "2")
    assert row["nace_secondaires"] == ["47210"]


@pytest.mark.parametrize(
    ("address", "place", "noted"),
    [
        ("Gatan 1$c/o Beta$ÅNGE$84100$SE-LAND", ("c/o Beta, Gatan 1", "84100", "ÅNGE"), {}),
        ("Gatan 1$ÅNGE$84100$SE-LAND", (None, None, None), {"adresse illisible": 1}),
        ("Gatan 1$$$ÅNGE$84100$SE-LAND", (None, None, None), {"adresse illisible": 1}),
    ],
)
def test_a_swedish_address_has_five_parts_and_the_name_is_that_of_the_company(
    tmp_path: Path, address: str, place: tuple[str | None, ...], noted: dict[str, int]
) -> None:
    published = (RAW / "se" / "bolagsverket_bulkfil.txt").read_text(encoding="utf-8")
    names = 'Beta Bifirma$BIFIRMA-ORGNAM$1999-01-01|Beta "B" AB$FORETAGSNAMN-ORGNAM$1985-10-01'
    changed = published.replace("Ensillre 2286$$ÅNGE$84100$SE-LAND", address)
    changed = re.sub(r"Ensillre Väg[^$]*[$]FORETAGSNAMN-ORGNAM[$]1985-10-01", names, changed)
    file = tmp_path / "bolagsverket_bulkfil.txt"
    file.write_text(changed, encoding="utf-8")

    reading = read("se-bolagsverket", [file], tmp_path)

    row = reading.kept.collect().row(0, named=True)
    assert row["nom"] == 'Beta "B" AB'
    assert (row["adresse"], row["code_postal"], row["ville"]) == place
    assert reading.counts.noted == noted


def test_the_activity_of_a_latvian_company_is_that_of_the_newest_tax_year(tmp_path: Path) -> None:
    vid = tmp_path / "vid.csv"
    vid.write_text(
        "Registracijas_kods;Nosaukums;Taksacijas_gads;Pamatdarbibas_NACE_kods\n"
        "40008234596;House of Glory;2023;94.91\n"
        "40008234596;House of Glory;2024;85.59\n",
        encoding="utf-8",
    )

    row = company(read("lv-ur", [RAW / "lv" / "register.csv", vid], tmp_path), "40008234596")

    assert (row["nace_code"], row["nace_version"]) == ("8559", "2.1")


def test_a_romanian_company_with_several_states_has_the_active_one(tmp_path: Path) -> None:
    companies = tmp_path / "OD_FIRME.CSV"
    companies.write_text(
        "\ufeffDENUMIRE^CUI^COD_INMATRICULARE^DATA_INMATRICULARE^FORMA_JURIDICA^ADR_DEN_STRADA\r\n"
        "ŻABKA SRL^13735411^J14/33/2001^05/02/2001 00:00:00^SRL^STR A\r\n"
        "FĂRĂ COD SRL^0^J1/1/2001^05/02/2001^SRL^STR B\r\n"
        "POPESCU ION PF^123^F1/1/2001^05/02/2001^PF^STR C\r\n",
        encoding="utf-8",
        newline="",
    )
    # The company is in dissolution (1070) and in function (1048).
    states = tmp_path / "OD_STARE_FIRMA.CSV"
    states.write_text("COD_INMATRICULARE^COD\nJ14/33/2001^1070\nJ14/33/2001^1048\n")
    names = tmp_path / "N_STARE_FIRMA.CSV"
    names.write_text("COD^DENUMIRE\n1048^funcțiune\n1070^dizolvare\n", encoding="utf-8")
    work = tmp_path / "work"
    work.mkdir()

    reading = read("ro-onrc", [companies, states, names], work)

    row = company(reading, "13735411")
    assert (row["statut"], row["date_creation"]) == ("funcțiune", "2001-02-05")
    assert reading.counts.dropped == {"personne physique": 1}
    assert reading.counts.rejected == {"sans code fiscal": 1}


def test_a_czech_row_becomes_a_company_and_a_person_is_dropped(tmp_path: Path) -> None:
    header = (
        "ICO,OKRESLAU,DDATVZN,DDATZAN,ZPZAN,DDATPAKT,FORMA,ROSFORMA,KATPO,NACE,NACE2025,ICZUJ,FIRMA,"
        "CISS2010,KODADM,TEXTADR,PSC,OBEC_TEXT,COBCE_TEXT,ULICE_TEXT,TYPCDOM,CDOM,COR,DATPLAT,PRIZNAK"
    )
    # Form 101 of the second row is a person who carries on a trade.
    file = tmp_path / "res_data.csv"
    file.write_text(
        f"{header}\n"
        "6947,CZ0100,1993-01-01,,,2024-01-01,325,325,320,84110,84110,500054,Ministerstvo financí,"
        "13110,1,,11800,Praha,Malá Strana,Letenská,1,525,15,2024-01-01,\n"
        "12345678,CZ0100,2001-05-06,,,2024-01-01,101,101,000,62010,62100,500054,Jan Novák,"
        "14,1,,11000,Praha,,,1,1,,2024-01-01,\n",
        encoding="utf-8",
    )

    reading = read("cz-res", [file], tmp_path)

    assert company(reading, "00006947") == {
        "iso2": "CZ",
        "id": "00006947",
        "nom": "Ministerstvo financí",
        "forme": "Organizační složka státu",
        "statut": "Aktivní",
        "ville": "Praha",
        "code_postal": "11800",
        "region": "CZ0100",
        "adresse": "Letenská 525/15",
        "date_creation": "1993-01-01",
        "tranche_effectif": "200-249",
        "nace_code": "8411",
        "nace_version": "2.1",
        "date_source": "2024-01-01",
    }
    assert reading.counts.dropped == {"personne physique": 1}
