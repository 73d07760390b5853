"""The command `python -m serve`: a real process, its output, signals and imports (design §2)."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import orjson
import pytest

from serve.config import Config
from serve.observe import metrics
from serve.process import port as ports
from serve.process import workers
from serve.process.workers import WorkersError
from shards.generations import pointer
from tests.serve import world
from tests.serve.processes import (
    ROOT,
    alive,
    ask,
    children,
    eventually,
    line_of,
    log,
    processor_seconds,
    started,
    stop,
    with_sockets,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    world.publish(folder)
    return folder


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_says_where_it_listens_serves_and_leaves_with_0(
    data: Path, number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with started(data) as process:
        address = line_of(process)
        (worker,) = children(process.pid)
        ready = processor_seconds(worker)
        status, body = ask(address, "/api/v1/societes?pays=FR")
        with capsys.disabled():
            sys.stdout.write(f"[ready after {ready:.2f} s of a processor] ")
        stdout, stderr = stop(process, number)

    # The goal is a second by the clock on an idle machine; the processor's time is the same on a busy one, or twice.
    assert ready < 3
    assert address.startswith("http://127.0.0.1:")
    assert (status, orjson.loads(body)["total"]) == (200, 8)
    assert stdout == ""
    assert [line["event"] for line in log(stderr)].count("request") == 1
    assert data.with_name("state").is_dir()


def test_the_serving_process_holds_no_batch_engine(data: Path) -> None:
    """design §1: neither polars nor pyarrow, in the process that runs"""
    with started(data) as process:
        address = line_of(process)
        ask(address, "/api/v1/societes?q=lab")
        (worker,) = children(process.pid)
        mapped = Path(f"/proc/{worker}/maps").read_text()
        stop(process)

    assert "numpy" in mapped
    assert "polars" not in mapped
    assert "arrow" not in mapped


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("worker", {"polars", "pyarrow"}),
        # The parent of several workers imports this much before it starts them, and keeps it.
        ("command", {"polars", "pyarrow", "numpy", "lmdb", "aiohttp", "serve.contract.errors"}),
    ],
)
def test_a_process_imports_what_it_needs(module: str, heavy: set[str]) -> None:
    """design §1"""
    code = f"import serve.process.{module}, sys; print(sorted({heavy!r} & set(sys.modules)))"

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)

    assert done.stdout == "[]\n"


MEMORY = 'societes_memory_bytes{kind="worker"}'
PROCESSOR = 'societes_processor_seconds_total{kind="worker"}'


def metric(address: str, name: str) -> float:
    """The value of a series of /metrics."""
    status, text = ask(address, "/metrics")
    found = [line for line in text.decode().splitlines() if line.startswith(f"{name} ")]
    assert len(found) == 1, (status, text)
    return float(found[0].split()[1])


def test_sighup_takes_a_generation_up_and_several_workers_share_one_port(data: Path) -> None:
    with started(data, "--workers", "2") as process:
        address = line_of(process)
        first = readies(address)
        second = publish_damaged(data)
        time.sleep(1.5)
        assert readies(address) == first  # looked at, and refused
        repair(data, second)
        process.send_signal(signal.SIGHUP)
        assert eventually(lambda: readies(address) == {second})
        _, stderr = stop(process)

    events = [str(line["event"]) for line in log(stderr)]
    assert sum("refused" in event for event in events) == 2
    assert sum(event == f"generation {second} is served" for event in events) == 2


def test_a_worker_that_dies_is_replaced(data: Path) -> None:
    with started(data, "--workers", "2") as process:
        address = line_of(process)
        victim, other = children(process.pid)
        os.kill(victim, signal.SIGKILL)
        assert eventually(lambda: len(children(process.pid) - {victim}) == 2)
        assert other in children(process.pid)
        assert eventually(lambda: ask(address, "/healthz")[0] == 200)
        _, stderr = stop(process)

    assert any("starting another" in str(line["event"]) for line in log(stderr))


def test_a_worker_that_died_leaves_what_it_counted_and_no_memory(data: Path) -> None:
    def is_told(pids: set[int]) -> bool:
        memory = sum(metrics._memory(str(pid)) for pid in pids)
        return abs(metric(address, MEMORY) - memory) < 0.2 * memory

    with started(data, "--workers", "2") as process:
        address = line_of(process)
        first = children(process.pid)
        assert eventually(lambda: is_told(first))
        seconds = metric(address, PROCESSOR)
        victim, other = first
        os.kill(victim, signal.SIGKILL)
        assert eventually(lambda: len(children(process.pid) - first) == 1)
        assert eventually(lambda: is_told({other, *children(process.pid)} - {victim}))
        assert metric(address, PROCESSOR) >= seconds
        stop(process)


def test_a_generation_that_was_repaired_is_refused_in_no_metric(data: Path) -> None:
    """What each worker knows by itself is in no file that they share, where it would stay."""

    def refusals() -> set[bool]:
        texts = [ask(address, "/metrics")[1] for _ in range(8)]
        return {b"societes_generation_refused_info{" in text for text in texts}

    with started(data, "--workers", "2") as process:
        address = line_of(process)
        second = publish_damaged(data)
        assert eventually(lambda: refusals() == {True})
        repair(data, second)
        process.send_signal(signal.SIGHUP)
        assert eventually(lambda: refusals() == {False})
        lines = ask(address, "/metrics")[1].decode().splitlines()
        stop(process)

    helps = [line.split()[2] for line in lines if line.startswith("# HELP ")]
    assert len(set(helps)) == len(helps)
    assert not [line for line in lines if "pid=" in line]


def test_connections_that_wait_for_a_worker_that_dies_are_answered_by_the_next_one(
    data: Path,
) -> None:
    """A stopped worker accepts nothing, so about half of these connections wait for it"""
    with started(data, "--workers", "2") as process:
        host, port = line_of(process).removeprefix("http://").split(":")
        victim, _ = children(process.pid)
        os.kill(victim, signal.SIGSTOP)
        clients = [socket.create_connection((host, int(port)), timeout=30) for _ in range(40)]
        for client in clients:
            client.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        os.kill(victim, signal.SIGKILL)
        answers = [client.recv(15) for client in clients]
        for client in clients:
            client.close()
        stop(process)

    assert answers == [b"HTTP/1.1 200 OK"] * 40


def test_a_worker_that_dies_as_it_starts_does_not_end_its_parent() -> None:
    """Its end of the pipe closes before it is gone: that is no word, and no error"""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=time.sleep, args=(0,))
    process.start()
    theirs.close()
    worker = workers._Worker(process, ours)

    assert workers._becomes_ready(worker) == (False, "")
    assert process.exitcode == 0
    ours.close()


def test_damaged_shards_silence_their_countries_only(data: Path) -> None:
    """One is damaged before the start, its size unchanged; one is cut while it is served (SIGBUS)"""
    only = str(pointer.current_name(data))
    change_middle(data / only / "FR.shard")
    with started(data, "--workers", "2") as process:
        address = line_of(process)
        assert eventually(lambda: missing(address) == {("FR",)})
        os.truncate(data / only / "UK.shard", 0)
        for _ in range(8):
            with suppress(OSError, HTTPException):  # a worker died
                ask(address, "/api/v1/societes?pays=UK&q=a")
        assert eventually(lambda: missing(address) == {("FR", "UK")})
        statuses = {
            pays: {ask(address, f"/api/v1/societes?pays={pays}")[0] for _ in range(8)}
            for pays in ("EE", "FR", "UK")
        }
        stop(process)

    assert statuses == {"EE": {200}, "FR": {503}, "UK": {503}}


def test_workers_that_die_by_sigbus_before_they_are_ready_are_started_in_doubt() -> None:
    """They compare all shards before they read any"""
    crew = workers._WorkerSet.__new__(workers._WorkerSet)
    crew._faults = deque(maxlen=2)
    doubts = []
    for code in (1, -signal.SIGBUS, -signal.SIGSEGV):
        doubts.append((crew.note_end(code, ready=True), crew._suspect()))

    assert doubts == [(False, False), (True, False), (True, True)]


def test_one_death_by_sigbus_before_a_worker_is_ready_is_enough() -> None:
    crew = workers._WorkerSet.__new__(workers._WorkerSet)
    crew._faults = deque(maxlen=2)
    crew.note_end(-signal.SIGBUS, ready=False)

    assert crew._suspect()


def dies_unless_doubted(
    _config: object,
    _listeners: object,
    doubted: bool,
    _replaces: bool,
    pipe: Connection,
) -> None:
    if not doubted:
        os.kill(os.getpid(), signal.SIGBUS)
    pipe.send("")
    pipe.poll(None)


def dies(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGBUS)


def cannot_start(*given: Any) -> None:
    given[-1].send("no room is left")
    sys.exit(1)


def has_a_number_that_is_taken(config: Config, *given: Any) -> None:
    """The first two workers end as those do whose number another container has; a file counts them."""
    assert config.state
    tries = config.state / "tries"
    with tries.open("a") as file:
        file.write("x")
    if tries.stat().st_size <= 2:
        sys.exit(75)
    given[-1].send("")
    given[-1].poll(None)


@pytest.fixture
def crew_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[..., None]]:
    """Runs `workers` whose main function is another one, until they are ready."""
    handlers = {number: signal.getsignal(number) for number in (15, 2, 1)}

    def run_crew(main: Callable[..., None], count: int) -> None:
        monkeypatch.setattr(workers, "work", main)
        config = Config(data=tmp_path, state=tmp_path, workers=count)
        workers.run(config, [], lambda: os.kill(os.getpid(), signal.SIGTERM))

    yield run_crew
    signal.set_wakeup_fd(-1)
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("count", [1, 2])
def test_a_worker_that_dies_as_it_starts_is_replaced_by_one_that_compares(
    crew_of: Callable[..., None], count: int, caplog: pytest.LogCaptureFixture
) -> None:
    """The fourth attack (M5): one worker was without a parent, several ended with None"""
    crew_of(dies_unless_doubted, count)

    said = [record.getMessage() for record in caplog.records]
    assert said
    assert all("ended by the signal SIGBUS, starting another that compares" in one for one in said)


def test_a_worker_that_dies_although_it_compared_ends_the_start_with_the_signal(
    crew_of: Callable[..., None],
) -> None:
    with pytest.raises(
        WorkersError, match=r"ended by the signal SIGBUS before it was ready; the shards have"
    ):
        crew_of(dies, 1)


def test_a_worker_whose_number_is_taken_is_replaced_until_one_has_another(
    crew_of: Callable[..., None], tmp_path: Path
) -> None:
    crew_of(has_a_number_that_is_taken, 1)

    assert (tmp_path / "tries").read_text() == "xxx"


def test_the_error_of_a_worker_that_cannot_start_is_that_of_the_command(
    crew_of: Callable[..., None],
) -> None:
    with pytest.raises(WorkersError, match=r"^no room is left$"):
        crew_of(cannot_start, 2)


def test_workers_do_not_outlive_their_parent(data: Path) -> None:
    with started(data, "--workers", "2") as process:
        line_of(process)
        workers = children(process.pid)
        process.kill()
        assert len(workers) == 2
        assert eventually(lambda: not any(alive(worker) for worker in workers))
        process.communicate(timeout=10)


def test_it_starts_without_data_and_picks_the_first_generation_up(tmp_path: Path) -> None:
    """G9"""
    data = tmp_path / "data"
    with started(data) as process:
        address = line_of(process)
        assert ask(address, "/readyz")[0] == 503
        world.publish(data)
        assert eventually(lambda: ask(address, "/readyz")[0] == 200)
        stop(process)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_it_is_not_ready_before_its_store_was_opened(data: Path, workers: str) -> None:
    """G10: a folder is where the store belongs, then no longer"""
    store = data.with_name("state") / "quota.lmdb"
    (store / "in_the_way").mkdir(parents=True)
    with started(data, "--workers", workers) as process:
        address = line_of(process)
        ready = [ask(address, "/readyz") for _ in range(16)]
        others = {ask(address, path)[0] for path in ("/healthz", "/api/v1/societes")}
        shutil.rmtree(store)

        assert others == {200}
        assert all(status == 503 and b"magasin" in body for status, body in ready)
        assert eventually(lambda: all(ask(address, "/readyz")[0] == 200 for _ in range(16)))
        stop(process)


def test_a_port_that_is_taken_is_one_line_and_1(data: Path) -> None:
    state = data.with_name("other")
    with started(data) as process:
        port = line_of(process).rsplit(":", 1)[1]
        for workers in ("1", "2"):
            done = run(
                "--data", str(data), "--state", str(state), "--port", port, "--workers", workers
            )
            assert done.returncode == 1
            assert done.stderr.count("\n") == 1
            assert f"127.0.0.1:{port} is taken; give another --port\n" in done.stderr
        stop(process)


def test_it_serves_on_the_sockets_that_systemd_passes(data: Path) -> None:
    """In the place of --host and --port; two workers share one queue, and the next server finds it open"""
    with ports.bind("127.0.0.1", 0) as listener:
        listener.listen()
        for _ in range(2):
            with passed(data, listener, "--port", "1", "--workers", "2") as process:
                address = line_of(process)
                statuses = {ask(address, "/healthz")[0] for _ in range(4)}
                process.terminate()
                assert process.wait(20) == 0
            assert (address, statuses) == (ports.address(listener), {200})


def test_sockets_that_are_passed_to_another_process_are_left(data: Path) -> None:
    named = {"LISTEN_FDS": "1", "LISTEN_PID": str(os.getpid())}
    with started(data, environment=named) as process:
        assert ask(line_of(process), "/healthz")[0] == 200
        stop(process)


def test_a_passed_socket_without_an_address_of_tcp_is_one_line_and_1(
    data: Path, tmp_path: Path
) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "serve.sock"))
        with passed(data, listener) as process:
            _, stderr = process.communicate(timeout=20)

    assert process.returncode == 1
    assert stderr == "serve: the socket unit has no port of TCP; give ListenStream=HOST:PORT\n"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--host", "nohost.invalid"), "'nohost.invalid' is no host that is known here; give"),
        (("--host", "é" * 70), "give another --host"),
        (("--host", "192.0.2.1"), "192.0.2.1:0 is no address of this machine; give another --host"),
        (("--state", "data/CURRENT"), "data/CURRENT is a file; --state wants a folder"),
        (("--state", "data/CURRENT/état"), "data/CURRENT is a file; --state wants a folder"),
    ],
)
def test_where_it_cannot_begin_it_names_the_value_and_the_flag(
    data: Path, flags: tuple[str, ...], said: str
) -> None:
    name, value = flags
    if name == "--state":
        value = str(data.parent / value)
    elsewhere, state = str(data.with_name("autre")), str(data.with_name("state"))

    done = run("--data", elsewhere, "--state", state, "--port", "0", name, value)

    assert done.returncode == 1
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert "Errno" not in done.stderr


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        ((), "--data"),
        (("--data", "x"), "--state"),
        (("--port", "http"), "'http'"),
        (("--workers", "0"), "workers"),
        (("--quota", "http://h"), "http://h"),
        (("--lease", "true"), "redis://"),
        (("--prot", "1"), "--prot"),
        (("--por", "5"), "--por"),
        (("--print-config", "--worker", "2"), "--worker"),
        (("--config", "absent.toml"), "absent.toml"),
    ],
)
def test_wrong_use_is_named_and_2(flags: tuple[str, ...], named: str) -> None:
    done = run(*flags)

    assert done.returncode == 2
    assert named in done.stderr.splitlines()[-1]


def test_the_settings_can_be_shown(tmp_path: Path) -> None:
    """D7"""
    file = tmp_path / "serve.toml"
    file.write_text("port = 9000\n[debit]\nvisiteur = 7\n", encoding="utf-8")

    done = run("--config", str(file), "--workers", "4", "--print-config")

    assert done.returncode == 0
    for line in ("port = 9000", "workers = 4", "visiteur = 7", "integral = 600", 'quota = "lmdb"'):
        assert line in done.stdout.splitlines()


@contextmanager
def passed(data: Path, listener: socket.socket, *flags: str) -> Iterator["subprocess.Popen[str]"]:
    """A server to which a socket is passed, as by a socket unit."""
    command = [
        sys.executable,
        "-m",
        "serve",
        "--data",
        str(data),
        "--state",
        str(data.with_name("state")),
        *flags,
    ]
    with subprocess.Popen(
        with_sockets([listener], command), cwd=ROOT, text=True, pass_fds=[listener.fileno()],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


def run(*flags: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "serve", *flags]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=20)


def publish_damaged(data: Path) -> str:
    """Make CURRENT name another generation that lacks a file."""
    elsewhere = data.with_name("elsewhere")
    second = world.publish(elsewhere, world.COMPANIES[:10])
    (elsewhere / second / "FR.shard").rename(elsewhere / "FR.shard")
    (elsewhere / second).rename(data / second)
    pointer.point_to(data, second, [str(pointer.current_name(data))])
    return second


def repair(data: Path, generation: str) -> None:
    (data.with_name("elsewhere") / "FR.shard").rename(data / generation / "FR.shard")


def readies(address: str) -> set[str]:
    """The generations that several connections, and so several workers, are answered from, once they are ready."""
    assert eventually(lambda: all(ask(address, "/readyz")[0] == 200 for _ in range(16)))
    return {str(orjson.loads(ask(address, "/readyz")[1])["generation"]) for _ in range(16)}


def missing(address: str) -> set[tuple[str, ...]]:
    """The countries that are left out, as several connections, and so several workers, see it."""
    assert eventually(lambda: all(ask(address, "/readyz")[0] == 200 for _ in range(16)))
    return {tuple(orjson.loads(ask(address, "/readyz")[1])["pays_manquants"]) for _ in range(16)}


def change_middle(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 1]))
