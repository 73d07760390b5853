"""Workers killed at any moment: what was answered is counted, once, and no limit is passed."""

import asyncio
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from quota.lmdb_store import LmdbStore
from quota.plans import load
from tests.serve.processes import children
from tests.world import company, publish

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
WORKERS = 4
ROUNDS = int(os.environ.get("PROOF_ROUNDS", "200"))
COMPANIES = 60
COST = 5
PLANS = load()
FREE = PLANS["free"]
ANSWER = re.compile(rb"HTTP/1.1 (\d+) .*?\r\n\r\n", re.DOTALL)


@dataclass
class Told:
    """What the callers of one round were answered."""

    debits: Counter[str] = field(default_factory=Counter)  # by company, credits
    calls: int = 0  # answers that say they counted
    lost: int = 0  # requests without an answer


@dataclass(frozen=True)
class Server:
    address: str
    pid: int

    def workers(self) -> list[int]:
        return sorted(children(self.pid))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    publish(tmp_path / "data", [company("EE", str(i), f"Ä {i}") for i in range(COMPANIES)])
    (tmp_path / "serve.toml").write_text("[debit]\nfree = 1000000\nvisiteur = 1000000\n")
    command = [
        sys.executable, "-m", "serve", "--data", str(tmp_path / "data"), "--port", "0",
        "--state", str(tmp_path / "state"), "--workers", str(WORKERS),
        "--config", str(tmp_path / "serve.toml"),
    ]  # fmt: skip
    with subprocess.Popen(
        command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout
        yield Server(process.stdout.readline().strip(), process.pid)
        process.terminate()
        assert process.wait(timeout=30) == 0


def test_no_charge_is_lost_or_doubled_and_no_limit_passed_when_workers_are_killed(
    server: Server, tmp_path: Path
) -> None:
    """D6, D9"""
    chance = random.Random(9)
    store = LmdbStore(tmp_path / "state")
    lost = 0
    for _ in range(ROUNDS):
        now = datetime.now(UTC)
        account = store.create_account("free", PLANS, now).result()
        _, key = store.create_key(account.id, PLANS, now).result()
        told = asyncio.run(_round(server, key, chance))
        usage = store.usage(account.id, FREE, now)
        lost += told.lost

        assert all(debit in (0, COST) for debit in told.debits.values()), told.debits
        assert sum(told.debits.values()) <= usage.credits.used <= FREE.credits_par_mois
        assert usage.credits.used % COST == 0
        assert told.calls <= usage.calls.used <= FREE.appels_api_par_jour
        # What is counted without an answer is what was cut off, and nothing more.
        assert usage.calls.used - told.calls <= told.lost
        assert usage.credits.used - sum(told.debits.values()) <= COST * told.lost
    store.close()
    assert lost, "no request was ever cut off: the kills came too late to prove anything"


async def _round(server: Server, key: str, chance: random.Random) -> Told:
    """All companies asked for at once, a worker killed meanwhile, then all asked for again."""
    told = Told()
    await _all_there(server)
    asking = [_ask(server, key, str(i), told) for i in range(COMPANIES)]
    await asyncio.gather(_kill(server, chance), *asking)
    await asyncio.gather(*(_ask(server, key, str(i), told) for i in range(0, COMPANIES, 6)))
    return told


async def _ask(server: Server, key: str, identifier: str, told: Told) -> None:
    """One request on a connection of its own. A client library would ask again by itself when it
    is cut off, and nothing would be seen to be lost."""
    address = urlsplit(server.address)
    try:
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        writer.write(
            f"GET /api/v1/societes/EE/{identifier} HTTP/1.1\r\nHost: {address.netloc}\r\n"
            f"Authorization: Bearer {key}\r\nConnection: close\r\n\r\n".encode()
        )
        answer = await reader.read()
        writer.close()
    except ConnectionError:
        answer = b""
    whole = ANSWER.match(answer)
    if whole is None or len(answer) < whole.end() + int(_header(answer, b"Content-Length")):
        told.lost += 1
        return
    assert whole[1] in (b"200", b"402", b"429"), whole[1]
    told.calls += whole[1] != b"429"
    told.debits[identifier] += int(_header(answer, b"X-Credits-Debites"))


def _header(answer: bytes, name: bytes) -> bytes:
    found = re.search(rb"\r\n%s: (\d+)\r\n" % name, answer)
    return found[1] if found else b"0"


async def _kill(server: Server, chance: random.Random) -> None:
    await asyncio.sleep(chance.uniform(0, 0.03))
    os.kill(chance.choice(server.workers()), signal.SIGKILL)


async def _all_there(server: Server) -> None:
    """Wait until the killed worker has been replaced, for half a minute at most."""
    deadline = time.monotonic() + 30
    while len(server.workers()) < WORKERS:
        assert time.monotonic() < deadline, "a killed worker was not replaced"
        await asyncio.sleep(0.01)
