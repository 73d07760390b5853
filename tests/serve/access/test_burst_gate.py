"""Burst limits: the callers that share a limit, and the response to a refused call (D7, A1, D5)."""

from collections.abc import Iterator, Mapping
from ipaddress import ip_network
from pathlib import Path

import pytest

from serve.config import BurstLimits
from serve.request.client_address import bucket_key, caller
from tests.quota.filling import create_key
from tests.serve.client import PLANS, Customer, Reply, Server, run_server
from tests.serve.clock import Clock

SEARCH = "/api/v1/societes"
BAD_KEY = {"Authorization": "Bearer soc_live_x"}
# Requests a minute by plan, of the public lists (`listes`), and of a visitor a day.
LIMITS = BurstLimits(
    visiteur=3, free=4, data=5, carte=6, corporate=8, marches=10, integral=12, listes=15,
    visiteur_jour=8,
)  # fmt: skip


@pytest.fixture(scope="module")
def clock() -> Clock:
    """Noon; the tests of this module share the clock, and set it back."""
    return Clock("2026-11-21T12:00:00")


@pytest.fixture(scope="module")
def low_limits_server(separate_data: Path, clock: Clock) -> Iterator[Server]:
    """A server with low limits, which trusts a proxy on this host."""
    trusted = [ip_network("127.0.0.0/8"), ip_network("10.0.0.0/8")]
    with run_server(separate_data, debit=LIMITS, now=clock, trusted=trusted) as server:
        yield server


def proxy_headers(address: str, headers: Mapping[str, str] | None = None) -> dict[str, str]:
    """The headers of a caller behind the proxy."""
    return {"X-Forwarded-For": address, **(headers or {})}


def call_until_refused(server: Server, path: str, headers: Mapping[str, str]) -> tuple[int, Reply]:
    """Call until a 429; return the number of calls that passed, and the 429."""
    for passed in range(100):  # more than any of LIMITS
        reply = server.ask(path, headers=headers)
        if reply.status == 429:
            return passed, reply
    raise AssertionError("no call was refused")


@pytest.mark.parametrize("slug", ["free", "data", "carte", "corporate", "marches", "integral"])
def test_each_plan_has_its_limit_per_minute(low_limits_server: Server, slug: str) -> None:
    """D7"""
    customer = low_limits_server.customer(slug)
    limit = getattr(LIMITS, slug)

    passed, refusal = call_until_refused(low_limits_server, SEARCH, customer.headers)

    assert passed == limit
    assert refusal.code == "trop_de_requetes"
    wait = int(refusal.headers["Retry-After"])
    assert 1 <= wait <= 60 // limit + 1
    assert refusal.headers["RateLimit-Policy"] == f'"minute";q={limit};w=60'
    assert refusal.headers["RateLimit"] == f'"minute";r=0;t={wait}'
    assert refusal.headers["X-Quota-Used"] == str(passed)
    assert refusal.headers["X-Quota-Limit"] == str(low_limits_server.usage(customer).calls.limit)
    quota = refusal.json["quota"]
    assert quota.pop("reinitialisation").startswith("2026-11-21T12:00:")
    assert quota == {"type": "debit", "limite": limit, "utilise": limit, "restant": 0}
    # The refused call did not count against the day (D1).
    assert low_limits_server.calls_used(customer) == passed


def test_all_keys_and_routes_of_an_account_share_a_limit(low_limits_server: Server) -> None:
    """D7, A8: three calls with the first key leave the second key three calls fewer"""
    customer = low_limits_server.customer("data")
    _, key = create_key(
        low_limits_server.store, customer.account, PLANS, low_limits_server.context.now()
    ).result()
    second_key_owner = Customer(customer.account, key)
    for path in (SEARCH, f"{SEARCH}/FR/552100554", "/api/v1/compte"):
        assert low_limits_server.ask(path, headers=customer.headers).status == 200

    assert (
        call_until_refused(low_limits_server, SEARCH, second_key_owner.headers)[0]
        == LIMITS.data - 3
    )
    assert low_limits_server.ask("/api/v1/compte", headers=customer.headers).status == 429


def test_a_key_without_the_tool_has_the_limit_of_free(low_limits_server: Server) -> None:
    """A7: all limits are those of `free`, and the message names the missing tool"""
    customer = low_limits_server.customer("corporate", api_tool=False)

    passed, refusal = call_until_refused(low_limits_server, SEARCH, customer.headers)

    assert passed == LIMITS.free
    assert "Avec l'outil API (250 € HT par an)" in refusal.json["erreur"]["message"]
    assert f"permet {LIMITS.corporate} appels par minute" in refusal.json["erreur"]["message"]


def test_a_visitor_is_limited_by_address(low_limits_server: Server) -> None:
    """D7, A10, §7 rule 1"""
    passed, refusal = call_until_refused(low_limits_server, SEARCH, proxy_headers("192.0.2.1"))

    assert (passed, refusal.code) == (LIMITS.visiteur, "trop_de_requetes")
    assert (refusal.headers["X-Quota-Limit"], refusal.headers["X-Quota-Used"]) == ("0", "0")
    assert refusal.headers["Retry-After"] == "20"  # seconds: 3 calls a minute
    assert low_limits_server.ask(SEARCH, headers=proxy_headers("192.0.2.2")).status == 200


def test_an_ipv6_household_is_one_visitor(low_limits_server: Server) -> None:
    """D7: /64; a visitor has three calls a minute here; the last address is in another network"""
    addresses = ["2001:db8::1", "2001:db8::2", "2001:db8:0:0:ffff::3"]
    for address in addresses:
        assert low_limits_server.ask(SEARCH, headers=proxy_headers(address)).status == 200

    assert low_limits_server.ask(SEARCH, headers=proxy_headers("2001:db8::4")).status == 429
    assert low_limits_server.ask(SEARCH, headers=proxy_headers("2001:db8:0:1::4")).status == 200


def test_the_limit_of_visitors_applies_to_invalid_keys(low_limits_server: Server) -> None:
    """A1; D5: the limit is checked before everything else"""
    for path in (SEARCH, "/api/v1/compte", f"{SEARCH}?limit=0"):
        assert (
            low_limits_server.ask(path, headers=proxy_headers("192.0.2.9", BAD_KEY)).status == 401
        )

    replies = [
        low_limits_server.ask(path, headers=proxy_headers("192.0.2.9", headers))
        for path in (SEARCH, f"{SEARCH}?limit=0", "/api/v1/compte")
        for headers in (BAD_KEY, {})
    ]

    assert {(reply.status, reply.code) for reply in replies} == {(429, "trop_de_requetes")}


def test_reference_lists_have_their_own_limit(low_limits_server: Server) -> None:
    """D7, A2: by address and not by key; searches of the same address still pass"""
    customer = low_limits_server.customer("integral")
    headers = proxy_headers("192.0.2.20", customer.headers)

    passed, refusal = call_until_refused(low_limits_server, "/api/v1/pays", headers)

    assert (passed, refusal.code) == (LIMITS.listes, "trop_de_requetes")
    assert refusal.json["quota"]["limite"] == LIMITS.listes
    assert refusal.headers["Cache-Control"] == "no-store"
    assert (refusal.headers["X-Quota-Limit"], refusal.headers["X-Quota-Used"]) == ("0", "0")
    assert (
        low_limits_server.ask("/api/v1/secteurs", headers=proxy_headers("192.0.2.20")).status == 429
    )
    assert low_limits_server.ask(SEARCH, headers=proxy_headers("192.0.2.20")).status == 200
    assert low_limits_server.ask("/api/v1/pays", headers=proxy_headers("192.0.2.21")).status == 200


def test_the_minute_of_a_visitor_refills_and_the_day_does_not(
    low_limits_server: Server, clock: Clock
) -> None:
    """D7: a visitor has 1 000 calls a day, here 8"""
    headers = proxy_headers("192.0.2.30")
    by_minute = []
    for _ in range(3):
        by_minute.append(call_until_refused(low_limits_server, SEARCH, headers))
        clock.advance(60)
    refusal_of_day = by_minute[2][1]
    clock.set("2026-11-22T00:00:00")
    tomorrow = low_limits_server.ask(SEARCH, headers=headers)
    clock.set("2026-11-21T12:00:00")

    assert [passed for passed, _ in by_minute] == [3, 3, 2]  # 3 a minute, but 8 a day
    assert refusal_of_day.json["quota"] == {
        "type": "debit", "limite": 8, "utilise": 8, "restant": 0,
        "reinitialisation": "2026-11-22T00:00:00Z",
    }  # fmt: skip
    assert refusal_of_day.headers["Retry-After"] == str(12 * 3600 - 120)  # it is 12:02
    assert refusal_of_day.headers["RateLimit-Policy"] == '"jour";q=8;w=86400'
    assert refusal_of_day.json["erreur"]["message"].endswith("par jour ; réessayez à minuit UTC")
    assert tomorrow.status == 200
    assert tomorrow.headers["RateLimit"] == '"jour";r=7;t=86400, "minute";r=2'


def test_checks_and_metrics_are_not_limited(low_limits_server: Server) -> None:
    for path in ("/healthz", "/readyz", "/metrics"):
        assert {
            low_limits_server.ask(path, headers=proxy_headers("192.0.2.40")).status
            for _ in range(30)
        } == {200}


def test_a_preflight_and_a_wrong_method_are_not_limited(low_limits_server: Server) -> None:
    """D5: 20 requests are more than a visitor has a minute"""
    headers = proxy_headers("192.0.2.41")
    assert {low_limits_server.ask(SEARCH, "OPTIONS", headers).status for _ in range(20)} == {204}
    assert {low_limits_server.ask(SEARCH, "PUT", headers).status for _ in range(20)} == {405}
    assert low_limits_server.ask(SEARCH, headers=headers).status == 200


# -- the address of the caller -----------------------------------------------------------

TRUSTED_PROXIES = [ip_network("10.0.0.0/8"), ip_network("fd00::/8")]


@pytest.mark.parametrize(
    ("peer", "forwarded", "address"),
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
    peer: str | None, forwarded: list[str], address: str | None
) -> None:
    """D7"""
    assert caller(peer, forwarded, TRUSTED_PROXIES) == address


def test_without_trusted_proxies_the_connection_is_the_caller() -> None:
    assert caller("10.0.0.1", ["198.51.100.7"], []) == "10.0.0.1"


@pytest.mark.parametrize(
    ("address", "expected_network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
    ],
)
def test_a_limit_is_shared_by_an_ipv4_address_or_an_ipv6_network(
    address: str, expected_network: str
) -> None:
    """D7"""
    assert bucket_key(address) == expected_network
