"""The filters of extension X2, alone and together, compared with the oracle."""

from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings

from serve.contract import parameters
from serve.request import reader
from shards.query import STATES
from tests import oracle
from tests.serve import parameter_strategies
from tests.serve.client import Customer, Server
from tests.serve.parameter_reading import NAMES
from tests.serve.world import COMPANIES

Filters = dict[str, str]
# 16 companies as the filter `ids` names them: all except 25 of the 26 similar bakeries.
IDS = [f"{company['iso2']}:{company['id']}" for company in COMPANIES[:16]]


def search_answer(server: Server, customer: Customer, filters: Filters) -> Any:
    """The answer of a search with these filters."""
    reply = server.ask("/api/v1/societes", headers=customer.headers, params=filters)
    assert reply.status == 200, reply.body
    return reply.json


def ids_of(body: Any) -> list[str]:
    """The companies of an answer, as `country:identifier`."""
    return [f"{company['iso2']}:{company['id']}" for company in body["societes"]]


def expected_ids(filters: Filters) -> list[str]:
    """The companies that the oracle finds, as `country:identifier`."""
    query = reader.read(list(filters.items()), parameters.SEARCH, NAMES).query
    return [f"{company['iso2']}:{company['id']}" for company in oracle.search(COMPANIES, query)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(filters=parameter_strategies.searches())
@example(filters={"ville": "orleans|Saint Etienne", "etat": "active"})
@example(filters={"cree_min": "2015", "cree_max": "2015"})
@example(filters={"cree_min": "1998-02-02", "cree_max": "2014-04"})
@example(filters={"actif_min": "-5.5", "actif_max": "0"})
@example(filters={"ids": ",".join(IDS), "tri": "nom", "pays": "FR,AT"})
def test_every_search_matches_the_oracle(
    server: Server, customer: Customer, filters: Filters
) -> None:
    """X2"""
    body = search_answer(server, customer, filters)

    ids = expected_ids(filters)
    assert (body["total"], ids_of(body)) == (len(ids), ids)


@pytest.mark.parametrize(
    ("filters", "total"),
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
def test_the_total_is_exact(
    server: Server, customer: Customer, filters: Filters, total: int
) -> None:
    """X2, §8.2 rule 3: the oracle computes the totals that were counted by hand"""
    assert search_answer(server, customer, filters)["total"] == total == len(expected_ids(filters))


def test_without_a_state_all_companies_are_found(server: Server, customer: Customer) -> None:
    """X1, B34"""
    states = {company["etat"] for company in search_answer(server, customer, {})["societes"]}

    assert search_answer(server, customer, {})["total"] == len(COMPANIES)
    assert states == set(STATES)


def test_ids_are_found_in_any_spelling_and_unknown_ids_are_listed(
    server: Server, customer: Customer
) -> None:
    """X2, E2"""
    filters = {"ids": "fr:552 100 554,GB:sc123456, AT:1,DE:x y,FR:552100554,DE:X Y", "tri": "nom"}

    body = search_answer(server, customer, filters)

    assert ids_of(body) == ["FR:552100554", "UK:SC123456"]
    assert body["total"] == 2
    assert body["ids_inconnus"] == ["AT:1", "DE:x y", "DE:X Y"]
    assert list(body)[-2:] == ["societes", "ids_inconnus"]


def test_unknown_ids_find_no_company(server: Server, customer: Customer) -> None:
    """X2: the keys about missing data and unknown ids come last"""
    body = search_answer(server, customer, {"ids": "FR:absente", "pays": "AT"})

    assert (body["total"], body["societes"]) == (0, [])
    assert list(body)[-2:] == ["pays_sans_donnees", "ids_inconnus"]


def test_a_search_with_filters_supports_head_and_304(server: Server, customer: Customer) -> None:
    """X0.2, G8"""
    path = f"/api/v1/societes?ids={','.join(IDS[:3])},FR:absente&etat=active,inconnu&limit=1"
    get_reply = server.ask(path, headers=customer.headers)
    head_reply = server.ask(path, "HEAD", headers=customer.headers)
    revalidated = server.ask(
        path, headers={**customer.headers, "If-None-Match": get_reply.headers["ETag"]}
    )

    assert (head_reply.status, head_reply.body, revalidated.status, revalidated.body) == (
        200,
        b"",
        304,
        b"",
    )
    for name in ("ETag", "Link", "X-Donnees-Version"):
        assert head_reply.headers[name] == get_reply.headers[name]
    assert revalidated.headers["ETag"] == get_reply.headers["ETag"]
    assert f"version={get_reply.headers['X-Donnees-Version']}" in get_reply.headers["Link"]


def test_a_visitor_may_name_companies_too(server: Server) -> None:
    """X2, §5 rule 2: he sees two of the five companies"""
    body = server.search(ids=",".join(IDS[:5]))

    assert (body["total"], len(body["societes"]), body["ids_inconnus"]) == (5, 2, [])


def test_a_thousand_companies_can_be_named(server: Server, customer: Customer) -> None:
    """X2: ten that exist and 990 that do not"""
    unknown = [f"FR:{number}" for number in range(990)]

    body = search_answer(server, customer, {"ids": ",".join([*IDS[:10], *unknown])})

    assert (body["total"], body["ids_inconnus"]) == (10, unknown)


@pytest.mark.parametrize(
    ("filters", "code"),
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
def test_a_wrong_filter_is_400(server: Server, filters: Filters, code: str) -> None:
    """X2"""
    assert server.refusal(**filters)["erreur"]["code"] == code
