"""Costs of tools: a call has the rights and the price of its route (D1)."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from quota.errors import StoreUnavailable
from quota.store.lmdb_store import LmdbStore
from serve.config import BurstLimits
from tests.serve import world
from tests.serve.access.test_credits import make_customer
from tests.serve.client import (
    PLANS,
    UNREACHABLE_LIMITS,
    Server,
    run_server,
    wait_for_log_lines,
)
from tests.serve.surfaces.mcp.client import (
    call_tool,
    post_message,
    send_legacy,
    send_modern,
    tool_content,
    tool_refusal,
)

COMPANY = {"iso2": "FR", "id": "552100554"}
WITH_STATEMENTS = {**COMPANY, "etats_financiers": True}
INVALID_KEYS = [{"Authorization": "Bearer soc_live_x"}, {"Authorization": "Basic dTpw"}]


@pytest.fixture(scope="module")
def limited_server(separate_data: Path) -> Iterator[Server]:
    """A server with two calls a minute for a visitor, three for public lists, and two for a free plan."""
    debit: BurstLimits = replace(UNREACHABLE_LIMITS, visiteur=2, listes=3, free=2)
    with run_server(separate_data, debit=debit) as server:
        yield server


@pytest.mark.parametrize(
    ("tool", "arguments", "calls", "credits"),
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
        ("comparable_companies", COMPANY, 1, 0),
        ("comparable_companies", {**COMPANY, "n": 0}, 0, 0),
        ("analyse_company", COMPANY, 1, 0),
        ("analyse_company", {**COMPANY, "id": "absente"}, 1, 0),
        ("analyse_market", {"pays": ["FR", "UK"]}, 1, 0),
        ("analyse_market", {"q": "zzzz"}, 1, 0),
        ("look_up", {"valeur": "fr 552100554"}, 1, 0),
        ("look_up", {"valeur": "0000"}, 1, 0),
        ("read_company", COMPANY, 1, 0),
        ("read_company", WITH_STATEMENTS, 1, 5),
        ("read_company", {**COMPANY, "exercice": 2024}, 1, 5),
        ("read_company", {**COMPANY, "exercice": 2019}, 0, 0),
        ("read_company", {**COMPANY, "exercice": 0}, 0, 0),
        ("read_company", {**COMPANY, "etats_financiers": "false"}, 1, 0),
        ("read_company", {**COMPANY, "etats_financiers": "non"}, 0, 0),
        ("read_company", {**WITH_STATEMENTS, "id": "552059024"}, 1, 0),
        ("read_company", {**COMPANY, "id": "552059024", "exercice": 2024}, 1, 0),
        ("read_company", {**COMPANY, "id": "absente", "exercice": 2024}, 1, 0),
        ("read_company", {**COMPANY, "id": "absente"}, 1, 0),
        ("read_company", {**WITH_STATEMENTS, "id": "absente"}, 1, 0),
        ("read_companies", {"ids": ["FR:552 100 554", "UK:08209948"]}, 2, 0),
        ("read_companies", {"ids": ["FR:absente", "UK:08209948"]}, 2, 0),
        ("read_companies", {"ids": ["UK:08209948", "XX:1"]}, 0, 0),
        ("read_companies", {"ids": [" "]}, 0, 0),
        ("read_companies", {"ids": [f"FR:{number}" for number in range(21)]}, 0, 0),
        ("search_companies", {"pays": ["XX"]}, 0, 0),
        ("search_companies", {"x": 1}, 0, 0),
        ("read_company", {**COMPANY, "id": " "}, 0, 0),
    ],
)
def test_a_tool_costs_as_much_as_its_route(
    server: Server, tool: str, arguments: dict[str, Any], calls: int, credits: int
) -> None:
    """D1, D5; preamble d: data that were not delivered are not charged. A call is 10 lines of a list"""
    customer = server.customer("data")

    call_tool(server, tool, customer.headers, **arguments)

    usage = server.usage(customer)
    assert (usage.calls.used, usage.credits.used) == (calls, credits)


@pytest.mark.parametrize("method", ["server/discover", "tools/list", "ping", "tools/unknown"])
def test_the_protocol_itself_costs_nothing(server: Server, method: str) -> None:
    customer = server.customer("free")

    send_modern(server, method, headers=customer.headers)
    send_legacy(server, method, headers=customer.headers)

    assert server.calls_used(customer) == 0


def test_a_company_is_charged_once_a_month_by_the_route_and_the_tool(server: Server) -> None:
    """D9: three calls, of which only the first spends 5 credits"""
    customer = server.customer("data")

    by_tool = tool_content(server, "read_company", customer.headers, **WITH_STATEMENTS)
    reply = server.ask("/api/v1/societes/FR/552100554", headers=customer.headers)
    by_tool_again = tool_content(server, "read_company", customer.headers, **WITH_STATEMENTS)

    assert (by_tool["credits_debites"], by_tool_again["credits_debites"]) == (5, 0)
    assert (by_tool["credits_restants"], by_tool_again["credits_restants"]) == (4_995, 4_995)
    assert reply.headers["X-Credits-Debites"] == "0"
    assert (server.calls_used(customer), server.usage(customer).credits.used) == (3, 5)


def test_the_headers_have_the_calls_and_the_credits(server: Server) -> None:
    """D3, D11: of 1 000 calls a day and 5 000 credits a month of `data`"""
    customer = server.customer("data")
    params = {"name": "read_company", "arguments": WITH_STATEMENTS}

    headers = send_modern(server, "tools/call", params, customer.headers).headers

    assert (headers["X-Quota-Used"], headers["X-Quota-Limit"]) == ("1", "1000")
    assert (headers["X-Credits-Debites"], headers["X-Credits-Restants"]) == ("5", "4995")
    assert "ETag" not in headers and "Content-Location" not in headers


def test_the_daily_limit_counts_calls_of_routes_and_of_tools(server: Server) -> None:
    """D6: both together can be exactly the limit"""
    customer = server.customer("free")
    limit = PLANS["free"].appels_api_par_jour
    for _ in range(limit - 1):
        server.ask("/api/v1/societes", headers=customer.headers)

    tool_content(server, "count_companies", customer.headers)
    text = tool_refusal(server, "count_companies", customer.headers)

    assert "quota_api" in text and "explain_plan" in text
    assert server.ask("/api/v1/societes", headers=customer.headers).status == 429
    assert server.calls_used(customer) == limit
    assert tool_content(server, "explain_plan", customer.headers)["appels_jour"]["restant"] == 0
    assert tool_content(server, "list_countries", customer.headers)["total"] == 25


def test_companies_that_a_limit_leaves_unread_are_listed(server: Server) -> None:
    """D6: the companies that were read are shown, the unread ones are listed by their ids"""
    customer = server.customer("free")
    for _ in range(PLANS["free"].appels_api_par_jour - 1):
        server.ask("/api/v1/societes", headers=customer.headers)

    result = call_tool(
        server, "read_companies", customer.headers, ids=["FR:552100554", "UK:08209948"]
    )

    assert result["isError"]
    text, document, _ = (part["text"] for part in result["content"])
    answer = orjson.loads(document)
    assert "quota_api" in text
    assert [company["id"] for company in answer["societes"]] == ["552100554"]
    assert answer["ids_restants"] == ["UK:08209948"]


def test_without_credits_the_public_identity_is_shown(server: Server) -> None:
    """D10"""
    customer = make_customer(server, "data")

    result = call_tool(server, "read_company", customer.headers, **WITH_STATEMENTS)

    assert result["isError"]
    text, document, _ = (part["text"] for part in result["content"])
    assert "credits_epuises" in text and "Without etats_financiers" in text
    assert orjson.loads(document)["societe"]["id"] == COMPANY["id"]
    assert "none are left" in orjson.loads(document)["note"]
    assert world.CONTACT not in document
    assert (
        tool_content(server, "read_company", customer.headers, **COMPANY)["societe"]["id"]
        == COMPANY["id"]
    )


@pytest.mark.parametrize("headers", INVALID_KEYS)
def test_an_invalid_key_is_reported_and_served_as_a_visitor(
    server: Server, headers: dict[str, str]
) -> None:
    """A1, A2: each result has the error, then the answer to a visitor; lists need no key"""
    search = call_tool(server, "search_companies", headers)
    record = call_tool(server, "read_company", headers, **WITH_STATEMENTS)
    plan = call_tool(server, "explain_plan", headers)
    error_text = tool_refusal(server, "search_companies", headers, pays=["XX"])

    records = call_tool(server, "read_companies", headers, ids=["FR:552100554"])
    for result in (search, record, plan, records):
        assert result["isError"]
        assert "cle_invalide" in result["content"][0]["text"]
    as_visitor = tool_content(server, "search_companies")
    assert orjson.loads(search["content"][1]["text"]) == as_visitor
    assert "comptes" not in orjson.loads(record["content"][1]["text"])
    assert orjson.loads(plan["content"][1]["text"])["plan"] == "visiteur"
    assert "cle_invalide" in error_text and "XX" in error_text
    assert tool_content(server, "list_countries", headers)["total"] == 25
    assert send_modern(server, "tools/list", headers=headers).status == 200


def test_a_key_without_the_tool_is_served_as_free(server: Server) -> None:
    """A7"""
    customer = server.customer("corporate", api_tool=False)

    assert tool_content(server, "search_companies", customer.headers)["plan"] == "free"


def test_routes_and_tools_share_the_burst_limits(limited_server: Server) -> None:
    """D7: calls of routes and of tools count against one limit"""
    limited_server.ask("/api/v1/societes")
    limited_server.ask("/api/v1/societes")
    for _ in range(3):
        tool_content(limited_server, "list_countries")

    search = send_modern(limited_server, "tools/call", {"name": "search_companies"})
    plan_refusal = tool_refusal(limited_server, "explain_plan")
    list_refusal = tool_refusal(limited_server, "list_countries")

    assert search.json["result"]["isError"]
    assert int(search.headers["Retry-After"]) > 0
    assert "trop_de_requetes" in plan_refusal and "trop_de_requetes" in list_refusal
    assert limited_server.ask("/api/v1/societes").status == 429
    assert (
        b'societes_refusals_total{code="trop_de_requetes"}' in limited_server.ask("/metrics").body
    )


def test_the_error_of_a_visitor_over_the_daily_limit_says_when_the_limit_resets(
    tmp_path: Path,
) -> None:
    """D7: it does not tell the model to wait, as it does after the limit of a minute, but names the free plan"""
    (tmp_path / "data").mkdir()
    world.publish(tmp_path / "data")
    with run_server(
        tmp_path / "data", debit=replace(UNREACHABLE_LIMITS, visiteur_jour=1)
    ) as server:
        tool_content(server, "count_companies")
        text = tool_refusal(server, "count_companies")

    calls = PLANS["free"].appels_api_par_jour
    assert "trop_de_requetes" in text and "midnight UTC" in text
    assert f"{calls} a day on the free plan" in text
    assert "then call again" not in text


def test_the_burst_limit_is_checked_before_the_arguments(limited_server: Server) -> None:
    """D5: key → burst → parameters"""
    customer = limited_server.customer("free")
    for _ in range(2):
        tool_content(limited_server, "count_companies", customer.headers)

    assert "trop_de_requetes" in tool_refusal(
        limited_server, "count_companies", customer.headers, x=1
    )
    assert limited_server.calls_used(customer) == 2


# -- failures ----------------------------------------------------------------------------


class BrokenStore(LmdbStore):
    """A store that cannot count calls."""

    def take(self, *_: Any, **__: Any) -> Any:
        raise StoreUnavailable("the disk has gone")


def test_without_data_a_call_is_a_protocol_error(tmp_path: Path) -> None:
    """G9: 503; the list of tools needs no data"""
    (tmp_path / "data").mkdir()
    with run_server(tmp_path / "data") as server:
        reply = send_modern(server, "tools/call", {"name": "list_countries"})
        tool_list = send_modern(server, "tools/list")

    assert (reply.status, reply.json["error"]["code"], reply.json["id"]) == (503, -32603, 7)
    assert "nothing was done, try again in 5 s" in reply.json["error"]["message"]
    assert reply.headers["Retry-After"] == "5"
    assert tool_list.status == 200


def test_a_failing_store_is_a_protocol_error(tmp_path: Path) -> None:
    """For a customer, whose call cannot be counted; a visitor has no counter"""
    (tmp_path / "data").mkdir()
    world.publish(tmp_path / "data")
    with run_server(tmp_path / "data", opener=BrokenStore) as server:
        customer = server.customer("data")
        reply = send_modern(server, "tools/call", {"name": "count_companies"}, customer.headers)
        visitor = send_modern(server, "tools/call", {"name": "count_companies"})

    assert (reply.status, reply.json["error"]["code"]) == (503, -32603)
    assert visitor.status == 200


# -- log and metrics ----------------------------------------------------------------------


def test_the_log_has_the_tool_and_never_its_arguments(server: Server) -> None:
    """G11"""
    customer = server.customer("data")

    tool_content(server, "search_companies", customer.headers, q="Orléans secret")
    post_message(server, b"{")

    (line,) = wait_for_log_lines(server, lambda line: line["account"] == customer.account, 1)
    assert (line["route"], line["tool"], line["quota"]) == ("mcp", "search_companies", "taken")
    assert (line["plan"], line["query"]) == ("data", {})
    assert "secret" not in str(line) and customer.key not in str(line)
    malformed = wait_for_log_lines(
        server, lambda line: (line["route"], line["status"]) == ("mcp", 400), 1
    )
    assert "tool" not in malformed[0]


def test_the_metrics_have_the_route(server: Server) -> None:
    """G10"""
    tool_content(server, "list_countries")

    assert b'route="mcp"' in server.ask("/metrics").body
