"""Hundreds of clients at once that send or take a byte a second, on a real server."""

import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest

from tests.bench.load import Server
from tests.bench.served import keys, serving
from tests.proof.hang import ESTABLISHED
from tests.serve.processes import ask
from tests.world import company, publish

pytestmark = pytest.mark.slow

# 500 are those of a release (R13). Each of five kinds has a fifth of them.
CLIENTS: Final = int(os.environ.get("PROOF_SLOW", "50"))
# The goal on a quiet machine (R13), from the first byte of what a client does not read.
CUT_SECONDS: Final = 30.0
# On a busy machine timers are late.
LATE_SECONDS: Final = float(os.environ.get("PROOF_LATE", "20"))
KINDS: Final = 5
# Exports are made one after another; a client can only be slow once it has its file.
EXPORTS: Final = 4
LONGEST_SECONDS: Final = 240.0
# On a machine with other work; 50 ms is the goal on a quiet one.
MOST_MS: Final = 250.0
# All bodies together, and the responses that wait for those who do not read.
MOST_MIB: Final = 64 + 3 * CLIENTS / KINDS
PAUSE_SECONDS: Final = 0.05
ROWS: Final = 1_500


def head(path: str, *fields: str) -> bytes:
    method = "POST" if any("Content-Length" in one for one in fields) else "GET"
    return "\r\n".join((f"{method} {path} HTTP/1.1", "Host: a", *fields, "", "")).encode()


def requests(key: str) -> list[tuple[bytes, bool]]:
    """A request of each kind, and whether the client goes on sending it (else it stops reading)."""
    json = "Content-Type: application/json"
    form = "Content-Type: multipart/form-data; boundary=b"
    lines = b'{"lignes": [' + b" " * 900_000
    part = (
        b'--b\r\nContent-Disposition: form-data; name="liste"; filename="a"\r\n\r\n'
        + b"a" * 900_000
    )
    search = head("/api/v1/societes?limit=200", key)
    export = head("/api/v1/export?format=csv", key)
    return [
        (b"GET /api/v1/pays HTTP/1.1\r\nHost: a\r\nX-Slow: ", True),
        (head("/api/v1/rapprochement", key, json, "Content-Length: 1000000") + lines, True),
        (head("/rapprochement", form, "Content-Length: 1000000") + part, True),
        (search * 20, False),  # more than the buffers of the system hold
        (export, False),
    ]  # fmt: skip


def held(port: int) -> set[int]:
    """The ports of the clients whose connections a server holds open, as the system shows them."""
    rows = (row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:])
    return {
        int(remote[-4:], 16)
        for _, local, remote, state, *_ in rows
        if (local[-4:], state) == (f"{port:04X}", ESTABLISHED)
    }


class Others(threading.Thread):
    """A caller that sends plain searches until it is stopped."""

    def __init__(self, address: str) -> None:
        super().__init__(daemon=True)
        self.address = address
        self.milliseconds: list[float] = []
        self.statuses: set[int] = set()
        self._stop_asked = threading.Event()

    def run(self) -> None:
        while not self._stop_asked.is_set():
            since = time.monotonic()
            self.statuses.add(ask(self.address, "/api/v1/societes?q=lab")[0])
            self.milliseconds.append(1_000 * (time.monotonic() - since))
            time.sleep(PAUSE_SECONDS)

    def p99(self) -> float:
        self._stop_asked.set()
        self.join()
        return sorted(self.milliseconds)[int(0.99 * (len(self.milliseconds) - 1))]


@contextmanager
def clients(
    server: Server, accounts: Sequence[str]
) -> Iterator[dict[socket.socket, tuple[int, bool]]]:
    """The slow clients, each with its kind, and whether it goes on sending."""
    target = urlsplit(server.address)
    found = {}
    for number in range(CLIENTS):
        kind = number % KINDS
        sent, sends = requests(f"Authorization: {accounts[number // KINDS]}")[kind]
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        client.settimeout(30)
        client.connect((target.hostname, target.port))
        client.sendall(sent)
        client.setblocking(False)
        found[client] = (kind, sends)
    yield found
    for client in found:
        client.close()


def until_cut(
    port: int, found: dict[socket.socket, tuple[int, bool]], look: Callable[[], None]
) -> list[float]:
    """The longest time in seconds until a client of each kind was cut off, of an export from its first byte."""
    since = time.monotonic()
    last = [0.0] * (1 + max(kind for kind, _ in found.values()))
    left = {client.getsockname()[1]: (client, *about) for client, about in found.items()}
    waiting = {own for own, (_, kind, _) in left.items() if kind == EXPORTS}
    begun = dict.fromkeys(left, since)
    while left and time.monotonic() - since < LONGEST_SECONDS:
        look()
        still = held(port)
        for own, (client, kind, sends) in list(left.items()):
            if own in waiting and not _has_bytes(client):
                begun[own] = time.monotonic()
            else:
                waiting.discard(own)
            if own not in still:
                del left[own]
                last[kind] = max(last[kind], time.monotonic() - begun[own])
            elif sends:
                with suppress(OSError):
                    client.send(b"a")
        time.sleep(1)
    for _, kind, _ in left.values():
        last[kind] = float("inf")
    return last


def _has_bytes(client: socket.socket) -> bool:
    """Whether some of the response came, which stays unread."""
    try:
        return bool(client.recv(1, socket.MSG_PEEK))
    except BlockingIOError:
        return False
    except OSError:
        return True


def test_slow_clients_are_cut_off_and_others_do_not_wait(tmp_path: Path) -> None:
    """R13; `pytest -s` shows the figures"""
    publish(
        tmp_path / "data",
        [company("EE", f"{i:05}", f"Õun Lab {i}", adresse="a" * 4_000) for i in range(ROWS)],
    )
    accounts = [one["Authorization"] for one in keys(tmp_path / "state", 1 + CLIENTS // 5)]
    with serving(tmp_path / "data", tmp_path / "state") as server:
        calm = Others(server.address)
        calm.start()
        time.sleep(3)
        before, memory = calm.p99(), server.private()
        peak = [memory]
        others = Others(server.address)
        with clients(server, accounts) as found:
            others.start()
            seconds = until_cut(
                int(server.address.rpartition(":")[2]), found, lambda: peak.append(server.private())
            )
        during = others.p99()
        with suppress(OSError):
            assert ask(server.address, "/healthz")[0] == 200
    sys.stdout.write(
        f"{CLIENTS} clients cut after {[f'{one:.0f}' for one in seconds]} s; p99 {before:.0f} ms, beside them "
        f"{during:.0f} ms; private memory {memory:.0f} MiB, at most {max(peak):.0f} MiB\n"
    )
    assert max(seconds) < CUT_SECONDS + LATE_SECONDS
    assert others.statuses == {200}
    assert during < max(MOST_MS, 3 * before)
    assert max(peak) < memory + MOST_MIB
