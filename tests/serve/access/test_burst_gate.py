"""Burst limits: the callers that share a limit, and the response to a refused one (D7, A1, D5)."""

from collections.abc import Iterator, Mapping
from ipaddress import ip_network
from pathlib import Path

import pytest

from serve.config import BurstLimits
from serve.request.client_address import bucket, caller
from tests.quota.filling import create_key
from tests.serve.client import PLANS, Customer, Reply, Served, serving
from tests.serve.clock import Clock

SEARCH = "/api/v1/societes"
BAD_KEY = {"Authorization": "Bearer soc_live_x"}
LIMITS = BurstLimits(
    visiteur=3, free=4, data=5, carte=6, corporate=8, marches=10, integral=12, listes=15,
    visiteur_jour=8,
)  # fmt: skip


@pytest.fixture(scope="module")
def clock() -> Clock:
    return Clock("2026-11-21T12:00:00")


@pytest.fixture(scope="module")
def narrow(data_of_its_own: Path, clock: Clock) -> Iterator[Served]:
    """A server with narrow limits, whose proxy on this host is trusted."""
    trusted = [ip_network("127.0.0.0/8"), ip_network("10.0.0.0/8")]
    with serving(data_of_its_own, debit=LIMITS, now=clock, trusted=trusted) as server:
        yield server


def of(address: str, headers: Mapping[str, str] | None = None) -> dict[str, str]:
    """The headers of a caller behind the proxy."""
    return {"X-Forwarded-For": address, **(headers or {})}


def until_refused(served: Served, path: str, headers: Mapping[str, str]) -> tuple[int, Reply]:
    """How many calls passed, and the refusal of the next."""
    for passed in range(100):
        reply = served.ask(path, headers=headers)
        if reply.status == 429:
            return passed, reply
    raise AssertionError("never refused")


@pytest.mark.parametrize("slug", ["free", "data", "carte", "corporate", "marches", "integral"])
def test_each_plan_has_its_calls_a_minute(narrow: Served, slug: str) -> None:
    """D7"""
    customer = narrow.customer(slug)
    limit = getattr(LIMITS, slug)

    passed, refusal = until_refused(narrow, SEARCH, customer.headers)

    assert passed == limit
    assert refusal.code == "trop_de_requetes"
    again = int(refusal.headers["Retry-After"])
    assert 1 <= again <= 60 // limit + 1
    assert refusal.headers["RateLimit-Policy"] == f'"minute";q={limit};w=60'
    assert refusal.headers["RateLimit"] == f'"minute";r=0;t={again}'
    assert refusal.headers["X-Quota-Used"] == str(passed)
    assert refusal.headers["X-Quota-Limit"] == str(narrow.usage(customer).calls.limit)
    quota = refusal.json["quota"]
    assert quota.pop("reinitialisation").startswith("2026-11-21T12:00:")
    assert quota == {"type": "debit", "limite": limit, "utilise": limit, "restant": 0}
    # Refused, it cost no call of the day (D1).
    assert narrow.used(customer) == passed


def test_an_organisation_shares_its_limit_over_keys_and_routes(narrow: Served) -> None:
    """D7, A8"""
    customer = narrow.customer("data")
    _, key = create_key(narrow.store, customer.account, PLANS, narrow.context.now()).result(10)
    other = Customer(customer.account, key)
    for path in (SEARCH, f"{SEARCH}/FR/552100554", "/api/v1/compte"):
        assert narrow.ask(path, headers=customer.headers).status == 200

    assert until_refused(narrow, SEARCH, other.headers)[0] == LIMITS.data - 3
    assert narrow.ask("/api/v1/compte", headers=customer.headers).status == 429


def test_a_key_without_the_tool_has_the_limit_of_free(narrow: Served) -> None:
    """A7: every free limit, and the message names the missing tool"""
    customer = narrow.customer("corporate", api_tool=False)

    passed, refusal = until_refused(narrow, SEARCH, customer.headers)

    assert passed == LIMITS.free
    assert "Avec l'outil API (250 € HT par an)" in refusal.json["erreur"]["message"]
    assert f"permet {LIMITS.corporate} appels par minute" in refusal.json["erreur"]["message"]


def test_a_visitor_is_limited_by_address(narrow: Served) -> None:
    """D7, A10, §7 rule 1"""
    passed, refusal = until_refused(narrow, SEARCH, of("192.0.2.1"))

    assert (passed, refusal.code) == (LIMITS.visiteur, "trop_de_requetes")
    assert (refusal.headers["X-Quota-Limit"], refusal.headers["X-Quota-Used"]) == ("0", "0")
    assert refusal.headers["Retry-After"] == "20"
    assert narrow.ask(SEARCH, headers=of("192.0.2.2")).status == 200


def test_an_ipv6_household_is_one_visitor(narrow: Served) -> None:
    """D7: /64"""
    addresses = ["2001:db8::1", "2001:db8::2", "2001:db8:0:0:ffff::3"]
    for address in addresses:
        assert narrow.ask(SEARCH, headers=of(address)).status == 200

    assert narrow.ask(SEARCH, headers=of("2001:db8::4")).status == 429
    assert narrow.ask(SEARCH, headers=of("2001:db8:0:1::4")).status == 200


def test_bad_keys_cannot_be_tried_at_will(narrow: Served) -> None:
    """A1: the visitor rate limit applies; D5: before anything else is looked at"""
    for path in (SEARCH, "/api/v1/compte", f"{SEARCH}?limit=0"):
        assert narrow.ask(path, headers=of("192.0.2.9", BAD_KEY)).status == 401

    refused = [
        narrow.ask(path, headers=of("192.0.2.9", headers))
        for path in (SEARCH, f"{SEARCH}?limit=0", "/api/v1/compte")
        for headers in (BAD_KEY, {})
    ]

    assert {(reply.status, reply.code) for reply in refused} == {(429, "trop_de_requetes")}


def test_lists_have_a_limit_of_their_own(narrow: Served) -> None:
    """D7, A2"""
    customer = narrow.customer("integral")
    headers = of("192.0.2.20", customer.headers)

    passed, refusal = until_refused(narrow, "/api/v1/pays", headers)

    assert (passed, refusal.code) == (LIMITS.listes, "trop_de_requetes")
    assert refusal.json["quota"]["limite"] == LIMITS.listes
    assert refusal.headers["Cache-Control"] == "no-store"
    assert (refusal.headers["X-Quota-Limit"], refusal.headers["X-Quota-Used"]) == ("0", "0")
    assert narrow.ask("/api/v1/secteurs", headers=of("192.0.2.20")).status == 429
    assert narrow.ask(SEARCH, headers=of("192.0.2.20")).status == 200
    assert narrow.ask("/api/v1/pays", headers=of("192.0.2.21")).status == 200


def test_a_bucket_fills_again_and_the_day_of_a_visitor_does_not(
    narrow: Served, clock: Clock
) -> None:
    """D7: 1 000 a day, here 8"""
    headers = of("192.0.2.30")
    seen = []
    for _ in range(3):
        seen.append(until_refused(narrow, SEARCH, headers))
        clock.pass_by(60)
    day = seen[2][1]
    clock.set("2026-11-22T00:00:00")
    tomorrow = narrow.ask(SEARCH, headers=headers)
    clock.set("2026-11-21T12:00:00")

    assert [passed for passed, _ in seen] == [3, 3, 2]
    assert day.json["quota"] == {
        "type": "debit", "limite": 8, "utilise": 8, "restant": 0,
        "reinitialisation": "2026-11-22T00:00:00Z",
    }  # fmt: skip
    assert day.headers["Retry-After"] == str(12 * 3600 - 120)
    assert day.headers["RateLimit-Policy"] == '"jour";q=8;w=86400'
    assert day.json["erreur"]["message"].endswith("par jour ; réessayez à minuit UTC")
    assert tomorrow.status == 200
    assert tomorrow.headers["RateLimit"] == '"jour";r=7;t=86400, "minute";r=2'


def test_what_is_not_the_api_is_not_limited(narrow: Served) -> None:
    for path in ("/healthz", "/readyz", "/metrics"):
        assert {narrow.ask(path, headers=of("192.0.2.40")).status for _ in range(30)} == {200}


def test_a_preflight_and_a_wrong_method_are_not_limited(narrow: Served) -> None:
    """D5"""
    headers = of("192.0.2.41")
    assert {narrow.ask(SEARCH, "OPTIONS", headers).status for _ in range(20)} == {204}
    assert {narrow.ask(SEARCH, "PUT", headers).status for _ in range(20)} == {405}
    assert narrow.ask(SEARCH, headers=headers).status == 200


# -- whose address ------------------------------------------------------------------------

TRUSTED = [ip_network("10.0.0.0/8"), ip_network("fd00::/8")]


@pytest.mark.parametrize(
    ("peer", "forwarded", "found"),
    [
        ("192.0.2.1", ["198.51.100.7"], "192.0.2.1"),
        ("10.0.0.1", ["198.51.100.7"], "198.51.100.7"),
        ("10.0.0.1", ["203.0.113.5, 198.51.100.7"], "198.51.100.7"),
        ("10.0.0.1", ["203.0.113.5, 198.51.100.7, 10.0.0.2"], "198.51.100.7"),
        ("10.0.0.1", ["203.0.113.5", "198.51.100.7"], "198.51.100.7"),
        ("10.0.0.1", ["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
        ("10.0.0.1", ["198.51.100.7:4711"], "198.51.100.7"),
        ("10.0.0.1", ["[2001:db8::7]:4711"], "2001:db8::7"),
        ("10.0.0.1", ["2001:db8::7"], "2001:db8::7"),
        ("::ffff:10.0.0.1", ["198.51.100.7"], "198.51.100.7"),
        ("fd00::1", ["198.51.100.7"], "198.51.100.7"),
        ("10.0.0.1", ["198.51.100.7, unknown"], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.7, "], "10.0.0.1"),
        ("10.0.0.1", [""], "10.0.0.1"),
        ("10.0.0.1", [], "10.0.0.1"),
        (None, ["198.51.100.7"], None),
    ],
)
def test_only_a_trusted_proxy_names_the_caller(
    peer: str | None, forwarded: list[str], found: str | None
) -> None:
    """D7"""
    assert caller(peer, forwarded, TRUSTED) == found


def test_without_trusted_proxies_the_connection_is_the_caller() -> None:
    assert caller("10.0.0.1", ["198.51.100.7"], []) == "10.0.0.1"


@pytest.mark.parametrize(
    ("address", "shared"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
    ],
)
def test_addresses_that_share_a_limit(address: str, shared: str) -> None:
    """D7"""
    assert bucket(address) == shared
