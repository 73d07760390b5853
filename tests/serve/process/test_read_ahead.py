"""The thread that reads shards ahead: once, if memory holds them, without delaying others."""

import fcntl
import mmap
import os
import re
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from blake3 import blake3

from serve.process import page_tables, read_ahead
from serve.process.read_ahead import ReadAhead
from tests.serve import world
from tests.serve.processes import ask, children, eventually, line_of, log, started, stop

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


def digests(files: Sequence[Path]) -> dict[Path, str]:
    return {path: blake3(CONTENT).hexdigest() for path in files}


def warmed(files: Sequence[Path], rounds: int = 10**9) -> list[Path]:
    """Run a thread to its end; it is no longer wanted after so many questions."""
    damaged: list[Path] = []
    asked = iter(range(rounds))
    thread = ReadAhead(
        files[0].parent, digests(files), lambda: next(asked, None) is not None, damaged.append
    )
    thread.start()
    thread._thread.join(20)
    assert not thread._thread.is_alive()
    return damaged


def test_a_file_that_differs_from_its_digest_is_named(
    files: Sequence[Path], told: pytest.LogCaptureFixture
) -> None:
    with files[1].open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(bytes([CONTENT[-1] ^ 1]))

    assert warmed(files) == [files[1]]
    assert "EE.shard is damaged" in told.text
    assert warmed(files[:1]) == []


def test_several_files_are_read(files: Sequence[Path], told: pytest.LogCaptureFixture) -> None:
    warmed(files)

    assert "read ahead: 12 MiB" in told.text


def test_files_that_memory_does_not_hold_are_compared_only(
    files: Sequence[Path], told: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Other programs give memory back meanwhile: what is said is what was decided by.
    answers = iter([12 * MIB, 0])
    monkeypatch.setattr(read_ahead, "available_bytes", lambda: next(answers, 99 * MIB))

    files[0].write_bytes(CONTENT[:-1])

    assert warmed(files) == [files[0]]
    assert "the shards (11 MiB) are compared, but not kept in memory: 9 MiB of it" in told.text


def test_a_container_says_how_much_memory_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine, container = tmp_path / "meminfo", tmp_path / "memory.max"
    machine.write_text("MemTotal: 9 kB\nMemAvailable:  2048 kB\n")
    monkeypatch.setattr(read_ahead, "_MACHINE", machine)
    monkeypatch.setattr(read_ahead, "_CONTAINER", container)
    found = [read_ahead.available_bytes()]
    for text in ("max\n", "1048576\n"):
        container.write_text(text)
        found.append(read_ahead.available_bytes())
    machine.unlink()
    found.append(read_ahead.available_bytes())

    assert found == [2 * MIB, 2 * MIB, MIB, 0]


def test_of_several_workers_one_reads(
    files: Sequence[Path], told: pytest.LogCaptureFixture, filled: list[Path]
) -> None:
    reader = os.open(files[0].parent, os.O_RDONLY)
    fcntl.flock(reader, fcntl.LOCK_EX)
    thread = ReadAhead(files[0].parent, digests(files), lambda: True, lambda _: None)
    thread.start()
    thread._thread.join(0.2)
    waits = thread._thread.is_alive() and not filled
    os.close(reader)
    thread._thread.join(20)

    assert (waits, filled, told.text) == (True, list(files), "")
    warmed(files)
    assert "read ahead" in told.text


def test_a_worker_that_waits_for_the_reader_stops_at_once(files: Sequence[Path]) -> None:
    reader = os.open(files[0].parent, os.O_RDONLY)
    fcntl.flock(reader, fcntl.LOCK_EX)
    thread = ReadAhead(files[0].parent, digests(files), lambda: True, lambda _: None)
    thread.start()
    thread.stop()
    os.close(reader)

    assert not thread._thread.is_alive()


def test_pages_of_mapped_files_are_in_the_page_tables(files: Sequence[Path]) -> None:
    with files[0].open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        mapped.madvise(mmap.MADV_RANDOM)
        before = resident(files[0])
        done = page_tables.fill(files, lambda: True)  # the other one is not mapped

        assert (before, done, resident(files[0])) == (0, len(CONTENT), len(CONTENT))
        assert mapped[-1] == CONTENT[-1]
        flags = Path("/proc/self/smaps").read_text().split(str(files[0]))[1].split("VmFlags:")[1]
        assert " rr" not in flags.split("\n")[0]


def test_a_file_that_was_cut_under_its_map_ends_no_process(files: Sequence[Path]) -> None:
    with files[0].open("r+b") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ):
        file.truncate(MIB)

        assert page_tables.fill(files, lambda: True) < len(CONTENT)


def test_page_tables_are_not_filled_any_further_than_is_wanted(files: Sequence[Path]) -> None:
    asked = iter((True, False))
    with files[0].open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ):
        assert page_tables.fill(files, lambda: next(asked)) == 4 * MIB


def resident(path: Path, process: int | str = "self") -> int:
    """The bytes of a file that a process has mapped and in its page tables."""
    parts = Path(f"/proc/{process}/smaps").read_text().split(str(path))
    found = re.search(r"Rss: +(\d+) kB", parts[1]) if len(parts) > 1 else None
    return int(found[1]) << 10 if found else 0


@pytest.fixture
def filled(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files whose page tables were filled."""
    found: list[Path] = []
    monkeypatch.setattr(page_tables, "fill", lambda files, _: found.extend(files))
    return found


def test_it_ends_when_the_generation_is_served_no_more(
    files: Sequence[Path], told: pytest.LogCaptureFixture
) -> None:
    warmed(files, rounds=0)  # a file is a single piece

    assert "not read ahead any further: 6 MiB" in told.text


def test_it_ends_when_the_process_does(
    files: Sequence[Path], told: pytest.LogCaptureFixture
) -> None:
    reading, go_on = threading.Event(), threading.Event()

    def wanted() -> bool:
        reading.set()
        return go_on.wait(20)

    thread = ReadAhead(files[0].parent, digests(files), wanted, lambda _: None)
    thread.start()
    assert reading.wait(20)
    threading.Timer(0.1, go_on.set).start()
    thread.stop()
    thread._thread.join(20)  # of the lowest priority: beside other programs it may take seconds

    assert not thread._thread.is_alive()
    assert "any further" in told.text


def test_a_file_that_cannot_be_read_is_told_and_no_more(
    files: Sequence[Path], told: pytest.LogCaptureFixture
) -> None:
    warmed([*files, files[0].with_name("LT.shard")])

    assert "not read ahead" in told.text
    assert "LT.shard" in told.text


@pytest.mark.parametrize(("flags", "read"), [((), True), (("--warm", "false"), False)])
def test_a_server_reads_ahead_unless_told_otherwise(
    tmp_path: Path, flags: Sequence[str], read: bool
) -> None:
    data = tmp_path / "data"
    world.publish(data)
    with started(data, *flags) as process:
        assert ask(line_of(process), "/healthz")[0] == 200
        shard = next(data.glob("*/UK.shard"))
        size = shard.stat().st_size
        (worker,) = children(process.pid)
        assert not read or eventually(lambda: resident(shard, worker) == size)
        _, logged = stop(process)

    assert any("read ahead" in str(line["event"]) for line in log(logged)) == read
