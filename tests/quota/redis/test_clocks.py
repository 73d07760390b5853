"""Hosts whose clocks are wrong: all of them count by the clock of their server."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from quota.ledger.exports import Reservation
from quota.redis.connection import CLOCK_S
from quota.redis.store import RedisStore
from tests.proof.tools import need
from tests.quota.servers import running

LIMIT: Final = 50
_COMPACT: Final = """
import sys
from quota.__main__ import main
sys.exit(main(["--quota", sys.argv[1], "compact", "--keep-months", "1", "--json"]))
"""
_HOST: Final = """
import logging, sys
from datetime import UTC, datetime
from quota.redis.store import RedisStore
from quota.ledger.exports import Reservation
logging.basicConfig()
store = RedisStore(sys.argv[1])
now = datetime.now(UTC)
waiting = [store.take("a_", 50, now) for _ in range(40)]
taken = [one.result() for one in waiting]
store.give_back("a_", now).result()
print(sum(meter.granted for meter in taken) - 1, taken[0].reset.isoformat())
store.close()
"""


def _host(url: str, offset: timedelta) -> tuple[int, str, str]:
    """Calls that a host with such a clock grants, when its day ends, and what it logs."""
    command = [need("faketime", "faketime"), "-f", f"{offset.total_seconds():+.0f}s"]
    done = subprocess.run(
        [*command, sys.executable, "-c", _HOST, url],
        env=os.environ | {"FAKETIME_DONT_FAKE_MONOTONIC": "1"},
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    granted, reset = done.stdout.split()
    return int(granted), reset, done.stderr


def test_a_day_has_its_limit_once_whatever_the_clocks_of_hosts_say() -> None:
    """L3: one a day ahead, one a day behind, one right; a grant a day, not three"""
    now = datetime.now(UTC)
    if (now + timedelta(minutes=2)).date() != now.date():
        pytest.skip("a new day begins within the test")
    with running("redis", "--appendonly", "no") as server:
        RedisStore(server.url, create=True).close()
        offsets = [timedelta(days=1), timedelta(days=-1), timedelta(seconds=CLOCK_S / 2)]
        ahead, behind, right = (_host(server.url, offset) for offset in offsets)

    assert ahead[0] + behind[0] + right[0] <= LIMIT
    assert len({ahead[1], behind[1], right[1]}) == 1
    assert "86400 s ahead of" in ahead[2] or "86399 s ahead of" in ahead[2]
    assert "s behind that of" in behind[2]
    assert "clock" not in right[2]


def test_compact_and_reservations_go_by_the_clock_of_the_server() -> None:
    """A machine whose clock is two months ahead would drop the counters of this month, and hold for another."""
    now = datetime.now(UTC)
    with running("redis", "--appendonly", "no") as server:
        store = RedisStore(server.url, create=True)
        store.take("a_", LIMIT, now).result()
        store.take(
            "a_", LIMIT, now + timedelta(days=62)
        ).result()  # or it refuses, whatever the clock
        command = [need("faketime", "faketime"), "-f", f"+{62 * 86_400}s"]
        done = subprocess.run(
            [*command, sys.executable, "-c", _COMPACT, server.url],
            env=os.environ | {"FAKETIME_DONT_FAKE_MONOTONIC": "1"},
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        kept = store.calls("a_", LIMIT, now).result()
        store._request_connection.ahead = timedelta(days=62)
        held = store.reserve("a_", 9, 9, timedelta(minutes=1), now).result()
        store.close()

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == 0
    assert kept.used == 1
    assert isinstance(held, Reservation)
    assert held.month == f"{now + timedelta(days=62):%Y-%m}"
