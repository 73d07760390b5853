"""The limits of log-ins, sign-ups, keys and hashes, whoever asks."""

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
from tests.serve.client import GENEROUS


@pytest.fixture
def throttle(tmp_path: Path) -> Iterator[LoginThrottle]:
    with closing(BurstLimiter(tmp_path, memory=tmp_path)) as limiter:
        yield LoginThrottle(limiter, replace(GENEROUS, connexions=1, inscriptions_jour=1))


def allowed(attempt: Callable[[str], None], addresses: Iterable[str]) -> int:
    """How many of these addresses may do it."""
    found = 0
    for one in addresses:
        with suppress(ApiError):
            attempt(one)
            found += 1
    return found


def test_tries_of_a_password_from_many_networks_have_a_higher_limit(
    throttle: LoginThrottle,
) -> None:
    now = utc_now()
    networks = [f"10.0.{number}.1" for number in range(30)]

    assert allowed(lambda one: throttle.log_in(one, "a@b.eu", now), networks) == 10


def test_log_ins_of_unknown_browsers_are_limited_by_network_and_host(
    throttle: LoginThrottle,
) -> None:
    """From one network /48, a /64 and an account each, nobody locks log-ins of others"""
    now = utc_now()
    near = [f"2001:db8:1:{number:x}::1" for number in range(60)]
    v4 = [f"198.51.100.{number}" for number in range(1, 60)]
    far = [f"2001:db8:{number:x}::1" for number in range(2, 90)]
    accounts = map("{}@b.eu".format, itertools.count())

    def attempt(one: str) -> None:
        throttle.log_in(one, next(accounts), now)

    assert allowed(attempt, near) == 2
    assert allowed(attempt, v4) == 2
    assert allowed(attempt, far) == login_throttle.LOGINS_HOST_TIMES - 4
    throttle.log_in("203.0.113.7", "zoé@b.eu", now, "a known browser")


def test_known_browsers_of_one_account_have_a_limit_together(throttle: LoginThrottle) -> None:
    """Each log-in makes one more known browser"""
    now = utc_now()
    browsers = [f"browser {number}" for number in range(20)]

    def attempt(browser: str) -> None:
        throttle.log_in("198.51.100.1", "zoé@b.eu", now, browser)

    assert allowed(attempt, browsers) == login_throttle.DEVICES_TIMES


def test_places_for_hashes_are_reserved_for_known_browsers(
    throttle: LoginThrottle, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    monkeypatch.setattr(credentials, "is_right_password", lambda *_: gate.wait(30))

    async def judge() -> tuple[list[object], object]:
        strangers = [
            asyncio.ensure_future(throttle.is_right("x", None))
            for _ in range(login_throttle.WAITING)
        ]
        await asyncio.sleep(0.05)
        known = asyncio.ensure_future(throttle.is_right("x", None, known=True))
        await asyncio.sleep(0.05)
        gate.set()
        return await asyncio.gather(*strangers, return_exceptions=True), await known

    found, known = asyncio.run(judge())

    refused = [one for one in found if isinstance(one, ApiError)]
    assert [one.status for one in refused] == [503] * login_throttle.RESERVED
    assert known is True


def test_sign_ups_are_limited_by_network_and_host(throttle: LoginThrottle) -> None:
    """79 accounts in 15 s came from networks /64 of one customer"""
    now = utc_now()
    near = [f"2001:db8:1:{number:x}::1" for number in range(20)]
    far = [f"2001:db8:{number:x}::1" for number in range(2, 90)]

    assert allowed(lambda one: throttle.sign_up(one, now), near) == 2
    assert allowed(lambda one: throttle.sign_up(one, now), far) == 48


def test_an_organisation_makes_fifty_keys_a_day(throttle: LoginThrottle) -> None:
    now = utc_now()

    def make(_: str) -> None:
        throttle.make_key("a_1", now)

    assert allowed(make, map(str, range(60))) == login_throttle.KEYS == 50
    throttle.make_key("a_2", now)
    with pytest.raises(ApiError, match="trop_de_requetes"):
        throttle.make_key("a_1", now)
    throttle.make_key("a_1", now + timedelta(days=1))
