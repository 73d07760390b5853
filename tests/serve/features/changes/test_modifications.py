"""GET /api/v1/modifications (beyond §4): the changes since a generation, as far as a plan goes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shards.generations import change_steps, publication
from shards.generations.publication import Gates
from tests import world
from tests.serve.client import Customer, Served, serving
from tests.serve.generation.test_current_generation import until
from tests.serve.processes import eventually
from tests.world import Company, company

PATH = "/api/v1/modifications"
CONTACT = "fuite@exemple.ee"


def named(count: int, word: str = "Ä", **fields: Any) -> list[Company]:
    return [
        company(iso2, f"{iso2}{number:03}", f"{word} {number}", **fields)
        for iso2 in ("EE", "FR")
        for number in range(count)
    ]


@pytest.fixture(scope="module")
def generations(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, list[str]]]:
    """Three generations: 20 companies a country; 10 of them, with an e-mail; 260 more as well."""
    data = tmp_path_factory.mktemp("changes") / "data"
    forced = Gates(force=True)
    few = named(10, email=CONTACT)
    more = [company("FR", f"X{number:03}", "Œuvre") for number in range(260)]
    names = [world.publish(data, found, gates=forced) for found in (named(20), few, [*few, *more])]
    with serving(data) as served:
        yield served, names


@pytest.fixture
def served(generations: tuple[Served, list[str]]) -> Served:
    return generations[0]


@pytest.fixture
def names(generations: tuple[Served, list[str]]) -> list[str]:
    return generations[1]


def asked(served: Served, customer: Customer, **params: str) -> Any:
    reply = served.ask(PATH, headers=customer.headers, params=params)
    assert reply.status == 200, reply.body
    return reply.json


def walk(served: Served, customer: Customer, **params: str) -> list[Any]:
    """Every change of a step, page after page."""
    found: list[Any] = []
    while True:
        body = asked(served, customer, **params)
        found += body["modifications"]
        assert len(body["modifications"]) <= body["limit"]
        if body["suivant"] is None:
            return found
        params["curseur"] = body["suivant"]


def test_the_first_step_is_told_and_where_it_leads(served: Served, names: list[str]) -> None:
    body = asked(served, served.customer("integral"), depuis=names[0])

    assert (body["depuis"], body["jusque"], body["generation"]) == tuple(names)
    assert (body["total"], body["visibles"], body["tronque"]) == (40, 40, False)
    assert body["suivant"] is None
    gone, changed = body["modifications"][:20], body["modifications"][20:]
    assert gone[0] == {"nature": "supprimee", "iso2": "EE", "id": "EE010"}
    assert {one["nature"] for one in gone} == {"supprimee"}
    assert changed[-1] == {"nature": "modifiee", "iso2": "FR", "id": "FR009", "champs": ["email"]}


def test_step_by_step_the_generation_that_is_served_is_reached(
    served: Served, names: list[str]
) -> None:
    customer = served.customer("corporate")
    depuis, seen = names[0], []
    while depuis != (body := asked(served, customer, depuis=depuis))["generation"]:
        depuis = body["jusque"]
        seen.append(depuis)

    assert seen == names[1:]
    assert (body["total"], body["modifications"], body["suivant"]) == (0, [], None)


def test_pages_by_cursor_are_the_whole_each_once(served: Served, names: list[str]) -> None:
    customer = served.customer("integral")
    whole = walk(served, customer, depuis=names[0])

    for limit in ("1", "7", "1000"):
        assert walk(served, customer, depuis=names[0], limit=limit) == whole


def test_countries_and_kinds_are_chosen(served: Served, names: list[str]) -> None:
    customer = served.customer("integral")

    body = asked(served, customer, depuis=names[0], pays="ee", nature="modifiee,supprimee")

    assert body["total"] == 20
    assert {one["iso2"] for one in body["modifications"]} == {"EE"}
    assert asked(served, customer, depuis=names[0], nature="creee")["total"] == 0


def test_the_cap_of_the_plan_holds_for_what_came_and_not_for_what_went(
    served: Served, names: list[str]
) -> None:
    """§8.2 rules 1, 2 and 3"""
    customer = served.customer("data")

    body = asked(served, customer, depuis=names[1])
    assert (body["total"], body["visibles"], body["restantes"]) == (260, 200, 60)
    assert (body["tronque"], body["plafond_resultats"], body["limit"]) == (True, 200, 50)
    assert (body["suivant"] is None, body["plafond_atteint"]) == (False, False)

    assert len(walk(served, customer, depuis=names[1], limit="1000")) == 200

    free = served.customer("free")
    body = asked(served, free, depuis=names[0])
    assert (body["total"], body["visibles"], body["limit"]) == (40, 25, 5)
    found = walk(served, free, depuis=names[0])
    assert [one["nature"] for one in found] == ["supprimee"] * 20 + ["modifiee"] * 5


def test_the_last_page_says_that_the_plan_ended_the_walk(served: Served, names: list[str]) -> None:
    """Who keeps a copy must not go on to `jusque` (/docs/guides/suivi)"""
    customers = [served.customer(plan) for plan in ("data", "integral")]
    pages = []
    for customer in customers:
        page = asked(served, customer, depuis=names[1])
        while page["suivant"] is not None:
            assert page["plafond_atteint"] is False
            page = asked(served, customer, depuis=names[1], curseur=page["suivant"])
        pages.append(page)

    assert [(page["restantes"], page["plafond_atteint"]) for page in pages] == [
        (60, True),
        (0, False),
    ]
    assert list(pages[0])[-1] == "plafond_atteint"


def test_a_page_costs_a_call_and_a_304_none(served: Served, names: list[str]) -> None:
    """D1, D13, G8"""
    customer = served.customer("free")
    reply = served.ask(PATH, headers=customer.headers, params={"depuis": names[0]})
    assert served.used(customer) == 1
    assert (reply.headers["X-Quota-Used"], reply.headers["X-Donnees-Version"]) == ("1", names[2])
    assert reply.headers["Cache-Control"] == "private, no-cache"

    known = {"If-None-Match": reply.headers["ETag"], **customer.headers}
    assert served.ask(PATH, headers=known, params={"depuis": names[0]}).status == 304
    for params in ({}, {"depuis": "x"}, {"depuis": "0" * 16}):
        served.ask(PATH, headers=customer.headers, params=params)
    assert served.used(customer) == 1


def test_who_has_no_account_gets_nothing(served: Served, names: list[str]) -> None:
    """A3"""
    for headers in ({}, {"Authorization": "Bearer soc_live_faux"}):
        reply = served.ask(PATH, headers=headers, params={"depuis": names[0]})
        assert reply.status == 401
        assert b"EE010" not in reply.body


def test_no_value_is_ever_told(served: Served, names: list[str]) -> None:
    """§2.1: whatever the right, a change names fields"""
    for plan in ("free", "integral"):
        reply = served.ask(PATH, headers=served.customer(plan).headers, params={"depuis": names[0]})
        assert CONTACT.encode() not in reply.body


@pytest.mark.parametrize(
    ("params", "status", "code"),
    [
        ({}, 400, "parametre_invalide"),
        ({"depuis": "hier"}, 400, "parametre_invalide"),
        ({"depuis": "0" * 16}, 409, "version_expiree"),
        ({"depuis": "{}", "nature": "autre"}, 400, "parametre_invalide"),
        ({"depuis": "{}", "pays": "EL"}, 400, "pays_inconnu"),
        ({"depuis": "{}", "curseur": "1"}, 400, "parametre_invalide"),
        ({"depuis": "{}", "curseur": f"{'0' * 16}.1.00000000"}, 409, "version_expiree"),
        ({"depuis": "{}", "q": "lab"}, 400, "parametre_inconnu"),
    ],
)
def test_what_is_wrong_is_named(
    served: Served, names: list[str], params: dict[str, str], status: int, code: str
) -> None:
    given = {name: value.replace("{}", names[0]) for name, value in params.items()}

    reply = served.ask(PATH, headers=served.customer().headers, params=given)

    assert (reply.status, reply.code) == (status, code)


def test_a_cursor_of_another_question_is_refused(served: Served, names: list[str]) -> None:
    customer = served.customer("free")
    cursor = asked(served, customer, depuis=names[0])["suivant"]

    reply = served.ask(
        PATH, headers=customer.headers,
        params={"depuis": names[0], "pays": "EE", "curseur": cursor},
    )  # fmt: skip

    assert (reply.status, reply.json["erreur"]["code"]) == (400, "parametre_invalide")
    assert "autre question" in reply.json["erreur"]["message"]


def test_after_a_rollback_the_way_leads_back(tmp_path: Path) -> None:
    first = world.publish(tmp_path, named(20))
    second = world.publish(tmp_path, named(21))
    with serving(tmp_path) as served:
        publication.rollback(tmp_path)
        until(served, first)

        body = asked(served, served.customer("integral"), depuis=second)

    assert body["jusque"] == first
    assert [(one["nature"], one["id"]) for one in body["modifications"]] == [
        ("supprimee", "EE020"),
        ("supprimee", "FR020"),
    ]


def test_changes_that_cannot_be_read_are_503_and_cost_nothing(tmp_path: Path) -> None:
    """G9, D1"""
    first = world.publish(tmp_path, named(20))
    world.publish(tmp_path, named(21))
    (folder,) = change_steps.folders(tmp_path)
    (folder / "EE.changes").unlink()
    with serving(tmp_path) as served:
        customer = served.customer()

        reply = served.ask(PATH, headers=customer.headers, params={"depuis": first})

        assert (reply.status, reply.code) == (503, "indisponible")
        assert served.used(customer) == 0


# -- version=, the pages of a walk (G10) --------------------------------------------------


def test_a_walk_through_pages_stays_with_its_generation(tmp_path: Path) -> None:
    """G10"""
    first = world.publish(tmp_path, named(20, "Un"))
    with serving(tmp_path) as served:
        customer = served.customer("data")
        second = world.publish(tmp_path, named(21, "Deux"))
        until(served, second)

        pinned = served.ask(
            "/api/v1/societes", headers=customer.headers, params={"version": first, "limit": "10"}
        )
        free = served.ask("/api/v1/societes", headers=customer.headers, params={"limit": "10"})

        assert (pinned.json["total"], pinned.headers["X-Donnees-Version"]) == (40, first)
        assert pinned.json["societes"][0]["nom"].startswith("Un")
        assert pinned.headers["Link"].count("version=") == 1
        assert f"version={first}" in pinned.headers["Link"]
        assert f"version={second}" in free.headers["Link"]
        assert (free.json["total"], free.headers["X-Donnees-Version"]) == (42, second)
        assert pinned.headers["ETag"] != free.headers["ETag"]


def test_a_server_that_has_just_started_knows_the_previous_generation_too(tmp_path: Path) -> None:
    """G10"""
    first = world.publish(tmp_path, named(20, "Un"))
    second = world.publish(tmp_path, named(21, "Deux"))
    with serving(tmp_path) as served:
        ready = served.ask("/readyz").json
        found = served.search(version=first)

    assert (ready["generation"], ready["precedente"]) == (second, first)
    assert found["total"] == 40


def test_a_generation_that_is_gone_is_409_and_names_those_that_are_not(tmp_path: Path) -> None:
    """G10"""
    names = [world.publish(tmp_path, named(count)) for count in (20, 21, 22)]
    with serving(tmp_path) as served:
        customer = served.customer()
        for version in (names[0], "0" * 16):
            reply = served.ask(
                "/api/v1/societes", headers=customer.headers, params={"version": version}
            )
            assert (reply.status, reply.code) == (409, "version_expiree")
            assert reply.json["version"] == version
            assert reply.json["versions"] == [names[2], names[1]]
        assert served.used(customer) == 0
        # What else is wrong is told first, and a text that is no generation is no parameter.
        assert served.ask("/api/v1/societes?version=0&q=a").code == "parametre_invalide"
        assert served.ask(f"/api/v1/societes?version={'0' * 16}&tri=x").code == "parametre_invalide"
        assert served.ask("/api/v1/export?version=0", headers=customer.headers).code == (
            "parametre_invalide"
        )


def test_a_refused_generation_is_told_by_readyz_and_metrics(tmp_path: Path) -> None:
    """G9, G10"""
    first = world.publish(tmp_path, named(20))
    with serving(tmp_path) as served:
        assert served.ask("/readyz").json["refusee"] is None
        second = world.publish(tmp_path / "ailleurs", named(21))
        shard = tmp_path / "ailleurs" / second / "EE.shard"
        whole = shard.read_bytes()
        shard.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        (tmp_path / "ailleurs" / second).rename(tmp_path / second)
        (tmp_path / "CURRENT").write_bytes((tmp_path / "ailleurs" / "CURRENT").read_bytes())

        def refused() -> bool:
            return bool(served.ask("/readyz").json["refusee"] == second)

        assert eventually(refused)
        assert served.ask("/readyz").json["generation"] == first
        told = f'societes_generation_refused_info{{generation="{second}"}} 1.0'
        assert told in served.ask("/metrics").body.decode()
        assert served.search()["total"] == 40
