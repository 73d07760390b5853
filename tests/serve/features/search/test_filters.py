"""The filters of extensions X2 over a socket, alone and together, against the oracle."""

from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings

from serve.contract import parameters
from serve.request import reader
from shards.query import STATES
from tests import oracle
from tests.serve import parameter_strategies
from tests.serve.asking import NAMES
from tests.serve.client import Customer, Served
from tests.serve.world import COMPANIES

Given = dict[str, str]
KNOWN = [f"{one['iso2']}:{one['id']}" for one in COMPANIES[:16]]


def search(served: Served, customer: Customer, found: Given) -> Any:
    reply = served.ask("/api/v1/societes", headers=customer.headers, params=found)
    assert reply.status == 200, reply.body
    return reply.json


def shown(body: Any) -> list[str]:
    return [f"{one['iso2']}:{one['id']}" for one in body["societes"]]


def expected(found: Given) -> list[str]:
    query = reader.read(list(found.items()), parameters.SEARCH, NAMES).query
    return [f"{one['iso2']}:{one['id']}" for one in oracle.search(COMPANIES, query)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(found=parameter_strategies.searches())
@example(found={"ville": "orleans|Saint Etienne", "etat": "active"})
@example(found={"cree_min": "2015", "cree_max": "2015"})
@example(found={"cree_min": "1998-02-02", "cree_max": "2014-04"})
@example(found={"actif_min": "-5.5", "actif_max": "0"})
@example(found={"ids": ",".join(KNOWN), "tri": "nom", "pays": "FR,AT"})
def test_any_search_is_that_of_the_oracle(served: Served, customer: Customer, found: Given) -> None:
    """X2"""
    body = search(served, customer, found)

    wanted = expected(found)
    assert (body["total"], shown(body)) == (len(wanted), wanted)


@pytest.mark.parametrize(
    ("found", "total"),
    [
        ({"etat": "procedure"}, 1),
        ({"etat": "active,cessee"}, 4),
        ({"ville": "ORLEANS"}, 2),
        ({"code_postal": "45"}, 2),
        ({"code_postal": "S W1a"}, 1),
        ({"forme": "SARL|Private Limited Company"}, 4),
        ({"nace": "62"}, 5),
        ({"cree_min": "2014-04-29", "cree_max": "2015"}, 2),
        ({"cree_max": "1998-02-01"}, 2),
        ({"actif_min": "0"}, 4),
        ({"actif_max": "-0.5"}, 1),
        ({"avec_comptes": "1"}, 1),
    ],
)
def test_the_total_is_exact(served: Served, customer: Customer, found: Given, total: int) -> None:
    """X2, §8.2 rule 3: what the oracle says is said here, too."""
    assert search(served, customer, found)["total"] == total == len(expected(found))


def test_without_a_state_all_companies_are_found(served: Served, customer: Customer) -> None:
    """X1, B34"""
    states = {one["etat"] for one in search(served, customer, {})["societes"]}

    assert search(served, customer, {})["total"] == len(COMPANIES)
    assert states == set(STATES)


def test_named_companies_are_found_in_any_spelling_and_unknown_ones_named(
    served: Served, customer: Customer
) -> None:
    """X2, E2"""
    found = {"ids": "fr:552 100 554,GB:sc123456, AT:1,DE:x y,FR:552100554,DE:X Y", "tri": "nom"}

    body = search(served, customer, found)

    assert shown(body) == ["FR:552100554", "UK:SC123456"]
    assert body["total"] == 2
    assert body["ids_inconnus"] == ["AT:1", "DE:x y", "DE:X Y"]
    assert list(body)[-2:] == ["societes", "ids_inconnus"]


def test_where_no_company_is_known_none_is_found(served: Served, customer: Customer) -> None:
    """X2"""
    body = search(served, customer, {"ids": "FR:absente", "pays": "AT"})

    assert (body["total"], body["societes"]) == (0, [])
    assert list(body)[-2:] == ["pays_sans_donnees", "ids_inconnus"]


def test_head_and_304_are_those_of_any_search(served: Served, customer: Customer) -> None:
    """X0.2, G8"""
    path = f"/api/v1/societes?ids={','.join(KNOWN[:3])},FR:absente&etat=active,inconnu&limit=1"
    got = served.ask(path, headers=customer.headers)
    head = served.ask(path, "HEAD", headers=customer.headers)
    again = served.ask(path, headers={**customer.headers, "If-None-Match": got.headers["ETag"]})

    assert (head.status, head.body, again.status, again.body) == (200, b"", 304, b"")
    for name in ("ETag", "Link", "X-Donnees-Version"):
        assert head.headers[name] == got.headers[name]
    assert again.headers["ETag"] == got.headers["ETag"]
    assert f"version={got.headers['X-Donnees-Version']}" in got.headers["Link"]


def test_a_visitor_may_name_companies_too(served: Served) -> None:
    """X2, §5 rule 2"""
    body = served.search(ids=",".join(KNOWN[:5]))

    assert (body["total"], len(body["societes"]), body["ids_inconnus"]) == (5, 2, [])


def test_a_thousand_companies_can_be_named(served: Served, customer: Customer) -> None:
    """X2"""
    unknown = [f"FR:{number}" for number in range(990)]

    body = search(served, customer, {"ids": ",".join([*KNOWN[:10], *unknown])})

    assert (body["total"], body["ids_inconnus"]) == (10, unknown)


@pytest.mark.parametrize(
    ("found", "code"),
    [
        ({"ids": "00944111"}, "parametre_invalide"),
        ({"ids": "XX:1"}, "pays_inconnu"),
        ({"etat": "ouverte"}, "parametre_invalide"),
        ({"forme": "Zaibatsu"}, "forme_inconnue"),
        ({"nace": "99.99"}, "nace_inconnu"),
        ({"cree_min": "hier"}, "parametre_invalide"),
        ({"avec_comptes": "0"}, "parametre_invalide"),
    ],
)
def test_a_wrong_filter_is_400(served: Served, found: Given, code: str) -> None:
    """X2"""
    assert served.refused(**found)["erreur"]["code"] == code
