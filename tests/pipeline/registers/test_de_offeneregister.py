"""Germany: the excerpt of OffeneRegister.

The commercial register has two sections: HRA for merchants and partnerships, HRB for companies such as a GmbH.
"""

import bz2
import csv
import json
from collections import Counter
from pathlib import Path

import pytest

from tests.pipeline.registers.reading import RAW, company, read

EXCERPT = RAW / "de" / "offeneregister_excerpt.jsonl.bz2"


def test_every_entity_is_accounted_for(tmp_path: Path) -> None:
    reading = read("de-offeneregister", [EXCERPT], tmp_path)

    assert (reading.counts.read, reading.counts.kept) == (1395, 459)
    assert reading.counts.dropped == {"association": 287, "radiée": 649}
    assert (reading.counts.rejected, reading.counts.noted) == ({}, {"adresse illisible": 10})


def test_an_entity_becomes_a_company(tmp_path: Path) -> None:
    reading = read("de-offeneregister", [EXCERPT], tmp_path)

    assert company(reading, "B1204_HRB260632") == {
        "iso2": "DE",
        "id": "B1204_HRB260632",
        "nom": "Nutzfahrzeugtechnik Dufner GmbH",
        "forme": "GmbH",
        "statut": "Eingetragen",
        "ville": "Teningen",
        "code_postal": "79331",
        "region": "Baden-Württemberg",
        "adresse": "Siemensstraße 10",
        "noms_anterieurs": ["DITTON GmbH"],
        "date_source": "2019-01-31",
    }


@pytest.mark.parametrize(
    ("published_address", "street", "code", "town"),
    [
        ("Am Markt 1, 25524 Itzehoe.", "Am Markt 1", "25524", "Itzehoe"),
        ("Geschäftsanschrift: Am Markt 1a, 20097 Hamburg.", "Am Markt 1a", "20097", "Hamburg"),
        ("Am Markt 1, 14943 Groß Kreutz (Havel)", "Am Markt 1", "14943", "Groß Kreutz (Havel)"),
        ("Am Markt 1, 85084 Reich, OT Bruck.", "Am Markt 1", "85084", "Reich, OT Bruck"),
        (
            "Am Markt 1, 25524 Itzehoe, Geschäftsführer:2) Muster, Erna, *31.08.1958, Heide",
            "Am Markt 1",
            "25524",
            "Itzehoe",
        ),
        ("Am Markt 1, 13587 Berlin Nicht mehr Inhaber:1) Muster, Erna", "Am Markt 1", "13587", "Berlin"),
        ("Am Markt 1, 24768 Heide, Muster, Erna geborene Probe, *27.02.1959, Heide", None, None, None),
        ("Am Markt 1, 71634 HeidePersonenbezogene Daten: Muster, *21.01.1957", None, None, None),
        ("Hölderlinstr.", None, None, None),
        ("eingetragen..", None, None, None),
        ("Prokura: Muster, Erna, Heide, *01.02.1960", None, None, None),
    ],
)  # fmt: skip
def test_a_readable_address_is_split_and_an_unreadable_one_is_left_out(
    tmp_path: Path, published_address: str, street: str | None, code: str | None, town: str | None
) -> None:
    file = _changed_record(tmp_path, "Muster GmbH", "HRB", registered_address=published_address)
    reading = read("de-offeneregister", [file], tmp_path)

    row = company(reading, "X1_HRB1")
    assert (row.get("adresse"), row.get("code_postal")) == (street, code)
    assert row["ville"] == (town or "Teningen")  # the seat of the changed record
    assert reading.counts.noted == ({} if street else {"adresse illisible": 1})


def test_a_seat_that_contains_an_officer_gives_no_town(tmp_path: Path) -> None:
    file = _changed_record(tmp_path, "Muster GmbH", "HRB", registered_address=None)
    record = json.loads(file.read_text(encoding="utf-8"))
    record["all_attributes"]["registered_office"] = "Heide Prokura: Muster, Erna, *01.02.1960"
    file.write_text(json.dumps(record), encoding="utf-8")
    reading = read("de-offeneregister", [file], tmp_path)

    assert "ville" not in company(reading, "X1_HRB1")
    assert reading.counts.noted == {"siège illisible": 1}


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("Kibek GmbH.", "GmbH"),
        ("Wilhelm Fiedler GmbH u. Co. KG", "GmbH & Co. KG"),
        (
            "Bauträger Gesellschaft mit beschränkter Haftung & Co. Kommanditgesellschaft",
            "GmbH & Co. KG",
        ),
        ("Start UG (haftungsbeschränkt)", "UG (haftungsbeschränkt)"),
        ("Start UG (haftungsbeschränkt) & Co. KG", "GmbH & Co. KG"),
        ("Paul Pinsel KG", "KG"),
        ("Werk Aktiengesellschaft", "AG"),
        ("Merck KGaA", "KGaA"),
        ("Brillen Günther", None),
    ],
)
def test_the_form_is_the_end_of_the_name(tmp_path: Path, name: str, form: str | None) -> None:
    assert _company_named(tmp_path, name).get("forme") == form


@pytest.mark.parametrize(
    "name", ["Anna Weiß e.K.", "Weiß e. K., Blumen", "Weiß e.Kfr.", "Hut Inh. A. Weiß", "Anna Weiß"]
)
def test_sole_merchants_are_dropped(tmp_path: Path, name: str) -> None:
    reading = read("de-offeneregister", [_changed_record(tmp_path, name, "HRA"), EXCERPT], tmp_path)

    assert reading.kept.filter(id="X1_HRA1").collect().is_empty()


@pytest.mark.parametrize(
    "name", ["Weiß & Söhne", "Sparkasse Münster", "Stadtwerke Ulm", "Weiß KG Hüte", "Gebr. Weiß"]
)
def test_partnerships_and_public_bodies_without_a_form_are_kept(tmp_path: Path, name: str) -> None:
    reading = read("de-offeneregister", [_changed_record(tmp_path, name, "HRA")], tmp_path)

    assert company(reading, "X1_HRA1")["nom"] == name


# The rule: an entry of section HRA without a legal form at the end of its name is kept only if complete words of the
# name exclude a person, such as "Sparkasse" or "& Co." (de-offeneregister.toml).
#
# These are real names without a legal form at their end, read and labelled by hand: `personne` or `societe`. Names of
# persons and places are replaced with invented names for which the rule has the same result.
#
# A stratum is a group of names from which rows were drawn. Strata A to C are of 1 100 000 entities: names that an
# earlier rule kept (A) or dropped (B) because of a word inside a longer word, and names with a legal form inside (C).
# K1, D1 and K2, D2 are of 300 000 entities each: names that the rule kept (K), or dropped (D) although without e. K.
#
# The part `reglage` was used to write the rule; `controle`, and a `second` draw of A and B, were used only after that.
# The part `retenu` is strata K and D, which were not used for the rule.
LABELLED_NAMES = Path(__file__).with_name("de_marchands.csv")
# Stratum -> the number of its names in the register.
NAMES_IN_REGISTER = {
    "A": 1_780, "B": 28_390, "C": 2_754, "K1": 711, "D1": 1_821, "K2": 729, "D2": 2_276,
}  # fmt: skip


@pytest.mark.parametrize("parts", [("reglage", "controle", "second"), ("retenu",)], ids="/".join)
def test_no_person_of_the_labelled_names_is_kept_and_few_companies_are_lost(
    tmp_path: Path, parts: tuple[str, ...]
) -> None:
    """At most 2 % of the companies are lost, each counted with the names of the register that it represents."""
    with LABELLED_NAMES.open(encoding="utf-8", newline="") as table:
        rows = [row for row in csv.DictReader(table) if row["part"] in parts]
    file = _changed_record(tmp_path, "X", "HRA")
    first_record = json.loads(file.read_text(encoding="utf-8"))
    records = [
        first_record | {"name": row["nom"], "company_number": f"X1_HRA{number}"}
        for number, row in enumerate(rows)
    ]
    file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")

    reading = read("de-offeneregister", [file], tmp_path)
    kept_ids = set(reading.kept.collect()["id"])

    person_rows = [index for index, row in enumerate(rows) if row["genre"] == "personne"]
    assert len(person_rows) > 400  # enough rows to show a fault
    # The goal for the register is at most 0.1 % of persons; of these few hundred names, none may be kept.
    assert [rows[index]["nom"] for index in person_rows if f"X1_HRA{index}" in kept_ids] == []
    drawn_rows = Counter(row["strate"] for row in rows)
    # The number of names of the register that each drawn row represents.
    weights = [NAMES_IN_REGISTER[row["strate"]] / drawn_rows[row["strate"]] for row in rows]
    company_rows = [index for index, row in enumerate(rows) if row["genre"] == "societe"]
    lost_weight = sum(weights[index] for index in company_rows if f"X1_HRA{index}" not in kept_ids)
    assert lost_weight <= 0.02 * sum(weights[index] for index in company_rows)


def _changed_record(tmp_path: Path, name: str, section: str, **fields: str | None) -> Path:
    """A file with the first record of the excerpt, but with this name, section and number, and registered."""
    record = json.loads(bz2.decompress(EXCERPT.read_bytes()).split(b"\n", 1)[0])
    record |= {
        "name": name,
        "company_number": f"X1_{section}1",
        "current_status": "currently registered",
        **fields,
    }
    record["all_attributes"]["_registerArt"] = section
    file = tmp_path / "one.jsonl"
    file.write_text(json.dumps(record) + "\n", encoding="utf-8")
    return file


def _company_named(tmp_path: Path, name: str) -> dict[str, object]:
    """The company that a record of section HRB with this name becomes."""
    return company(
        read("de-offeneregister", [_changed_record(tmp_path, name, "HRB")], tmp_path), "X1_HRB1"
    )
