"""Many simultaneous clients of a real server that send a byte a second, or do not read."""

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

# A release uses 500 (R13). Each of the five kinds is a fifth of the clients.
CLIENTS: Final = int(os.environ.get("PROOF_SLOW", "50"))
# The goal on a quiet machine (R13); for an export from the first byte of the response on.
CUT_SECONDS: Final = 30.0
# On a busy machine timers are late.
LATE_SECONDS: Final = float(os.environ.get("PROOF_LATE", "20"))
KINDS: Final = 5
# Exports are made one after another, so a client of an export counts from the first byte of its file on.
EXPORTS: Final = 4  # the position of the export in `requests`
# Until clients that are still connected count as never disconnected.
LONGEST_SECONDS: Final = 240.0
# On a machine with other work; the goal on a quiet machine is 50 ms.
MOST_MS: Final = 250.0
# 64 MiB for the request bodies of all clients together, and 3 MiB of responses for each client of a kind.
MOST_MIB: Final = 64 + 3 * CLIENTS / KINDS
PAUSE_SECONDS: Final = 0.05  # between two searches of the other caller
ROWS: Final = 1_500  # companies


def request_head(path: str, *fields: str) -> bytes:
    """The head of a request; a POST if it has a Content-Length."""
    method = "POST" if any("Content-Length" in field for field in fields) else "GET"
    return "\r\n".join((f"{method} {path} HTTP/1.1", "Host: a", *fields, "", "")).encode()


def requests(key: str) -> list[tuple[bytes, bool]]:
    """A request of each kind, and whether the client keeps sending slowly (otherwise it does not read the answer)."""
    json = "Content-Type: application/json"
    form = "Content-Type: multipart/form-data; boundary=b"
    lines = b'{"lignes": [' + b" " * 900_000
    form_part = (
        b'--b\r\nContent-Disposition: form-data; name="liste"; filename="a"\r\n\r\n'
        + b"a" * 900_000
    )
    search = request_head("/api/v1/societes?limit=200", key)
    export = request_head("/api/v1/export?format=csv", key)
    return [
        (b"GET /api/v1/pays HTTP/1.1\r\nHost: a\r\nX-Slow: ", True),
        (request_head("/api/v1/rapprochement", key, json, "Content-Length: 1000000") + lines, True),
        (request_head("/rapprochement", form, "Content-Length: 1000000") + form_part, True),
        (search * 20, False),  # larger than the buffers of the system
        (export, False),
    ]  # fmt: skip


def client_ports(port: int) -> set[int]:
    """The ports of the clients that have a connection to a server, from /proc."""
    rows = (row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:])
    return {
        int(remote[-4:], 16)
        for _, local, remote, state, *_ in rows
        if (local[-4:], state) == (f"{port:04X}", ESTABLISHED)
    }


class OtherCaller(threading.Thread):
    """A caller that sends plain searches until it is stopped."""

    def __init__(self, address: str) -> None:
        super().__init__(daemon=True)
        self.address = address
        self.milliseconds: list[float] = []
        self.statuses: set[int] = set()
        self._stopped = threading.Event()

    def run(self) -> None:
        """Search until stopped, and record waits and statuses."""
        while not self._stopped.is_set():
            start = time.monotonic()
            self.statuses.add(ask(self.address, "/api/v1/societes?q=lab")[0])
            self.milliseconds.append(1_000 * (time.monotonic() - start))
            time.sleep(PAUSE_SECONDS)

    def p99(self) -> float:
        """Stop the caller; return the p99 of its waits in milliseconds."""
        self._stopped.set()
        self.join()
        return sorted(self.milliseconds)[int(0.99 * (len(self.milliseconds) - 1))]


@contextmanager
def clients(
    server: Server, accounts: Sequence[str]
) -> Iterator[dict[socket.socket, tuple[int, bool]]]:
    """Connect the slow clients; yield their sockets, each with its kind and whether it keeps sending."""
    target = urlsplit(server.address)
    sockets = {}
    for number in range(CLIENTS):
        kind = number % KINDS
        sent, sends = requests(f"Authorization: {accounts[number // KINDS]}")[kind]
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        client.settimeout(30)
        client.connect((target.hostname, target.port))
        client.sendall(sent)
        client.setblocking(False)
        sockets[client] = (kind, sends)
    yield sockets
    for client in sockets:
        client.close()


def longest_times(
    port: int, sockets: dict[socket.socket, tuple[int, bool]], measure: Callable[[], None]
) -> list[float]:
    """The longest time in seconds until a client of each kind is disconnected; infinity if one stays connected.

    The time begins with the connection, or with the first byte of an export. `measure` is called every second.
    """
    begin = time.monotonic()
    longest = [0.0] * (1 + max(kind for kind, _ in sockets.values()))
    connected = {
        client.getsockname()[1]: (client, *kind_and_sends)
        for client, kind_and_sends in sockets.items()
    }
    waiting = {client_port for client_port, (_, kind, _) in connected.items() if kind == EXPORTS}
    begin_of_client = dict.fromkeys(connected, begin)
    while connected and time.monotonic() - begin < LONGEST_SECONDS:
        measure()
        open_ports = client_ports(port)
        for client_port, (client, kind, sends) in list(connected.items()):
            if client_port in waiting and not _has_bytes(client):
                begin_of_client[client_port] = time.monotonic()
            else:
                waiting.discard(client_port)
            if client_port not in open_ports:
                del connected[client_port]
                longest[kind] = max(longest[kind], time.monotonic() - begin_of_client[client_port])
            elif sends:
                with suppress(OSError):
                    client.send(b"a")
        time.sleep(1)
    for _, kind, _ in connected.values():
        longest[kind] = float("inf")
    return longest


def _has_bytes(client: socket.socket) -> bool:
    """Whether a part of the response has come (it stays unread), or the connection has failed."""
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
    accounts = [headers["Authorization"] for headers in keys(tmp_path / "state", 1 + CLIENTS // 5)]
    with (
        serving(tmp_path / "data", tmp_path / "state") as server,
        # Other work on the machine delays the searches of both servers.
        serving(tmp_path / "data", tmp_path / "other state") as other_server,
    ):
        caller, other_caller = OtherCaller(server.address), OtherCaller(other_server.address)
        memory_before = server.private()
        memory_samples = [memory_before]
        with clients(server, accounts) as sockets:
            caller.start()
            other_caller.start()
            seconds = longest_times(
                int(server.address.rpartition(":")[2]),
                sockets,
                lambda: memory_samples.append(server.private()),
            )
        p99, other_p99 = caller.p99(), other_caller.p99()
        with suppress(OSError):  # if an answer comes, it is 200
            assert ask(server.address, "/healthz")[0] == 200
    sys.stdout.write(
        f"{CLIENTS} clients disconnected after {[f'{longest:.0f}' for longest in seconds]} s; "
        f"p99 beside them {p99:.0f} ms, of a server without them {other_p99:.0f} ms; "
        f"private memory {memory_before:.0f} MiB, at most {max(memory_samples):.0f} MiB\n"
    )
    assert max(seconds) < CUT_SECONDS + LATE_SECONDS
    assert caller.statuses == {200}
    assert p99 < max(MOST_MS, 3 * other_p99)
    assert max(memory_samples) < memory_before + MOST_MIB
