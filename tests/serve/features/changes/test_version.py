"""`version=` on routes that read companies (X0.2, G10): answers from this generation, or a 409."""

from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any, NamedTuple

import openpyxl
import orjson
import pytest

from tests.serve import world
from tests.serve.client import Customer, Reply, Server, run_server
from tests.world import Company, company

RECORD = "/api/v1/societes/EE/10"


class TwoGenerations(NamedTuple):
    """A server with two open generations, the previous one (`first`) and the current one (`second`)."""

    server: Server
    customer: Customer
    first: str
    second: str


def make_companies(nom: str) -> Sequence[Company]:
    """Companies 10 to 13 if their name is `Un`, otherwise 10 to 15."""
    return [
        company("EE", str(number), f"{nom} {number}", division="62", groupe="62.0",
                secteur=world.IT, a_comptes=True, ca_eur=float(number))
        for number in range(10, 14 if nom == "Un" else 16)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def two_generations(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoGenerations]:
    """Publish three generations, of which the server opens only the last two, `first` and `second`."""
    data = tmp_path_factory.mktemp("versions") / "data"
    data.mkdir()
    comptes = {("EE", "10"): world.STATEMENTS}
    closed = world.publish(data, make_companies("Zéro"), comptes)
    first = world.publish(data, make_companies("Un"), comptes)
    second = world.publish(data, make_companies("Deux"), comptes)
    with run_server(data) as server:
        customer = server.customer("integral")
        assert server.ask("/readyz").json["precedente"] == first
        yield TwoGenerations(server, customer, first, second)
        assert closed not in (first, second)


def text_of_answer(answer: Mapping[str, Any]) -> str:
    """The answer as text, in which a name or a count can be searched."""
    return str(answer)


@pytest.mark.parametrize(
    ("path", "previous_text", "current_text"),
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
def test_a_pinned_answer_is_from_its_generation(
    two_generations: TwoGenerations, path: str, previous_text: str, current_text: str | None
) -> None:
    """Names begin with `Un` in the previous generation and with `Deux` in the current one, which has two more."""
    separator = "&" if "?" in path else "?"
    headers = two_generations.customer.headers

    previous = two_generations.server.ask(
        f"{path}{separator}version={two_generations.first}", headers=headers
    )
    current = two_generations.server.ask(
        f"{path}{separator}version={two_generations.second}", headers=headers
    )
    unpinned = two_generations.server.ask(path, headers=headers)
    gone = two_generations.server.ask(f"{path}{separator}version={'0' * 16}", headers=headers)
    wrong = two_generations.server.ask(f"{path}{separator}version=hier", headers=headers)

    assert (previous.status, current.status, unpinned.status) == (200, 200, 200)
    assert previous.headers["X-Donnees-Version"] == two_generations.first
    assert (
        current.headers["X-Donnees-Version"]
        == unpinned.headers["X-Donnees-Version"]
        == two_generations.second
    )
    assert previous.headers["ETag"] not in (current.headers["ETag"], unpinned.headers["ETag"])
    assert (
        previous_text in text_of_answer(previous.json),
        previous_text in text_of_answer(current.json),
    ) == (True, False)
    assert current_text is None or (
        current_text in text_of_answer(previous.json),
        current_text in text_of_answer(current.json),
    ) == (False, True)
    assert (gone.status, gone.code) == (409, "version_expiree")
    assert (wrong.status, wrong.code) == (400, "parametre_invalide")
    conditional = {**headers, "If-None-Match": previous.headers["ETag"]}
    assert (
        two_generations.server.ask(
            f"{path}{separator}version={two_generations.first}", headers=conditional
        ).status
        == 304
    )
    assert two_generations.server.ask(path, headers=conditional).status == 200


@pytest.mark.parametrize("path", ["societes/EE/15", "societes/EE/15/groupe", "identifiants/15"])
def test_a_404_has_the_pinned_generation(two_generations: TwoGenerations, path: str) -> None:
    """G10"""
    reply = two_generations.server.ask(
        f"/api/v1/{path}?version={two_generations.first}", headers=two_generations.customer.headers
    )

    assert (reply.status, reply.headers["X-Donnees-Version"]) == (404, two_generations.first)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_changes_lead_to_the_pinned_generation(
    two_generations: TwoGenerations, method: str
) -> None:
    """Pinned to the generation at which they begin, there are none"""

    def ask_for_changes(version: str) -> Reply:
        """Ask for the changes since the first generation with this value of `version`, by the method of the test."""
        path, values = (
            "/api/v1/modifications",
            {"depuis": two_generations.first, "version": version},
        )
        if method == "GET":
            return two_generations.server.ask(
                path, headers=two_generations.customer.headers, params=values
            )
        headers = {**two_generations.customer.headers, "Content-Type": "application/json"}
        body = orjson.dumps({**values, "recherche": {}})
        return two_generations.server.ask(path, method, headers=headers, body=body)

    unchanged, gone = ask_for_changes(two_generations.first), ask_for_changes("0" * 16)

    assert unchanged.json["total"] == 0
    assert unchanged.json["jusque"] == unchanged.json["generation"] == two_generations.first
    assert unchanged.headers["X-Donnees-Version"] == two_generations.first
    assert (gone.status, gone.code) == (409, "version_expiree")


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_export_is_from_the_pinned_generation(
    two_generations: TwoGenerations, method: str
) -> None:
    """The pinned generation has the companies `Un 10` to `Un 13`"""
    headers = two_generations.customer.headers
    path, body = "/api/v1/export", None
    query = f"?format=csv&colonnes=nom&version={two_generations.first}"
    if method == "POST":
        headers = {**headers, "Content-Type": "application/json"}
        body = b'{"format":"csv","colonnes":"nom","version":"%s"}' % two_generations.first.encode()
        query = ""

    reply = two_generations.server.ask(f"{path}{query}", method, headers=headers, body=body)

    assert reply.headers["X-Donnees-Version"] == two_generations.first
    names = {f"Un {number}" for number in range(10, 14)}
    assert names <= set(reply.body.decode().split("\r\n"))
    assert b"Deux" not in reply.body
    assert reply.headers["X-Export-Total"] == "4"


def test_a_workbook_of_the_previous_generation_has_its_companies(
    two_generations: TwoGenerations,
) -> None:
    reply = two_generations.server.ask(
        f"/api/v1/export?version={two_generations.first}", headers=two_generations.customer.headers
    )

    sheets = openpyxl.load_workbook(BytesIO(reply.body), read_only=True).worksheets
    cells = {str(cell) for sheet in sheets for row in sheet.values for cell in row}
    assert "Un 10" in cells and "Deux 10" not in cells


def test_an_export_of_a_generation_that_is_gone_costs_nothing(
    two_generations: TwoGenerations,
) -> None:
    exports_before = two_generations.server.usage(two_generations.customer).exports.used
    reply = two_generations.server.ask(
        f"/api/v1/export?version={'0' * 16}", headers=two_generations.customer.headers
    )

    assert (reply.status, reply.code) == (409, "version_expiree")
    assert two_generations.server.usage(two_generations.customer).exports.used == exports_before
