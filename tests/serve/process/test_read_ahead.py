"""The thread that reads shards ahead: once, if memory holds them, without delaying others."""

import fcntl
import os
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from serve.process import read_ahead
from serve.process.read_ahead import ReadAhead
from tests.serve import world
from tests.serve.processes import ask, line_of, log, started, stop

MIB = 1 << 20


@pytest.fixture
def files(tmp_path: Path) -> Sequence[Path]:
    paths = [tmp_path / f"{name}.shard" for name in ("FR", "EE")]
    for path in paths:
        path.write_bytes(os.urandom(6 * MIB))
    return paths


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level("INFO", "serve.process.read_ahead")
    return caplog


def warmed(files: Sequence[Path], rounds: int = 10**9) -> None:
    """Run a thread to its end; it is no longer wanted after so many questions."""
    asked = iter(range(rounds))
    thread = ReadAhead(files[0].parent, files, lambda: next(asked, None) is not None)
    thread.start()
    thread._thread.join(20)
    assert not thread._thread.is_alive()


def test_every_file_is_read_from_end_to_end(
    files: Sequence[Path], told: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the kernel would do it on a disk: what goes nowhere goes to a file here"""
    seen = files[0].with_name("seen")
    seen.touch()
    monkeypatch.setattr(read_ahead, "_NOWHERE", seen)

    warmed(files[:1])

    assert seen.read_bytes() == files[0].read_bytes()
    assert "read ahead: 6 MiB" in told.text


def test_several_files_are_read(files: Sequence[Path], told: pytest.LogCaptureFixture) -> None:
    warmed(files)

    assert "read ahead: 12 MiB" in told.text


def test_files_that_memory_does_not_hold_are_left_alone(
    files: Sequence[Path], told: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_ahead, "available", lambda: 12 * MIB)

    warmed(files)

    assert "the shards (12 MiB) are not read ahead: 9 MiB of memory" in told.text


def test_a_container_says_how_much_memory_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine, container = tmp_path / "meminfo", tmp_path / "memory.max"
    machine.write_text("MemTotal: 9 kB\nMemAvailable:  2048 kB\n")
    monkeypatch.setattr(read_ahead, "_MACHINE", machine)
    monkeypatch.setattr(read_ahead, "_CONTAINER", container)
    found = [read_ahead.available()]
    for text in ("max\n", "1048576\n"):
        container.write_text(text)
        found.append(read_ahead.available())
    machine.unlink()
    found.append(read_ahead.available())

    assert found == [2 * MIB, 2 * MIB, MIB, 0]


def test_of_several_workers_one_reads(
    files: Sequence[Path], told: pytest.LogCaptureFixture
) -> None:
    other = os.open(files[0].parent, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    warmed(files)
    os.close(other)

    assert told.text == ""
    warmed(files)
    assert "read ahead" in told.text


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

    thread = ReadAhead(files[0].parent, files, wanted)
    thread.start()
    assert reading.wait(20)
    threading.Timer(0.1, go_on.set).start()
    thread.stop()

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
        _, logged = stop(process)

    assert any("read ahead" in str(line["event"]) for line in log(logged)) == read
