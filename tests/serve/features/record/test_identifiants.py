"""GET /api/v1/identifiants/{valeur}, and the path of a record in other spellings (X6)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.serve import world
from tests.serve.client import Server, run_server
from tests.world import Company, company

COMPANIES: list[Company] = [
    company("UK", "00944111", "Royal Tool Control Ltd"),
    company("UK", "SC012345", "Łódź Ltd", lei="213800AAAAAAAAAAAA11"),
    company("EE", "16325572", "Õun OÜ", tva="EE102413223"),
    company("EE", "00016325", "Null OÜ"),
    company("EE", "0016325", "Veel üks OÜ"),
    company("FR", "327961538", "Été SA"),
    company("NO", "923609016", "Ærlig AS", tva="NO923609016MVA"),
    company("NO", "944111000", "Ønske AS"),
    company("BE", "0403227515", "Zoë NV", tva="BE0999999999"),
    company("SE", "5560125790", "Åre AB"),
    company("FI", "0112038-9", "Nokia Oyj"),
    company("DE", "M1201_HRB260632", "Föhn AG"),
    company("DE", "B1204_HRB260632", "Größe GmbH"),
    company("DE", "B1204_HRB2606320", "Andere GmbH"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of COMPANIES, whose numbers are similar or have other spellings."""
    data: Path = tmp_path_factory.mktemp("numbers")
    world.publish(data, COMPANIES, {})
    with run_server(data) as server:
        yield server


def look_up(server: Server, number: str) -> Any:
    """The reply to a search for a number."""
    return server.ask(f"/api/v1/identifiants/{quote(number, safe='')}")


@pytest.mark.parametrize(
    ("number", "kind", "companies"),
    [
        ("00944111", "immatriculation", ["UK:00944111"]),
        ("944111", "immatriculation", ["UK:00944111"]),
        (" 0 944-111", "immatriculation", ["UK:00944111"]),
        ("GB00944111", "immatriculation", ["UK:00944111"]),
        ("uk 944111", "immatriculation", ["UK:00944111"]),
        ("sc12345", "immatriculation", ["UK:SC012345"]),
        ("EE16325572", "immatriculation", ["EE:16325572"]),
        ("16325", "immatriculation", ["EE:0016325", "EE:00016325"]),
        ("EE 102 413 223", "tva", ["EE:16325572"]),
        ("213800aaaaaaaaaaaa11", "lei", ["UK:SC012345"]),
        ("FR32327961538", "tva", ["FR:327961538"]),
        ("327 961 538 00017", "siret", ["FR:327961538"]),
        ("923609016 mva", "tva", ["NO:923609016"]),
        ("SE556012579001", "tva", ["SE:5560125790"]),
        ("FI01120389", "tva", ["FI:0112038-9"]),
        ("01120389", "immatriculation", ["FI:0112038-9"]),
        # This is not the VAT number of the record, so it is read as a country and an identifier.
        ("BE0403227515", "immatriculation", ["BE:0403227515"]),
    ],
)
def test_a_number_is_found_in_any_spelling(
    server: Server, number: str, kind: str, companies: list[str]
) -> None:
    """X6"""
    reply = look_up(server, number)

    assert reply.status == 200, reply.body
    document = reply.json
    assert list(document) == ["type", "candidats"]
    assert document["type"] == kind
    assert [
        f"{candidate['iso2']}:{candidate['id']}" for candidate in document["candidats"]
    ] == companies
    assert all(list(candidate) == ["iso2", "id", "nom"] for candidate in document["candidats"])


@pytest.mark.parametrize(
    ("number", "near"),
    [
        ("00944112", ["UK:00944111"]),
        ("0944112", []),
        ("16325527", ["EE:16325572"]),
        ("163255722", ["EE:16325572"]),
        ("1632557", ["EE:16325572"]),
        ("-", []),
        ("9" * 64, []),
    ],
)
def test_an_unknown_number_is_404_with_the_nearest(
    server: Server, number: str, near: list[str]
) -> None:
    """Near are numbers with other zeros, or with one typing error; `0944112` has both"""
    reply = look_up(server, number)

    assert (reply.status, reply.code) == (404, "societe_introuvable")
    assert reply.json["proches"] == near
    assert all(identifier in reply.json["erreur"]["message"] for identifier in near)


@pytest.mark.parametrize(
    ("path", "canonical"),
    [
        ("UK/944111", "UK/00944111"),
        ("gb/GB00944111", "UK/00944111"),
        ("EE/EE16325572", "EE/16325572"),
        ("FR/32796153800017", "FR/327961538"),
        ("FI/0112038%2D9", "FI/0112038-9"),
    ],
)
def test_the_path_of_a_record_takes_any_unambiguous_spelling(
    server: Server, path: str, canonical: str
) -> None:
    """X6, E2"""
    reply = server.ask(f"/api/v1/societes/{path}")

    assert reply.status == 200
    assert reply.headers["Content-Location"] == f"/api/v1/societes/{canonical}"
    assert server.ask(reply.headers["Content-Location"]).body == reply.body


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("EE/16325", ["EE:0016325", "EE:00016325"]),  # two companies
        ("UK/00944112", ["UK:00944111"]),
        ("FR/00944111", []),
    ],
)
def test_the_404_of_a_record_names_the_nearest(server: Server, path: str, near: list[str]) -> None:
    reply = server.ask(f"/api/v1/societes/{path}")

    assert (reply.status, reply.code, reply.json["proches"]) == (404, "societe_introuvable", near)


def test_a_look_up_costs_a_call_and_no_credits_and_a_304_nothing(server: Server) -> None:
    """X0, D13: GET, HEAD and the 404 are counted, the 304 and the errors are not"""
    customer = server.customer("free")
    path = "/api/v1/identifiants/944111"

    reply = server.ask(path, headers=customer.headers)
    headers = {**customer.headers, "If-None-Match": reply.headers["ETag"]}

    assert server.ask(path, headers=headers).status == 304
    assert server.ask(path, "HEAD", customer.headers).status == 200
    assert server.ask("/api/v1/identifiants/00944112", headers=customer.headers).status == 404
    assert server.calls_used(customer) == 3
    assert "X-Credits-Debites" not in reply.headers
    assert server.ask(f"{path}?version={'0' * 16}").code == "version_expiree"
    assert server.ask(f"{path}?pays=UK").code == "parametre_inconnu"
    assert server.ask("/api/v1/identifiants/%20").code == "identifiant_invalide"


def test_a_number_without_its_court_finds_the_companies_of_all_courts(server: Server) -> None:
    """Two German courts have the number 260632"""
    reply = look_up(server, "HRB 260632")

    assert reply.status == 200
    assert {candidate["id"] for candidate in reply.json["candidats"]} == {
        "M1201_HRB260632",
        "B1204_HRB260632",
    }
    assert look_up(server, "HRB 9").status == 404


@pytest.mark.parametrize("path", ["/api/v1/identifiants/%20", "/api/v1/societes/FR/%20"])
def test_the_error_of_an_empty_number_shows_the_path_with_a_number(
    server: Server, path: str
) -> None:
    refused = server.ask(path)

    assert (refused.status, refused.code) == (400, "identifiant_invalide")
    # The message has the route with the name of its parameter in braces.
    assert (
        f"écrivez {path.split('/')[0]}/api/v1/{path.split('/')[3]}/{{"
        in refused.json["erreur"]["message"]
    )
