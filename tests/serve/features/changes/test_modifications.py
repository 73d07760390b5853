"""GET /api/v1/modifications (beyond §4): the changes since a generation, up to the cap of the plan."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shards.generations import change_steps, publication
from shards.generations.publication import Gates
from tests import world
from tests.serve.client import Customer, Server, run_server
from tests.serve.generation.test_current_generation import wait_for_generation
from tests.serve.processes import eventually
from tests.world import Company, company

PATH = "/api/v1/modifications"
CONTACT = "fuite@exemple.ee"  # an e-mail that no answer may contain


def make_companies(count: int, word: str = "Ä", **fields: Any) -> list[Company]:
    """The same companies in Estonia and in France, `count` in each."""
    return [
        company(iso2, f"{iso2}{number:03}", f"{word} {number}", **fields)
        for iso2 in ("EE", "FR")
        for number in range(count)
    ]


@pytest.fixture(scope="module")
def three_generations(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Server, list[str]]]:
    """A server, and the names of three generations.

    The first has 20 companies per country. The second has 10 of the 20, with an e-mail. The third adds 260
    French companies to the second.
    """
    data = tmp_path_factory.mktemp("changes") / "data"
    open_gates = Gates(force=True)  # a build may remove half of the companies
    ten_with_email = make_companies(10, email=CONTACT)
    further = [company("FR", f"X{number:03}", "Œuvre") for number in range(260)]
    names = [
        world.publish(data, companies, gates=open_gates)
        for companies in (make_companies(20), ten_with_email, [*ten_with_email, *further])
    ]
    with run_server(data) as server:
        yield server, names


@pytest.fixture
def server(three_generations: tuple[Server, list[str]]) -> Server:
    """The server of the three generations."""
    return three_generations[0]


@pytest.fixture
def names(three_generations: tuple[Server, list[str]]) -> list[str]:
    """The names of the three generations, the oldest first."""
    return three_generations[1]


def read_changes(server: Server, customer: Customer, **params: str) -> Any:
    """One page of changes."""
    reply = server.ask(PATH, headers=customer.headers, params=params)
    assert reply.status == 200, reply.body
    return reply.json


def read_all_changes(server: Server, customer: Customer, **params: str) -> list[Any]:
    """All changes of the request with these `params`, read page by page; no page may exceed its `limit`."""
    entries: list[Any] = []
    while True:
        body = read_changes(server, customer, **params)
        entries += body["modifications"]
        assert len(body["modifications"]) <= body["limit"]
        if body["suivant"] is None:
            return entries
        params["curseur"] = body["suivant"]


def test_an_answer_has_the_first_step_and_the_generation_after_it(
    server: Server, names: list[str]
) -> None:
    body = read_changes(server, server.customer("integral"), depuis=names[0])

    assert (body["depuis"], body["jusque"], body["generation"]) == tuple(names)
    assert (body["total"], body["visibles"], body["tronque"]) == (40, 40, False)
    assert body["suivant"] is None
    # The first step removes 10 of 20 companies in each of two countries, and changes the other 10.
    removals, modifications = body["modifications"][:20], body["modifications"][20:]
    assert removals[0] == {"nature": "supprimee", "iso2": "EE", "id": "EE010"}
    assert {change["nature"] for change in removals} == {"supprimee"}
    assert modifications[-1] == {
        "nature": "modifiee",
        "iso2": "FR",
        "id": "FR009",
        "champs": ["email"],
    }


def test_the_steps_lead_to_the_served_generation(server: Server, names: list[str]) -> None:
    customer = server.customer("corporate")
    depuis, step_ends = names[0], []
    while depuis != (body := read_changes(server, customer, depuis=depuis))["generation"]:
        depuis = body["jusque"]
        step_ends.append(depuis)

    assert step_ends == names[1:]
    assert (body["total"], body["modifications"], body["suivant"]) == (0, [], None)


def test_the_result_pages_have_each_change_once(server: Server, names: list[str]) -> None:
    customer = server.customer("integral")
    changes = read_all_changes(server, customer, depuis=names[0])

    for limit in ("1", "7", "1000"):
        assert read_all_changes(server, customer, depuis=names[0], limit=limit) == changes


def test_changes_are_filtered_by_country_and_kind(server: Server, names: list[str]) -> None:
    customer = server.customer("integral")

    body = read_changes(server, customer, depuis=names[0], pays="ee", nature="modifiee,supprimee")

    assert body["total"] == 20  # 10 removed and 10 changed Estonian companies
    assert {change["iso2"] for change in body["modifications"]} == {"EE"}
    assert read_changes(server, customer, depuis=names[0], nature="creee")["total"] == 0


def test_the_cap_of_the_plan_limits_new_and_changed_but_not_removed_companies(
    server: Server, names: list[str]
) -> None:
    """§8.2 rules 1, 2 and 3"""
    customer = server.customer("data")

    body = read_changes(server, customer, depuis=names[1])
    # 260 companies are new, and the plan `data` shows 200 changes.
    assert (body["total"], body["visibles"], body["restantes"]) == (260, 200, 60)
    assert (body["tronque"], body["plafond_resultats"], body["limit"]) == (True, 200, 50)
    assert (body["suivant"] is None, body["plafond_atteint"]) == (False, False)

    assert len(read_all_changes(server, customer, depuis=names[1], limit="1000")) == 200

    free_customer = server.customer("free")
    body = read_changes(server, free_customer, depuis=names[0])
    # 20 companies were removed and 20 changed; the plan `free` shows the removed ones and 5 others.
    assert (body["total"], body["visibles"], body["limit"]) == (40, 25, 5)
    entries = read_all_changes(server, free_customer, depuis=names[0])
    assert [change["nature"] for change in entries] == ["supprimee"] * 20 + ["modifiee"] * 5


def test_the_last_page_says_whether_the_cap_of_the_plan_left_out_changes(
    server: Server, names: list[str]
) -> None:
    """A caller with a copy must not continue from `jusque` (/docs/guides/suivi)"""
    customers = [server.customer(plan) for plan in ("data", "integral")]
    pages = []
    for customer in customers:
        page = read_changes(server, customer, depuis=names[1])
        while page["suivant"] is not None:
            assert page["plafond_atteint"] is False
            page = read_changes(server, customer, depuis=names[1], curseur=page["suivant"])
        pages.append(page)

    # 260 companies are new; the plan `data` shows 200 of them, and the plan `integral` shows all.
    assert [(page["restantes"], page["plafond_atteint"]) for page in pages] == [
        (60, True),
        (0, False),
    ]
    assert list(pages[0])[-1] == "plafond_atteint"


def test_a_page_costs_a_call_and_a_304_nothing(server: Server, names: list[str]) -> None:
    """D1, D13, G8: errors cost nothing either"""
    customer = server.customer("free")
    reply = server.ask(PATH, headers=customer.headers, params={"depuis": names[0]})
    assert server.calls_used(customer) == 1
    assert (reply.headers["X-Quota-Used"], reply.headers["X-Donnees-Version"]) == ("1", names[2])
    assert reply.headers["Cache-Control"] == "private, no-cache"

    headers = {"If-None-Match": reply.headers["ETag"], **customer.headers}
    assert server.ask(PATH, headers=headers, params={"depuis": names[0]}).status == 304
    for params in ({}, {"depuis": "x"}, {"depuis": "0" * 16}):
        server.ask(PATH, headers=customer.headers, params=params)
    assert server.calls_used(customer) == 1


def test_a_caller_without_an_account_is_401(server: Server, names: list[str]) -> None:
    """A3"""
    for headers in ({}, {"Authorization": "Bearer soc_live_faux"}):
        reply = server.ask(PATH, headers=headers, params={"depuis": names[0]})
        assert reply.status == 401
        assert b"EE010" not in reply.body


def test_changes_have_no_values_of_fields(server: Server, names: list[str]) -> None:
    """§2.1: a change has the names of fields, for any rights"""
    for plan in ("free", "integral"):
        reply = server.ask(PATH, headers=server.customer(plan).headers, params={"depuis": names[0]})
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
def test_a_wrong_parameter_has_its_status_and_code(
    server: Server, names: list[str], params: dict[str, str], status: int, code: str
) -> None:
    # `{}` stands for the name of the oldest generation.
    values = {name: value.replace("{}", names[0]) for name, value in params.items()}

    reply = server.ask(PATH, headers=server.customer().headers, params=values)

    assert (reply.status, reply.code) == (status, code)


def test_a_cursor_of_another_request_is_refused(server: Server, names: list[str]) -> None:
    customer = server.customer("free")
    cursor = read_changes(server, customer, depuis=names[0])["suivant"]

    reply = server.ask(
        PATH, headers=customer.headers,
        params={"depuis": names[0], "pays": "EE", "curseur": cursor},
    )  # fmt: skip

    assert (reply.status, reply.json["erreur"]["code"]) == (400, "parametre_invalide")
    assert "autre requête" in reply.json["erreur"]["message"]


def test_after_a_rollback_the_changes_lead_back(tmp_path: Path) -> None:
    restored = world.publish(tmp_path, make_companies(20))
    withdrawn = world.publish(tmp_path, make_companies(21))
    with run_server(tmp_path) as server:
        publication.rollback(tmp_path)
        wait_for_generation(server, restored)

        body = read_changes(server, server.customer("integral"), depuis=withdrawn)

    assert body["jusque"] == restored
    assert [(change["nature"], change["id"]) for change in body["modifications"]] == [
        ("supprimee", "EE020"),
        ("supprimee", "FR020"),
    ]


def test_changes_that_cannot_be_read_are_503_and_cost_nothing(tmp_path: Path) -> None:
    """G9, D1: the file of the Estonian changes is missing"""
    old_generation = world.publish(tmp_path, make_companies(20))
    world.publish(tmp_path, make_companies(21))
    (folder,) = change_steps.folders(tmp_path)
    (folder / "EE.changes").unlink()
    with run_server(tmp_path) as server:
        customer = server.customer()

        reply = server.ask(PATH, headers=customer.headers, params={"depuis": old_generation})

        assert (reply.status, reply.code) == (503, "indisponible")
        assert server.calls_used(customer) == 0


# -- pages with `version=` (G10) ----------------------------------------------------------


def test_the_pages_of_a_search_stay_with_its_generation(tmp_path: Path) -> None:
    """G10"""
    old_generation = world.publish(tmp_path, make_companies(20, "Un"))
    with run_server(tmp_path) as server:
        customer = server.customer("data")
        new_generation = world.publish(tmp_path, make_companies(21, "Deux"))
        wait_for_generation(server, new_generation)

        pinned = server.ask(
            "/api/v1/societes",
            headers=customer.headers,
            params={"version": old_generation, "limit": "10"},
        )
        unpinned = server.ask("/api/v1/societes", headers=customer.headers, params={"limit": "10"})

        # `make_companies(20)` makes 20 companies in each of two countries.
        assert (pinned.json["total"], pinned.headers["X-Donnees-Version"]) == (40, old_generation)
        assert pinned.json["societes"][0]["nom"].startswith("Un")
        assert pinned.headers["Link"].count("version=") == 1
        assert f"version={old_generation}" in pinned.headers["Link"]
        assert f"version={new_generation}" in unpinned.headers["Link"]
        assert (unpinned.json["total"], unpinned.headers["X-Donnees-Version"]) == (
            42,
            new_generation,
        )
        assert pinned.headers["ETag"] != unpinned.headers["ETag"]


def test_a_server_serves_the_previous_generation_from_its_start(tmp_path: Path) -> None:
    """G10"""
    previous = world.publish(tmp_path, make_companies(20, "Un"))
    current = world.publish(tmp_path, make_companies(21, "Deux"))
    with run_server(tmp_path) as server:
        ready = server.ask("/readyz").json
        reply = server.search(version=previous)

    assert (ready["generation"], ready["precedente"]) == (current, previous)
    assert reply["total"] == 40


def test_a_generation_that_is_gone_is_409_with_the_open_generations(tmp_path: Path) -> None:
    """G10"""
    names = [world.publish(tmp_path, make_companies(count)) for count in (20, 21, 22)]
    with run_server(tmp_path) as server:
        customer = server.customer()
        for version in (names[0], "0" * 16):
            reply = server.ask(
                "/api/v1/societes", headers=customer.headers, params={"version": version}
            )
            assert (reply.status, reply.code) == (409, "version_expiree")
            assert reply.json["version"] == version
            assert reply.json["versions"] == [names[2], names[1]]
        assert server.calls_used(customer) == 0
        # Other errors come first; a version that is not the name of a generation is an invalid parameter.
        assert server.ask("/api/v1/societes?version=0&q=a").code == "parametre_invalide"
        assert server.ask(f"/api/v1/societes?version={'0' * 16}&tri=x").code == "parametre_invalide"
        assert server.ask("/api/v1/export?version=0", headers=customer.headers).code == (
            "parametre_invalide"
        )


def test_a_refused_generation_is_shown_by_readyz_and_metrics(tmp_path: Path) -> None:
    """G9, G10: the old generation is served on"""
    served = world.publish(tmp_path, make_companies(20))
    with run_server(tmp_path) as server:
        assert server.ask("/readyz").json["refusee"] is None
        damaged = world.publish(tmp_path / "ailleurs", make_companies(21))
        shard = tmp_path / "ailleurs" / damaged / "EE.shard"
        content = shard.read_bytes()
        # One bit is wrong, so the digest differs.
        shard.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        (tmp_path / "ailleurs" / damaged).rename(tmp_path / damaged)
        (tmp_path / "CURRENT").write_bytes((tmp_path / "ailleurs" / "CURRENT").read_bytes())

        def is_refused() -> bool:
            """Whether /readyz shows that the server has refused the damaged generation."""
            return bool(server.ask("/readyz").json["refusee"] == damaged)

        assert eventually(is_refused)
        assert server.ask("/readyz").json["generation"] == served
        metric = f'societes_generation_refused_info{{generation="{damaged}"}} 1.0'
        assert metric in server.ask("/metrics").body.decode()
        assert server.search()["total"] == 40
