"""Values of lists as people write them: what cannot be read is left out and said, and costs no line (extension X19)."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serve.contract import seed_tables
from serve.contract.reasons import RAISONS
from shards.matching.line import UNREADABLE
from tests.serve import world
from tests.serve.client import Customer, Served, serving
from tests.serve.surfaces.mcp.client import shown
from tests.world import company

NAME: Final = "Zephyr Lantern Automobiles SA"
FIELDS: Final = ("date_creation", "pays", "ville", "code_postal", "activite", "adresse", "site_web")
UNKNOWN: Final = (
    "n/a",
    "N/A",
    "-",
    "unknown",
    "NULL",
    "keine Angabe",
    "néant",
    "?",
    "0",
    "0000-00-00",
    "brak",
)
# A value of a line, and the code that says how it was read; "" where it is read whole.
VALUES: Final = [
    ("date_creation", "01/02/1954", "date_ambigue"), ("date_creation", "1/1/54", "date_illisible"),
    ("date_creation", "hier", "date_illisible"), ("date_creation", "31/02/1954", "date_illisible"),
    ("date_creation", "1954-02-01T00:00:00Z", ""), ("date_creation", "01.02.1954 00:00", ""),
    ("date_creation", "19756", ""), ("date_creation", 19756, ""), ("date_creation", "1954", ""),
    ("date_creation", "1954-02-00", ""), ("date_creation", "5 listopada 1954", "date_ambigue"),
    ("pays", "FRA", ""), ("pays", "Frankreich", ""), ("pays", "250", ""), ("pays", "France, Belgique", ""),
    ("pays", "Ranska", ""), ("pays", "Франция", ""), ("pays", "République française", ""), ("pays", "FR/BE", ""),
    ("pays", "Atlantis", "pays_illisible"), ("pays", "FR, Atlantis", "pays_illisible"),
    ("pays", "Narnia", "pays_illisible"),
    ("id", "voir annexe", "id_illisible"), ("tva", "sur demande", "tva_illisible"),
    ("lei", "aucune idée", "lei_illisible"),
]  # fmt: skip


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    data: Path = tmp_path_factory.mktemp("evidence")
    found = [company("FR", "542065479", NAME, ville="Poissy", date_creation="1954-02-01")]
    found += [company("BE", f"04032275{n:02}", f"Autre Maison {n}") for n in range(20)]
    world.publish(data, found, {})
    with serving(data) as server:
        yield server


def match(served: Served, customer: Customer, lines: list[dict[str, Any]]) -> list[Any]:
    body = orjson.dumps({"lignes": [{"cle": str(n), **line} for n, line in enumerate(lines)]})
    headers = {"Content-Type": "application/json", **customer.headers}
    reply = served.ask("/api/v1/rapprochement", "POST", headers, body=body)
    assert reply.status == 200, reply.body
    results: list[Any] = reply.json["resultats"]
    return results


def reconcile(served: Served, customer: Customer, properties: Mapping[str, Any]) -> Any:
    """The answer to the script of the report: a name, and a property."""
    values = [{"pid": pid, "v": value} for pid, value in properties.items()]
    query = {"q": {"query": NAME, "limit": 1, "properties": values}}
    form = urlencode({"queries": orjson.dumps(query).decode()}).encode()
    headers = {"Content-Type": "application/x-www-form-urlencoded", **customer.headers}
    return served.ask("/api/v1/reconciliation", "POST", headers, body=form).json["q"]


def unread(codes: list[str]) -> list[str]:
    return [code for code in codes if code in UNREADABLE]


@pytest.mark.parametrize(("field", "value", "code"), VALUES)
def test_a_value_that_cannot_be_read_is_left_out_and_said(
    served: Served, customer: Customer, field: str, value: Any, code: str
) -> None:
    """X19: in lists, for OpenRefine and for models"""
    line = {"nom": NAME, field: value}
    best = match(served, customer, [line])[0]["candidats"][0]
    asked = reconcile(served, customer, {field: value})["result"][0]
    told = shown(served, "match_companies", customer.headers, lignes=[{"cle": "1", **line}])

    wanted = [code] if code else []
    assert best["id"] == told["resultats"][0]["candidats"][0]["id"] == "542065479"
    assert asked["id"] == "FR:542065479"
    assert unread(best["raisons_codes"]) == wanted
    assert unread(told["resultats"][0]["candidats"][0]["raisons_codes"]) == wanted
    assert unread([one["id"] for one in asked["features"]]) == wanted
    assert not {"date_differente", "pays_different", "id_different"} & {*best["raisons_codes"]}


@pytest.mark.parametrize("text", UNKNOWN)
def test_a_placeholder_is_as_good_as_nothing(served: Served, customer: Customer, text: str) -> None:
    bare, *others = match(
        served, customer, [{"nom": NAME}, *({"nom": NAME, field: text} for field in FIELDS)]
    )

    for field, other in zip(FIELDS, others, strict=True):
        if (field, text) != ("code_postal", "0"):
            assert other["candidats"] == bare["candidats"], field
        assert reconcile(served, customer, {field: text})["result"], field


def test_a_date_that_is_read_is_evidence(served: Served, customer: Customer) -> None:
    texts = ("1954-02-01 00:00:00", "01.02.1954 00:00", "19756", "01/02/1954", "1954", "1/2/1955")
    found = match(served, customer, [{"nom": NAME, "date_creation": text} for text in texts])

    codes = [one["candidats"][0]["raisons_codes"] for one in found]
    assert ["date_identique" in one for one in codes] == [True] * 5 + [False]
    assert "date_differente" in codes[5]


def test_a_country_of_which_there_is_no_company_is_another_one(
    served: Served, customer: Customer
) -> None:
    """X19: a namesake of another country is probable at best"""
    texts = ("Hungary", "Magyarország", "HUN", "348", "USA", "Estados Unidos")
    for found in match(served, customer, [{"nom": NAME, "pays": text} for text in texts]):
        assert found["verdict"] != "sur"
        assert "pays_different" in found["candidats"][0]["raisons_codes"]
        assert not unread(found["candidats"][0]["raisons_codes"])


def test_a_property_that_no_query_goes_by_is_left_out_and_said(
    served: Served, customer: Customer
) -> None:
    """A column of OpenRefine that is not known does not cost the list."""
    asked = reconcile(served, customer, {"capital": 1000, "forme": "SA", "pays": ["FR", "BE"]})

    assert asked["result"][0]["id"] == "FR:542065479"
    assert "propriete_inconnue" in [one["id"] for one in asked["result"][0]["features"]]


def test_a_line_that_has_nothing_to_go_by_is_an_error_in_its_place(
    served: Served, customer: Customer
) -> None:
    lines = [{"id": "n/a", "ville": "Poissy"}, {"nom": NAME}, {"id": "voir annexe"}]
    found = match(served, customer, lines)

    assert ["erreur" in one for one in found] == [True, False, True]
    assert "'voir annexe'" in found[2]["erreur"]["message"]


def test_every_code_has_its_words_in_both_languages() -> None:
    assert {*UNREADABLE} <= {*RAISONS}


NAMES_OF_COUNTRIES: Final = [
    (row["nom"], row["iso2"]) for row in seed_tables.rows("noms_de_pays.csv")
]


@settings(max_examples=30)
@given(st.lists(st.integers(0, len(NAMES_OF_COUNTRIES) - 1), min_size=20, max_size=20))
def test_a_country_is_known_by_each_of_its_codes_and_names(
    served: Served, customer: Customer, numbers: list[int]
) -> None:
    """ISO 3166-1 and the names in the languages of the 25 countries, in any case"""
    countries = [NAMES_OF_COUNTRIES[number] for number in numbers]
    lines = [{"nom": NAME, "pays": name.upper()} for name, _ in countries]
    for (name, iso2), found in zip(countries, match(served, customer, lines), strict=True):
        codes = found["candidats"][0]["raisons_codes"]
        nothing = seed_tables.number_notation().is_placeholder(name)
        assert ("pays_different" not in codes) == (iso2 == "FR" or nothing), name
        assert "pays_illisible" not in codes, name
