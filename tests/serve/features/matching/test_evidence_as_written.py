"""Values of lists as people write them: an unreadable value is ignored and has a reason code (extension X19)."""

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
from tests.serve.client import Customer, Server, run_server
from tests.serve.surfaces.mcp.client import tool_content
from tests.world import company

NAME: Final = "Zephyr Lantern Automobiles SA"
EVIDENCE_FIELDS: Final = (
    "date_creation",
    "pays",
    "ville",
    "code_postal",
    "activite",
    "adresse",
    "site_web",
)
# Texts that people write into a cell without a value.
PLACEHOLDERS: Final = (
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
# A field of a line, its value, and the reason code of the value; "" if the value is read completely.
VALUES_AND_REASONS: Final = [
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
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of the French company NAME and of 20 Belgian companies with other names."""
    data: Path = tmp_path_factory.mktemp("evidence")
    companies = [company("FR", "542065479", NAME, ville="Poissy", date_creation="1954-02-01")]
    companies += [
        company("BE", f"04032275{number:02}", f"Autre Maison {number}") for number in range(20)
    ]
    world.publish(data, companies, {})
    with run_server(data) as server:
        yield server


def match_lines(server: Server, customer: Customer, lines: list[dict[str, Any]]) -> list[Any]:
    """The results of lines sent to /api/v1/rapprochement."""
    body = orjson.dumps(
        {"lignes": [{"cle": str(number), **line} for number, line in enumerate(lines)]}
    )
    headers = {"Content-Type": "application/json", **customer.headers}
    reply = server.ask("/api/v1/rapprochement", "POST", headers, body=body)
    assert reply.status == 200, reply.body
    results: list[Any] = reply.json["resultats"]
    return results


def reconcile(server: Server, customer: Customer, properties: Mapping[str, Any]) -> Any:
    """The answer to a query with a name and properties."""
    values = [{"pid": pid, "v": value} for pid, value in properties.items()]
    query = {"q": {"query": NAME, "limit": 1, "properties": values}}
    form = urlencode({"queries": orjson.dumps(query).decode()}).encode()
    headers = {"Content-Type": "application/x-www-form-urlencoded", **customer.headers}
    return server.ask("/api/v1/reconciliation", "POST", headers, body=form).json["q"]


def unreadable_codes(codes: list[str]) -> list[str]:
    """The reason codes that mark an unreadable value."""
    return [code for code in codes if code in UNREADABLE]


@pytest.mark.parametrize(("field", "value", "code"), VALUES_AND_REASONS)
def test_an_unreadable_value_is_ignored_and_has_a_reason_code(
    server: Server, customer: Customer, field: str, value: Any, code: str
) -> None:
    """X19: in lists, in OpenRefine and in the tool"""
    line = {"nom": NAME, field: value}
    best = match_lines(server, customer, [line])[0]["candidats"][0]
    candidate = reconcile(server, customer, {field: value})["result"][0]
    answer = tool_content(
        server, "match_companies", customer.headers, lignes=[{"cle": "1", **line}]
    )

    codes = [code] if code else []
    assert best["id"] == answer["resultats"][0]["candidats"][0]["id"] == "542065479"
    assert candidate["id"] == "FR:542065479"
    assert unreadable_codes(best["raisons_codes"]) == codes
    assert unreadable_codes(answer["resultats"][0]["candidats"][0]["raisons_codes"]) == codes
    assert unreadable_codes([feature["id"] for feature in candidate["features"]]) == codes
    assert not {"date_differente", "pays_different", "id_different"} & {*best["raisons_codes"]}


@pytest.mark.parametrize("text", PLACEHOLDERS)
def test_a_placeholder_counts_as_an_absent_value(
    server: Server, customer: Customer, text: str
) -> None:
    name_alone, *with_placeholders = match_lines(
        server,
        customer,
        [{"nom": NAME}, *({"nom": NAME, field: text} for field in EVIDENCE_FIELDS)],
    )

    for field, with_placeholder in zip(EVIDENCE_FIELDS, with_placeholders, strict=True):
        if (field, text) != ("code_postal", "0"):  # `0` is read as a postcode
            assert with_placeholder["candidats"] == name_alone["candidats"], field
        assert reconcile(server, customer, {field: text})["result"], field


def test_a_readable_date_is_evidence(server: Server, customer: Customer) -> None:
    texts = ("1954-02-01 00:00:00", "01.02.1954 00:00", "19756", "01/02/1954", "1954", "1/2/1955")
    answers = match_lines(
        server, customer, [{"nom": NAME, "date_creation": text} for text in texts]
    )

    codes = [answer["candidats"][0]["raisons_codes"] for answer in answers]
    assert ["date_identique" in answer for answer in codes] == [True] * 5 + [False]
    assert "date_differente" in codes[5]


def test_a_country_without_companies_counts_as_a_different_country(
    server: Server, customer: Customer
) -> None:
    """X19: the verdict on a company of the same name in another country is at best `probable`"""
    texts = ("Hungary", "Magyarország", "HUN", "348", "USA", "Estados Unidos")
    for answer in match_lines(server, customer, [{"nom": NAME, "pays": text} for text in texts]):
        assert answer["verdict"] != "sur"
        assert "pays_different" in answer["candidats"][0]["raisons_codes"]
        assert not unreadable_codes(answer["candidats"][0]["raisons_codes"])


def test_an_unknown_property_is_ignored_and_has_a_reason_code(
    server: Server, customer: Customer
) -> None:
    """A user of OpenRefine may send a column that is no property; its batch is still answered."""
    reply = reconcile(server, customer, {"capital": 1000, "forme": "SA", "pays": ["FR", "BE"]})

    assert reply["result"][0]["id"] == "FR:542065479"
    assert "propriete_inconnue" in [feature["id"] for feature in reply["result"][0]["features"]]


def test_a_line_without_a_readable_name_or_number_is_an_error_in_its_place(
    server: Server, customer: Customer
) -> None:
    lines = [{"id": "n/a", "ville": "Poissy"}, {"nom": NAME}, {"id": "voir annexe"}]
    answers = match_lines(server, customer, lines)

    assert ["erreur" in answer for answer in answers] == [True, False, True]
    assert "'voir annexe'" in answers[2]["erreur"]["message"]


def test_every_code_of_an_unreadable_value_has_a_text_in_both_languages() -> None:
    assert {*UNREADABLE} <= {*RAISONS}


COUNTRY_NAMES: Final = [(row["nom"], row["iso2"]) for row in seed_tables.rows("noms_de_pays.csv")]


@settings(max_examples=30)
@given(st.lists(st.integers(0, len(COUNTRY_NAMES) - 1), min_size=20, max_size=20))
def test_a_country_is_recognised_by_any_of_its_codes_and_names(
    server: Server, customer: Customer, numbers: list[int]
) -> None:
    """The codes are those of ISO 3166-1, the names those in the languages of the 25 countries, in upper case."""
    countries = [COUNTRY_NAMES[number] for number in numbers]
    lines = [{"nom": NAME, "pays": name.upper()} for name, _ in countries]
    for (name, iso2), answer in zip(countries, match_lines(server, customer, lines), strict=True):
        codes = answer["candidats"][0]["raisons_codes"]
        is_absent = seed_tables.number_notation().is_placeholder(name)
        assert ("pays_different" not in codes) == (iso2 == "FR" or is_absent), name
        assert "pays_illisible" not in codes, name
