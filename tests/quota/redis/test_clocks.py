"""Hosts whose clocks are wrong: all of them count by the clock of their server."""

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

import pytest

from quota.ledger.exports import Reservation
from quota.redis.connection import CLOCK_S
from quota.redis.store import RedisStore
from tests.proof.tools import need
from tests.quota.servers import running

LIMIT: Final = 50  # calls a day; the program _HOST has the same number
# The program of a machine that runs `compact`.
_COMPACT: Final = """
import sys
from quota.__main__ import main
sys.exit(main(["--quota", sys.argv[1], "compact", "--keep-months", "1", "--json"]))
"""
# The program of a host: it takes 40 calls, gives one back, and prints the calls granted and the end of the day.
_HOST: Final = """
import logging, sys
from datetime import UTC, datetime
from quota.redis.store import RedisStore
from quota.ledger.exports import Reservation
logging.basicConfig()
store = RedisStore(sys.argv[1])
now = datetime.now(UTC)
futures = [store.take("a_", 50, now) for _ in range(40)]
meters = [future.result() for future in futures]
store.give_back("a_", now).result()
print(sum(meter.granted for meter in meters) - 1, meters[0].reset.isoformat())
store.close()
"""


class HostOutput(NamedTuple):
    """The calls that a host was granted, the end of the day in which they count, and its log."""

    granted: int
    day_end: str
    log: str


def _run_host(url: str, offset: timedelta) -> HostOutput:
    """Run a host whose clock is wrong by `offset`."""
    command = [need("faketime", "faketime"), "-f", f"{offset.total_seconds():+.0f}s"]
    run = subprocess.run(
        [*command, sys.executable, "-c", _HOST, url],
        env=os.environ | {"FAKETIME_DONT_FAKE_MONOTONIC": "1"},
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    granted, reset = run.stdout.split()
    return HostOutput(int(granted), reset, run.stderr)


def test_a_day_has_its_limit_once_whatever_the_clocks_of_hosts_say() -> None:
    """L3: of three hosts one is a day ahead, one a day behind; all share the limit of one day"""
    now = datetime.now(UTC)
    if (now + timedelta(minutes=2)).date() != now.date():
        pytest.skip("a new day begins within the test")
    with running("redis", "--appendonly", "no") as server:
        RedisStore(server.url, create=True).close()
        offsets = [timedelta(days=1), timedelta(days=-1), timedelta(seconds=CLOCK_S / 2)]
        ahead, behind, right = (_run_host(server.url, offset) for offset in offsets)

    assert ahead.granted + behind.granted + right.granted <= LIMIT
    assert len({ahead.day_end, behind.day_end, right.day_end}) == 1
    (seconds_ahead,) = re.findall(r"(\d+) s ahead of", ahead.log)
    assert 86_399 <= int(seconds_ahead) < 86_460  # a busy machine may answer late
    assert "s behind the clock of" in behind.log
    assert "clock" not in right.log


def test_compact_and_reservations_go_by_the_clock_of_the_server() -> None:
    """A machine two months ahead would drop this month's counters and reserve in another month"""
    now = datetime.now(UTC)
    with running("redis", "--appendonly", "no") as server:
        store = RedisStore(server.url, create=True)
        store.take("a_", LIMIT, now).result()
        # `compact` refuses a clock that is ahead of all counters, so a counter of two months later is added.
        store.take("a_", LIMIT, now + timedelta(days=62)).result()
        command = [need("faketime", "faketime"), "-f", f"+{62 * 86_400}s"]
        compaction = subprocess.run(
            [*command, sys.executable, "-c", _COMPACT, server.url],
            env=os.environ | {"FAKETIME_DONT_FAKE_MONOTONIC": "1"},
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        meter = store.calls("a_", LIMIT, now).result()
        # From here on the server's clock seems to be two months ahead.
        store._request_connection.ahead = timedelta(days=62)
        reservation = store.reserve("a_", 9, 9, timedelta(minutes=1), now).result()
        store.close()

    assert compaction.returncode == 0, compaction.stderr
    assert json.loads(compaction.stdout)["rows"] == 0
    assert meter.used == 1
    assert isinstance(reservation, Reservation)
    assert reservation.month == f"{now + timedelta(days=62):%Y-%m}"
