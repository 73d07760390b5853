"""GET /api/v1/societes/{iso}/{id}/groupe (X12), over a group of a few companies drawn by hand."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shards.generations.groups import Relationship
from tests import oracle
from tests.serve import world
from tests.serve.client import Served, serving
from tests.serve.clock import Clock
from tests.world import company, lei

# 9 (no company here) is above 1 of Slovakia, which is above 2 of Luxembourg, which has 3 to 7; 8 has none.
TOP, FIRST, SECOND, ALONE = 9, 1, 2, 8
BRANCH = 70
# 20 and 21 are each other's parents: an error of the data.
LOOP = (20, 21)
# 90 has one child more than an answer shows.
FREED = 81
LARGE, MANY = 90, range(1000, 1101)
COMPANIES = [
    company("SK", "1", "Všeobecná banka", lei=lei(FIRST)),
    company("LU", "B2", "Société de gestion", lei=lei(SECOND)),
    *(company("EE", f"1000{number}", f"Õ {number}", lei=lei(number)) for number in range(3, 8)),
    company("FR", "8", "Œuvre seule", lei=lei(ALONE)),
    company("FR", "20", "Ouroboros", lei=lei(LOOP[0])),
    company("FR", "80", "Sans LEI"),
    company("FR", "81", "Émancipée", lei=lei(FREED)),
    company("FR", "90", "Grande maison", lei=lei(LARGE)),
]
LINKS = [
    Relationship(lei(FIRST), lei(TOP), "directe", "2021-04-12", None),
    *(Relationship(lei(one), lei(TOP), "ultime", "2015-03-02", None) for one in range(1, 8)),
    # An older parent, which is not the one of now.
    Relationship(lei(SECOND), lei(ALONE), "directe", "2001-01-01", "2009-12-31"),
    Relationship(lei(SECOND), lei(FIRST), "directe", "2010-01-01", None),
    *(Relationship(lei(one), lei(SECOND), "directe", None, None) for one in range(3, 8)),
    Relationship(lei(BRANCH), lei(SECOND), "succursale", None, None),
    Relationship(lei(LOOP[0]), lei(LOOP[1]), "directe", None, None),
    Relationship(lei(LOOP[1]), lei(LOOP[0]), "directe", None, None),
    Relationship(lei(FREED), lei(TOP), "directe", "2001-01-01", "2019-06-30"),
    Relationship(lei(FREED), lei(TOP), "ultime", "2001-01-01", "2019-06-30"),
    *(Relationship(lei(one), lei(LARGE), "directe", None, None) for one in MANY),
]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    data: Path = tmp_path_factory.mktemp("groups")
    world.publish(data, COMPANIES, {}, relationships=LINKS)
    with serving(data, now=Clock("2026-11-30T12:00:00")) as found:
        yield found


def ask(served: Served, company: str, plan: str = "data") -> Any:
    headers = served.customer(plan).headers if plan else {}
    reply = served.ask(f"/api/v1/societes/{company}/groupe", headers=headers)
    assert reply.status == 200
    return reply.json


def test_parents_go_up_to_the_top_and_one_that_is_not_served_is_an_lei(served: Served) -> None:
    found = ask(served, "LU/B2")

    assert found["societe"] == {
        "iso2": "LU", "id": "B2", "nom": "Société de gestion", "lei": lei(SECOND),
    }  # fmt: skip
    assert found["parents"] == [
        {"lei": lei(FIRST), "societe": {"iso2": "SK", "id": "1", "nom": "Všeobecná banka"},
         "nature": "directe", "debut": "2010-01-01", "fin": None},
        {"lei": lei(TOP), "societe": None, "nature": "directe", "debut": "2021-04-12", "fin": None},
    ]  # fmt: skip
    assert (found["tete"]["lei"], found["tete"]["nature"]) == (lei(TOP), "ultime")
    assert found["motif"] is None
    [source] = found["sources"]
    assert (source["source"], source["licence"], source["date"]) == (
        "gleif-rr", "CC0 1.0", "2023-11-06",
    )  # fmt: skip


def test_children_are_direct_ones_and_branches_and_the_totals_are_exact(served: Served) -> None:
    found = ask(served, "LU/B2")

    assert [one["lei"] for one in found["enfants"]] == [*map(lei, range(3, 8)), lei(BRANCH)]
    assert [one["nature"] for one in found["enfants"]] == ["directe"] * 5 + ["succursale"]
    assert found["enfants"][0]["societe"] == {"iso2": "EE", "id": "10003", "nom": "Õ 3"}
    assert (found["total_enfants"], found["total_consolidees"]) == (6, 0)


def test_parents_and_children_are_those_of_the_oracle(served: Served) -> None:
    for one in COMPANIES:
        if one["lei"] is None:
            continue
        found = ask(served, f"{one['iso2']}/{one['id']}")

        parents = [(link["lei"], link["nature"], link["debut"]) for link in found["parents"]]
        assert parents == [link[1:4] for link in oracle.parents(LINKS, one["lei"])]
        below = [
            child
            for nature in ("directe", "succursale")
            for child in oracle.children(LINKS, one["lei"], nature)
        ]
        assert [link["lei"] for link in found["enfants"]] == below[:100]
        assert found["total_enfants"] == len(below)
        ultimate = oracle.children(LINKS, one["lei"], "ultime")
        assert found["total_consolidees"] == len(ultimate)


def test_a_visitor_sees_as_many_children_as_rows_of_a_search(served: Served) -> None:
    found = ask(served, "LU/B2", plan="")

    assert (len(found["enfants"]), found["total_enfants"], len(found["parents"])) == (2, 6, 2)


def test_an_answer_shows_100_children_and_counts_all(served: Served) -> None:
    found = ask(served, "FR/90")

    assert [one["lei"] for one in found["enfants"]] == [*map(lei, MANY[:100])]
    assert found["total_enfants"] == 101


def test_what_is_not_known_is_null_and_says_why(served: Served) -> None:
    for identifier, motif in (("80", "lei_absent"), ("99", None)):
        reply = served.ask(f"/api/v1/societes/FR/{identifier}/groupe")
        if motif is None:
            assert reply.code == "societe_introuvable"
            continue
        found = reply.json
        assert (found["motif_code"], found["sources"]) == (motif, [])
        names = (
            "parents",
            "tete",
            "enfants",
            "total_enfants",
            "total_consolidees",
            "anciens_liens",
        )
        assert [found[name] for name in names] == [None] * 6


def test_a_company_that_the_data_do_not_link_has_an_lei_and_no_relationships(
    served: Served,
) -> None:
    # It was a parent until 2009: that is history, and no child of today.
    found = ask(served, "FR/8")

    assert (found["parents"], found["tete"], found["enfants"]) == ([], None, [])
    assert (found["total_enfants"], found["total_consolidees"]) == (0, 0)
    [former] = found["anciens_liens"]
    assert (former["role"], former["lei"], former["fin"]) == ("filiale", lei(SECOND), "2009-12-31")
    assert former["societe"]["nom"] == "Société de gestion"


def test_a_parent_of_the_past_is_none_of_today(served: Served) -> None:
    [former] = ask(served, "LU/B2")["anciens_liens"]

    assert (former["role"], former["lei"], former["fin"]) == ("mere", lei(ALONE), "2009-12-31")
    # Its only parent has gone: it stands at the top.
    found = ask(served, "FR/81")
    assert (found["parents"], found["tete"], found["motif"]) == ([], None, None)
    assert [one["nature"] for one in found["anciens_liens"]] == ["directe", "ultime"]


def test_parents_that_come_back_to_themselves_end_there(served: Served) -> None:
    found = ask(served, "FR/20")

    assert [one["lei"] for one in found["parents"]] == [lei(21), lei(20)]
    assert found["motif_code"] == "boucle"


def test_a_group_costs_a_call_and_an_answer_that_the_caller_has_nothing(served: Served) -> None:
    customer, path = served.customer("data"), "/api/v1/societes/LU/B2/groupe"
    first = served.ask(path, headers=customer.headers)

    known = {**customer.headers, "If-None-Match": first.headers["ETag"]}
    version = {"version": first.headers["X-Donnees-Version"]}
    assert served.ask(path, headers=known).status == 304
    assert served.ask(path, "HEAD", headers=customer.headers).status == 200
    assert served.ask(path, headers=customer.headers, params=version).body == first.body
    assert served.ask(path, headers=customer.headers, params={"n": "1"}).code == "parametre_inconnu"
    usage = served.usage(customer)
    assert (usage.calls.used, usage.credits.used) == (3, 0)
