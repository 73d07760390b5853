"""POST /api/v1/modifications (X8): changes of watched companies and searches over generations, as in the oracle."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson
import pytest

from shards.codec.record import FIELDS
from shards.generations.publication import Gates
from shards.query import Query, Range
from tests import oracle, world
from tests.serve.client import Customer, Reply, Server, run_server
from tests.serve.surfaces.mcp.client import tool_content, tool_refusal
from tests.world import Company, company

PATH = "/api/v1/modifications"
CONTACT = "fuite@exemple.ee"  # an e-mail that only plans with the right may read
GENERATIONS = 3  # how many are published


def companies_of_generation(number: int) -> list[Company]:
    """At most 14 companies per country. From one generation to the next, values rise and fall, and companies
    come, go and come back.
    """
    return [
        company(
            iso2, f"{iso2}{index:03}", f"Œuvre {index}" if index % 2 else f"Ärger {index + number // 2}",
            division="62", groupe="62.0", ca_eur=float((index * 7 + number * 5) % 11),
            effectif=index % 4 or None, ville="Orléans" if (index + number) % 3 else None,
            email=CONTACT if index == 1 and number else None, score=number, date_source=f"202{number}",
        )
        for iso2 in ("EE", "FR")
        for index in range(14)
        if (index + 3 * number) % 5
    ]  # fmt: skip


@pytest.fixture(scope="module")
def three_generations(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Server, list[str]]]:
    """A server, and the names of its generations, the oldest first."""
    data = tmp_path_factory.mktemp("watched") / "data"
    names = [
        world.publish(data, companies_of_generation(number), gates=Gates(force=True))
        for number in range(GENERATIONS)
    ]
    with run_server(data) as server:
        yield server, names


def post_changes(server: Server, customer: Customer | None, body: Any) -> Reply:
    """Send a body to the route of changes, as a visitor if there is no customer."""
    headers = {**(customer.headers if customer else {}), "Content-Type": "application/json"}
    return server.ask(PATH, "POST", headers, body=orjson.dumps(body))


def read_all_changes(server: Server, customer: Customer, body: Mapping[str, Any]) -> list[Any]:
    """All changes of a request, read page by page."""
    entries: list[Any] = []
    page_body = dict(body)
    while True:
        reply = post_changes(server, customer, page_body)
        assert reply.status == 200, reply.body
        page = reply.json
        assert len(page["modifications"]) <= page["limit"]
        entries += page["modifications"]
        if page["suivant"] is None:
            assert len(entries) == page["visibles"]
            return entries
        page_body["curseur"] = page["suivant"]


def changes_by_company(changes: list[Any]) -> dict[Any, Any]:
    """The kind of change and the changed fields of each company, in the form in which the oracle returns them.

    The fields are None if the change has none; each has its values before and after.
    """
    kinds = {"supprimee": "sortie", "creee": "entree"}
    return {
        (change["iso2"], change["id"]): (
            kinds.get(change["nature"], change["nature"]),
            {field: tuple(pair) for field, pair in change["champs"].items()}
            if "champs" in change
            else None,
        )
        for change in changes
    }


def expected_changes(start: int, is_watched: Callable[[Any], bool]) -> Any:
    """The changes of the watched companies from generation number `start` to the last one, by the oracle."""
    return oracle.changes(
        companies_of_generation(start), companies_of_generation(GENERATIONS - 1), FIELDS, is_watched
    )


@pytest.mark.parametrize("start", range(GENERATIONS))
@pytest.mark.parametrize(
    ("filters", "query"),
    [
        ({"ca_min": 5}, Query(ranges=(Range("ca_eur", 5.0),))),
        (
            {"pays": "EE", "ca_max": "4", "q": "ärger"},
            Query(pays=("EE",), q="ärger", ranges=(Range("ca_eur", None, 4.0),)),
        ),
        ({"pays": ["ee", "FR"], "effectif_min": 2.0}, Query(ranges=(Range("effectif", 2),))),
        ({"q": "FR01"}, Query(q="FR01")),
        ({}, Query()),
    ],
)
def test_the_changes_of_a_search_are_the_difference_of_two_searches(
    three_generations: tuple[Server, list[str]], start: int, filters: Any, query: Query
) -> None:
    """X8: from each of the three generations to the last one"""
    server, names = three_generations

    body = {"depuis": names[start], "recherche": filters, "limit": 4}
    changes = read_all_changes(server, server.customer("integral"), body)

    assert changes_by_company(changes) == expected_changes(
        start, lambda row: oracle.matches(row, query)
    )


def test_the_cause_is_a_kind_or_the_fields_that_filters_compare(
    three_generations: tuple[Server, list[str]],
) -> None:
    server, names = three_generations

    customer = server.customer("integral")
    bodies = [{"depuis": name, "recherche": {"ca_min": 5}, "limit": 1000} for name in names]
    entries = [change for body in bodies for change in read_all_changes(server, customer, body)]

    causes = {str(change["cause"]) for change in entries if change["nature"] != "modifiee"}
    assert causes == {"creee", "supprimee", "['ca_eur']"}
    for change in entries:
        assert ("cause" in change) == (change["nature"] != "modifiee")
        assert ("champs" in change) == (change.get("cause") not in ("creee", "supprimee"))


def test_companies_of_ids_are_not_capped_and_unknown_ones_are_named(
    three_generations: tuple[Server, list[str]],
) -> None:
    """X8, E2"""
    server, names = three_generations
    watched_ids = [
        f"{iso2}:{iso2.lower()} {index:03}" for iso2 in ("EE", "FR") for index in range(14)
    ]
    free_customer = server.customer("free")

    body = {"depuis": names[0], "ids": [*watched_ids, "gb:1", "EE:X"]}
    changes = read_all_changes(server, free_customer, body)
    page = post_changes(server, free_customer, body).json

    kinds = {key: kind for key, (kind, _) in changes_by_company(changes).items()}
    assert kinds == {key: kind for key, (kind, _) in expected_changes(0, lambda _: True).items()}
    assert {change["nature"] for change in changes} == {"creee", "supprimee", "modifiee"}
    assert (page["visibles"], page["tronque"], page["limit"]) == (len(changes), False, 5)
    ids = {row["id"] for number in (0, GENERATIONS - 1) for row in companies_of_generation(number)}
    absent = [item for item in watched_ids if item[3:].replace(" ", "").upper() not in ids]
    assert {*page["ids_inconnus"]} == {*absent, "EE:X", "gb:1"}


def test_a_search_by_identifiers_takes_the_spellings_of_a_record(
    three_generations: tuple[Server, list[str]],
) -> None:
    """X2, X6, E2: leading zeros may be left out, and a removed company is not unknown"""
    server, names = three_generations
    body = {"depuis": names[0], "recherche": {"ids": ["ee:ee 1", "EE:EE004", "EE:X"]}}

    page = post_changes(server, server.customer("integral"), body).json

    kinds = [(change["nature"], change["id"]) for change in page["modifications"]]
    assert kinds == [("sortie", "EE004"), ("modifiee", "EE001")]
    assert page["ids_inconnus"] == ["EE:X"]


def test_the_cap_of_a_search_does_not_count_the_companies_it_lost(
    three_generations: tuple[Server, list[str]],
) -> None:
    """§8.2 rules 1 to 3"""
    server, names = three_generations

    page = post_changes(server, server.customer("free"), {"depuis": names[0], "recherche": {}}).json
    entries = read_all_changes(
        server, server.customer("free"), {"depuis": names[0], "recherche": {}}
    )

    assert page["total"] == len(expected_changes(0, lambda _: True))
    assert (page["plafond_resultats"], page["tronque"]) == (5, True)
    departures = [change for change in entries if change["nature"] == "sortie"]
    assert len(entries) == len(departures) + 5


def test_contact_values_are_null_without_the_right_to_them(
    three_generations: tuple[Server, list[str]],
) -> None:
    """§2.1"""
    server, names = three_generations
    body = {"depuis": names[0], "ids": ["EE:EE001"]}

    with_right = post_changes(server, server.customer("integral"), body)
    without_right = post_changes(server, server.customer("free"), body)

    assert with_right.json["modifications"][0]["champs"]["email"] == [None, CONTACT]
    assert without_right.json["modifications"][0]["champs"]["email"] == [None, None]
    assert CONTACT.encode() not in without_right.body


def test_a_page_costs_a_call_and_needs_an_account(
    three_generations: tuple[Server, list[str]],
) -> None:
    """X0, A3, D1"""
    server, names = three_generations
    customer = server.customer("free")
    body = {"depuis": names[0], "recherche": {}}

    reply = post_changes(server, customer, body)
    assert (reply.status, server.calls_used(customer)) == (200, 1)
    assert reply.headers["Cache-Control"] == "no-store"
    assert reply.headers["X-Donnees-Version"] == names[-1]
    for wrong in ({}, {"depuis": "0" * 16, "recherche": {}}):
        assert post_changes(server, customer, wrong).status in (400, 409)
    assert server.calls_used(customer) == 1
    assert (post_changes(server, None, body).status, post_changes(server, None, body).code) == (
        401,
        "compte_requis",
    )


@pytest.mark.parametrize(
    ("body", "status", "code", "word"),
    [
        ([], 400, "corps_invalide", "objet"),
        ({"recherche": {}}, 400, "parametre_invalide", "depuis"),
        ({"depuis": "hier", "recherche": {}}, 400, "parametre_invalide", "hier"),
        ({"depuis": "{}"}, 400, "parametre_invalide", "recherche"),
        ({"depuis": "{}", "ids": ["EE:1"], "recherche": {}}, 400, "parametre_invalide", "ids"),
        ({"depuis": "{}", "ids": []}, 400, "parametre_invalide", "ids"),
        ({"depuis": "{}", "ids": ["EE:1"] * 1_001}, 400, "parametre_invalide", "1001"),
        ({"depuis": "{}", "ids": ["1"]}, 400, "parametre_invalide", "'1'"),
        ({"depuis": "{}", "ids": [1]}, 400, "parametre_invalide", "'1'"),
        ({"depuis": "{}", "ids": ["XX:1"]}, 400, "pays_inconnu", "XX"),
        ({"depuis": "{}", "recherche": "FR"}, 400, "parametre_invalide", "filtres"),
        ({"depuis": "{}", "recherche": {"tri": "nom"}}, 400, "parametre_inconnu", "tri"),
        ({"depuis": "{}", "recherche": {"ca_min": [[1]]}}, 400, "parametre_invalide", "ca_min"),
        ({"depuis": "{}", "recherche": {}, "pays": "EE"}, 400, "parametre_inconnu", "pays"),
        ({"depuis": "0" * 16, "recherche": {}}, 409, "version_expiree", "depuis"),
    ],
)
def test_the_error_of_a_body_names_the_fault(
    three_generations: tuple[Server, list[str]], body: Any, status: int, code: str, word: str
) -> None:
    server, names = three_generations
    # `{}` in a body stands for the name of the oldest generation.
    sent_body = orjson.loads(orjson.dumps(body).replace(b'"{}"', f'"{names[0]}"'.encode()))

    reply = post_changes(server, server.customer(), sent_body)

    assert (reply.status, reply.code) == (status, code)
    assert word in reply.json["erreur"]["message"]


def test_a_cursor_belongs_to_its_body(three_generations: tuple[Server, list[str]]) -> None:
    server, names = three_generations
    customer = server.customer("integral")
    cursor = post_changes(server, customer, {"depuis": names[0], "recherche": {}, "limit": 1}).json[
        "suivant"
    ]

    other_body = {"depuis": names[0], "recherche": {"pays": "EE"}, "curseur": cursor}

    assert post_changes(server, customer, other_body).code == "parametre_invalide"
    assert server.ask(f"{PATH}?depuis={names[0]}", "POST", customer.headers).status == 400


@pytest.mark.parametrize(
    "watched",
    [
        {"recherche": {"pays": ["EE", "FR"], "ca_min": 5, "site_web": False}},
        {"ids": ["ee:ee 1", "FR:FR004", "EE:X"]},
        {"ids": "FR:FR001,FR:FR002"},
    ],
)
def test_the_tool_returns_the_changes_page_by_page(
    three_generations: tuple[Server, list[str]], watched: Any
) -> None:
    """X8, X0.2"""
    server, names = three_generations
    customer = server.customer("integral")
    # Only `ca_min` limits the search: `pays` names both countries, and a false `site_web` is no filter.
    route_subject = {name: value for name, value in watched.items() if name == "ids"}
    if isinstance(route_subject.get("ids"), str):
        route_subject["ids"] = route_subject["ids"].split(",")
    body = {"depuis": names[0], "limit": 1000, **(route_subject or {"recherche": {"ca_min": 5}})}

    entries: list[Any] = []
    cursor: dict[str, str] = {}
    while True:
        page = tool_content(
            server, "changes", customer.headers, depuis=names[0], limit=4, **watched, **cursor
        )
        entries += page["modifications"]
        if "suivant" not in page:
            break
        cursor = {"curseur": page["suivant"]}

    route_answer = post_changes(server, customer, body).json
    assert (
        entries == route_answer["modifications"]
        and len(entries) == page["total"] == page["visibles"]
    )
    assert page["jusque"] == names[-1]
    assert page.get("ids_inconnus", []) == route_answer.get("ids_inconnus", [])
    assert tool_content(server, "search_companies")["generation"] == names[-1]


def test_the_tool_refuses_the_same_requests_as_the_route(
    three_generations: tuple[Server, list[str]],
) -> None:
    server, names = three_generations
    free = server.customer("free").headers

    assert "compte_requis" in tool_refusal(server, "changes", {}, depuis=names[0], recherche={})
    for wrong, word in (
        ({}, "recherche"), ({"recherche": "FR"}, "send a JSON object, not"),
        ({"recherche": {"tri": "nom"}}, "parametre_inconnu"), ({"ids": ["1"]}, "UK:00944111"),
    ):  # fmt: skip
        assert word in tool_refusal(server, "changes", free, depuis=names[0], **wrong)
    assert "version_expiree" in tool_refusal(server, "changes", free, depuis="0" * 16, recherche={})
