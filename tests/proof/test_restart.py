"""A server that is restarted while its port stays open, as under a socket unit: no request is lost."""

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
from tests.serve.processes import ROOT, with_sockets

REQUESTS = int(os.environ.get("PROOF_RESTART", "5000"))
RESTARTS = int(os.environ.get("PROOF_RESTARTS", "2"))
START_S = 60.0
CONNECTIONS = 6
GENEROUS = "[debit]\nvisiteur = 100000000\nvisiteur_jour = 100000000\nlistes = 100000000\nsimultanes = 100000000\n"
PATHS = ("/api/v1/pays", "/api/v1/societes?pays=FR", "/api/v1/societes/FR/552100554")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    world.publish(tmp_path / "data")
    (tmp_path / "serve.toml").write_text(GENEROUS)
    return tmp_path


@contextmanager
def port_unit(lines: int) -> Iterator[Sequence[socket.socket]]:
    """Listening sockets on one free port, which stay open while servers come and go."""
    with ExitStack() as opened:
        sockets = ports.reserve("127.0.0.1", 0, lines)
        for listener in sockets:
            opened.enter_context(listener).listen(512)
        yield sockets


@contextmanager
def server(
    folder: Path, sockets: Sequence[socket.socket], *flags: str
) -> Iterator["subprocess.Popen[str]"]:
    command = [
        sys.executable, "-m", "serve", "--data", str(folder / "data"), "--state", str(folder / "state"),
        "--config", str(folder / "serve.toml"), *flags,
    ]  # fmt: skip
    numbers = [listener.fileno() for listener in sockets]
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            with_sockets(sockets, command) if sockets else command,
            cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=log, pass_fds=numbers,
        )  # fmt: skip
    with process:
        try:
            yield process
        finally:
            process.kill()


def fault_of(response: Response) -> str | None:
    if response.status == 200:
        return None
    return f"{response.status}: {response.body[:200]!r}"


@pytest.mark.parametrize(("before", "workers"), [("1", "1"), ("2", "2"), ("1", "3"), ("3", "2")])
def test_no_request_is_lost_when_a_server_is_restarted(
    folder: Path, before: str, workers: str
) -> None:
    """Over kept and new connections, all the time; two sockets for one to three workers"""

    async def scenario() -> None:
        with port_unit(2) as sockets:
            readers = Readers(ports.address(sockets[0]), PATHS, fault_of)
            await _read_over_restarts(folder, sockets, readers, [before, *[workers] * RESTARTS])
        figures = f"{RESTARTS} restarts, {readers.answers} answers, {len(readers.faults)} lost"
        sys.stdout.write(f"[{figures}] ")  # pytest -s shows it
        assert readers.faults == [], figures
        assert readers.answers >= REQUESTS

    asyncio.run(scenario())


def test_a_proxy_loses_no_request_over_restarts_and_says_in_json_that_no_server_is_there(
    folder: Path,
) -> None:
    """Behind the nginx of serve/deploy/: restarts, then a closed port, then another server"""
    away: set[bytes] = set()

    def fault_or_away(response: Response) -> str | None:
        if response.status != 503:
            return fault_of(response)
        away.add(response.body)
        return None if response.headers.get("retry-after") == "5" else "503 without Retry-After"

    async def scenario() -> None:
        with port_unit(2) as sockets:
            port = sockets[0].getsockname()[1]
            nginx = proxies.configured(folder, folder / "data", port)
            trusted = ssl.create_default_context(cafile=str(nginx.certificate))
            with proxies.running(nginx):
                readers = Readers(nginx.url, PATHS, fault_of, trusted=trusted)
                await _read_over_restarts(folder, sockets, readers, ["2"] * (RESTARTS + 1))
                assert readers.faults == []

                for listener in sockets:
                    listener.close()
                readers = Readers(nginx.url, PATHS, fault_or_away, trusted=trusted)
                reading = asyncio.create_task(readers.run(CONNECTIONS))
                while not away and not readers.faults:
                    await asyncio.sleep(0.01)
                with server(folder, (), "--port", str(port)) as process:
                    await asyncio.to_thread(next_line, process, START_S)
                    await _answers(readers, 500)
                    readers.stop()
                    await reading
                assert readers.faults == []

    asyncio.run(scenario())
    assert [orjson.loads(body)["erreur"]["code"] for body in away] == ["indisponible"]


async def _read_over_restarts(
    folder: Path, sockets: Sequence[socket.socket], readers: Readers, workers: Sequence[str]
) -> None:
    """Read while a server with each of these numbers of workers takes the place of the one before."""
    address = ports.address(sockets[0])
    reading: asyncio.Task[None] | None = None
    for place, count in enumerate(workers, 1):
        with server(folder, sockets, "--workers", count) as process:
            assert await asyncio.to_thread(next_line, process, START_S) == f"{address}\n"
            reading = reading or asyncio.create_task(readers.run(CONNECTIONS))
            await _answers(readers, REQUESTS // RESTARTS)
            if place == len(workers):
                readers.stop()
                await reading
            process.terminate()
            assert await asyncio.to_thread(process.wait, START_S) == 0


async def _answers(readers: Readers, count: int) -> None:
    """Wait for so many more answers, or for a fault."""
    before = readers.answers
    while readers.answers < before + count and not readers.faults:
        await asyncio.sleep(0.01)


def test_an_answer_that_is_being_sent_is_sent_to_its_end(folder: Path) -> None:
    """A client reads slowly while the server is being stopped, and goes on asking"""
    with port_unit(1) as sockets, server(folder, sockets) as process:
        next_line(process, START_S)
        with socket.create_connection(sockets[0].getsockname(), timeout=30) as client:
            client.sendall(b"GET /api/v1/pays HTTP/1.1\r\nHost: x\r\n\r\n")
            process.terminate()
            # Each answer is whole, and one of them says that it is the last.
            while _answer(client).getheader("Connection") != "close":
                client.sendall(b"GET /api/v1/secteurs HTTP/1.1\r\nHost: x\r\n\r\n")
            assert client.recv(1) == b""
            assert process.wait(START_S) == 0


def _answer(client: socket.socket) -> HTTPResponse:
    response = HTTPResponse(client)
    response.begin()
    assert response.status == 200
    assert len(response.read()) == int(response.getheader("Content-Length") or -1)
    return response
