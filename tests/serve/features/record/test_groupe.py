"""GET /api/v1/societes/{iso}/{id}/groupe (X12), with small groups written by hand."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shards.generations.groups import Relationship
from tests import oracle
from tests.serve import world
from tests.serve.client import Server, run_server
from tests.serve.clock import Clock
from tests.world import company, lei

# Numbers of LEIs. 9, which has no record, is the parent of 1 (Slovakia); 1 is the parent of 2 (Luxembourg), and 2 of
# 3 to 7. 8 was a parent of 2 until 2009.
TOP_PARENT, SLOVAK, LUXEMBOURGISH, FORMER_PARENT = 9, 1, 2, 8
BRANCH = 70  # a branch of 2, without a record
# 20 and 21 are each other's parents, which is an error of the data.
MUTUAL_PARENTS = (20, 21)
# 81 had a parent until 2019.
FORMER_CHILD = 81
# 90 has one child more than an answer shows.
LARGE_PARENT, MANY_CHILDREN = 90, range(1000, 1101)
COMPANIES = [
    company("SK", "1", "Všeobecná banka", lei=lei(SLOVAK)),
    company("LU", "B2", "Société de gestion", lei=lei(LUXEMBOURGISH)),
    *(company("EE", f"1000{number}", f"Õ {number}", lei=lei(number)) for number in range(3, 8)),
    company("FR", "8", "Œuvre seule", lei=lei(FORMER_PARENT)),
    company("FR", "20", "Ouroboros", lei=lei(MUTUAL_PARENTS[0])),
    company("FR", "80", "Sans LEI"),
    company("FR", "81", "Émancipée", lei=lei(FORMER_CHILD)),
    company("FR", "90", "Grande maison", lei=lei(LARGE_PARENT)),
]
RELATIONSHIPS = [
    Relationship(lei(SLOVAK), lei(TOP_PARENT), "directe", "2021-04-12", None),
    *(
        Relationship(lei(child), lei(TOP_PARENT), "ultime", "2015-03-02", None)
        for child in range(1, 8)
    ),
    # The relationship ended in 2009.
    Relationship(lei(LUXEMBOURGISH), lei(FORMER_PARENT), "directe", "2001-01-01", "2009-12-31"),
    Relationship(lei(LUXEMBOURGISH), lei(SLOVAK), "directe", "2010-01-01", None),
    *(Relationship(lei(child), lei(LUXEMBOURGISH), "directe", None, None) for child in range(3, 8)),
    Relationship(lei(BRANCH), lei(LUXEMBOURGISH), "succursale", None, None),
    Relationship(lei(MUTUAL_PARENTS[0]), lei(MUTUAL_PARENTS[1]), "directe", None, None),
    Relationship(lei(MUTUAL_PARENTS[1]), lei(MUTUAL_PARENTS[0]), "directe", None, None),
    Relationship(lei(FORMER_CHILD), lei(TOP_PARENT), "directe", "2001-01-01", "2019-06-30"),
    Relationship(lei(FORMER_CHILD), lei(TOP_PARENT), "ultime", "2001-01-01", "2019-06-30"),
    *(
        Relationship(lei(child), lei(LARGE_PARENT), "directe", None, None)
        for child in MANY_CHILDREN
    ),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of COMPANIES and their RELATIONSHIPS."""
    data: Path = tmp_path_factory.mktemp("groups")
    world.publish(data, COMPANIES, {}, relationships=RELATIONSHIPS)
    with run_server(data, now=Clock("2026-11-30T12:00:00")) as server:
        yield server


def read_group(server: Server, company: str, plan: str = "data") -> Any:
    """The group of a company; an empty plan is a visitor."""
    headers = server.customer(plan).headers if plan else {}
    reply = server.ask(f"/api/v1/societes/{company}/groupe", headers=headers)
    assert reply.status == 200
    return reply.json


def test_parents_go_up_to_the_top_and_a_parent_without_a_record_is_an_lei(server: Server) -> None:
    """The Slovak parent has a record, its parent at the top has none"""
    group = read_group(server, "LU/B2")

    assert group["societe"] == {
        "iso2": "LU", "id": "B2", "nom": "Société de gestion", "lei": lei(LUXEMBOURGISH),
    }  # fmt: skip
    assert group["parents"] == [
        {"lei": lei(SLOVAK), "societe": {"iso2": "SK", "id": "1", "nom": "Všeobecná banka"},
         "nature": "directe", "debut": "2010-01-01", "fin": None},
        {"lei": lei(TOP_PARENT), "societe": None, "nature": "directe", "debut": "2021-04-12", "fin": None},
    ]  # fmt: skip
    assert (group["tete"]["lei"], group["tete"]["nature"]) == (lei(TOP_PARENT), "ultime")
    assert group["motif"] is None
    [source] = group["sources"]
    assert (source["source"], source["licence"], source["date"]) == (
        "gleif-rr", "CC0 1.0", "2023-11-06",
    )  # fmt: skip


def test_children_are_direct_subsidiaries_and_branches_with_exact_totals(server: Server) -> None:
    group = read_group(server, "LU/B2")

    assert [link["lei"] for link in group["enfants"]] == [*map(lei, range(3, 8)), lei(BRANCH)]
    assert [link["nature"] for link in group["enfants"]] == ["directe"] * 5 + ["succursale"]
    assert group["enfants"][0]["societe"] == {"iso2": "EE", "id": "10003", "nom": "Õ 3"}
    assert (group["total_enfants"], group["total_consolidees"]) == (6, 0)


def test_parents_and_children_equal_the_oracle(server: Server) -> None:
    """An answer lists 100 children at most, and counts all"""
    for subject in COMPANIES:
        if subject["lei"] is None:
            continue
        group = read_group(server, f"{subject['iso2']}/{subject['id']}")

        parents = [(link["lei"], link["nature"], link["debut"]) for link in group["parents"]]
        assert parents == [link[1:4] for link in oracle.parents(RELATIONSHIPS, subject["lei"])]
        expected_children = [
            child
            for nature in ("directe", "succursale")
            for child in oracle.children(RELATIONSHIPS, subject["lei"], nature)
        ]
        assert [link["lei"] for link in group["enfants"]] == expected_children[:100]
        assert group["total_enfants"] == len(expected_children)
        consolidated = oracle.children(RELATIONSHIPS, subject["lei"], "ultime")
        assert group["total_consolidees"] == len(consolidated)


def test_a_visitor_sees_as_many_children_as_rows_of_a_search(server: Server) -> None:
    group = read_group(server, "LU/B2", plan="")

    assert (len(group["enfants"]), group["total_enfants"], len(group["parents"])) == (2, 6, 2)


def test_an_answer_shows_at_most_100_children_and_counts_all(server: Server) -> None:
    group = read_group(server, "FR/90")

    assert [link["lei"] for link in group["enfants"]] == [*map(lei, MANY_CHILDREN[:100])]
    assert group["total_enfants"] == 101


def test_the_group_of_a_company_without_lei_is_null_with_the_reason(server: Server) -> None:
    for identifier, motif in (("80", "lei_absent"), ("99", None)):
        reply = server.ask(f"/api/v1/societes/FR/{identifier}/groupe")
        if motif is None:
            assert reply.code == "societe_introuvable"
            continue
        group = reply.json
        assert (group["motif_code"], group["sources"]) == (motif, [])
        names = (
            "parents",
            "tete",
            "enfants",
            "total_enfants",
            "total_consolidees",
            "anciens_liens",
        )
        assert [group[name] for name in names] == [None] * 6


def test_a_company_with_only_former_links_has_an_empty_group(
    server: Server,
) -> None:
    # FR/8 was a parent until 2009.
    group = read_group(server, "FR/8")

    assert (group["parents"], group["tete"], group["enfants"]) == ([], None, [])
    assert (group["total_enfants"], group["total_consolidees"]) == (0, 0)
    [former] = group["anciens_liens"]
    assert (former["role"], former["lei"], former["fin"]) == (
        "filiale",
        lei(LUXEMBOURGISH),
        "2009-12-31",
    )
    assert former["societe"]["nom"] == "Société de gestion"


def test_a_former_parent_is_not_among_the_parents(server: Server) -> None:
    [former] = read_group(server, "LU/B2")["anciens_liens"]

    assert (former["role"], former["lei"], former["fin"]) == (
        "mere",
        lei(FORMER_PARENT),
        "2009-12-31",
    )
    # FR/81 has had no parent since 2019, so it is at the top of its group.
    group = read_group(server, "FR/81")
    assert (group["parents"], group["tete"], group["motif"]) == ([], None, None)
    assert [link["nature"] for link in group["anciens_liens"]] == ["directe", "ultime"]


def test_a_cycle_of_parents_ends_at_the_company_with_the_reason(server: Server) -> None:
    group = read_group(server, "FR/20")

    assert [link["lei"] for link in group["parents"]] == [lei(21), lei(20)]
    assert group["motif_code"] == "boucle"


def test_a_group_costs_a_call_and_a_304_nothing(server: Server) -> None:
    """GET, HEAD and the pinned GET are three calls; the error is not counted"""
    customer, path = server.customer("data"), "/api/v1/societes/LU/B2/groupe"
    group_reply = server.ask(path, headers=customer.headers)

    headers = {**customer.headers, "If-None-Match": group_reply.headers["ETag"]}
    version = {"version": group_reply.headers["X-Donnees-Version"]}
    assert server.ask(path, headers=headers).status == 304
    assert server.ask(path, "HEAD", headers=customer.headers).status == 200
    assert server.ask(path, headers=customer.headers, params=version).body == group_reply.body
    assert server.ask(path, headers=customer.headers, params={"n": "1"}).code == "parametre_inconnu"
    usage = server.usage(customer)
    assert (usage.calls.used, usage.credits.used) == (3, 0)
