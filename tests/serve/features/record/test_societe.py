"""GET /api/v1/societes/{iso}/{id} as a visitor (§4.5, §2.4, B2, E)."""

from urllib.parse import quote

import pytest

from serve.contract import errors
from shards.codec.record import CONTACTS, FIELDS
from tests.serve.client import Reply, Server


def ask_for_record(server: Server, iso: str, identifier: str) -> Reply:
    """The reply to a visitor who requests a record."""
    return server.ask(f"/api/v1/societes/{iso}/{quote(identifier, safe='')}")


def test_a_visitor_gets_the_public_identity(server: Server) -> None:
    """§2.4, §4.5, A6, E4, D12"""
    reply = ask_for_record(server, "FR", "552100554")

    body = reply.json
    assert reply.status == 200
    assert list(body) == ["societe", "plan", "comptes_message", "droits", "offre_suivante"]
    assert tuple(body["societe"]) == FIELDS
    assert body["societe"]["nom"] == "Société Générale d'Orléans"
    assert [body["societe"][name] for name in CONTACTS] == [None] * 4
    assert (body["plan"], body["comptes_message"]) == (
        "visiteur",
        errors.text("comptes_d_un_visiteur").fr,
    )
    assert body["droits"] == {"etats_financiers": False, "coordonnees": False}
    assert body["offre_suivante"]["plan"] == "free"


def test_a_visitor_has_two_results_and_no_calls_of_a_plan(server: Server) -> None:
    """A10, §2.2"""
    headers = ask_for_record(server, "FR", "552100554").headers

    assert (headers["X-Plafond-Resultats"], headers["X-Quota-Limit"]) == ("2", "0")
    assert headers["X-Quota-Used"] == "0"


@pytest.mark.parametrize("iso", ["UK", "uk", "GB", "gb", "%55K"])
def test_the_united_kingdom_has_one_canonical_code(server: Server, iso: str) -> None:
    """B2"""
    reply = server.ask(f"/api/v1/societes/{iso}/08209948")

    assert (reply.status, reply.json["societe"]["iso2"]) == (200, "UK")
    assert reply.headers["Content-Location"] == "/api/v1/societes/UK/08209948"


@pytest.mark.parametrize("identifier", ["A 1/2.b", "a12b", "A-12-B", " a 12b", "A\u00a012\u202fB"])
def test_an_identifier_is_found_exactly_or_by_its_letters_and_digits(
    server: Server, identifier: str
) -> None:
    """E2: capitals, blanks and marks do not matter"""
    reply = ask_for_record(server, "FR", identifier)

    assert reply.status == 200
    assert reply.json["societe"]["id"] == "A 1/2.b"
    assert reply.headers["Content-Location"] == "/api/v1/societes/FR/A%201%2F2.b"
    assert server.ask(reply.headers["Content-Location"]).body == reply.body


@pytest.mark.parametrize("iso", ["XX", "FRA", "france", "EL", "%FF", "%00", "-"])
def test_an_unknown_country_is_400(server: Server, iso: str) -> None:
    """E1"""
    reply = server.ask(f"/api/v1/societes/{iso}/1")

    assert (reply.status, reply.code) == (400, "pays_inconnu")
    assert len(reply.json["pays_inconnus"]) == 1
    assert "suggestions" in reply.json


@pytest.mark.parametrize("raw", ["", "%20", "a" * 65, "a%00b", "%0A1", "1%7F", "%C2%85", "%FF"])
def test_an_impossible_identifier_is_400(server: Server, raw: str) -> None:
    """E1: empty, longer than 64 characters, with control characters, or not UTF-8"""
    reply = server.ask(f"/api/v1/societes/FR/{raw}")

    assert (reply.status, reply.code) == (400, "identifiant_invalide")


@pytest.mark.parametrize("raw", ["1", "a" * 64, "%C3%A9", "..", "%2E%2E", "%2F", "*", "🚀"])
def test_a_well_formed_identifier_of_no_company_is_404(server: Server, raw: str) -> None:
    """E1"""
    reply = server.ask(f"/api/v1/societes/FR/{quote(raw, safe='%*')}")

    assert (reply.status, reply.code) == (404, "societe_introuvable")
    assert "FR" in reply.json["erreur"]["message"]


def test_a_company_of_another_country_is_404(server: Server) -> None:
    """E1: 552100554 is French"""
    assert ask_for_record(server, "EE", "552100554").status == 404


def test_a_folded_identifier_must_be_unique(server: Server) -> None:
    """E2: `k1101r hrb 001` means only K1101R_HRB001, but K1101R is the beginning of several identifiers"""
    assert ask_for_record(server, "DE", "k1101r hrb 001").status == 200
    assert ask_for_record(server, "DE", "K1101R").status == 404


def test_the_only_parameter_of_a_record_is_its_version(server: Server) -> None:
    """B6, A5"""
    reply = server.ask("/api/v1/societes/FR/552100554?cle=soc_live_x")

    assert (reply.status, reply.code) == (400, "parametre_inconnu")
    assert reply.json["parametres_admis"] == ["version"]
