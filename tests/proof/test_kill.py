"""Workers killed at any moment: every answer is counted once, and no limit is exceeded."""

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
FEWEST = min(20, ROUNDS)  # rounds, however slow the machine is

# Besides the rounds: the start, the stop, and a wait for a server that hangs.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(ROUNDS_SECONDS + 600)]

START_SECONDS = 120.0  # until a worker must have started
# A request in the queue of the killed worker waits for its replacement.
ANSWER_SECONDS = START_SECONDS + 30.0
COMPANIES = 60  # read by as many callers in a round
COST = 5  # credits of a company
PLANS = load()
FREE = PLANS["free"]
LISTENING = "0A"  # in /proc/net/tcp
ANSWER = re.compile(rb"HTTP/1.1 (\d+) .*?\r\n\r\n", re.DOTALL)  # the head of a response


@dataclass
class RoundAnswers:
    """The answers to the callers of one round."""

    debits: Counter[str] = field(default_factory=Counter)  # credits by company
    calls: int = 0  # answers that were counted as calls
    lost: int = 0  # requests without an answer


@dataclass(frozen=True)
class Server:
    """A running server: its address, and the process whose children are its workers."""

    address: str
    pid: int

    def workers(self) -> list[int]:
        """The process ids of the workers."""
        return sorted(children(self.pid))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server with four workers and without limits by the minute; it must end without an error."""
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
            assert process.wait(timeout=120) == 0
        finally:
            # A hanging worker does not notice that its parent is gone.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def test_no_charge_is_lost_or_doubled_and_no_limit_passed_when_workers_are_killed(
    server: Server, tmp_path: Path
) -> None:
    """D6, D9: in each round a new account reads all companies while a worker is killed"""
    chance = random.Random(9)
    store = LmdbStore(tmp_path / "state")
    lost_requests = 0
    deadline = time.monotonic() + ROUNDS_SECONDS
    for number in range(ROUNDS):
        if number >= FEWEST and time.monotonic() > deadline:
            break
        avoid_midnight()
        now = datetime.now(UTC)
        account = create_account(store, "free", PLANS, now).result(ANSWER_SECONDS)
        _, key = create_key(store, account.id, PLANS, now).result(ANSWER_SECONDS)
        answers = asyncio.run(_run_round(server, key, chance, busy=number % 2 == 0))
        usage = store.usage(account.id, FREE, now).result()
        lost_requests += answers.lost

        assert all(debit in (0, COST) for debit in answers.debits.values()), answers.debits
        assert sum(answers.debits.values()) <= usage.credits.used <= FREE.credits_par_mois
        assert usage.credits.used % COST == 0
        assert answers.calls <= usage.calls.used <= FREE.appels_api_par_jour
        # Only the calls of connections that were cut are counted without an answer.
        assert usage.calls.used - answers.calls <= answers.lost
        assert usage.credits.used - sum(answers.debits.values()) <= COST * answers.lost
    store.close()
    assert lost_requests, "no request was cut off: the kills came too late to prove anything"


async def _run_round(
    server: Server, key: str, chance: random.Random, *, busy: bool
) -> RoundAnswers:
    """Read all companies simultaneously, kill a worker meanwhile, then read some companies again.

    With `busy` all workers accept connections before the kill; otherwise a worker may be starting.
    """
    answers = RoundAnswers()
    await _wait_for_workers(server, listening=busy)
    requests = [_read_company(server, key, str(i), answers) for i in range(COMPANIES)]
    await asyncio.gather(_kill_worker(server, chance), *requests)
    await asyncio.gather(
        *(_read_company(server, key, str(i), answers) for i in range(0, COMPANIES, 6))
    )
    return answers


async def _read_company(server: Server, key: str, identifier: str, answers: RoundAnswers) -> None:
    """Request a record on a new connection, and count its call and credits in `answers`, or that the answer is lost.

    A client library would repeat a request that is cut off and hide the loss, so none is used.
    """
    host = urlsplit(server.address).netloc
    answer = await _send_and_read(
        server,
        f"GET /api/v1/societes/EE/{identifier} HTTP/1.1\r\nHost: {host}\r\n"
        f"Authorization: Bearer {key}\r\nConnection: close\r\n\r\n".encode(),
    )
    head = ANSWER.match(answer)
    if head is None or len(answer) < head.end() + int(_number_in_header(answer, b"Content-Length")):
        answers.lost += 1
        return
    assert head[1] in (b"200", b"402", b"429"), head[1]
    answers.calls += head[1] != b"429"
    answers.debits[identifier] += int(_number_in_header(answer, b"X-Credits-Debites"))


async def _send_and_read(server: Server, request: bytes) -> bytes:
    """All bytes of the answer, or b"" if the connection is cut.

    Raises:
        AssertionError: the server has the connection and does not answer; with a report on the server.
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
                while data := await loop.sock_recv(connection, 65_536):
                    answer += data
        except TimeoutError:
            client_port = connection.getsockname()[1]
            server_report = report(server.pid, server.workers(), address.port, client_port)
            reason = f"no answer in {ANSWER_SECONDS:g} s, only {answer!r}\n{server_report}"
            raise AssertionError(reason) from None
        except ConnectionError:
            return b""
    return answer


def _number_in_header(answer: bytes, name: bytes) -> bytes:
    """The number in a header as text; 0 without the header."""
    match = re.search(rb"\r\n%s: (\d+)\r\n" % name, answer)
    return match[1] if match else b"0"


async def _kill_worker(server: Server, chance: random.Random) -> None:
    """Kill a random worker after up to 30 ms, while requests run."""
    await asyncio.sleep(chance.uniform(0, 0.03))
    os.kill(chance.choice(server.workers()), signal.SIGKILL)


async def _wait_for_workers(server: Server, *, listening: bool) -> None:
    """Wait until the killed worker is replaced, START_SECONDS at most; with `listening`, until all workers listen."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        running_count, listening_count = len(server.workers()), _count_listening(server)
        if running_count == WORKERS and (listening_count == WORKERS or not listening):
            return
        state = f"{running_count} of {WORKERS} workers run and {listening_count} listen"
        assert time.monotonic() < deadline, f"a killed worker was not replaced: {state}"
        await asyncio.sleep(0.01)


def _count_listening(server: Server) -> int:
    """The number of workers that accept connections."""
    port = f":{urlsplit(server.address).port:04X}"
    with Path("/proc/net/tcp").open() as rows:
        next(rows)
        # Listening sockets come first in this table, so the many connections after them are not read.
        sockets = takewhile(lambda row: row[3] == LISTENING, map(str.split, rows))
        return sum(row[1].endswith(port) for row in sockets)
