"""Costs of tools: a call has the rights and the price of its route (D1)."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from quota.errors import StoreUnavailable
from quota.ledger.calls import Purchase
from quota.store.lmdb_store import LmdbStore
from serve.config import BurstLimits
from tests.serve import world
from tests.serve.client import GENEROUS, PLANS, Customer, Served, logged, serving
from tests.serve.surfaces.mcp.client import call, legacy, modern, refused, send, shown

FR = {"iso2": "FR", "id": "552100554"}
FULL = {**FR, "etats_financiers": True}
BAD = [{"Authorization": "Bearer soc_live_x"}, {"Authorization": "Basic dTpw"}]


@pytest.fixture(scope="module")
def tight(data_of_its_own: Path) -> Iterator[Served]:
    """Two calls a minute for a visitor, three for a list, two for a free plan."""
    debit: BurstLimits = replace(GENEROUS, visiteur=2, listes=3, free=2)
    with serving(data_of_its_own, debit=debit) as server:
        yield server


@pytest.mark.parametrize(
    ("tool", "given", "calls", "credits"),
    [
        ("list_countries", {}, 0, 0),
        ("list_sectors", {"pays": ["FR"]}, 0, 0),
        ("list_subsectors", {"secteur": ["edition"]}, 0, 0),
        ("explain_plan", {}, 0, 0),
        ("count_companies", {}, 1, 0),
        ("break_down_companies", {"par": ["etat"]}, 1, 0),
        ("break_down_companies", {}, 0, 0),
        ("search_companies", {}, 1, 0),
        ("search_companies", {"q": "zzzz"}, 1, 0),
        ("match_companies", {"lignes": [{"cle": str(i), "nom": "A"} for i in range(11)]}, 2, 0),
        ("match_companies", {"lignes": [{"cle": "1"}]}, 0, 0),
        ("match_companies", {"lignes": [{"cle": str(i), "nom": "A"} for i in range(31)]}, 0, 0),
        ("match_companies", {}, 0, 0),
        ("comparable_companies", FR, 1, 0),
        ("comparable_companies", {**FR, "n": 0}, 0, 0),
        ("analyse_company", FR, 1, 0),
        ("analyse_company", {**FR, "id": "absente"}, 1, 0),
        ("analyse_market", {"pays": ["FR", "UK"]}, 1, 0),
        ("analyse_market", {"q": "zzzz"}, 1, 0),
        ("look_up", {"valeur": "fr 552100554"}, 1, 0),
        ("look_up", {"valeur": "0000"}, 1, 0),
        ("read_company", FR, 1, 0),
        ("read_company", FULL, 1, 5),
        ("read_company", {**FR, "exercice": 2024}, 1, 5),
        ("read_company", {**FR, "exercice": 2019}, 0, 0),
        ("read_company", {**FR, "exercice": 0}, 0, 0),
        ("read_company", {**FR, "etats_financiers": "false"}, 1, 0),
        ("read_company", {**FR, "etats_financiers": "non"}, 0, 0),
        ("read_company", {**FULL, "id": "552059024"}, 1, 0),
        ("read_company", {**FR, "id": "552059024", "exercice": 2024}, 1, 0),
        ("read_company", {**FR, "id": "absente", "exercice": 2024}, 1, 0),
        ("read_company", {**FR, "id": "absente"}, 1, 0),
        ("read_company", {**FULL, "id": "absente"}, 1, 0),
        ("read_companies", {"ids": ["FR:552 100 554", "UK:08209948"]}, 2, 0),
        ("read_companies", {"ids": ["FR:absente", "UK:08209948"]}, 2, 0),
        ("read_companies", {"ids": ["UK:08209948", "XX:1"]}, 0, 0),
        ("read_companies", {"ids": [" "]}, 0, 0),
        ("read_companies", {"ids": [f"FR:{number}" for number in range(21)]}, 0, 0),
        ("search_companies", {"pays": ["XX"]}, 0, 0),
        ("search_companies", {"x": 1}, 0, 0),
        ("read_company", {**FR, "id": " "}, 0, 0),
    ],
)
def test_a_call_costs_what_its_route_costs(
    served: Served, tool: str, given: dict[str, Any], calls: int, credits: int
) -> None:
    """D1, D5; preamble d: nothing is paid for that was not delivered"""
    customer = served.customer("data")

    call(served, tool, customer.headers, **given)

    usage = served.usage(customer)
    assert (usage.calls.used, usage.credits.used) == (calls, credits)


@pytest.mark.parametrize("method", ["server/discover", "tools/list", "ping", "tools/unknown"])
def test_the_protocol_itself_costs_nothing(served: Served, method: str) -> None:
    customer = served.customer("free")

    modern(served, method, headers=customer.headers)
    legacy(served, method, headers=customer.headers)

    assert served.used(customer) == 0


def test_a_company_is_paid_for_once_a_month_through_either_door(served: Served) -> None:
    """D9"""
    customer = served.customer("data")

    first = shown(served, "read_company", customer.headers, **FULL)
    reply = served.ask("/api/v1/societes/FR/552100554", headers=customer.headers)
    again = shown(served, "read_company", customer.headers, **FULL)

    assert (first["credits_debites"], again["credits_debites"]) == (5, 0)
    assert (first["credits_restants"], again["credits_restants"]) == (4_995, 4_995)
    assert reply.headers["X-Credits-Debites"] == "0"
    assert (served.used(customer), served.usage(customer).credits.used) == (3, 5)


def test_the_meters_are_told_in_the_headers(served: Served) -> None:
    """D3, D11"""
    customer = served.customer("data")
    params = {"name": "read_company", "arguments": FULL}

    headers = modern(served, "tools/call", params, customer.headers).headers

    assert (headers["X-Quota-Used"], headers["X-Quota-Limit"]) == ("1", "1000")
    assert (headers["X-Credits-Debites"], headers["X-Credits-Restants"]) == ("5", "4995")
    assert "ETag" not in headers and "Content-Location" not in headers


def test_the_calls_of_a_day_are_those_of_both_doors(served: Served) -> None:
    """D6: exactly the limit"""
    customer = served.customer("free")
    limit = PLANS["free"].appels_api_par_jour
    for _ in range(limit - 1):
        served.ask("/api/v1/societes", headers=customer.headers)

    shown(served, "count_companies", customer.headers)
    text = refused(served, "count_companies", customer.headers)

    assert "quota_api" in text and "explain_plan" in text
    assert served.ask("/api/v1/societes", headers=customer.headers).status == 429
    assert served.used(customer) == limit
    assert shown(served, "explain_plan", customer.headers)["appels_jour"]["restant"] == 0
    assert shown(served, "list_countries", customer.headers)["total"] == 25


def test_companies_that_a_limit_leaves_unread_are_named(served: Served) -> None:
    """D6: what was read is shown; nothing is cut in silence"""
    customer = served.customer("free")
    for _ in range(PLANS["free"].appels_api_par_jour - 1):
        served.ask("/api/v1/societes", headers=customer.headers)

    result = call(served, "read_companies", customer.headers, ids=["FR:552100554", "UK:08209948"])

    assert result["isError"]
    text, document, _ = (part["text"] for part in result["content"])
    found = orjson.loads(document)
    assert "quota_api" in text
    assert [one["id"] for one in found["societes"]] == ["552100554"]
    assert found["ids_restants"] == ["UK:08209948"]


def test_without_credits_the_public_identity_is_shown(served: Served) -> None:
    """D10"""
    customer = spent(served)

    result = call(served, "read_company", customer.headers, **FULL)

    assert result["isError"]
    text, document, _ = (part["text"] for part in result["content"])
    assert "credits_epuises" in text and "Without etats_financiers" in text
    assert orjson.loads(document)["societe"]["id"] == FR["id"]
    assert "none are left" in orjson.loads(document)["note"]
    assert "fuite" not in document
    assert shown(served, "read_company", customer.headers, **FR)["societe"]["id"] == FR["id"]


@pytest.mark.parametrize("headers", BAD)
def test_a_bad_key_is_told_and_served_as_a_visitor(served: Served, headers: dict[str, str]) -> None:
    """A1, A2"""
    searched = call(served, "search_companies", headers)
    read = call(served, "read_company", headers, **FULL)
    explained = call(served, "explain_plan", headers)
    wrong = refused(served, "search_companies", headers, pays=["XX"])

    several = call(served, "read_companies", headers, ids=["FR:552100554"])
    for result in (searched, read, explained, several):
        assert result["isError"]
        assert "cle_invalide" in result["content"][0]["text"]
    as_visitor = shown(served, "search_companies")
    assert orjson.loads(searched["content"][1]["text"]) == as_visitor
    assert "comptes" not in orjson.loads(read["content"][1]["text"])
    assert orjson.loads(explained["content"][1]["text"])["plan"] == "visiteur"
    assert "cle_invalide" in wrong and "XX" in wrong
    assert shown(served, "list_countries", headers)["total"] == 25
    assert modern(served, "tools/list", headers=headers).status == 200


def test_a_key_without_the_tool_is_served_as_free(served: Served) -> None:
    """A7"""
    customer = served.customer("corporate", api_tool=False)

    assert shown(served, "search_companies", customer.headers)["plan"] == "free"


def test_bursts_are_limited_as_on_the_routes(tight: Served) -> None:
    """D7: one bucket for both doors"""
    tight.ask("/api/v1/societes")
    tight.ask("/api/v1/societes")
    for _ in range(3):
        shown(tight, "list_countries")

    search = modern(tight, "tools/call", {"name": "search_companies"})
    text = refused(tight, "explain_plan")
    listed = refused(tight, "list_countries")

    assert search.json["result"]["isError"]
    assert int(search.headers["Retry-After"]) > 0
    assert "trop_de_requetes" in text and "trop_de_requetes" in listed
    assert tight.ask("/api/v1/societes").status == 429
    assert b'societes_refusals_total{code="trop_de_requetes"}' in tight.ask("/metrics").body


def test_a_visitor_who_has_had_the_day_is_told_when_it_ends(tmp_path: Path) -> None:
    """D7: a limit of the minute is waited for, that of the day is not"""
    (tmp_path / "data").mkdir()
    world.publish(tmp_path / "data")
    with serving(tmp_path / "data", debit=replace(GENEROUS, visiteur_jour=1)) as server:
        shown(server, "count_companies")
        text = refused(server, "count_companies")

    calls = PLANS["free"].appels_api_par_jour
    assert "trop_de_requetes" in text and "midnight UTC" in text
    assert f"{calls} a day on the free plan" in text
    assert "then call again" not in text


def test_a_call_that_waits_for_its_minute_has_not_read_its_arguments(tight: Served) -> None:
    """D5: key → burst → parameters"""
    customer = tight.customer("free")
    for _ in range(2):
        shown(tight, "count_companies", customer.headers)

    assert "trop_de_requetes" in refused(tight, "count_companies", customer.headers, x=1)
    assert tight.used(customer) == 2


# -- what cannot be answered --------------------------------------------------------------


class Broken(LmdbStore):
    """A store whose disk has gone."""

    def take(self, *_: Any, **__: Any) -> Any:
        raise StoreUnavailable("the disk has gone")


def test_what_the_service_cannot_do_is_an_error_of_the_protocol(tmp_path: Path) -> None:
    """G9: 503, and nothing counted"""
    (tmp_path / "data").mkdir()
    with serving(tmp_path / "data") as server:
        reply = modern(server, "tools/call", {"name": "list_countries"})
        alive = modern(server, "tools/list")

    assert (reply.status, reply.json["error"]["code"], reply.json["id"]) == (503, -32603, 7)
    assert "nothing was done, try again in 5 s" in reply.json["error"]["message"]
    assert reply.headers["Retry-After"] == "5"
    assert alive.status == 200


def test_a_store_that_fails_is_an_error_of_the_protocol(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    world.publish(tmp_path / "data")
    with serving(tmp_path / "data", opener=Broken) as server:
        customer = server.customer("data")
        reply = modern(server, "tools/call", {"name": "count_companies"}, customer.headers)
        visitor = modern(server, "tools/call", {"name": "count_companies"})

    assert (reply.status, reply.json["error"]["code"]) == (503, -32603)
    assert visitor.status == 200


# -- what is kept of it -------------------------------------------------------------------


def test_the_log_has_the_tool_and_never_its_arguments(served: Served) -> None:
    """G11"""
    customer = served.customer("data")

    shown(served, "search_companies", customer.headers, q="Orléans secret")
    send(served, b"{")

    (line,) = logged(served, lambda line: line["account"] == customer.account, 1)
    assert (line["route"], line["tool"], line["quota"]) == ("mcp", "search_companies", "taken")
    assert (line["plan"], line["query"]) == ("data", {})
    assert "secret" not in str(line) and customer.key not in str(line)
    malformed = logged(served, lambda line: (line["route"], line["status"]) == ("mcp", 400), 1)
    assert "tool" not in malformed[0]


def test_the_metrics_have_the_route(served: Served) -> None:
    """G10"""
    shown(served, "list_countries")

    assert b'route="mcp"' in served.ask("/metrics").body


def spent(served: Served) -> Customer:
    """An account whose credits are used up."""
    customer = served.customer("data")
    grant = PLANS["data"].credits_par_mois
    served.store.take_and_charge(
        Purchase(customer.account, 10_000, "FR/depense", grant, grant), served.context.now()
    ).result(10)
    return customer
