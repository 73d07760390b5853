"""The process that reads shards ahead: once, if memory can hold them, without delaying other work.

The processes of several workers take turns: a process reads while it has the lock of the `turn` file. It changes the
exclusive lock to a shared one when the parts that searches need are in memory. The tests take the lock as another
worker would.
"""

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
    in_time,
    log_so_far,
    parse_log,
    read_line,
    server_process,
    stop,
)

pytestmark = pytest.mark.slow

MIB = 1 << 20
CONTENT = os.urandom(6 * MIB)  # of each file


@pytest.fixture
def files(tmp_path: Path) -> Sequence[Path]:
    """Two files of 6 MiB."""
    paths = [tmp_path / f"{name}.shard" for name in ("FR", "EE")]
    for path in paths:
        path.write_bytes(CONTENT)
    return paths


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """The log of the module, from the level INFO."""
    caplog.set_level("INFO", "serve.process.read_ahead")
    return caplog


@pytest.fixture
def generation(tmp_path: Path) -> Iterator[Generation]:
    """A generation of the test data."""
    name = world.publish(tmp_path / "data")
    with generation_files.load(tmp_path / "data", name) as generation:
        yield generation


def digests(files: Sequence[Path]) -> dict[Path, str]:
    """The digest that undamaged files have."""
    return {path: blake3(CONTENT).hexdigest() for path in files}


@contextmanager
def run_program(request: Mapping[str, Any]) -> Iterator["subprocess.Popen[bytes]"]:
    """Run the program that reads, and send it a request. It ends when its input closes after the block."""
    command = [sys.executable, "-P", str(read_ahead._PROGRAM)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
        yield process
        process.stdin.close()


def read_messages(process: "subprocess.Popen[bytes]") -> list[Any]:
    """All messages of the program, until it ends."""
    assert process.stdout
    return [json.loads(line) for line in process.stdout]


def make_request(files: Sequence[Path], **values: Any) -> dict[str, Any]:
    """A request to read 1 MiB of each file, and then to compare the files with their digests.

    Args:
        values: replace keys of the request.
    """
    ranges = [(str(path), MIB, 2 * MIB) for path in files]
    names = {str(path): digest for path, digest in digests(files).items()}
    request = {"turn": str(files[0]), "each": False, "ranges": ranges, "files": names, "keep": True}
    return {**request, **values}


def read_generation(generation: Generation) -> tuple[list[str], list[Path]]:
    """Read a generation ahead; return an item for each report that it is ready, and the damaged files."""
    events: list[str] = []
    damaged: list[Path] = []
    asyncio.run(read_ahead.read(generation, lambda: events.append("ready"), damaged.append))
    return events, damaged


def test_ranges_are_read_first_then_files_are_compared(files: Sequence[Path]) -> None:
    """1 MiB of each file is read first, then both files of 6 MiB are compared"""
    with run_program(make_request(files)) as process:
        assert read_messages(process) == [{"ready": 2 * MIB}, {"compared": 12 * MIB}]


def test_a_file_that_differs_from_its_digest_is_named(files: Sequence[Path]) -> None:
    with files[1].open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(bytes([CONTENT[-1] ^ 1]))

    assert asyncio.run(read_ahead.compare(digests(files))) == [files[1]]
    assert asyncio.run(read_ahead.compare(digests(files[:1]))) == []


def test_a_file_that_cannot_be_read_is_an_error(files: Sequence[Path]) -> None:
    with_folder = {files[0].with_name("LT.shard"): "", **digests(files)}
    files[0].with_name("LT.shard").mkdir()

    with pytest.raises(OSError, match=r"[Dd]irectory"):
        asyncio.run(read_ahead.compare(with_folder))


def test_a_process_that_is_killed_compares_nothing(
    files: Sequence[Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "killed.py"
    program.write_text("import os\nos.kill(os.getpid(), 9)\n")
    monkeypatch.setattr(read_ahead, "_PROGRAM", program)

    with pytest.raises(OSError, match="ended early"):
        asyncio.run(read_ahead.compare(digests(files)))


def test_the_program_has_the_lowest_priority_for_the_processor_and_the_disk(
    files: Sequence[Path],
) -> None:
    def has_idle_disk_priority() -> bool:
        """Whether ionice(1) names the class "idle". An ionice that fails prints nothing, which counts too."""
        command = ["ionice", "-p", str(process.pid)]
        output = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        return output.strip() in {"idle", "idle: prio 0", ""}

    lock_file = os.open(files[0], os.O_RDONLY)
    fcntl.flock(lock_file, fcntl.LOCK_EX)
    with run_program(make_request(files)) as process:
        assert eventually(lambda: os.getpriority(os.PRIO_PROCESS, process.pid) == 19)
        assert eventually(has_idle_disk_priority)
        os.close(lock_file)


def test_the_program_ends_when_its_server_closes_the_pipe(files: Sequence[Path]) -> None:
    """Also while it waits for its turn, which the test holds"""
    lock_file = os.open(files[0], os.O_RDONLY)
    fcntl.flock(lock_file, fcntl.LOCK_EX)
    with run_program(make_request(files)) as process:
        assert process.stdin
        process.stdin.close()

        assert process.wait(120) == 1
    os.close(lock_file)


def test_when_one_of_several_processes_has_read_the_others_are_ready_too(
    files: Sequence[Path],
) -> None:
    lock_file = os.open(files[0], os.O_RDONLY)
    fcntl.flock(lock_file, fcntl.LOCK_EX)
    with run_program(make_request(files)) as process:
        time.sleep(0.3)
        # As when another process has read the ranges of searches into memory, and goes on to compare the files.
        fcntl.flock(lock_file, fcntl.LOCK_SH)

        assert read_messages(process) == [{"ready": 0}]
    os.close(lock_file)


def test_processes_compare_one_after_another_if_all_need_the_result(files: Sequence[Path]) -> None:
    lock_file = os.open(files[0], os.O_RDONLY)
    fcntl.flock(lock_file, fcntl.LOCK_EX)
    with run_program(make_request(files, each=True, ranges=[])) as process:
        assert process.stdout
        waits_for_reading = not select.select([process.stdout], [], [], 0.5)[0]
        fcntl.flock(lock_file, fcntl.LOCK_SH)
        waits_for_comparison = not select.select([process.stdout], [], [], 0.5)[0]
        os.close(lock_file)

        assert read_messages(process) == [{"ready": 0}, {"compared": 12 * MIB}]
    assert waits_for_reading and waits_for_comparison


def test_a_generation_that_fits_in_memory_is_read_and_cached(
    generation: Generation, log: pytest.LogCaptureFixture
) -> None:
    shards = list(generation.shard_files)
    assert all(is_read_at_random(path) for path in shards)

    events, damaged = read_generation(generation)

    assert (set(events), damaged) == ({"ready"}, [])
    assert not [path for path in shards if is_read_at_random(path)]
    assert "the shards are read ahead" in log.text


def test_a_damaged_shard_is_reported(generation: Generation, log: pytest.LogCaptureFixture) -> None:
    path = generation.shards["EE"].path
    content = path.read_bytes()
    path.chmod(0o644)
    with path.open("r+b") as file:
        file.seek(len(content) - 1)
        file.write(bytes([content[-1] ^ 1]))

    assert read_generation(generation)[1] == [path]
    assert "EE.shard is damaged" in log.text


@pytest.mark.parametrize("arrays_fit", [True, False])
def test_shards_that_do_not_fit_in_memory_are_ready_at_once_and_compared(
    generation: Generation,
    log: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    arrays_fit: bool,
) -> None:
    """The arrays alone are read first, if they fit in memory"""
    array_bytes = sum(
        stop - start
        for shard in generation.shards.values()
        for start, stop in shard.file.array_ranges()
    )
    # The files may take four fifths of this memory: enough for the arrays alone, or for nothing.
    monkeypatch.setattr(
        host_memory, "available_bytes", lambda: array_bytes * 5 // 4 + 8 if arrays_fit else 9
    )
    requests: list[Any] = []
    run_reader = read_ahead._run_reader

    async def record_request(lock_file: Any, ranges: Any, digests: Any, **options: Any) -> None:
        """Note which ranges are read and whether they are kept in memory, then read them."""
        requests.append((ranges, options["keep"]))
        await run_reader(lock_file, ranges, digests, **options)

    monkeypatch.setattr(read_ahead, "_run_reader", record_request)
    events, damaged = read_generation(generation)

    [(ranges, keep)] = requests
    assert (bool(ranges), keep, damaged) == (arrays_fit, False, [])
    assert all(is_read_at_random(path) for path in generation.shard_files)
    assert events[0] == "ready"
    assert "are compared, but" in log.text
    assert "the shards are read ahead" in log.text


def test_reading_that_cannot_start_leaves_the_server_ready(
    generation: Generation, log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")

    assert read_generation(generation)[0] == ["ready"]
    assert "are not read ahead, so first searches are slower" in log.text


def test_reading_ends_at_once_if_it_is_cancelled(generation: Generation) -> None:
    lock_file = os.open(generation.folder / "manifest.json", os.O_RDONLY)
    fcntl.flock(lock_file, fcntl.LOCK_EX)  # as if another worker were reading, so this one waits

    async def seconds_to_cancel() -> float:
        """Cancel a reading that has run for 0.3 s; return the seconds until it has ended."""
        task = asyncio.create_task(read_ahead.read(generation, lambda: None, lambda _: None))
        await asyncio.sleep(0.3)
        cancelled_at = time.monotonic()
        task.cancel()
        await asyncio.wait([task])
        return time.monotonic() - cancelled_at

    assert in_time(lambda: asyncio.run(seconds_to_cancel()) < 2)
    os.close(lock_file)


def is_read_at_random(path: Path, process: int | str = "self") -> bool:
    """Whether a process has marked a part of a mapped file for random reads (proc_pid_smaps(5))."""
    mappings = Path(f"/proc/{process}/smaps").read_text().split(str(path))[1:]
    return any(" rr" in mapping.split("VmFlags:")[1].splitlines()[0] for mapping in mappings)


def is_reader_started(worker: int) -> bool:
    """Whether a worker has started the program that reads files."""
    tasks = Path(f"/proc/{worker}/task").glob("*/children")
    pids = [pid for task in tasks for pid in task.read_text().split()]
    program = os.fsencode(read_ahead._PROGRAM)
    return any(program in Path(f"/proc/{pid}/cmdline").read_bytes() for pid in pids)


@pytest.mark.parametrize(("flags", "reads_ahead"), [((), True), (("--warm", "false"), False)])
def test_a_server_is_ready_after_it_has_read_ahead_unless_warm_is_false(
    tmp_path: Path, flags: Sequence[str], reads_ahead: bool
) -> None:
    """While it waits for the lock of the files, /readyz is 503 and searches are answered"""
    data = tmp_path / "data"
    name = world.publish(data)
    lock_file = os.open(data / name / "manifest.json", os.O_RDONLY)
    fcntl.flock(lock_file, fcntl.LOCK_EX)  # as if another worker were reading
    with server_process(data, *flags) as process:
        address = read_line(process)
        assert ask(address, "/healthz")[0] == 200
        assert ask(address, "/api/v1/societes")[0] == 200
        status, body = ask(address, "/readyz")
        assert status == (503 if reads_ahead else 200)
        assert not reads_ahead or "lit ses données en mémoire" in body.decode()
        (worker,) = children(process.pid)
        assert is_reader_started(worker) == reads_ahead
        os.close(lock_file)
        assert eventually(lambda: ask(address, "/readyz")[0] == 200)
        shard = next(data.glob("*/UK.shard"))
        assert eventually(lambda: is_read_at_random(shard, worker) != reads_ahead)
        assert not reads_ahead or eventually(lambda: "read ahead" in log_so_far(process))
        _, stderr = stop(process)

    assert any("read ahead" in str(line["event"]) for line in parse_log(stderr)) == reads_ahead
