"""The cost of a call, its headers, and its refusal at the limit (D1 to D6, D13)."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serve.client import PLANS, Customer, Served, serving
from tests.serve.clock import Clock

SEARCH = "/api/v1/societes"
RECORD = "/api/v1/societes/FR/552100554"
ABSENT = "/api/v1/societes/FR/absente"


@pytest.fixture(scope="module")
def clock() -> Clock:
    return Clock("2026-11-21T22:59:30.5")


@pytest.fixture(scope="module")
def still(data_of_its_own: Path, clock: Clock) -> Iterator[Served]:
    """A server whose clock stands still."""
    with serving(data_of_its_own, now=clock) as server:
        yield server


def spent(served: Served, customer: Customer, calls: int) -> None:
    """Use up calls of today."""
    limit = 10_000
    for taken in [
        served.store.take(customer.account, limit, served.context.now()) for _ in range(calls)
    ]:
        taken.result(10)


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
def test_what_a_call_costs(served: Served, method: str, path: str, status: int, cost: int) -> None:
    """D1, D5: a bad parameter never costs"""
    customer = served.customer("data")

    reply = served.ask(path, method, headers=customer.headers)

    assert reply.status == status
    assert served.used(customer) == cost
    if cost:
        assert reply.headers["X-Quota-Used"] == "1"


@pytest.mark.parametrize("path", [SEARCH, RECORD])
def test_a_304_costs_nothing_and_says_where_one_stands(served: Served, path: str) -> None:
    """D13, D1, D3"""
    customer = served.customer("free")
    tag = served.ask(path, headers=customer.headers).headers["ETag"]
    before = served.usage(customer)

    replies = [
        served.ask(path, method, headers={**customer.headers, "If-None-Match": known})
        for known in (tag, f'W/{tag}, "x"', "*")
        for method in ("GET", "HEAD")
    ]

    assert {(reply.status, reply.body) for reply in replies} == {(304, b"")}
    assert {reply.headers["X-Quota-Used"] for reply in replies} == {"1"}
    assert served.usage(customer) == before


def test_a_304_for_a_company_that_was_not_paid_for_is_free(served: Served) -> None:
    """D13: it brings nothing, so nothing is owed"""
    payer, other = served.customer("free"), served.customer("free")
    tag = served.ask(RECORD, headers=payer.headers).headers["ETag"]

    reply = served.ask(RECORD, headers={**other.headers, "If-None-Match": tag})

    assert (reply.status, reply.body) == (304, b"")
    assert (reply.headers["X-Credits-Debites"], reply.headers["X-Credits-Restants"]) == ("0", "250")
    assert served.used(other) == 0


def test_any_tag_does_not_hide_that_a_company_is_absent(served: Served) -> None:
    """E1, D1"""
    customer = served.customer("free")

    reply = served.ask(ABSENT, headers={**customer.headers, "If-None-Match": "*"})

    assert reply.status == 404
    assert served.used(customer) == 1


@pytest.mark.parametrize("path", [SEARCH, RECORD, ABSENT])
def test_the_headers_of_the_meters(still: Served, path: str) -> None:
    """D3: this request included; draft-ietf-httpapi-ratelimit-headers"""
    customer = still.customer("free")
    still.ask(path, headers=customer.headers)

    headers = still.ask(path, headers=customer.headers).headers

    assert (headers["X-Quota-Limit"], headers["X-Quota-Used"]) == ("50", "2")
    assert headers["X-Quota-Reset"] == "3630"  # 3 629.5 s to midnight, rounded up
    assert headers["X-Plafond-Resultats"] == "5"
    policy = r'"jour";q=50;w=86400, "minute";q=1000000;w=60'
    assert headers["RateLimit-Policy"] == policy
    assert re.fullmatch(r'"jour";r=48;t=3630, "minute";r=\d+', headers["RateLimit"])


@pytest.mark.parametrize("path", [SEARCH, RECORD])
def test_the_headers_of_a_visitor(still: Served, path: str) -> None:
    """A10, D14"""
    headers = still.ask(path).headers

    assert (headers["X-Quota-Limit"], headers["X-Quota-Used"]) == ("0", "0")
    assert headers["RateLimit-Policy"].startswith('"jour";q=1000000;w=86400, ')
    assert not [name for name in headers if name.startswith("X-Credits")]


@pytest.mark.parametrize("path", [SEARCH, RECORD, ABSENT])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_the_call_after_the_last_is_refused_and_not_counted(
    still: Served, path: str, method: str
) -> None:
    """D4, D6, §7 rules 1 and 2"""
    customer = still.customer("free")
    spent(still, customer, 49)

    last = still.ask(path, method, headers=customer.headers)
    refused = still.ask(path, method, headers=customer.headers)

    assert last.status in (200, 404)
    assert (last.headers["X-Quota-Used"], refused.status) == ("50", 429)
    assert (refused.headers["X-Quota-Limit"], refused.headers["X-Quota-Used"]) == ("50", "50")
    assert (refused.headers["Retry-After"], refused.headers["X-Quota-Reset"]) == ("3630", "3630")
    assert refused.headers["RateLimit"].startswith('"jour";r=0;t=3630')
    assert refused.headers["Cache-Control"] == "no-store"
    assert still.used(customer) == 50
    if method == "GET":
        assert refused.code == "quota_api"
        assert refused.json["quota"] == {
            "type": "appels_jour", "limite": 50, "utilise": 50, "restant": 0,
            "reinitialisation": "2026-11-22T00:00:00Z",
        }  # fmt: skip
        assert "Données, 1000 appels par jour" in refused.json["erreur"]["message"]


def test_a_304_and_a_400_come_before_the_limit_of_the_day(still: Served) -> None:
    """D5"""
    customer = still.customer("free")
    tag = still.ask(SEARCH, headers=customer.headers).headers["ETag"]
    spent(still, customer, 49)

    assert still.ask(SEARCH, headers={**customer.headers, "If-None-Match": tag}).status == 304
    assert still.ask(f"{SEARCH}?limit=x", headers=customer.headers).status == 400
    assert still.ask(SEARCH, headers=customer.headers).status == 429
    assert still.ask("/api/v1/compte", headers=customer.headers).status == 200
    assert still.ask("/api/v1/pays", headers=customer.headers).status == 200


def test_a_refused_record_is_not_charged(still: Served) -> None:
    """D5: charge comes after the limit of the day"""
    customer = still.customer("free")
    spent(still, customer, 50)

    assert still.ask(RECORD, headers=customer.headers).code == "quota_api"

    assert still.usage(customer).credits.left == 250


@pytest.mark.parametrize(
    ("plan", "api_tool", "named"),
    [
        (
            "free",
            None,
            "Données, 1000 appels par jour (/tarifs) ; par clé, avec l'outil API, 250 €",
        ),
        ("data", None, "Finance d'entreprise, 5000 appels par jour (/tarifs)"),
        ("marches", None, "Intégrale, 10000"),
        ("integral", None, "la plus haute"),
        ("corporate", False, "votre offre Finance d'entreprise permet 5000"),
    ],
)
def test_the_message_names_what_would_help(
    still: Served, plan: str, api_tool: bool | None, named: str
) -> None:
    """§4.6's manner, C1, A7"""
    customer = still.customer(plan, api_tool=api_tool)
    effective = "free" if api_tool is False else plan
    spent(still, customer, PLANS[effective].appels_api_par_jour)

    message = still.ask(SEARCH, headers=customer.headers).json["erreur"]["message"]

    assert named in message
    assert "2026-11-22T00:00:00Z" in message


def test_a_new_day_begins_at_midnight_utc(still: Served, clock: Clock) -> None:
    """D3, §8.2 rule 4"""
    customer = still.customer("free")
    clock.set("2026-11-21T23:59:59.9")
    spent(still, customer, 50)
    refused = still.ask(SEARCH, headers=customer.headers)

    clock.set("2026-11-22T00:00:00")
    served = still.ask(SEARCH, headers=customer.headers)

    clock.set("2026-11-21T22:59:30.5")
    assert (refused.status, refused.headers["Retry-After"]) == (429, "1")
    assert (served.status, served.headers["X-Quota-Used"]) == (200, "1")
    assert served.headers["X-Quota-Reset"] == "86400"
