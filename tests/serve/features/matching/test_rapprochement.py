"""POST /api/v1/rapprochement (extensions X5): candidates of lines, errors in their places, counted calls."""

from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from serve.contract.reasons import RAISONS
from shards.matching.evidence import REASONS
from tests.serve.client import Customer, Reply, Server
from tests.serve.world import CONTACT

PATH = "/api/v1/rapprochement"
JSON = {"Content-Type": "application/json"}
# Lines for which there is a company.
MUELLER = {"cle": "m", "nom": "Mueller Maschinenbau", "pays": "DE"}
GENERALE = {"cle": "g", "nom": "SOCIETE GENERALE D'ORLEANS SA"}


def post_body(server: Server, body: Any, headers: Mapping[str, str] | None = None) -> Reply:
    """Send a body as JSON, or raw if it is bytes."""
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    return server.ask(PATH, "POST", {**JSON, **(headers or {})}, body=raw)


def results_of(server: Server, customer: Customer, *lines: Any, **members: Any) -> list[Any]:
    """The results of lines; `members` are further members of the body."""
    reply = post_body(server, {"lignes": lines, **members}, customer.headers)
    assert reply.status == 200, reply.body
    answers: list[Any] = reply.json["resultats"]
    return answers


def test_a_line_has_a_verdict_and_candidates_with_reasons(server: Server) -> None:
    answers = results_of(server, server.customer("data"), MUELLER, GENERALE)

    assert [answer["cle"] for answer in answers] == ["m", "g"]
    assert [answer["candidats"][0]["id"] for answer in answers] == ["F1103R_HRB218916", "552100554"]
    assert {answer["verdict"] for answer in answers} <= {"sur", "probable"}
    assert list(answers[0]["candidats"][0]) == [
        "iso2", "id", "nom", "ville", "code_postal", "etat", "note", "raisons",
        "raisons_codes",
    ]  # fmt: skip
    assert "nom identique" in answers[0]["candidats"][0]["raisons"]
    assert "nom_identique" in answers[0]["candidats"][0]["raisons_codes"]


def test_reasons_are_in_the_language_of_the_caller(server: Server) -> None:
    replies = [
        post_body(server, {"lignes": [MUELLER]}, {"Accept-Language": lang}) for lang in ("fr", "en")
    ]

    candidates = [reply.json["resultats"][0]["candidats"][0] for reply in replies]
    assert [
        "nom identique" in candidates[0]["raisons"],
        "same name" in candidates[1]["raisons"],
    ] == [
        True,
        True,
    ]
    assert candidates[0]["raisons_codes"] == candidates[1]["raisons_codes"]
    assert [reply.headers["Content-Language"] for reply in replies] == ["fr", "en"]
    assert tuple(RAISONS) == REASONS  # each reason has a text


def test_each_ten_lines_or_part_of_ten_count_as_a_call(server: Server) -> None:
    customer = server.customer("data")
    lines = [{**MUELLER, "cle": str(i)} for i in range(21)]

    for count, calls in ((10, 1), (11, 3), (21, 6)):  # the calls add up: 1, 1 + 2, 1 + 2 + 3
        results_of(server, customer, *lines[:count])
        assert server.calls_used(customer) == calls


def test_an_invalid_line_has_an_error_in_its_place_and_costs_nothing(server: Server) -> None:
    """The second text of a pair is a part of the message; a valid line among them costs a call"""
    customer = server.customer("data")
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
    answers = results_of(server, customer, *(line for line, _ in wrong))

    assert server.calls_used(customer) == 0
    for answer, (_, message) in zip(answers, wrong, strict=True):
        assert answer["erreur"]["code"] == "ligne_invalide"
        assert message in answer["erreur"]["message"]
    mixed = results_of(server, customer, wrong[1][0], MUELLER)
    assert "erreur" in mixed[0]
    assert mixed[1]["verdict"] in ("sur", "probable")
    assert server.calls_used(customer) == 1


@pytest.mark.parametrize(
    ("body", "status", "code", "message"),
    [
        ({"lignes": [MUELLER, MUELLER]}, 400, "parametre_invalide", "'m'"),
        ({"lignes": [{"cle": str(i)} for i in range(1_001)]}, 413, "corps_trop_grand", "1000"),
        (b" " * (1 << 20) + b"{}", 413, "corps_trop_grand", "1048576"),
        (b"[" * 60_000, 400, "corps_invalide", "JSON"),
        (b"[" * 200_000, 400, "corps_invalide", "65536 membres"),
        (b'{"lignes": [], "lignes": []}', 400, "corps_invalide", "deux fois"),
        ({"lignes": {}}, 400, "corps_invalide", "lignes"),
        ([], 400, "corps_invalide", "lignes"),
        ({"lignes": [], "limit": 3}, 400, "parametre_inconnu", "limit"),
        ({"lignes": [], "limite": 0}, 400, "parametre_invalide", "1 à 10"),
        ({"lignes": [MUELLER], "version": "0" * 16}, 409, "version_expiree", "0" * 16),
    ],
)  # fmt: skip
def test_a_body_that_is_not_a_list_is_refused_and_costs_nothing(
    server: Server, body: Any, status: int, code: str, message: str
) -> None:
    customer = server.customer("data")
    reply = post_body(server, body, customer.headers)

    assert (reply.status, reply.code) == (status, code)
    assert message in reply.json["erreur"]["message"]
    assert server.calls_used(customer) == 0


def test_another_media_type_and_a_query_string_are_refused(server: Server) -> None:
    """A list is sent as JSON, and its options are in the body"""
    assert post_body(server, b"cle;nom", {"Content-Type": "text/csv"}).code == "type_non_supporte"
    reply = server.ask(f"{PATH}?limite=1", "POST", JSON, body=orjson.dumps({"lignes": []}))
    assert reply.code == "parametre_invalide"


def test_a_visitor_gets_two_lines_matched_and_errors_for_the_others(server: Server) -> None:
    reply = post_body(server, {"lignes": [{**MUELLER, "cle": str(i)} for i in range(4)]})
    answers = reply.json["resultats"]

    assert reply.status == 200
    assert ["verdict" in answer for answer in answers] == [True, True, False, False]
    assert {answer["erreur"]["code"] for answer in answers[2:]} == {"compte_requis"}


def test_an_invalid_key_gets_the_answer_of_a_visitor(server: Server) -> None:
    reply = post_body(server, {"lignes": [MUELLER]}, {"Authorization": "Bearer soc_live_x"})

    assert (reply.status, reply.code) == (401, "cle_invalide")
    assert "verdict" in reply.json["resultats"][0]


def test_lines_beyond_the_calls_of_the_day_are_refused_and_not_counted(server: Server) -> None:
    customer = server.customer("free")  # 50 calls a day
    lines = [{**MUELLER, "cle": str(i)} for i in range(501)]
    reply = post_body(server, {"lignes": lines}, customer.headers)

    assert (reply.status, reply.code) == (429, "quota_api")
    assert "51 appels" in reply.json["erreur"]["message"]
    assert server.calls_used(customer) == 0


def test_a_line_may_have_country_names_and_dates_in_other_notations(server: Server) -> None:
    customer = server.customer("data")
    lines = [
        {**MUELLER, "pays": "Allemagne"}, {**MUELLER, "cle": "2", "pays": "Germany"},
        {**MUELLER, "cle": "3", "pays": "DE", "date_creation": "13/12/1968"},
        {**MUELLER, "cle": "4", "pays": "DEU"}, {**MUELLER, "cle": "5", "pays": 276},
        {**MUELLER, "cle": "6", "pays": "Niemcy, Tyskland"},
    ]  # fmt: skip
    answers = results_of(server, customer, *lines)

    assert [answer["candidats"][0]["iso2"] for answer in answers] == ["DE"] * 6


def test_a_line_may_have_other_names_of_countries_and_whole_numbers_as_floats(
    server: Server,
) -> None:
    """Lists have `Great Britain`, and pandas writes whole numbers as floats if a cell of their column is empty."""
    country_names = (
        "Great Britain",
        "Czech Republic",
        "République tchèque",
        "The Netherlands",
        "Britain",
    )
    answers = results_of(
        server, server.customer("data"), *({**MUELLER, "cle": item, "pays": item} for item in country_names),
        {"cle": 7.0, "id": 552100554.0},
    )  # fmt: skip

    assert all("erreur" not in item for item in answers)
    assert (answers[-1]["cle"], answers[-1]["verdict"]) == ("7", "sur")


def test_activity_website_and_mail_are_evidence(server: Server) -> None:
    """The domain of a website or an e-mail address is evidence, except that of a provider of mailboxes."""
    line = {**MUELLER, "activite": "28.99", "site_web": f"www.{CONTACT}-mueller.eu"}
    line_of_mail = {**MUELLER, "cle": "e", "email": f"a@{CONTACT}-mueller.eu"}
    line_of_provider = {**MUELLER, "cle": "p", "email": "info@gmail.com"}
    answers = results_of(server, server.customer("data"), line, line_of_mail, line_of_provider)

    candidates = [answer["candidats"][0] for answer in answers]
    assert [candidate["id"] for candidate in candidates] == ["F1103R_HRB218916"] * 3
    by_name = ["nom_identique", "forme_absente"]
    assert [candidate["raisons_codes"] for candidate in candidates] == [
        [*by_name, "activite_identique", "site_identique"], [*by_name, "site_identique"], by_name,
    ]  # fmt: skip


def test_a_matched_line_has_the_requested_columns_of_its_company(server: Server) -> None:
    fields = ["nom", "nace_code", "email"]
    unmatched_line = {"cle": "a", "nom": "Zipfelhuber Getränke"}
    answers = results_of(server, server.customer("data"), MUELLER, unmatched_line, colonnes=fields)

    assert list(answers[0]["valeurs"]) == fields
    assert answers[0]["valeurs"]["nom"] == answers[0]["candidats"][0]["nom"]
    assert answers[0]["valeurs"]["email"]  # the plan has the right to contacts
    assert answers[1]["valeurs"] is None
    reply = post_body(server, {"lignes": [MUELLER], "colonnes": ["town"]})
    assert (reply.status, reply.json["erreur"]["code"]) == (400, "parametre_invalide")
    assert results_of(server, server.customer("data"), MUELLER)[0]["valeurs"] is None
    visitor = post_body(server, {"lignes": [MUELLER], "colonnes": "nom,email"})
    assert visitor.json["resultats"][0]["valeurs"]["email"] is None
