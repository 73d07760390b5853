"""The cost of a call, its headers, and its refusal at the limit (D1 to D6, D13)."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serve.client import PLANS, Customer, Server, run_server
from tests.serve.clock import Clock

SEARCH = "/api/v1/societes"
RECORD = "/api/v1/societes/FR/552100554"
ABSENT = "/api/v1/societes/FR/absente"


@pytest.fixture(scope="module")
def clock() -> Clock:
    """An hour and 29.5 s before midnight: X-Quota-Reset is then 3 630 s."""
    return Clock("2026-11-21T22:59:30.5")


@pytest.fixture(scope="module")
def fixed_clock_server(separate_data: Path, clock: Clock) -> Iterator[Server]:
    """A server with a fixed clock."""
    with run_server(separate_data, now=clock) as server:
        yield server


def spend_calls(server: Server, customer: Customer, calls: int) -> None:
    """Count `calls` calls of today for the customer."""
    limit = 10_000
    for future in [
        server.store.take(customer.account, limit, server.context.now()) for _ in range(calls)
    ]:
        future.result()


@pytest.mark.parametrize(
    ("method", "path", "status", "cost"),
    [
        ("GET", SEARCH, 200, 1),
        ("HEAD", SEARCH, 200, 1),
        ("GET", f"{SEARCH}?q=xyzzy", 200, 1),
        ("GET", RECORD, 200, 1),
        ("HEAD", RECORD, 200, 1),
        ("GET", ABSENT, 404, 1),
        ("HEAD", ABSENT, 404, 1),
        ("GET", "/api/v1/pays", 200, 0),
        ("GET", "/api/v1/secteurs", 200, 0),
        ("GET", "/api/v1/sous-secteurs?secteur=edition", 200, 0),
        ("GET", "/api/v1/compte", 200, 0),
        ("GET", "/healthz", 200, 0),
        ("GET", "/metrics", 200, 0),
        ("OPTIONS", SEARCH, 204, 0),
        ("GET", f"{SEARCH}?limit=0", 400, 0),
        ("GET", f"{SEARCH}?pays=XX", 400, 0),
        ("GET", f"{SEARCH}?inconnu=1", 400, 0),
        ("GET", f"{RECORD}?x=1", 400, 0),
        ("GET", f"{SEARCH}/XX/1", 400, 0),
        ("GET", f"{SEARCH}/FR/%00", 400, 0),
        ("POST", SEARCH, 405, 0),
        ("GET", "/api/v1/inconnue", 404, 0),
    ],
)
def test_a_call_costs_one_or_nothing_by_its_route_and_status(
    server: Server, method: str, path: str, status: int, cost: int
) -> None:
    """D1, D5: an invalid parameter costs nothing"""
    customer = server.customer("data")

    reply = server.ask(path, method, headers=customer.headers)

    assert reply.status == status
    assert server.calls_used(customer) == cost
    if cost:
        assert reply.headers["X-Quota-Used"] == "1"


@pytest.mark.parametrize("path", [SEARCH, RECORD])
def test_a_304_costs_nothing_and_has_the_counters(server: Server, path: str) -> None:
    """D13, D1, D3: only the first request, which got the tag, was counted"""
    customer = server.customer("free")
    tag = server.ask(path, headers=customer.headers).headers["ETag"]
    usage_before = server.usage(customer)

    replies = [
        server.ask(path, method, headers={**customer.headers, "If-None-Match": tags})
        for tags in (tag, f'W/{tag}, "x"', "*")
        for method in ("GET", "HEAD")
    ]

    assert {(reply.status, reply.body) for reply in replies} == {(304, b"")}
    assert {reply.headers["X-Quota-Used"] for reply in replies} == {"1"}
    assert server.usage(customer) == usage_before


def test_a_304_for_an_unpaid_company_is_free(server: Server) -> None:
    """D13: it has no body, so nothing is charged"""
    payer, second_customer = server.customer("free"), server.customer("free")
    tag = server.ask(RECORD, headers=payer.headers).headers["ETag"]

    reply = server.ask(RECORD, headers={**second_customer.headers, "If-None-Match": tag})

    assert (reply.status, reply.body) == (304, b"")
    assert (reply.headers["X-Credits-Debites"], reply.headers["X-Credits-Restants"]) == ("0", "250")
    assert server.calls_used(second_customer) == 0


def test_if_none_match_star_does_not_hide_a_404(server: Server) -> None:
    """E1, D1: a 404 counts as a call"""
    customer = server.customer("free")

    reply = server.ask(ABSENT, headers={**customer.headers, "If-None-Match": "*"})

    assert reply.status == 404
    assert server.calls_used(customer) == 1


@pytest.mark.parametrize("path", [SEARCH, RECORD, ABSENT])
def test_the_headers_have_the_counters_of_the_day_and_minute(
    fixed_clock_server: Server, path: str
) -> None:
    """D3: this request included; draft-ietf-httpapi-ratelimit-headers"""
    customer = fixed_clock_server.customer("free")
    fixed_clock_server.ask(path, headers=customer.headers)

    headers = fixed_clock_server.ask(path, headers=customer.headers).headers

    assert (headers["X-Quota-Limit"], headers["X-Quota-Used"]) == ("50", "2")
    assert headers["X-Quota-Reset"] == "3630"  # 3 629.5 s to midnight, rounded up
    assert headers["X-Plafond-Resultats"] == "5"
    policy = r'"jour";q=50;w=86400, "minute";q=1000000;w=60'
    assert headers["RateLimit-Policy"] == policy
    assert re.fullmatch(r'"jour";r=48;t=3630, "minute";r=\d+', headers["RateLimit"])


@pytest.mark.parametrize("path", [SEARCH, RECORD])
def test_a_visitor_gets_counters_of_zero_and_no_credits(
    fixed_clock_server: Server, path: str
) -> None:
    """A10, D14: his calls are limited by address (RateLimit), not by a plan"""
    headers = fixed_clock_server.ask(path).headers

    assert (headers["X-Quota-Limit"], headers["X-Quota-Used"]) == ("0", "0")
    assert headers["RateLimit-Policy"].startswith('"jour";q=1000000;w=86400, ')
    assert not [name for name in headers if name.startswith("X-Credits")]


@pytest.mark.parametrize("path", [SEARCH, RECORD, ABSENT])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_the_call_after_the_last_is_refused_and_not_counted(
    fixed_clock_server: Server, path: str, method: str
) -> None:
    """D4, D6, §7 rules 1 and 2: `free` has 50 calls a day, 49 of which are used"""
    customer = fixed_clock_server.customer("free")
    spend_calls(fixed_clock_server, customer, 49)

    last_granted = fixed_clock_server.ask(path, method, headers=customer.headers)
    refused = fixed_clock_server.ask(path, method, headers=customer.headers)

    assert last_granted.status in (200, 404)
    assert (last_granted.headers["X-Quota-Used"], refused.status) == ("50", 429)
    assert (refused.headers["X-Quota-Limit"], refused.headers["X-Quota-Used"]) == ("50", "50")
    assert (refused.headers["Retry-After"], refused.headers["X-Quota-Reset"]) == ("3630", "3630")
    assert refused.headers["RateLimit"].startswith('"jour";r=0;t=3630')
    assert refused.headers["Cache-Control"] == "no-store"
    assert fixed_clock_server.calls_used(customer) == 50
    if method == "GET":
        assert refused.code == "quota_api"
        assert refused.json["quota"] == {
            "type": "appels_jour", "limite": 50, "utilise": 50, "restant": 0,
            "reinitialisation": "2026-11-22T00:00:00Z",
        }  # fmt: skip
        assert "Données, 1000 appels par jour" in refused.json["erreur"]["message"]


def test_a_304_and_a_400_come_before_the_limit_of_the_day(fixed_clock_server: Server) -> None:
    """D5: the call for the tag and 49 others are the 50 calls of `free`"""
    customer = fixed_clock_server.customer("free")
    tag = fixed_clock_server.ask(SEARCH, headers=customer.headers).headers["ETag"]
    spend_calls(fixed_clock_server, customer, 49)

    assert (
        fixed_clock_server.ask(SEARCH, headers={**customer.headers, "If-None-Match": tag}).status
        == 304
    )
    assert fixed_clock_server.ask(f"{SEARCH}?limit=x", headers=customer.headers).status == 400
    assert fixed_clock_server.ask(SEARCH, headers=customer.headers).status == 429
    assert fixed_clock_server.ask("/api/v1/compte", headers=customer.headers).status == 200
    assert fixed_clock_server.ask("/api/v1/pays", headers=customer.headers).status == 200


def test_a_refused_record_is_not_charged(fixed_clock_server: Server) -> None:
    """D5: the limit of the day comes before the charge"""
    customer = fixed_clock_server.customer("free")
    spend_calls(fixed_clock_server, customer, 50)

    assert fixed_clock_server.ask(RECORD, headers=customer.headers).code == "quota_api"

    assert fixed_clock_server.usage(customer).credits.left == 250


@pytest.mark.parametrize(
    ("plan", "api_tool", "remedy"),
    [
        (
            "free",
            None,
            "Données, 1000 appels par jour (/tarifs) ; avec une clé, l'outil API est nécessaire (250 €",
        ),
        ("data", None, "Finance d'entreprise, 5000 appels par jour (/tarifs)"),
        ("marches", None, "Intégrale, 10000"),
        ("integral", None, "la plus haute"),
        ("corporate", False, "votre offre Finance d'entreprise permet 5000"),
    ],
)
def test_the_refusal_at_the_limit_of_a_day_names_the_remedy(
    fixed_clock_server: Server, plan: str, api_tool: bool | None, remedy: str
) -> None:
    """§4.6, C1, A7: without the API tool a paid plan has the calls of `free`"""
    customer = fixed_clock_server.customer(plan, api_tool=api_tool)
    effective = "free" if api_tool is False else plan
    spend_calls(fixed_clock_server, customer, PLANS[effective].appels_api_par_jour)

    message = fixed_clock_server.ask(SEARCH, headers=customer.headers).json["erreur"]["message"]

    assert remedy in message
    assert "2026-11-22T00:00:00Z" in message


def test_a_new_day_begins_at_midnight_utc(fixed_clock_server: Server, clock: Clock) -> None:
    """D3, §8.2 rule 4"""
    customer = fixed_clock_server.customer("free")
    clock.set("2026-11-21T23:59:59.9")
    spend_calls(fixed_clock_server, customer, 50)
    refused = fixed_clock_server.ask(SEARCH, headers=customer.headers)

    clock.set("2026-11-22T00:00:00")
    served_after_midnight = fixed_clock_server.ask(SEARCH, headers=customer.headers)

    clock.set("2026-11-21T22:59:30.5")
    assert (refused.status, refused.headers["Retry-After"]) == (429, "1")
    assert (served_after_midnight.status, served_after_midnight.headers["X-Quota-Used"]) == (
        200,
        "1",
    )
    assert served_after_midnight.headers["X-Quota-Reset"] == "86400"
