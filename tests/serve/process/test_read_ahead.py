"""The process that reads shards ahead: once, if memory holds them, without delaying others."""

import asyncio
import fcntl
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from blake3 import blake3

from serve.process import read_ahead
from shards import host_memory
from shards.generations import generation_files
from shards.generations.generation_files import Generation
from tests.serve import world
from tests.serve.processes import (
    ask,
    children,
    eventually,
    line_of,
    log,
    logged_so_far,
    started,
    stop,
)

pytestmark = pytest.mark.slow

MIB = 1 << 20
CONTENT = os.urandom(6 * MIB)


@pytest.fixture
def files(tmp_path: Path) -> Sequence[Path]:
    paths = [tmp_path / f"{name}.shard" for name in ("FR", "EE")]
    for path in paths:
        path.write_bytes(CONTENT)
    return paths


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level("INFO", "serve.process.read_ahead")
    return caplog


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Generation]:
    name = world.publish(tmp_path / "data")
    with generation_files.load(tmp_path / "data", name) as found:
        yield found


def digests(files: Sequence[Path]) -> dict[Path, str]:
    return {path: blake3(CONTENT).hexdigest() for path in files}


@contextmanager
def program(request: Mapping[str, Any]) -> Iterator["subprocess.Popen[bytes]"]:
    """The program, which has read a request."""
    command = [sys.executable, "-P", str(read_ahead._PROGRAM)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
        yield process
        process.stdin.close()


def messages(process: "subprocess.Popen[bytes]") -> list[Any]:
    """What the program says to its end."""
    assert process.stdout
    return [json.loads(line) for line in process.stdout]


def asked(files: Sequence[Path], **more: Any) -> dict[str, Any]:
    ranges = [(str(path), MIB, 2 * MIB) for path in files]
    names = {str(path): digest for path, digest in digests(files).items()}
    request = {"turn": str(files[0]), "each": False, "ranges": ranges, "files": names, "keep": True}
    return {**request, **more}


def read(opened: Generation) -> tuple[list[str], list[Path]]:
    """Read a generation ahead; what happened, and which files were damaged."""
    events: list[str] = []
    damaged: list[Path] = []
    asyncio.run(read_ahead.read(opened, lambda: events.append("ready"), damaged.append))
    return events, damaged


def test_ranges_are_read_first_then_files_are_compared(files: Sequence[Path]) -> None:
    with program(asked(files)) as process:
        assert messages(process) == [{"ready": 2 * MIB}, {"compared": 12 * MIB}]


def test_a_file_that_differs_from_its_digest_is_named(files: Sequence[Path]) -> None:
    with files[1].open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(bytes([CONTENT[-1] ^ 1]))

    assert asyncio.run(read_ahead.compare(digests(files))) == [files[1]]
    assert asyncio.run(read_ahead.compare(digests(files[:1]))) == []


def test_a_file_that_cannot_be_read_is_an_error(files: Sequence[Path]) -> None:
    missing = {files[0].with_name("LT.shard"): "", **digests(files)}
    files[0].with_name("LT.shard").mkdir()

    with pytest.raises(OSError, match=r"[Dd]irectory"):
        asyncio.run(read_ahead.compare(missing))


def test_a_process_that_is_killed_compares_nothing(
    files: Sequence[Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "killed.py"
    program.write_text("import os\nos.kill(os.getpid(), 9)\n")
    monkeypatch.setattr(read_ahead, "_PROGRAM", program)

    with pytest.raises(OSError, match="ended early"):
        asyncio.run(read_ahead.compare(digests(files)))


def test_it_has_the_lowest_priority_for_the_processor_and_the_disk(files: Sequence[Path]) -> None:
    def idle() -> bool:
        command = ["ionice", "-p", str(process.pid)]
        shown = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        return shown.strip() in {"idle", "idle: prio 0", ""}

    turn = os.open(files[0], os.O_RDONLY)
    fcntl.flock(turn, fcntl.LOCK_EX)
    with program(asked(files)) as process:
        assert eventually(lambda: os.getpriority(os.PRIO_PROCESS, process.pid) == 19)
        assert eventually(idle)
        os.close(turn)


def test_it_ends_with_its_server(files: Sequence[Path]) -> None:
    turn = os.open(files[0], os.O_RDONLY)
    fcntl.flock(turn, fcntl.LOCK_EX)
    with program(asked(files)) as process:
        assert process.stdin
        process.stdin.close()

        assert process.wait(20) == 1
    os.close(turn)


def test_of_several_processes_one_reads_and_the_others_are_ready_with_it(
    files: Sequence[Path],
) -> None:
    turn = os.open(files[0], os.O_RDONLY)
    fcntl.flock(turn, fcntl.LOCK_EX)
    with program(asked(files)) as process:
        time.sleep(0.3)
        fcntl.flock(turn, fcntl.LOCK_SH)  # what searches need is in memory, the comparison goes on

        assert messages(process) == [{"ready": 0}]
    os.close(turn)


def test_each_process_compares_in_its_turn_where_all_need_the_result(files: Sequence[Path]) -> None:
    turn = os.open(files[0], os.O_RDONLY)
    fcntl.flock(turn, fcntl.LOCK_EX)
    with program(asked(files, each=True, ranges=[])) as process:
        assert process.stdout
        waits = not select.select([process.stdout], [], [], 0.5)[0]
        fcntl.flock(turn, fcntl.LOCK_SH)
        waits_still = not select.select([process.stdout], [], [], 0.5)[0]
        os.close(turn)

        assert messages(process) == [{"ready": 0}, {"compared": 12 * MIB}]
    assert waits and waits_still


def test_a_generation_that_memory_holds_is_read_and_kept_as_any_file(
    opened: Generation, told: pytest.LogCaptureFixture
) -> None:
    shards = list(opened.shard_files)
    assert all(is_read_at_random(path) for path in shards)

    events, damaged = read(opened)

    assert (set(events), damaged) == ({"ready"}, [])
    assert not [path for path in shards if is_read_at_random(path)]
    assert "the shards are read ahead" in told.text


def test_a_damaged_shard_is_reported(opened: Generation, told: pytest.LogCaptureFixture) -> None:
    path = opened.shards["EE"].path
    content = path.read_bytes()
    path.chmod(0o644)
    with path.open("r+b") as file:
        file.seek(len(content) - 1)
        file.write(bytes([content[-1] ^ 1]))

    assert read(opened)[1] == [path]
    assert "EE.shard is damaged" in told.text


@pytest.mark.parametrize("records", [True, False])
def test_shards_that_memory_does_not_hold_are_ready_at_once_and_compared(
    opened: Generation,
    told: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    records: bool,
) -> None:
    """The arrays alone are read first, if memory holds these"""
    arrays = sum(
        stop - start for one in opened.shards.values() for start, stop in one.file.arrays()
    )
    monkeypatch.setattr(
        host_memory, "available_bytes", lambda: arrays * 5 // 4 + 8 if records else 9
    )
    requests: list[Any] = []
    original = read_ahead._run

    async def run(turn: Any, ranges: Any, digests: Any, **more: Any) -> None:
        requests.append((ranges, more["keep"]))
        await original(turn, ranges, digests, **more)

    monkeypatch.setattr(read_ahead, "_run", run)
    events, damaged = read(opened)

    [(ranges, keep)] = requests
    assert (bool(ranges), keep, damaged) == (records, False, [])
    assert all(is_read_at_random(path) for path in opened.shard_files)
    assert events[0] == "ready"
    assert "are compared, but" in told.text
    assert "the shards are read ahead" in told.text


def test_reading_that_cannot_start_leaves_the_server_ready(
    opened: Generation, told: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")

    assert read(opened)[0] == ["ready"]
    assert "are not read ahead, so first searches are slower" in told.text


def test_reading_ends_at_once_when_it_is_cancelled(opened: Generation) -> None:
    turn = os.open(opened.folder / "manifest.json", os.O_RDONLY)
    fcntl.flock(turn, fcntl.LOCK_EX)

    async def scenario() -> float:
        task = asyncio.create_task(read_ahead.read(opened, lambda: None, lambda _: None))
        await asyncio.sleep(0.3)
        begun = time.monotonic()
        task.cancel()
        await asyncio.wait([task])
        return time.monotonic() - begun

    assert asyncio.run(scenario()) < 2
    os.close(turn)


def is_read_at_random(path: Path, process: int | str = "self") -> bool:
    """Whether the system is advised that a process reads a part of a mapped file at random (proc_pid_smaps(5))."""
    parts = Path(f"/proc/{process}/smaps").read_text().split(str(path))[1:]
    return any(" rr" in part.split("VmFlags:")[1].splitlines()[0] for part in parts)


def is_reader_started(worker: int) -> bool:
    """Whether a worker has started the program that reads files."""
    tasks = Path(f"/proc/{worker}/task").glob("*/children")
    started = [pid for task in tasks for pid in task.read_text().split()]
    program = os.fsencode(read_ahead._PROGRAM)
    return any(program in Path(f"/proc/{pid}/cmdline").read_bytes() for pid in started)


@pytest.mark.parametrize(("flags", "read"), [((), True), (("--warm", "false"), False)])
def test_a_server_is_ready_once_it_has_read_ahead_unless_told_otherwise(
    tmp_path: Path, flags: Sequence[str], read: bool
) -> None:
    data = tmp_path / "data"
    name = world.publish(data)
    turn = os.open(data / name / "manifest.json", os.O_RDONLY)
    fcntl.flock(turn, fcntl.LOCK_EX)  # as if another worker read
    with started(data, *flags) as process:
        address = line_of(process)
        assert ask(address, "/healthz")[0] == 200
        assert ask(address, "/api/v1/societes")[0] == 200
        status, body = ask(address, "/readyz")
        assert status == (503 if read else 200)
        assert not read or "lit ses données en mémoire" in body.decode()
        (worker,) = children(process.pid)
        assert is_reader_started(worker) == read
        os.close(turn)
        assert eventually(lambda: ask(address, "/readyz")[0] == 200)
        assert is_read_at_random(next(data.glob("*/UK.shard")), worker) != read
        assert not read or eventually(lambda: "read ahead" in logged_so_far(process))
        _, logged = stop(process)

    assert any("read ahead" in str(line["event"]) for line in log(logged)) == read
