"""Workers killed at any moment: every answer is counted once, and no limit is passed."""

import asyncio
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from quota.plans import load
from quota.store.lmdb_store import LmdbStore
from tests import ROOT
from tests.proof.hang import report
from tests.proof.tools import next_line
from tests.quota.filling import create_account, create_key
from tests.serve.processes import avoid_midnight, children
from tests.world import company, publish

WORKERS = 4
ROUNDS = int(os.environ.get("PROOF_ROUNDS", "100"))
ROUNDS_SECONDS = 180.0 * max(1.0, ROUNDS / 100)  # a slow machine completes fewer rounds
FEWEST = min(20, ROUNDS)

# Beside the rounds: the start, the stop, and one wait for a server that hangs.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(ROUNDS_SECONDS + 200)]

# Longer than the store's own limit, after which the server answers 503 (quota/store/future.py).
ANSWER_SECONDS = 30.0
START_SECONDS = 120.0
COMPANIES = 60
COST = 5
PLANS = load()
FREE = PLANS["free"]
LISTENING = "0A"  # in /proc/net/tcp
ANSWER = re.compile(rb"HTTP/1.1 (\d+) .*?\r\n\r\n", re.DOTALL)


@dataclass
class RoundAnswers:
    """The answers to the callers of one round."""

    debits: Counter[str] = field(default_factory=Counter)  # by company, credits
    calls: int = 0  # answers that were counted as calls
    lost: int = 0  # requests without an answer


@dataclass(frozen=True)
class Server:
    address: str
    pid: int

    def workers(self) -> list[int]:
        return sorted(children(self.pid))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    publish(
        tmp_path / "data", [company("EE", str(i), f"Ä {i}") for i in range(COMPANIES)], filed=True
    )
    (tmp_path / "serve.toml").write_text("[debit]\nfree = 1000000\nvisiteur = 1000000\n")
    command = [
        sys.executable, "-m", "serve", "--data", str(tmp_path / "data"), "--port", "0",
        "--state", str(tmp_path / "state"), "--workers", str(WORKERS),
        "--config", str(tmp_path / "serve.toml"),
    ]  # fmt: skip
    with subprocess.Popen(
        command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:  # fmt: skip
        try:
            yield Server(next_line(process, START_SECONDS).strip(), process.pid)
            process.terminate()
            assert process.wait(timeout=30) == 0
        finally:
            # A hanging worker does not notice that its parent is gone.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def test_no_charge_is_lost_or_doubled_and_no_limit_passed_when_workers_are_killed(
    server: Server, tmp_path: Path
) -> None:
    """D6, D9"""
    chance = random.Random(9)
    store = LmdbStore(tmp_path / "state")
    lost = 0
    until = time.monotonic() + ROUNDS_SECONDS
    for number in range(ROUNDS):
        if number >= FEWEST and time.monotonic() > until:
            break
        avoid_midnight()
        now = datetime.now(UTC)
        account = create_account(store, "free", PLANS, now).result(ANSWER_SECONDS)
        _, key = create_key(store, account.id, PLANS, now).result(ANSWER_SECONDS)
        answers = asyncio.run(_round(server, key, chance, busy=number % 2 == 0))
        usage = store.usage(account.id, FREE, now).result()
        lost += answers.lost

        assert all(debit in (0, COST) for debit in answers.debits.values()), answers.debits
        assert sum(answers.debits.values()) <= usage.credits.used <= FREE.credits_par_mois
        assert usage.credits.used % COST == 0
        assert answers.calls <= usage.calls.used <= FREE.appels_api_par_jour
        # Calls counted without an answer are those of connections that were cut.
        assert usage.calls.used - answers.calls <= answers.lost
        assert usage.credits.used - sum(answers.debits.values()) <= COST * answers.lost
    store.close()
    assert lost, "no request was ever cut off: the kills came too late to prove anything"


async def _round(server: Server, key: str, chance: random.Random, *, busy: bool) -> RoundAnswers:
    """Read all companies at once, kill a worker meanwhile, then read some companies again.

    With `busy` all workers accept connections before the kill; else one may be starting.
    """
    answers = RoundAnswers()
    await _wait_for_workers(server, listening=busy)
    asking = [_ask(server, key, str(i), answers) for i in range(COMPANIES)]
    await asyncio.gather(_kill(server, chance), *asking)
    await asyncio.gather(*(_ask(server, key, str(i), answers) for i in range(0, COMPANIES, 6)))
    return answers


async def _ask(server: Server, key: str, identifier: str, answers: RoundAnswers) -> None:
    """Send one request on a connection of its own.

    No client library is used: one would repeat a request that is cut off, and hide the loss.
    """
    host = urlsplit(server.address).netloc
    answer = await _answer(
        server,
        f"GET /api/v1/societes/EE/{identifier} HTTP/1.1\r\nHost: {host}\r\n"
        f"Authorization: Bearer {key}\r\nConnection: close\r\n\r\n".encode(),
    )
    whole = ANSWER.match(answer)
    if whole is None or len(answer) < whole.end() + int(_header(answer, b"Content-Length")):
        answers.lost += 1
        return
    assert whole[1] in (b"200", b"402", b"429"), whole[1]
    answers.calls += whole[1] != b"429"
    answers.debits[identifier] += int(_header(answer, b"X-Credits-Debites"))


async def _answer(server: Server, request: bytes) -> bytes:
    """All bytes of the answer, none if the connection is cut.

    Raises:
        AssertionError: the server keeps the connection and does not answer, with a report on it.
    """
    loop = asyncio.get_running_loop()
    address = urlsplit(server.address)
    assert address.port
    answer = b""
    with socket.socket() as connection:
        connection.setblocking(False)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await loop.sock_connect(connection, (address.hostname, address.port))
                await loop.sock_sendall(connection, request)
                while piece := await loop.sock_recv(connection, 65_536):
                    answer += piece
        except TimeoutError:
            client = connection.getsockname()[1]
            doing = report(server.pid, server.workers(), address.port, client)
            reason = f"no answer in {ANSWER_SECONDS:g} s, only {answer!r}\n{doing}"
            raise AssertionError(reason) from None
        except ConnectionError:
            return b""
    return answer


def _header(answer: bytes, name: bytes) -> bytes:
    found = re.search(rb"\r\n%s: (\d+)\r\n" % name, answer)
    return found[1] if found else b"0"


async def _kill(server: Server, chance: random.Random) -> None:
    await asyncio.sleep(chance.uniform(0, 0.03))
    os.kill(chance.choice(server.workers()), signal.SIGKILL)


async def _wait_for_workers(server: Server, *, listening: bool) -> None:
    """Wait until the killed worker has been replaced, for START_SECONDS at most."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        there, ready = len(server.workers()), _listening(server)
        if there == WORKERS and (ready == WORKERS or not listening):
            return
        state = f"{there} of {WORKERS} workers are there and {ready} listen"
        assert time.monotonic() < deadline, f"a killed worker was not replaced: {state}"
        await asyncio.sleep(0.01)


def _listening(server: Server) -> int:
    """The number of workers that accept connections."""
    port = f":{urlsplit(server.address).port:04X}"
    with Path("/proc/net/tcp").open() as rows:
        next(rows)
        # Listening sockets come first.
        sockets = takewhile(lambda row: row[3] == LISTENING, map(str.split, rows))
        return sum(row[1].endswith(port) for row in sockets)
