"""`version=` on every route that reads companies (X0.2, G10): answers of one generation, or a 409."""

from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any, NamedTuple

import openpyxl
import orjson
import pytest

from tests.serve import world
from tests.serve.client import Customer, Reply, Served, serving
from tests.world import Company, company

RECORD = "/api/v1/societes/EE/10"


class Pinned(NamedTuple):
    """A server with two generations open."""

    served: Served
    customer: Customer
    first: str
    second: str


def named(nom: str) -> Sequence[Company]:
    return [
        company("EE", str(number), f"{nom} {number}", division="62", groupe="62.0",
                secteur=world.IT, a_comptes=True, ca_eur=float(number))
        for number in range(10, 14 if nom == "Un" else 16)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def pinned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pinned]:
    data = tmp_path_factory.mktemp("versions") / "data"
    data.mkdir()
    comptes = {("EE", "10"): world.STATEMENTS}
    old = world.publish(data, named("Zéro"), comptes)
    first = world.publish(data, named("Un"), comptes)
    second = world.publish(data, named("Deux"), comptes)
    with serving(data) as served:
        customer = served.customer("integral")
        assert served.ask("/readyz").json["precedente"] == first
        yield Pinned(served, customer, first, second)
        assert old not in (first, second)


def told(reply: Mapping[str, Any]) -> str:
    return str(reply)


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        (RECORD, "Un 10", "Deux 10"),
        (f"{RECORD}/comparables", "Un 11", "Deux 11"),
        (f"{RECORD}/groupe", "Un 10", "Deux 10"),
        (f"{RECORD}/analyses/entreprise", "Un 10", "Deux 10"),
        ("/api/v1/analyses/marche", "'total': 4", "'total': 6"),
        ("/api/v1/identifiants/10", "Un 10", "Deux 10"),
        ("/api/v1/societes", "Un 11", "Deux 11"),
        ("/api/v1/suggestions?q=u", "Un", None),
        ("/api/v1/repartition?par=pays", "'total': 4", "'total': 6"),
        ("/api/v1/pays", "'n_societes': 4", "'n_societes': 6"),
        ("/api/v1/secteurs", "'n_societes': 4", "'n_societes': 6"),
        ("/api/v1/sous-secteurs?secteur=programmation-conseil-et-autres-activites-informatiques",
         "'n_societes': 4", "'n_societes': 6"),
        ("/api/v1/sources", "'n_societes': 4", "'n_societes': 6"),
    ],
)  # fmt: skip
def test_a_pinned_answer_is_that_of_its_generation(
    pinned: Pinned, path: str, old: str, new: str | None
) -> None:
    mark = "&" if "?" in path else "?"
    headers = pinned.customer.headers

    before = pinned.served.ask(f"{path}{mark}version={pinned.first}", headers=headers)
    now = pinned.served.ask(f"{path}{mark}version={pinned.second}", headers=headers)
    free = pinned.served.ask(path, headers=headers)
    gone = pinned.served.ask(f"{path}{mark}version={'0' * 16}", headers=headers)
    wrong = pinned.served.ask(f"{path}{mark}version=hier", headers=headers)

    assert (before.status, now.status, free.status) == (200, 200, 200)
    assert before.headers["X-Donnees-Version"] == pinned.first
    assert now.headers["X-Donnees-Version"] == free.headers["X-Donnees-Version"] == pinned.second
    assert before.headers["ETag"] not in (now.headers["ETag"], free.headers["ETag"])
    assert (old in told(before.json), old in told(now.json)) == (True, False)
    assert new is None or (new in told(before.json), new in told(now.json)) == (False, True)
    assert (gone.status, gone.code) == (409, "version_expiree")
    assert (wrong.status, wrong.code) == (400, "parametre_invalide")
    known = {**headers, "If-None-Match": before.headers["ETag"]}
    assert pinned.served.ask(f"{path}{mark}version={pinned.first}", headers=known).status == 304
    assert pinned.served.ask(path, headers=known).status == 200


@pytest.mark.parametrize("path", ["societes/EE/15", "societes/EE/15/groupe", "identifiants/15"])
def test_an_absence_is_that_of_the_generation_that_was_looked_at(pinned: Pinned, path: str) -> None:
    """G10"""
    reply = pinned.served.ask(
        f"/api/v1/{path}?version={pinned.first}", headers=pinned.customer.headers
    )

    assert (reply.status, reply.headers["X-Donnees-Version"]) == (404, pinned.first)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_changes_lead_to_the_generation_that_is_named(pinned: Pinned, method: str) -> None:
    def ask(version: str) -> Reply:
        path, given = "/api/v1/modifications", {"depuis": pinned.first, "version": version}
        if method == "GET":
            return pinned.served.ask(path, headers=pinned.customer.headers, params=given)
        headers = {**pinned.customer.headers, "Content-Type": "application/json"}
        body = orjson.dumps({**given, "recherche": {}})
        return pinned.served.ask(path, method, headers=headers, body=body)

    same, gone = ask(pinned.first), ask("0" * 16)

    assert same.json["total"] == 0
    assert same.json["jusque"] == same.json["generation"] == pinned.first
    assert same.headers["X-Donnees-Version"] == pinned.first
    assert (gone.status, gone.code) == (409, "version_expiree")


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_export_is_made_of_the_generation_that_is_named(pinned: Pinned, method: str) -> None:
    headers = pinned.customer.headers
    path, body = "/api/v1/export", None
    query = f"?format=csv&colonnes=nom&version={pinned.first}"
    if method == "POST":
        headers = {**headers, "Content-Type": "application/json"}
        body = b'{"format":"csv","colonnes":"nom","version":"%s"}' % pinned.first.encode()
        query = ""

    reply = pinned.served.ask(f"{path}{query}", method, headers=headers, body=body)

    assert reply.headers["X-Donnees-Version"] == pinned.first
    names = {f"Un {number}" for number in range(10, 14)}
    assert names <= set(reply.body.decode().split("\r\n"))
    assert b"Deux" not in reply.body
    assert reply.headers["X-Export-Total"] == "4"


def test_a_workbook_of_the_generation_before_has_its_companies(pinned: Pinned) -> None:
    reply = pinned.served.ask(
        f"/api/v1/export?version={pinned.first}", headers=pinned.customer.headers
    )

    sheets = openpyxl.load_workbook(BytesIO(reply.body), read_only=True).worksheets
    cells = {str(cell) for sheet in sheets for row in sheet.values for cell in row}
    assert "Un 10" in cells and "Deux 10" not in cells


def test_an_export_of_a_generation_that_is_gone_costs_nothing(pinned: Pinned) -> None:
    before = pinned.served.usage(pinned.customer).exports.used
    reply = pinned.served.ask(f"/api/v1/export?version={'0' * 16}", headers=pinned.customer.headers)

    assert (reply.status, reply.code) == (409, "version_expiree")
    assert pinned.served.usage(pinned.customer).exports.used == before
