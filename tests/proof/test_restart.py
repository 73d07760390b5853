"""Restarts of a server whose port stays open, as with a socket unit: no request is lost."""

import asyncio
import os
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http.client import HTTPResponse
from pathlib import Path

import orjson
import pytest

from serve.process import port as ports
from tests.proof.reading import Readers, Response
from tests.proof.tools import next_line
from tests.serve import nginx as proxies
from tests.serve import world
from tests.serve.processes import ROOT, command_with_sockets

REQUESTS = int(os.environ.get("PROOF_RESTART", "5000"))  # at least, over all restarts
RESTARTS = int(os.environ.get("PROOF_RESTARTS", "2"))
START_S = 60.0  # the longest start or stop
CONNECTIONS = 6  # of the readers
# Settings that lift the limits by the minute.
HIGH_LIMITS = "[debit]\nvisiteur = 100000000\nvisiteur_jour = 100000000\nlistes = 100000000\nsimultanes = 100000000\n"
PATHS = ("/api/v1/pays", "/api/v1/societes?pays=FR", "/api/v1/societes/FR/552100554")

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with `data` and the settings of the servers."""
    world.publish(tmp_path / "data")
    (tmp_path / "serve.toml").write_text(HIGH_LIMITS)
    return tmp_path


@contextmanager
def open_sockets(count: int) -> Iterator[Sequence[socket.socket]]:
    """Open listening sockets on a free port, which stay open while servers start and end."""
    with ExitStack() as stack:
        sockets = ports.reserve("127.0.0.1", 0, count)
        for listener in sockets:
            stack.enter_context(listener).listen(512)
        yield sockets


@contextmanager
def server(
    folder: Path, sockets: Sequence[socket.socket], *flags: str
) -> Iterator["subprocess.Popen[str]"]:
    """Start a server, with the open `sockets` if there are some; kill it at the end."""
    command = [
        sys.executable, "-m", "serve", "--data", str(folder / "data"), "--state", str(folder / "state"),
        "--config", str(folder / "serve.toml"), *flags,
    ]  # fmt: skip
    descriptors = [listener.fileno() for listener in sockets]
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            command_with_sockets(sockets, command) if sockets else command,
            cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=log, pass_fds=descriptors,
        )  # fmt: skip
    with process:
        try:
            yield process
        finally:
            process.kill()


def fault_of(response: Response) -> str | None:
    """The fault of a response, or None: each must be 200."""
    if response.status == 200:
        return None
    return f"{response.status}: {response.body[:200]!r}"


@pytest.mark.parametrize(
    ("first_workers", "workers"), [("1", "1"), ("2", "2"), ("1", "3"), ("3", "2")]
)
def test_no_request_is_lost_when_a_server_is_restarted(
    folder: Path, first_workers: str, workers: str
) -> None:
    """Over kept and new connections; two sockets for one to three workers"""

    async def scenario() -> None:
        """Read while servers replace each other."""
        with open_sockets(2) as sockets:
            readers = Readers(ports.address(sockets[0]), PATHS, fault_of)
            await _read_over_restarts(
                folder, sockets, readers, [first_workers, *[workers] * RESTARTS]
            )
        figures = f"{RESTARTS} restarts, {readers.answers} answers, {len(readers.faults)} lost"
        sys.stdout.write(f"[{figures}] ")  # pytest -s shows it
        assert readers.faults == [], figures
        assert readers.answers >= REQUESTS

    asyncio.run(scenario())


def test_a_proxy_loses_no_request_over_restarts_and_answers_in_json_without_a_server(
    folder: Path,
) -> None:
    """Behind the nginx of serve/deploy/: restarts, then a closed port, then another server"""
    bodies_without_server: set[bytes] = set()

    def fault_or_expected_503(response: Response) -> str | None:
        """The fault of a response, or None: while no server runs, 503 with Retry-After is right, too."""
        if response.status != 503:
            return fault_of(response)
        bodies_without_server.add(response.body)
        return None if response.headers.get("retry-after") == "5" else "503 without Retry-After"

    async def scenario() -> None:
        """Read over restarts, then without a server, then from a new server on the same port."""
        with open_sockets(2) as sockets:
            port = sockets[0].getsockname()[1]
            nginx = proxies.configure(folder, folder / "data", port)
            trusted = ssl.create_default_context(cafile=str(nginx.certificate))
            with proxies.run_nginx(nginx):
                readers = Readers(nginx.url, PATHS, fault_of, trusted=trusted)
                await _read_over_restarts(folder, sockets, readers, ["2"] * (RESTARTS + 1))
                assert readers.faults == []

                for listener in sockets:
                    listener.close()
                readers = Readers(nginx.url, PATHS, fault_or_expected_503, trusted=trusted)
                reading = asyncio.create_task(readers.run(CONNECTIONS))
                while not bodies_without_server and not readers.faults:
                    await asyncio.sleep(0.01)
                with server(folder, (), "--port", str(port)) as process:
                    await asyncio.to_thread(next_line, process, START_S)
                    await _wait_for_answers(readers, 500)
                    readers.stop()
                    await reading
                assert readers.faults == []

    asyncio.run(scenario())
    assert [orjson.loads(body)["erreur"]["code"] for body in bodies_without_server] == [
        "indisponible"
    ]


async def _read_over_restarts(
    folder: Path, sockets: Sequence[socket.socket], readers: Readers, workers: Sequence[str]
) -> None:
    """Read while servers replace each other; each has the next number of `workers`. Ends after the last server."""
    address = ports.address(sockets[0])
    readers_task: asyncio.Task[None] | None = None
    for number, count in enumerate(workers, 1):
        with server(folder, sockets, "--workers", count) as process:
            assert await asyncio.to_thread(next_line, process, START_S) == f"{address}\n"
            readers_task = readers_task or asyncio.create_task(readers.run(CONNECTIONS))
            await _wait_for_answers(readers, REQUESTS // RESTARTS)
            if number == len(workers):
                readers.stop()
                await readers_task
            process.terminate()
            assert await asyncio.to_thread(process.wait, START_S) == 0


async def _wait_for_answers(readers: Readers, count: int) -> None:
    """Wait for `count` more answers, or for a fault."""
    answers_before = readers.answers
    while readers.answers < answers_before + count and not readers.faults:
        await asyncio.sleep(0.01)


def test_a_stopping_server_sends_its_current_response_to_the_end(folder: Path) -> None:
    """A client that sends more requests while the server stops gets complete responses"""
    with open_sockets(1) as sockets, server(folder, sockets) as process:
        next_line(process, START_S)
        with socket.create_connection(sockets[0].getsockname(), timeout=120) as client:
            client.sendall(b"GET /api/v1/pays HTTP/1.1\r\nHost: x\r\n\r\n")
            process.terminate()
            # Each response is complete, and the last one closes the connection.
            while _read_response(client).getheader("Connection") != "close":
                client.sendall(b"GET /api/v1/secteurs HTTP/1.1\r\nHost: x\r\n\r\n")
            assert client.recv(1) == b""
            assert process.wait(START_S) == 0


def _read_response(client: socket.socket) -> HTTPResponse:
    """Read a response, which must be complete and 200."""
    response = HTTPResponse(client)
    response.begin()
    assert response.status == 200
    assert len(response.read()) == int(response.getheader("Content-Length") or -1)
    return response
