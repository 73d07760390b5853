"""The limits of log-ins, sign-ups, new keys and password hashes."""

import asyncio
import itertools
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from quota import credentials
from quota.bursts import BurstLimiter
from serve.access.context import utc_now
from serve.contract.errors import ApiError
from serve.features.account import login_throttle
from serve.features.account.login_throttle import LoginThrottle
from tests.serve.client import UNREACHABLE_LIMITS


@pytest.fixture
def throttle(tmp_path: Path) -> Iterator[LoginThrottle]:
    """Basic limits of 1 log-in a minute and 1 sign-up a day; larger groups have multiples of them."""
    with closing(BurstLimiter(tmp_path, memory=tmp_path)) as limiter:
        yield LoginThrottle(limiter, replace(UNREACHABLE_LIMITS, connexions=1, inscriptions_jour=1))


def count_allowed(try_address: Callable[[str], None], addresses: Iterable[str]) -> int:
    """The number of addresses whose attempt is allowed."""
    allowed = 0
    for address in addresses:
        with suppress(ApiError):
            try_address(address)
            allowed += 1
    return allowed


def test_log_ins_to_an_account_from_many_networks_have_a_higher_limit(
    throttle: LoginThrottle,
) -> None:
    now = utc_now()
    networks = [f"10.0.{number}.1" for number in range(30)]

    # ACCOUNT_TIMES = 10: an account may have ten times the log-ins of one network.
    assert (
        count_allowed(lambda network: throttle.count_log_in(network, "a@b.eu", now), networks) == 10
    )


def test_log_ins_of_unknown_browsers_are_limited_by_network_and_host(
    throttle: LoginThrottle,
) -> None:
    """An attacker has many networks /64 of a /48 and tries a new account each time; others can still log in."""
    now = utc_now()
    in_one_network = [f"2001:db8:1:{number:x}::1" for number in range(60)]
    in_one_ipv4_network = [f"198.51.100.{number}" for number in range(1, 60)]
    in_many_networks = [f"2001:db8:{number:x}::1" for number in range(2, 90)]
    accounts = map("{}@b.eu".format, itertools.count())

    def log_in_to_new_account(network: str) -> None:
        """Count a log-in to an account that no earlier log-in has used."""
        throttle.count_log_in(network, next(accounts), now)

    # NETWORK_TIMES = 2: addresses of one larger network (/48 or /24) share two log-ins.
    assert count_allowed(log_in_to_new_account, in_one_network) == 2
    assert count_allowed(log_in_to_new_account, in_one_ipv4_network) == 2
    # Four log-ins were allowed above, and they count for the host.
    assert (
        count_allowed(log_in_to_new_account, in_many_networks)
        == login_throttle.LOGINS_HOST_TIMES - 4
    )
    throttle.count_log_in("203.0.113.7", "zoé@b.eu", now, "a known browser")


def test_known_browsers_of_an_account_share_a_limit(throttle: LoginThrottle) -> None:
    """Each log-in adds a known browser, so a limit per browser alone would not limit them."""
    now = utc_now()
    browsers = [f"browser {number}" for number in range(20)]

    def log_in_with_browser(browser: str) -> None:
        """Count a log-in to the same account and from the same address, by this browser."""
        throttle.count_log_in("198.51.100.1", "zoé@b.eu", now, browser)

    assert count_allowed(log_in_with_browser, browsers) == login_throttle.DEVICES_TIMES


def test_places_for_hashes_are_reserved_for_known_browsers(
    throttle: LoginThrottle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many strangers as may wait are too many by the reserved places, and get 503"""
    hashes_may_end = threading.Event()
    monkeypatch.setattr(credentials, "is_right_password", lambda *_: hashes_may_end.wait(30))

    async def check_passwords() -> tuple[list[object], object]:
        """Check the passwords of as many strangers as may wait, and one of a known browser; return the results."""
        strangers = [
            asyncio.ensure_future(throttle.is_right("x", None))
            for _ in range(login_throttle.MOST_WAITING)
        ]
        await asyncio.sleep(0.05)
        trusted = asyncio.ensure_future(throttle.is_right("x", None, trusted=True))
        await asyncio.sleep(0.05)
        hashes_may_end.set()
        return await asyncio.gather(*strangers, return_exceptions=True), await trusted

    results, trusted = asyncio.run(check_passwords())

    refused = [result for result in results if isinstance(result, ApiError)]
    assert [error.status for error in refused] == [503] * login_throttle.RESERVED_PLACES
    assert trusted is True


def test_sign_ups_are_limited_by_network_and_host(throttle: LoginThrottle) -> None:
    """Before: 79 accounts in 15 s from the networks /64 that one customer of a provider has."""
    now = utc_now()
    in_one_network = [f"2001:db8:1:{number:x}::1" for number in range(20)]
    in_many_networks = [f"2001:db8:{number:x}::1" for number in range(2, 90)]

    # NETWORK_TIMES = 2: addresses of one larger network share two sign-ups.
    assert count_allowed(lambda network: throttle.count_sign_up(network, now), in_one_network) == 2
    # HOST_TIMES = 50 for the host, of which 2 are used.
    assert (
        count_allowed(lambda network: throttle.count_sign_up(network, now), in_many_networks) == 48
    )


def test_an_organisation_can_create_fifty_keys_a_day(throttle: LoginThrottle) -> None:
    now = utc_now()

    def create_key(_: str) -> None:
        throttle.count_new_key("a_1", now)

    assert count_allowed(create_key, map(str, range(60))) == login_throttle.KEYS == 50
    throttle.count_new_key("a_2", now)
    with pytest.raises(ApiError, match="trop_de_requetes"):
        throttle.count_new_key("a_1", now)
    throttle.count_new_key("a_1", now + timedelta(days=1))
