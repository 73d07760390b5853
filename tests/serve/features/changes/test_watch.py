"""POST /api/v1/modifications (X8): one's companies and a search, over several steps, held to the oracle."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson
import pytest

from shards.codec.record import FIELDS
from shards.generations.publication import Gates
from shards.query import Query, Range
from tests import oracle, world
from tests.serve.client import Customer, Reply, Served, serving
from tests.serve.surfaces.mcp.client import refused, shown
from tests.world import Company, company

PATH = "/api/v1/modifications"
CONTACT = "fuite@exemple.ee"
STEPS = 3


def of_step(number: int) -> list[Company]:
    """Fourteen companies a country; some rise, some fall, some come, go and come again."""
    return [
        company(
            iso2, f"{iso2}{one:03}", f"Œuvre {one}" if one % 2 else f"Ärger {one + number // 2}",
            division="62", groupe="62.0", ca_eur=float((one * 7 + number * 5) % 11),
            effectif=one % 4 or None, ville="Orléans" if (one + number) % 3 else None,
            email=CONTACT if one == 1 and number else None, score=number, date_source=f"202{number}",
        )
        for iso2 in ("EE", "FR")
        for one in range(14)
        if (one + 3 * number) % 5
    ]  # fmt: skip


@pytest.fixture(scope="module")
def generations(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, list[str]]]:
    data = tmp_path_factory.mktemp("watched") / "data"
    names = [
        world.publish(data, of_step(number), gates=Gates(force=True)) for number in range(STEPS)
    ]
    with serving(data) as served:
        yield served, names


def post(served: Served, customer: Customer | None, body: Any) -> Reply:
    headers = {**(customer.headers if customer else {}), "Content-Type": "application/json"}
    return served.ask(PATH, "POST", headers, body=orjson.dumps(body))


def walk(served: Served, customer: Customer, body: Mapping[str, Any]) -> list[Any]:
    """Every change, page after page."""
    found: list[Any] = []
    asked = dict(body)
    while True:
        reply = post(served, customer, asked)
        assert reply.status == 200, reply.body
        page = reply.json
        assert len(page["modifications"]) <= page["limit"]
        found += page["modifications"]
        if page["suivant"] is None:
            assert len(found) == page["visibles"]
            return found
        asked["curseur"] = page["suivant"]


def told(found: list[Any]) -> dict[Any, Any]:
    """The changes in the form of the oracle."""
    kinds = {"supprimee": "sortie", "creee": "entree"}
    return {
        (one["iso2"], one["id"]): (
            kinds.get(one["nature"], one["nature"]),
            {field: tuple(pair) for field, pair in one["champs"].items()}
            if "champs" in one
            else None,
        )
        for one in found
    }


def expected(first: int, concerns: Callable[[Any], bool]) -> Any:
    return oracle.changes(of_step(first), of_step(STEPS - 1), FIELDS, concerns)


@pytest.mark.parametrize("first", range(STEPS))
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
def test_what_a_search_gains_and_loses_is_what_two_searches_say(
    generations: tuple[Served, list[str]], first: int, filters: Any, query: Query
) -> None:
    """X8, over no step, one and two"""
    served, names = generations

    body = {"depuis": names[first], "recherche": filters, "limit": 4}
    found = walk(served, served.customer("integral"), body)

    assert told(found) == expected(first, lambda one: oracle.matches(one, query))


def test_the_cause_is_a_kind_or_the_fields_that_filters_compare(
    generations: tuple[Served, list[str]],
) -> None:
    served, names = generations

    customer = served.customer("integral")
    bodies = [{"depuis": name, "recherche": {"ca_min": 5}, "limit": 1000} for name in names]
    found = [one for body in bodies for one in walk(served, customer, body)]

    causes = {str(one["cause"]) for one in found if one["nature"] != "modifiee"}
    assert causes == {"creee", "supprimee", "['ca_eur']"}
    for one in found:
        assert ("cause" in one) == (one["nature"] != "modifiee")
        assert ("champs" in one) == (one.get("cause") not in ("creee", "supprimee"))


def test_own_companies_are_not_capped_and_unknown_ones_are_named(
    generations: tuple[Served, list[str]],
) -> None:
    """X8, E2"""
    served, names = generations
    own = [f"{iso2}:{iso2.lower()} {one:03}" for iso2 in ("EE", "FR") for one in range(14)]
    free = served.customer("free")

    body = {"depuis": names[0], "ids": [*own, "gb:1", "EE:X"]}
    found = walk(served, free, body)
    page = post(served, free, body).json

    kinds = {key: kind for key, (kind, _) in told(found).items()}
    assert kinds == {key: kind for key, (kind, _) in expected(0, lambda _: True).items()}
    assert {one["nature"] for one in found} == {"creee", "supprimee", "modifiee"}
    assert (page["visibles"], page["tronque"], page["limit"]) == (len(found), False, 5)
    there = {one["id"] for number in (0, STEPS - 1) for one in of_step(number)}
    absent = [one for one in own if one[3:].replace(" ", "").upper() not in there]
    assert {*page["ids_inconnus"]} == {*absent, "EE:X", "gb:1"}


def test_a_search_for_companies_understands_them_as_records_do(
    generations: tuple[Served, list[str]],
) -> None:
    """X2, X6, E2: by other zeros too; one that is gone is not unknown"""
    served, names = generations
    body = {"depuis": names[0], "recherche": {"ids": ["ee:ee 1", "EE:EE004", "EE:X"]}}

    page = post(served, served.customer("integral"), body).json

    kinds = [(one["nature"], one["id"]) for one in page["modifications"]]
    assert kinds == [("sortie", "EE004"), ("modifiee", "EE001")]
    assert page["ids_inconnus"] == ["EE:X"]


def test_a_search_is_capped_but_not_what_it_lost(generations: tuple[Served, list[str]]) -> None:
    """§8.2 rules 1 to 3"""
    served, names = generations

    page = post(served, served.customer("free"), {"depuis": names[0], "recherche": {}}).json
    found = walk(served, served.customer("free"), {"depuis": names[0], "recherche": {}})

    assert page["total"] == len(expected(0, lambda _: True))
    assert (page["plafond_resultats"], page["tronque"]) == (5, True)
    gone = [one for one in found if one["nature"] == "sortie"]
    assert len(found) == len(gone) + 5


def test_a_contact_is_told_to_who_may_see_it(generations: tuple[Served, list[str]]) -> None:
    """§2.1"""
    served, names = generations
    body = {"depuis": names[0], "ids": ["EE:EE001"]}

    shown = post(served, served.customer("integral"), body)
    hidden = post(served, served.customer("free"), body)

    assert shown.json["modifications"][0]["champs"]["email"] == [None, CONTACT]
    assert hidden.json["modifications"][0]["champs"]["email"] == [None, None]
    assert CONTACT.encode() not in hidden.body


def test_a_page_costs_a_call_and_a_visitor_has_none(
    generations: tuple[Served, list[str]],
) -> None:
    """X0, A3, D1"""
    served, names = generations
    customer = served.customer("free")
    body = {"depuis": names[0], "recherche": {}}

    reply = post(served, customer, body)
    assert (reply.status, served.used(customer)) == (200, 1)
    assert reply.headers["Cache-Control"] == "no-store"
    assert reply.headers["X-Donnees-Version"] == names[-1]
    for wrong in ({}, {"depuis": "0" * 16, "recherche": {}}):
        assert post(served, customer, wrong).status in (400, 409)
    assert served.used(customer) == 1
    assert (post(served, None, body).status, post(served, None, body).code) == (
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
def test_what_is_wrong_in_a_body_is_named(
    generations: tuple[Served, list[str]], body: Any, status: int, code: str, word: str
) -> None:
    served, names = generations
    sent = orjson.loads(orjson.dumps(body).replace(b'"{}"', f'"{names[0]}"'.encode()))

    reply = post(served, served.customer(), sent)

    assert (reply.status, reply.code) == (status, code)
    assert word in reply.json["erreur"]["message"]


def test_a_cursor_belongs_to_its_body(generations: tuple[Served, list[str]]) -> None:
    served, names = generations
    customer = served.customer("integral")
    cursor = post(served, customer, {"depuis": names[0], "recherche": {}, "limit": 1}).json[
        "suivant"
    ]

    other = {"depuis": names[0], "recherche": {"pays": "EE"}, "curseur": cursor}

    assert post(served, customer, other).code == "parametre_invalide"
    assert served.ask(f"{PATH}?depuis={names[0]}", "POST", customer.headers).status == 400


@pytest.mark.parametrize(
    "subject",
    [
        {"recherche": {"pays": ["EE", "FR"], "ca_min": 5, "site_web": False}},
        {"ids": ["ee:ee 1", "FR:FR004", "EE:X"]},
        {"ids": "FR:FR001,FR:FR002"},
    ],
)
def test_a_tool_tells_the_changes_page_by_page(
    generations: tuple[Served, list[str]], subject: Any
) -> None:
    """X8, X0.2"""
    served, names = generations
    customer = served.customer("integral")
    sent = {name: value for name, value in subject.items() if name == "ids"}
    if isinstance(sent.get("ids"), str):
        sent["ids"] = sent["ids"].split(",")
    body = {"depuis": names[0], "limit": 1000, **(sent or {"recherche": {"ca_min": 5}})}

    told: list[Any] = []
    cursor: dict[str, str] = {}
    while True:
        page = shown(
            served, "changes", customer.headers, depuis=names[0], limit=4, **subject, **cursor
        )
        told += page["modifications"]
        if "suivant" not in page:
            break
        cursor = {"curseur": page["suivant"]}

    route = post(served, customer, body).json
    assert told == route["modifications"] and len(told) == page["total"] == page["visibles"]
    assert page["jusque"] == names[-1]
    assert page.get("ids_inconnus", []) == route.get("ids_inconnus", [])
    assert shown(served, "search_companies")["generation"] == names[-1]


def test_a_tool_refuses_what_the_route_refuses(generations: tuple[Served, list[str]]) -> None:
    served, names = generations
    free = served.customer("free").headers

    assert "compte_requis" in refused(served, "changes", {}, depuis=names[0], recherche={})
    for wrong, word in (
        ({}, "recherche"), ({"recherche": "FR"}, "send a JSON object, not"),
        ({"recherche": {"tri": "nom"}}, "parametre_inconnu"), ({"ids": ["1"]}, "UK:00944111"),
    ):  # fmt: skip
        assert word in refused(served, "changes", free, depuis=names[0], **wrong)
    assert "version_expiree" in refused(served, "changes", free, depuis="0" * 16, recherche={})
