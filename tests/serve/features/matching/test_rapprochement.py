"""POST /api/v1/rapprochement (extensions X5): lines and their companies, errors in their places, calls of the day."""

from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from serve.contract.reasons import RAISONS
from shards.matching.evidence import REASONS
from tests.serve.client import Customer, Reply, Served

PATH = "/api/v1/rapprochement"
JSON = {"Content-Type": "application/json"}
MULLER = {"cle": "m", "nom": "Mueller Maschinenbau", "pays": "DE"}
GENERALE = {"cle": "g", "nom": "SOCIETE GENERALE D'ORLEANS SA"}


def post(served: Served, body: Any, headers: Mapping[str, str] | None = None) -> Reply:
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    return served.ask(PATH, "POST", {**JSON, **(headers or {})}, body=raw)


def results(served: Served, customer: Customer, *lines: Any, **more: Any) -> list[Any]:
    reply = post(served, {"lignes": lines, **more}, customer.headers)
    assert reply.status == 200, reply.body
    found: list[Any] = reply.json["resultats"]
    return found


def test_a_line_has_a_verdict_and_candidates_with_reasons(served: Served) -> None:
    found = results(served, served.customer("data"), MULLER, GENERALE)

    assert [one["cle"] for one in found] == ["m", "g"]
    assert [one["candidats"][0]["id"] for one in found] == ["F1103R_HRB218916", "552100554"]
    assert {one["verdict"] for one in found} <= {"sur", "probable"}
    assert list(found[0]["candidats"][0]) == [
        "iso2", "id", "nom", "ville", "code_postal", "etat", "note", "raisons",
        "raisons_codes",
    ]  # fmt: skip
    assert "nom identique" in found[0]["candidats"][0]["raisons"]
    assert "nom_identique" in found[0]["candidats"][0]["raisons_codes"]


def test_reasons_are_in_the_language_of_the_caller(served: Served) -> None:
    told = [post(served, {"lignes": [MULLER]}, {"Accept-Language": lang}) for lang in ("fr", "en")]

    first = [one.json["resultats"][0]["candidats"][0] for one in told]
    assert ["nom identique" in first[0]["raisons"], "same name" in first[1]["raisons"]] == [
        True,
        True,
    ]
    assert first[0]["raisons_codes"] == first[1]["raisons_codes"]
    assert [one.headers["Content-Language"] for one in told] == ["fr", "en"]
    assert tuple(RAISONS) == REASONS  # all that can be told


def test_a_call_is_counted_for_each_ten_lines_begun(served: Served) -> None:
    customer = served.customer("data")
    lines = [{**MULLER, "cle": str(i)} for i in range(21)]

    for count, calls in ((10, 1), (11, 3), (21, 6)):
        results(served, customer, *lines[:count])
        assert served.used(customer) == calls


def test_lines_in_error_are_answered_in_their_place_and_cost_nothing(served: Served) -> None:
    customer = served.customer("data")
    wrong: list[tuple[Any, str]] = [
        ({"nom": "Sans clé"}, "cle"),
        ({"cle": "1"}, "`nom`, `id`, `tva` ou `lei`"),
        ({"cle": "2", "nom": " ?! "}, "`nom`, `id`, `tva` ou `lei`"),
        ({"cle": "3", "id": "voir annexe"}, "'voir annexe'"),
        ({"cle": "4", "lei": "n/a"}, "`nom`, `id`, `tva` ou `lei`"),
        ({"cle": "5", "nom": ["A"]}, "nom"),
        ({"cle": "6", "nom": "A", "town": "B"}, "town"),
        ({"cle": "7", "nom": "A" * 301}, "300"),
        ("une ligne", "objet"),
    ]
    found = results(served, customer, *(line for line, _ in wrong))

    assert served.used(customer) == 0
    for one, (_, said) in zip(found, wrong, strict=True):
        assert one["erreur"]["code"] == "ligne_invalide"
        assert said in one["erreur"]["message"]
    mixed = results(served, customer, wrong[1][0], MULLER)
    assert "erreur" in mixed[0]
    assert mixed[1]["verdict"] in ("sur", "probable")
    assert served.used(customer) == 1


@pytest.mark.parametrize(
    ("body", "status", "code", "said"),
    [
        ({"lignes": [MULLER, MULLER]}, 400, "parametre_invalide", "'m'"),
        ({"lignes": [{"cle": str(i)} for i in range(1_001)]}, 413, "corps_trop_grand", "1000"),
        (b" " * (1 << 20) + b"{}", 413, "corps_trop_grand", "1048576"),
        (b"[" * 60_000, 400, "corps_invalide", "JSON"),
        (b"[" * 200_000, 400, "corps_invalide", "65536 membres"),
        (b'{"lignes": [], "lignes": []}', 400, "corps_invalide", "deux fois"),
        ({"lignes": {}}, 400, "corps_invalide", "lignes"),
        ([], 400, "corps_invalide", "lignes"),
        ({"lignes": [], "limit": 3}, 400, "parametre_inconnu", "limit"),
        ({"lignes": [], "limite": 0}, 400, "parametre_invalide", "1 à 10"),
        ({"lignes": [MULLER], "version": "0" * 16}, 409, "version_expiree", "0" * 16),
    ],
)  # fmt: skip
def test_a_body_that_is_no_list_is_refused_and_costs_nothing(
    served: Served, body: Any, status: int, code: str, said: str
) -> None:
    customer = served.customer("data")
    reply = post(served, body, customer.headers)

    assert (reply.status, reply.code) == (status, code)
    assert said in reply.json["erreur"]["message"]
    assert served.used(customer) == 0


def test_another_media_type_and_a_query_string_are_refused(served: Served) -> None:
    assert post(served, b"cle;nom", {"Content-Type": "text/csv"}).code == "type_non_supporte"
    reply = served.ask(f"{PATH}?limite=1", "POST", JSON, body=orjson.dumps({"lignes": []}))
    assert reply.code == "parametre_invalide"


def test_a_visitor_has_two_lines_matched_and_is_told_about_the_others(served: Served) -> None:
    reply = post(served, {"lignes": [{**MULLER, "cle": str(i)} for i in range(4)]})
    found = reply.json["resultats"]

    assert reply.status == 200
    assert ["verdict" in one for one in found] == [True, True, False, False]
    assert {one["erreur"]["code"] for one in found[2:]} == {"compte_requis"}


def test_a_key_that_is_not_valid_gets_what_a_visitor_gets(served: Served) -> None:
    reply = post(served, {"lignes": [MULLER]}, {"Authorization": "Bearer soc_live_x"})

    assert (reply.status, reply.code) == (401, "cle_invalide")
    assert "verdict" in reply.json["resultats"][0]


def test_more_calls_than_are_left_are_refused_and_none_is_counted(served: Served) -> None:
    customer = served.customer("free")  # 50 calls a day
    lines = [{**MULLER, "cle": str(i)} for i in range(501)]
    reply = post(served, {"lignes": lines}, customer.headers)

    assert (reply.status, reply.code) == (429, "quota_api")
    assert "51 appels" in reply.json["erreur"]["message"]
    assert served.used(customer) == 0


def test_a_line_has_countries_by_name_and_dates_in_other_notations(served: Served) -> None:
    customer = served.customer("data")
    lines = [
        {**MULLER, "pays": "Allemagne"}, {**MULLER, "cle": "2", "pays": "Germany"},
        {**MULLER, "cle": "3", "pays": "DE", "date_creation": "13/12/1968"},
        {**MULLER, "cle": "4", "pays": "DEU"}, {**MULLER, "cle": "5", "pays": 276},
        {**MULLER, "cle": "6", "pays": "Niemcy, Tyskland"},
    ]  # fmt: skip
    found = results(served, customer, *lines)

    assert [one["candidats"][0]["iso2"] for one in found] == ["DE"] * 6


def test_a_line_has_countries_by_their_other_names_and_whole_numbers_as_floats(
    served: Served,
) -> None:
    """Lists say `Great Britain`; pandas writes a column of numbers with a gap as floats."""
    others = ("Great Britain", "Czech Republic", "République tchèque", "The Netherlands", "Britain")
    found = results(
        served, served.customer("data"), *({**MULLER, "cle": one, "pays": one} for one in others),
        {"cle": 7.0, "id": 552100554.0},
    )  # fmt: skip

    assert all("erreur" not in one for one in found)
    assert (found[-1]["cle"], found[-1]["verdict"]) == ("7", "sur")


def test_address_activity_website_and_mail_are_evidence(served: Served) -> None:
    line = {
        **MULLER, "adresse": "Hauptstr. 7", "activite": "28.99", "site_web": "www.muellermaschinenbau.de",
        "email": "info@gmail.com",
    }  # fmt: skip
    found = results(served, served.customer("data"), line)

    assert found[0]["candidats"][0]["id"] == "F1103R_HRB218916"


def test_columns_of_the_company_come_with_a_line_that_means_it(served: Served) -> None:
    asked = ["nom", "nace_code", "email"]
    absent = {"cle": "a", "nom": "Zipfelhuber Getränke"}
    found = results(served, served.customer("data"), MULLER, absent, colonnes=asked)

    assert list(found[0]["valeurs"]) == asked
    assert found[0]["valeurs"]["nom"] == found[0]["candidats"][0]["nom"]
    assert found[0]["valeurs"]["email"]  # this plan has a right to it
    assert found[1]["valeurs"] is None
    reply = post(served, {"lignes": [MULLER], "colonnes": ["town"]})
    assert (reply.status, reply.json["erreur"]["code"]) == (400, "parametre_invalide")
    assert results(served, served.customer("data"), MULLER)[0]["valeurs"] is None
    visitor = post(served, {"lignes": [MULLER], "colonnes": "nom,email"})
    assert visitor.json["resultats"][0]["valeurs"]["email"] is None
