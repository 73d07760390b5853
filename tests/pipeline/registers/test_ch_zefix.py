"""Switzerland: the short form of Zefix as published, and the full form."""

import json
from pathlib import Path

import pytest

from tests.pipeline.registers.reading import RAW, company, read

SHORT = RAW / "ch" / "zefix_company_short.json"


def test_a_company_is_read_from_the_short_form_of_an_answer(tmp_path: Path) -> None:
    reading = read("ch-zefix", [SHORT], tmp_path)

    assert (reading.counts.read, reading.counts.kept) == (1, 1)
    assert company(reading, "CHE107721785") == {
        "iso2": "CH",
        "id": "CHE107721785",
        "nom": "Qube AG",
        "forme": "Société anonyme",
        "statut": "Active",
        "ville": "Rubigen",
        "date_source": "2020-01-10",
    }


def test_the_full_form_also_has_address_capital_purpose_and_former_names(tmp_path: Path) -> None:
    [short] = json.loads(SHORT.read_text(encoding="utf-8"))
    address = {"street": "Worbstrasse", "houseNumber": "1a", "swissZipCode": "3113", "city": "Bern"}
    full = short | {
        "uid": "CHE-107.721.785",
        "canton": "BE",
        "address": address | {"organisation": None, "poBox": None},
        "capitalNominal": "100000.00",
        "capitalCurrency": "CHF",
        "purpose": "Würfel",
        "oldNames": [{"name": "Kubus AG", "sequenceNr": 1, "translation": []}],
        "status": "BEING_CANCELLED",
        "auditCompanies": [{"name": "Prüfer AG", "uid": "CHE1"}],
    }
    person = short | {"uid": "CHE1", "legalForm": {"uid": "0101"}}  # a sole trader
    branch = short | {"uid": "CHE2", "legalForm": {"uid": "0151"}}  # a branch
    file = tmp_path / "zefix.json"
    file.write_text(json.dumps([full, person, branch]), encoding="utf-8")

    reading = read("ch-zefix", [file], tmp_path)

    assert reading.counts.dropped == {"personne physique": 1, "succursale": 1}
    row = company(reading, "CHE107721785")
    assert (row["adresse"], row["code_postal"], row["ville"]) == ("Worbstrasse 1a", "3113", "Bern")
    assert (row["capital_social"], row["capital_devise"]) == (100000.0, "CHF")
    assert (row["region"], row["description"]) == ("BE", "Würfel")
    assert (row["statut"], row["noms_anterieurs"]) == ("En cours de radiation", ["Kubus AG"])


@pytest.mark.parametrize("older_file", ["a.json", "b.json"])
def test_of_two_answers_the_newer_one_wins_and_fields_that_belong_together_are_not_mixed(
    tmp_path: Path, older_file: str
) -> None:
    [short] = json.loads(SHORT.read_text(encoding="utf-8"))
    older = short | {
        "sogcDate": "2020-01-10",
        "capitalNominal": "100000.00",
        "address": {"street": "Alte Gasse", "houseNumber": "1", "swissZipCode": None},
        "purpose": "Würfel",
    }
    newer = short | {
        "sogcDate": "2026-05-01",
        "status": "CANCELLED",
        "capitalNominal": "250000.00",
        "capitalCurrency": "EUR",
        "address": {"city": "Zürich", "swissZipCode": "8001"},
    }
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for file in files:
        answer = older if file.name == older_file else newer
        file.write_text(json.dumps([answer]), encoding="utf-8")

    reading = read("ch-zefix", files, tmp_path)

    row = company(reading, "CHE107721785")
    assert (row["statut"], row["description"]) == ("Radiée", "Würfel")
    assert (row["capital_social"], row["capital_devise"]) == (250000.0, "EUR")
    assert (row.get("adresse"), row["code_postal"], row["ville"]) == (None, "8001", "Zürich")
    assert row["date_source"] == "2026-05-01"
    assert reading.counts.merged == 1
