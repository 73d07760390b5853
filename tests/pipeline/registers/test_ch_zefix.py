"""Switzerland: the short form of Zefix as published, and the full form."""

import json
from pathlib import Path

from tests.pipeline.registers.reading import RAW, company, read

SHORT = RAW / "ch" / "zefix_company_short.json"


def test_a_short_answer(tmp_path: Path) -> None:
    found = read("ch-zefix", [SHORT], tmp_path)

    assert (found.counts.read, found.counts.kept) == (1, 1)
    assert company(found, "CHE107721785") == {
        "iso2": "CH",
        "id": "CHE107721785",
        "nom": "Qube AG",
        "forme": "Société anonyme",
        "statut": "Active",
        "ville": "Rubigen",
        "date_source": "2020-01-10",
    }


def test_a_full_answer_has_address_capital_purpose_and_former_names(tmp_path: Path) -> None:
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
    person = short | {"uid": "CHE1", "legalForm": {"uid": "0101"}}
    branch = short | {"uid": "CHE2", "legalForm": {"uid": "0151"}}
    file = tmp_path / "zefix.json"
    file.write_text(json.dumps([full, person, branch]), encoding="utf-8")

    found = read("ch-zefix", [file], tmp_path)

    assert found.counts.dropped == {"personne physique": 1, "succursale": 1}
    row = company(found, "CHE107721785")
    assert (row["adresse"], row["code_postal"], row["ville"]) == ("Worbstrasse 1a", "3113", "Bern")
    assert (row["capital_social"], row["capital_devise"]) == (100000.0, "CHF")
    assert (row["region"], row["description"]) == ("BE", "Würfel")
    assert (row["statut"], row["noms_anterieurs"]) == ("En cours de radiation", ["Kubus AG"])
