"""The command `python -m serve`: a real process, its output, signals and imports (design §2)."""

import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from http.client import HTTPException
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
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
    ask,
    children,
    command_with_sockets,
    eventually,
    in_time,
    is_alive,
    log_so_far,
    parse_log,
    processor_seconds,
    read_line,
    server_process,
    stop,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with a published generation of the test data."""
    folder = tmp_path / "data"
    world.publish(folder)
    return folder


@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_prints_its_address_serves_and_exits_with_0(
    data: Path, signal_number: int
) -> None:
    with server_process(data) as process:
        address = read_line(process)
        status, body = ask(address, "/api/v1/societes?pays=FR")
        stdout, stderr = stop(process, signal_number)

    assert address.startswith("http://127.0.0.1:")
    assert (status, orjson.loads(body)["total"]) == (200, 8)
    assert stdout == ""
    assert [line["event"] for line in parse_log(stderr)].count("request") == 1
    assert data.with_name("state").is_dir()


def test_a_server_starts_with_little_processor_time(data: Path) -> None:
    """The import of the main libraries is the measure: a start usually takes about five times as long.

    The goal is a second on an idle machine with fast processors; a busy or slow machine needs up to four times that.
    """

    def is_in_time() -> bool:
        """Whether a start takes less than eight times as long as the import of the libraries."""
        with server_process(data) as process:
            read_line(process)
            (worker,) = children(process.pid)
            start_seconds = processor_seconds(worker)
            stop(process)
        return start_seconds < 8 * _seconds_of_libraries()

    assert in_time(is_in_time)


def _seconds_of_libraries() -> float:
    """The processor time of a process that imports the main libraries of a worker and ends."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", "import aiohttp, blake3, lmdb, numpy, orjson"], check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def test_a_server_process_loads_no_batch_engine(data: Path) -> None:
    """design §1: the running process maps neither polars nor pyarrow"""
    with server_process(data) as process:
        address = read_line(process)
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
        # The parent of the workers keeps these modules out of its memory.
        ("command", {"polars", "pyarrow", "numpy", "lmdb", "aiohttp", "serve.contract.errors"}),
    ],
)
def test_a_process_imports_no_heavy_module_that_it_does_not_need(
    module: str, heavy: set[str]
) -> None:
    """design §1"""
    code = f"import serve.process.{module}, sys; print(sorted({heavy!r} & set(sys.modules)))"

    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)

    assert result.stdout == "[]\n"


# Series of /metrics.
MEMORY = 'societes_memory_bytes{kind="worker"}'
PROCESSOR = 'societes_processor_seconds_total{kind="worker"}'


def metric_value(address: str, name: str) -> float:
    """The value of a series of /metrics."""
    status, text = ask(address, "/metrics")
    lines = [line for line in text.decode().splitlines() if line.startswith(f"{name} ")]
    assert len(lines) == 1, (status, text)
    return float(lines[0].split()[1])


def test_sighup_switches_the_generation_of_several_workers_on_one_port(data: Path) -> None:
    """SIGHUP makes the workers open a generation that they refused before, since it was damaged"""
    with server_process(data, "--workers", "2") as process:
        address = read_line(process)
        first_generations = served_generations(address)
        new_generation = publish_damaged(data)
        assert eventually(lambda: log_so_far(process).count("refused") == 2)  # by both workers
        assert served_generations(address) == first_generations
        restore_shard(data, new_generation)
        process.send_signal(signal.SIGHUP)
        assert eventually(lambda: served_generations(address) == {new_generation})
        _, stderr = stop(process)

    events = [str(line["event"]) for line in parse_log(stderr)]
    assert sum("refused" in event for event in events) == 2
    assert sum(event == f"generation {new_generation} is served" for event in events) == 2


def test_a_worker_that_dies_is_replaced(data: Path) -> None:
    with server_process(data, "--workers", "2") as process:
        address = read_line(process)
        victim, survivor = children(process.pid)
        os.kill(victim, signal.SIGKILL)
        assert eventually(lambda: len(children(process.pid) - {victim}) == 2)
        assert survivor in children(process.pid)
        assert eventually(lambda: ask(address, "/healthz")[0] == 200)
        _, stderr = stop(process)

    assert any("starting another" in str(line["event"]) for line in parse_log(stderr))


def test_the_processor_time_of_a_dead_worker_stays_and_its_memory_does_not(data: Path) -> None:
    """The metrics are sums over the workers"""

    def memory_is_reported(pids: set[int]) -> bool:
        """Whether the metric is the sum of the memory of these processes, within a fifth."""
        memory = sum(metrics._memory_bytes(str(pid)) for pid in pids)
        return abs(metric_value(address, MEMORY) - memory) < 0.2 * memory

    with server_process(data, "--workers", "2") as process:
        address = read_line(process)
        first_workers = children(process.pid)
        assert eventually(lambda: memory_is_reported(first_workers))
        seconds = metric_value(address, PROCESSOR)
        victim, survivor = first_workers
        os.kill(victim, signal.SIGKILL)
        assert eventually(lambda: len(children(process.pid) - first_workers) == 1)
        assert eventually(lambda: memory_is_reported({survivor, *children(process.pid)} - {victim}))
        assert metric_value(address, PROCESSOR) >= seconds
        stop(process)


def test_no_metric_names_a_repaired_generation_as_refused(data: Path) -> None:
    """The workers share files with their metrics, in which the name of a refused generation would remain"""

    def refusals() -> set[bool]:
        """Whether /metrics names a refused generation, as several connections report it."""
        texts = [ask(address, "/metrics")[1] for _ in range(8)]
        return {b"societes_generation_refused_info{" in text for text in texts}

    with server_process(data, "--workers", "2") as process:
        address = read_line(process)
        damaged_generation = publish_damaged(data)
        assert eventually(lambda: refusals() == {True})
        restore_shard(data, damaged_generation)
        process.send_signal(signal.SIGHUP)
        assert eventually(lambda: refusals() == {False})
        lines = ask(address, "/metrics")[1].decode().splitlines()
        stop(process)

    # The files of the workers are merged: each metric is described once, and no sample names a process.
    helps = [line.split()[2] for line in lines if line.startswith("# HELP ")]
    assert len(set(helps)) == len(helps)
    assert not [line for line in lines if "pid=" in line]


def test_connections_that_wait_for_a_worker_that_dies_are_answered_by_the_next_one(
    data: Path,
) -> None:
    """A stopped worker accepts no connection, so about half of the 40 connections wait for it"""
    with server_process(data, "--workers", "2") as process:
        host, port = read_line(process).removeprefix("http://").split(":")
        victim, _ = children(process.pid)
        os.kill(victim, signal.SIGSTOP)
        clients = [socket.create_connection((host, int(port)), timeout=120) for _ in range(40)]
        for client in clients:
            client.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        os.kill(victim, signal.SIGKILL)
        answers = [client.recv(15) for client in clients]
        for client in clients:
            client.close()
        stop(process)

    assert answers == [b"HTTP/1.1 200 OK"] * 40


def test_a_worker_that_dies_while_it_starts_does_not_end_its_parent() -> None:
    """The worker's end of the pipe closes before its process ends: the parent gets neither a message nor an error"""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=time.sleep, args=(0,))
    process.start()
    theirs.close()
    worker = workers._Worker(process, ours)

    assert workers._becomes_ready(worker) == (False, "")
    process.join(120)
    assert process.exitcode == 0
    ours.close()


def test_damaged_shards_stop_only_their_countries(data: Path) -> None:
    """One shard is damaged before the start, its size unchanged; another is truncated while it is served (SIGBUS)"""
    generation = str(pointer.current_name(data))
    flip_bit_in_middle(data / generation / "FR.shard")
    with server_process(data, "--workers", "2") as process:
        address = read_line(process)
        assert eventually(lambda: missing_countries(address) == {("FR",)})
        os.truncate(data / generation / "UK.shard", 0)
        for _ in range(8):
            with suppress(OSError, HTTPException):  # a worker died
                ask(address, "/api/v1/societes?pays=UK&q=a")
        assert eventually(lambda: missing_countries(address) == {("FR", "UK")})
        statuses = {
            pays: {ask(address, f"/api/v1/societes?pays={pays}")[0] for _ in range(8)}
            for pays in ("EE", "FR", "UK")
        }
        stop(process)

    assert statuses == {"EE": {200}, "FR": {503}, "UK": {503}}


def test_after_two_deaths_by_signal_workers_compare_shards_before_they_read() -> None:
    """Deaths by SIGBUS and SIGSEGV count, since damaged shards cause them; exits do not"""
    worker_set = _worker_set_without_processes()
    results = []
    for code in (1, -signal.SIGBUS, -signal.SIGSEGV):
        results.append((worker_set.note_end(code, ready=True), worker_set._suspects_damage()))

    assert results == [(False, False), (True, False), (True, True)]


def test_after_the_death_of_one_starting_worker_by_sigbus_workers_compare_shards() -> None:
    worker_set = _worker_set_without_processes()
    worker_set.note_end(-signal.SIGBUS, ready=False)

    assert worker_set._suspects_damage()


def _worker_set_without_processes() -> workers._WorkerSet:
    """A set that starts no worker, and remembers the last two deaths."""
    worker_set = workers._WorkerSet.__new__(workers._WorkerSet)
    worker_set._faults = deque(maxlen=2)
    return worker_set


def dies_unless_it_compares(
    _config: object,
    _listeners: object,
    compares: bool,
    _replaces: bool,
    pipe: Connection,
) -> None:
    """A worker that is ready only if it compares the shards first; otherwise it dies."""
    if not compares:
        os.kill(os.getpid(), signal.SIGBUS)
    pipe.send("")
    pipe.poll(None)  # run until the parent ends it


def dies_by_sigbus(*_: object) -> None:
    """A worker that dies at its start, as if a shard were truncated."""
    os.kill(os.getpid(), signal.SIGBUS)


def reports_an_error_and_exits(*arguments: Any) -> None:
    """A worker that sends its parent an error through the pipe, its last argument."""
    arguments[-1].send("no room is left")
    sys.exit(1)


def exits_twice_as_if_its_number_were_taken(config: Config, *arguments: Any) -> None:
    """The first two workers exit with 75, as if another container had their number; a file has an `x` per worker."""
    assert config.state
    tries = config.state / "tries"
    with tries.open("a") as file:
        file.write("x")
    if tries.stat().st_size <= 2:
        sys.exit(75)
    arguments[-1].send("")
    arguments[-1].poll(None)


@pytest.fixture
def run_workers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[..., None]]:
    """A function that runs workers with a main function of the test, until they are ready.

    At the end the signal handlers of pytest are set again, because running workers replaces them.
    """
    handlers = {number: signal.getsignal(number) for number in (15, 2, 1)}

    def run(main: Callable[..., None], worker_count: int) -> None:
        """Run workers with this main function; when they are ready, SIGTERM ends the run."""
        monkeypatch.setattr(workers, "run_worker", main)
        config = Config(data=tmp_path, state=tmp_path, workers=worker_count)
        workers.run(config, [], lambda: os.kill(os.getpid(), signal.SIGTERM))

    yield run
    signal.set_wakeup_fd(-1)
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("worker_count", [1, 2])
def test_a_worker_that_dies_while_it_starts_is_replaced_by_a_worker_that_compares(
    run_workers: Callable[..., None], worker_count: int, caplog: pytest.LogCaptureFixture
) -> None:
    """M5: also a single worker, which has a parent that can replace it"""
    run_workers(dies_unless_it_compares, worker_count)

    messages = [record.getMessage() for record in caplog.records]
    assert messages
    assert all(
        "ended by the signal SIGBUS, starting another that compares" in message
        for message in messages
    )


def test_a_worker_that_dies_after_it_compared_ends_the_start_with_the_signal(
    run_workers: Callable[..., None],
) -> None:
    with pytest.raises(
        WorkersError, match=r"ended by the signal SIGBUS before it was ready; the shards have"
    ):
        run_workers(dies_by_sigbus, 1)


def test_a_worker_whose_number_is_taken_is_replaced_until_a_number_is_free(
    run_workers: Callable[..., None], tmp_path: Path
) -> None:
    run_workers(exits_twice_as_if_its_number_were_taken, 1)

    assert (tmp_path / "tries").read_text() == "xxx"


@pytest.mark.parametrize("is_late", [False, True])
def test_the_command_fails_with_the_error_of_a_worker_that_cannot_start(
    run_workers: Callable[..., None], monkeypatch: pytest.MonkeyPatch, is_late: bool
) -> None:
    """Also if the parent looks for the error only after the worker has ended"""

    def wait_for_ends(events: Sequence[Any]) -> list[Any]:
        """Wait until the processes have ended; return all events."""
        for sentinel in events[-2:]:
            wait([sentinel], timeout=120)
        return wait(events)

    if is_late:
        monkeypatch.setattr(workers, "wait", wait_for_ends)
    with pytest.raises(WorkersError, match=r"^no room is left$"):
        run_workers(reports_an_error_and_exits, 2)


def test_workers_do_not_outlive_their_parent(data: Path) -> None:
    with server_process(data, "--workers", "2") as process:
        read_line(process)
        workers = children(process.pid)
        process.kill()
        assert len(workers) == 2
        assert eventually(lambda: not any(is_alive(worker) for worker in workers))
        process.communicate(timeout=120)


def test_a_server_starts_without_data_and_serves_the_first_generation_when_it_appears(
    tmp_path: Path,
) -> None:
    """G9"""
    data = tmp_path / "data"
    with server_process(data) as process:
        address = read_line(process)
        assert ask(address, "/readyz")[0] == 503
        world.publish(data)
        assert eventually(lambda: ask(address, "/readyz")[0] == 200)
        stop(process)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_server_is_not_ready_before_its_store_is_open(data: Path, workers: str) -> None:
    """G10: the store cannot open, since a folder has its path, until the test removes the folder"""
    store = data.with_name("state") / "quota.lmdb"
    (store / "in_the_way").mkdir(parents=True)
    with server_process(data, "--workers", workers) as process:
        address = read_line(process)
        ready_responses = [ask(address, "/readyz") for _ in range(16)]
        other_statuses = {ask(address, path)[0] for path in ("/healthz", "/api/v1/societes")}
        shutil.rmtree(store)

        assert other_statuses == {200}
        assert all(status == 503 and b"magasin" in body for status, body in ready_responses)
        assert eventually(lambda: all(ask(address, "/readyz")[0] == 200 for _ in range(16)))
        stop(process)


def test_a_port_that_is_taken_is_an_error_of_one_line_and_exit_1(data: Path) -> None:
    state = data.with_name("other")
    with server_process(data) as process:
        port = read_line(process).rsplit(":", 1)[1]
        for workers in ("1", "2"):
            result = run_serve(
                "--data", str(data), "--state", str(state), "--port", port, "--workers", workers
            )
            assert result.returncode == 1
            assert result.stderr.count("\n") == 1
            assert f"127.0.0.1:{port} is taken; give another --port\n" in result.stderr
        stop(process)


def test_a_server_uses_the_sockets_that_systemd_passes(data: Path) -> None:
    """Instead of --host and --port. Two workers share the queue of one socket, which the next server takes over"""
    with ports.bind("127.0.0.1", 0) as listener:
        listener.listen()
        for _ in range(2):
            with server_with_socket(data, listener, "--port", "1", "--workers", "2") as process:
                address = read_line(process)
                statuses = {ask(address, "/healthz")[0] for _ in range(4)}
                process.terminate()
                assert process.wait(120) == 0
            assert (address, statuses) == (ports.address(listener), {200})


def test_sockets_for_another_process_are_ignored(data: Path) -> None:
    environment = {"LISTEN_FDS": "1", "LISTEN_PID": str(os.getpid())}
    with server_process(data, environment=environment) as process:
        assert ask(read_line(process), "/healthz")[0] == 200
        stop(process)


def test_a_socket_that_is_not_tcp_is_an_error_of_one_line_and_exit_1(
    data: Path, tmp_path: Path
) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "serve.sock"))
        with server_with_socket(data, listener) as process:
            _, stderr = process.communicate(timeout=120)

    assert process.returncode == 1
    assert stderr == "serve: the socket unit has no port of TCP; give ListenStream=HOST:PORT\n"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--host", "nohost.invalid"), "'nohost.invalid' is not a known host; give"),
        (("--host", "é" * 70), "give another --host"),
        (
            ("--host", "192.0.2.1"),
            "192.0.2.1:0 is not an address of this machine; give another --host",
        ),
        (("--state", "data/CURRENT"), "data/CURRENT is a file; --state wants a folder"),
        (("--state", "data/CURRENT/état"), "data/CURRENT is a file; --state wants a folder"),
    ],
)
def test_an_error_of_the_start_names_the_value_and_the_flag(
    data: Path, flags: tuple[str, ...], message: str
) -> None:
    name, value = flags
    if name == "--state":
        value = str(data.parent / value)
    elsewhere, state = str(data.with_name("autre")), str(data.with_name("state"))

    result = run_serve("--data", elsewhere, "--state", state, "--port", "0", name, value)

    assert result.returncode == 1
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert "Errno" not in result.stderr


@pytest.mark.parametrize(
    ("flags", "message"),
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
def test_wrong_usage_is_named_with_exit_2(flags: tuple[str, ...], message: str) -> None:
    result = run_serve(*flags)

    assert result.returncode == 2
    assert message in result.stderr.splitlines()[-1]


def test_the_settings_can_be_printed(tmp_path: Path) -> None:
    """D7"""
    file = tmp_path / "serve.toml"
    file.write_text("port = 9000\n[debit]\nvisiteur = 7\n", encoding="utf-8")

    result = run_serve("--config", str(file), "--workers", "4", "--print-config")

    assert result.returncode == 0
    for line in ("port = 9000", "workers = 4", "visiteur = 7", "integral = 600", 'quota = "lmdb"'):
        assert line in result.stdout.splitlines()


@contextmanager
def server_with_socket(
    data: Path, listener: socket.socket, *flags: str
) -> Iterator["subprocess.Popen[str]"]:
    """Run a server with this socket, as a socket unit does; kill it at the end of the block."""
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
        command_with_sockets([listener], command), cwd=ROOT, text=True, pass_fds=[listener.fileno()],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


def run_serve(*flags: str) -> "subprocess.CompletedProcess[str]":
    """Run `python -m serve` to its end."""
    command = [sys.executable, "-m", "serve", *flags]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)


def publish_damaged(data: Path) -> str:
    """Make a generation current that lacks the shard of France; return its name.

    It is published in another folder, where `restore_shard` finds the shard.
    """
    elsewhere = data.with_name("elsewhere")
    generation = world.publish(elsewhere, world.COMPANIES[:10])
    (elsewhere / generation / "FR.shard").rename(elsewhere / "FR.shard")
    (elsewhere / generation).rename(data / generation)
    pointer.point_to(data, generation, [str(pointer.current_name(data))])
    return generation


def restore_shard(data: Path, generation: str) -> None:
    """Move the missing file of a damaged generation back into it."""
    (data.with_name("elsewhere") / "FR.shard").rename(data / generation / "FR.shard")


def served_generations(address: str) -> set[str]:
    """Wait until all workers are ready; return the generations that they serve.

    Of 16 connections, each worker very probably accepts one.
    """
    assert eventually(lambda: all(ask(address, "/readyz")[0] == 200 for _ in range(16)))
    return {str(orjson.loads(ask(address, "/readyz")[1])["generation"]) for _ in range(16)}


def missing_countries(address: str) -> set[tuple[str, ...]]:
    """Wait until all workers are ready; return the lists of missing countries that they report."""
    assert eventually(lambda: all(ask(address, "/readyz")[0] == 200 for _ in range(16)))
    return {tuple(orjson.loads(ask(address, "/readyz")[1])["pays_manquants"]) for _ in range(16)}


def flip_bit_in_middle(path: Path) -> None:
    """Damage a file without a change of its size."""
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 1]))
