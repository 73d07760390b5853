"""A server that takes over the port of another: no request is lost, and downloads finish."""

import asyncio
import os
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPResponse
from pathlib import Path
from threading import Timer

import orjson
import pytest

from serve.process import handover
from serve.process import port as ports
from tests.proof.reading import Readers, Response
from tests.proof.tools import next_line
from tests.serve import nginx as proxies
from tests.serve import world
from tests.serve.processes import ROOT, ask, children, eventually

REQUESTS = int(os.environ.get("PROOF_HANDOVER", "5000"))
HANDOVERS = int(os.environ.get("PROOF_HANDOVERS", "2"))
START_S = 100.0
CONNECTIONS = 6
GENEROUS = "[debit]\nvisiteur = 100000000\nvisiteur_jour = 100000000\nlistes = 100000000\nsimultanes = 100000000\n"
PATHS = ("/api/v1/pays", "/api/v1/societes?pays=FR", "/api/v1/societes/FR/552100554")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


@contextmanager
def server(folder: Path, port: int, *flags: str) -> Iterator["subprocess.Popen[str]"]:
    command = [
        sys.executable, "-m", "serve", "--data", str(folder / "data"), "--port", str(port),
        "--state", str(folder / "state"), "--config", str(folder / "serve.toml"), *flags,
    ]  # fmt: skip
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=log)
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
def test_no_request_is_lost_when_a_server_takes_the_place_of_another(
    tmp_path: Path, before: str, workers: str
) -> None:
    """Over kept and new connections, all the time"""
    world.publish(tmp_path / "data")
    (tmp_path / "serve.toml").write_text(GENEROUS)

    async def scenario() -> None:
        with server(tmp_path, 0, "--workers", before) as first:
            address = next_line(first, START_S).strip()
            readers = Readers(address, PATHS, fault_of)
            reading = asyncio.create_task(readers.run(CONNECTIONS))
            await _take_over(tmp_path, address, first, readers, workers, HANDOVERS)
            readers.stop()
            await reading
        figures = f"{HANDOVERS} hand-overs, {readers.answers} answers, {len(readers.faults)} lost"
        sys.stdout.write(f"[{figures}] ")  # pytest -s shows it
        assert readers.faults == [], figures
        assert readers.answers >= REQUESTS

    asyncio.run(scenario())


def test_a_proxy_loses_no_request_while_servers_change_and_says_in_json_that_none_is_there(
    tmp_path: Path,
) -> None:
    """Behind the nginx of serve/deploy/: two hand-overs, then no server, then another"""
    world.publish(tmp_path / "data")
    (tmp_path / "serve.toml").write_text(GENEROUS)
    free = ports.bind("127.0.0.1", 0)
    port = free.getsockname()[1]
    free.close()
    nginx = proxies.configured(tmp_path, tmp_path / "data", port)
    trusted = ssl.create_default_context(cafile=str(nginx.certificate))
    away: set[bytes] = set()

    def fault_or_away(response: Response) -> str | None:
        if response.status != 503:
            return fault_of(response)
        away.add(response.body)
        return None if response.headers.get("retry-after") == "5" else "503 without Retry-After"

    async def scenario() -> None:
        with proxies.running(nginx), server(tmp_path, port, "--workers", "2") as first:
            address = next_line(first, START_S).strip()
            readers = Readers(nginx.url, PATHS, fault_of, trusted=trusted)
            reading = asyncio.create_task(readers.run(CONNECTIONS))
            await _take_over(tmp_path, address, first, readers, "2", HANDOVERS)
            await reading
            assert readers.faults == []

            readers = Readers(nginx.url, PATHS, fault_or_away, trusted=trusted)
            reading = asyncio.create_task(readers.run(CONNECTIONS))
            while not away and not readers.faults:
                await asyncio.sleep(0.01)
            with server(tmp_path, port) as second:
                await asyncio.to_thread(next_line, second, START_S)
                before = readers.answers
                while readers.answers < before + 500 and not readers.faults:
                    await asyncio.sleep(0.01)
                readers.stop()
                await reading
            assert readers.faults == []

    asyncio.run(scenario())
    assert [orjson.loads(body)["erreur"]["code"] for body in away] == ["indisponible"]


async def _take_over(
    folder: Path,
    address: str,
    old: "subprocess.Popen[str]",
    readers: Readers,
    workers: str,
    left: int,
) -> None:
    """Start a new server that takes over from `old`, `left` times, with reads in between."""
    before = readers.answers
    port = address.rsplit(":", 1)[1]
    with server(folder, int(port), "--workers", workers, "--take-over") as new:
        assert await asyncio.to_thread(next_line, new, START_S) == f"{address}\n"
        assert await asyncio.to_thread(old.wait, START_S) == 0
        assert new.poll() is None
        while readers.answers < before + REQUESTS // HANDOVERS and not readers.faults:
            await asyncio.sleep(0.01)
        if left > 1:
            await _take_over(folder, address, new, readers, workers, left - 1)
            return
        readers.stop()
        await asyncio.sleep(0.5)
        new.terminate()
        assert await asyncio.to_thread(new.wait, START_S) == 0


def test_an_answer_that_is_being_sent_is_sent_to_its_end(tmp_path: Path) -> None:
    """A client reads slowly while the server is being stopped, and goes on asking"""
    world.publish(tmp_path / "data")
    (tmp_path / "serve.toml").write_text(GENEROUS)
    with server(tmp_path, 0) as first:
        address = next_line(first, START_S).strip()
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=30) as client:
            client.sendall(b"GET /api/v1/pays HTTP/1.1\r\nHost: x\r\n\r\n")
            with server(tmp_path, int(port), "--take-over") as second:
                next_line(second, START_S)
                assert eventually(lambda: b"told to stop" in (tmp_path / "log").read_bytes())
                # Each answer is whole, and one of them says that it is the last.
                while _answer(client).getheader("Connection") != "close":
                    client.sendall(b"GET /api/v1/secteurs HTTP/1.1\r\nHost: x\r\n\r\n")
                assert client.recv(1) == b""
                assert first.wait(START_S) == 0
                second.terminate()
                assert second.wait(START_S) == 0


def _answer(client: socket.socket) -> HTTPResponse:
    response = HTTPResponse(client)
    response.begin()
    assert response.status == 200
    assert len(response.read()) == int(response.getheader("Content-Length") or -1)
    return response


def test_a_server_without_data_does_not_take_the_place_of_one_that_has(tmp_path: Path) -> None:
    world.publish(tmp_path / "data")
    (tmp_path / "serve.toml").write_text(GENEROUS)
    with server(tmp_path, 0) as first:
        address = next_line(first, START_S).strip()
        port = int(address.rsplit(":", 1)[1])
        (tmp_path / "data" / "CURRENT").rename(tmp_path / "CURRENT")
        with server(tmp_path, port, "--take-over") as second:
            assert second.wait(START_S) == 1
        assert b"the old server stays" in (tmp_path / "log").read_bytes()
        for _ in range(20):
            assert ask(address, "/api/v1/pays")[0] == 200
        assert first.poll() is None
        first.terminate()
        assert first.wait(START_S) == 0


@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_port_of_a_server_with_another_state_is_not_taken(tmp_path: Path, workers: str) -> None:
    """It would keep running, and both servers would count"""
    world.publish(tmp_path / "data")
    (tmp_path / "serve.toml").write_text(GENEROUS)
    with server(tmp_path, 0) as first:
        address = next_line(first, START_S).strip()
        port = int(address.rsplit(":", 1)[1])
        state = str(tmp_path / "état")
        flags = ("--workers", workers, "--state", state)
        with server(tmp_path, port, "--take-over", *flags) as second:
            assert second.wait(START_S) == 1
            assert second.stdout
            assert second.stdout.read() == ""
        said = f"port {port} is served, but not with STATE {state}; give the --state of that"
        assert said in (tmp_path / "log").read_text()
        assert eventually(lambda: ask(address, "/readyz")[0] == 200)
        assert orjson.loads(ask(address, "/readyz")[1])["pid"] in children(first.pid)
        first.terminate()
        assert first.wait(START_S) == 0


def test_a_server_that_is_killed_as_it_is_relieved_is_nobody_to_be_relieved(
    tmp_path: Path,
) -> None:
    """Its parent is gone with its lock, its workers listen for a moment longer"""
    world.publish(tmp_path / "data")
    (tmp_path / "serve.toml").write_text(GENEROUS)
    with server(tmp_path, 0, "--workers", "2") as first:
        address = next_line(first, START_S).strip()
        first.kill()
        with server(tmp_path, int(address.rsplit(":", 1)[1]), "--take-over") as second:
            assert next_line(second, START_S) == f"{address}\n"
            assert eventually(lambda: ask(address, "/readyz")[0] == 200)
            assert orjson.loads(ask(address, "/readyz")[1])["pid"] in children(second.pid)
            second.terminate()
            assert second.wait(START_S) == 0


def test_a_server_that_is_stopped_before_it_is_proven_does_not_stop_the_old_one(
    tmp_path: Path,
) -> None:
    world.publish(tmp_path / "data")
    (tmp_path / "serve.toml").write_text(GENEROUS)
    with server(tmp_path, 0) as first:
        address = next_line(first, START_S).strip()
        found = handover.find_predecessor(
            tmp_path / "state", "127.0.0.1", int(address.rsplit(":", 1)[1])
        )
        assert found
        for listener in found.listeners:
            listener.close()  # the first that a server does when it is stopped

        relieved = found.relieve(address, lambda: children(first.pid))
        found.connection.close()

        assert not relieved
        assert eventually(lambda: ask(address, "/readyz")[0] == 200)
        first.terminate()
        assert first.wait(START_S) == 0


def test_who_listens_without_offering_its_sockets_is_looked_at_again(tmp_path: Path) -> None:
    """It stops, or has only begun"""
    listener = _listener()
    port = listener.getsockname()[1]
    beginning = Timer(0.3, handover.offer, (tmp_path, port, [listener]))

    beginning.start()
    found = handover.find_predecessor(tmp_path, "127.0.0.1", port)
    Timer(0.3, listener.close).start()
    left = handover.find_predecessor(tmp_path / "autre", "127.0.0.1", _only(found, port))

    assert found
    assert found.pid == os.getpid()
    assert left is None


def _only(found: handover.Predecessor | None, port: int) -> int:
    """The port, once no socket but the first one listens on it."""
    assert found
    found.connection.close()
    for listener in found.listeners:
        listener.close()
    return port


def test_where_nobody_has_the_port_there_is_nobody_to_relieve(tmp_path: Path) -> None:
    world.publish(tmp_path / "data")
    (tmp_path / "serve.toml").write_text(GENEROUS)
    with server(tmp_path, 0, "--take-over") as only:
        address = next_line(only, START_S).strip()
        # A server that gets no time of a busy machine for 15 s closes a connection without an answer.
        assert eventually(lambda: ask(address, "/readyz")[0] == 200)
        only.terminate()
        assert only.wait(START_S) == 0


def test_connections_that_wait_when_the_old_server_closes_its_socket_are_accepted(
    tmp_path: Path,
) -> None:
    """Also from a STATE whose path is longer than the address of a Unix socket"""
    state = tmp_path / ("état" * 30)
    state.mkdir()
    listener = _listener()
    port = listener.getsockname()[1]
    handover.offer(state, port, [listener])
    found = handover.find_predecessor(state, "127.0.0.1", port)
    assert found

    clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(100)]
    listener.close()
    served = [found.listeners[0].accept()[0] for _ in clients]
    for connection in served:
        connection.sendall(b"served")

    assert [client.recv(16) for client in clients] == [b"served"] * 100
    for opened in (*clients, *served, *found.listeners, found.connection):
        opened.close()


def test_the_sockets_of_another_address_are_not_taken(tmp_path: Path) -> None:
    listener = _listener()
    port = listener.getsockname()[1]
    handover.offer(tmp_path, port, [listener])

    with pytest.raises(handover.HandoverError, match=f"listens on http://127.0.0.1:{port}; give"):
        handover.find_predecessor(tmp_path, "0.0.0.0", port)

    listener.close()


def _listener() -> socket.socket:
    listener = ports.bind("127.0.0.1", 0, shared=True)
    listener.listen(512)
    return listener
