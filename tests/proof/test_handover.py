"""A server that takes over the port of another: no request is lost, and downloads finish."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import orjson
import pytest

from serve.process import handover
from tests.proof.reading import Readers, Response
from tests.proof.tools import next_line
from tests.serve import world
from tests.serve.processes import ROOT, ask, eventually

REQUESTS = int(os.environ.get("PROOF_HANDOVER", "5000"))
HANDOVERS = 2
START_S = 60.0
CONNECTIONS = 6
GENEROUS = "[debit]\nvisiteur = 100000000\nvisiteur_jour = 100000000\nlistes = 100000000\n"
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


@pytest.mark.parametrize("workers", ["1", "2"])
def test_no_request_is_lost_when_a_server_takes_the_place_of_another(
    tmp_path: Path, workers: str
) -> None:
    """Over kept and new connections, all the time"""
    world.publish(tmp_path / "data")
    (tmp_path / "serve.toml").write_text(GENEROUS)

    async def scenario() -> None:
        with server(tmp_path, 0, "--workers", workers) as first:
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
    """A client reads slowly while the server is being stopped"""
    world.publish(tmp_path / "data")
    (tmp_path / "serve.toml").write_text(GENEROUS)
    with server(tmp_path, 0) as first:
        address = next_line(first, START_S).strip()
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=30) as client:
            client.sendall(b"GET /api/v1/pays HTTP/1.1\r\nHost: x\r\n\r\n")
            head = client.recv(100)
            with server(tmp_path, int(port), "--take-over") as second:
                next_line(second, START_S)
                assert eventually(lambda: b"told to stop" in (tmp_path / "log").read_bytes())
                # The open connection gets one more answer, the last one.
                client.sendall(b"GET /api/v1/secteurs HTTP/1.1\r\nHost: x\r\n\r\n")
                whole = head + b"".join(iter(lambda: client.recv(65_536), b""))
                assert first.wait(START_S) == 0
                second.terminate()
                assert second.wait(START_S) == 0

    assert whole.count(b"HTTP/1.1 200 OK") == 2
    assert whole.count(b"Connection: close") == 1


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
        assert handover.listening(port) == 1
        assert orjson.loads(ask(address, "/readyz")[1])["pid"] == first.pid
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
            assert orjson.loads(ask(address, "/readyz")[1])["pid"] == second.pid
            second.terminate()
            assert second.wait(START_S) == 0


def test_who_listens_without_its_place_is_looked_at_again(tmp_path: Path) -> None:
    """A server without the lock is stopping, or has just started"""
    listener = _listener(0)
    lock = handover.PortLock(tmp_path, listener.getsockname()[1])
    other = handover.PortLock(tmp_path, lock.port)
    leaving, beginning = Timer(0.3, listener.close), Timer(0.3, other.take)

    beginning.start()
    found = handover.to_relieve(lock)
    os.close(other._descriptor)
    leaving.start()
    left = handover.to_relieve(lock)

    assert (found, left) == (1, 0)
    assert lock.take()


def test_where_nobody_has_the_port_there_is_nobody_to_relieve(tmp_path: Path) -> None:
    world.publish(tmp_path / "data")
    (tmp_path / "serve.toml").write_text(GENEROUS)
    with server(tmp_path, 0, "--take-over") as only:
        assert ask(next_line(only, START_S).strip(), "/readyz")[0] == 200
        only.terminate()
        assert only.wait(START_S) == 0


def test_new_connections_go_to_who_listens_last_as_long_as_they_are_steered() -> None:
    if sys.platform != "linux":
        pytest.skip("only Linux steers connections")
    old, new = _listener(0), None
    try:
        port = old.getsockname()[1]
        assert handover.listening(port) == 1
        new = _listener(port)
        assert handover.steer(new, 1)

        assert _accepted(old, new, port) == (0, 200)
        handover.steer_no_more(new)
        before, after = _accepted(old, new, port)
        assert min(before, after) > 0
    finally:
        for listener in (old, new):
            if listener is not None:
                listener.close()


def _listener(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(512)
    listener.setblocking(False)
    return listener


def _accepted(old: socket.socket, new: socket.socket, port: int) -> tuple[int, int]:
    """How many of 200 connections each of two sockets accepts."""
    clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(200)]
    counts = []
    for listener in (old, new):
        counts.append(0)
        while True:
            try:
                listener.accept()[0].close()
            except BlockingIOError:
                break
            counts[-1] += 1
    for client in clients:
        client.close()
    return counts[0], counts[1]
