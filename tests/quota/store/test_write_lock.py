"""The write lock: one process at a time, and no waiter forgotten if another one is killed."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import lmdb
import pytest

from quota import bursts
from quota.bursts import BurstLimiter, Wait
from quota.store.lmdb_store import FILE, LmdbFile
from quota.store.write_lock import WriteLock

ROOT = Path(__file__).parents[3]
MEMORY = Path("/dev/shm")
WAITING_S = 20.0

Process = subprocess.Popen[str]
Change = Callable[[], object]
Write = Callable[[Change], object]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "Ä.lmdb"
    path.touch()
    return path


@contextmanager
def running(*arguments: object) -> Iterator[Process]:
    """A process that runs `main`; it prints "open" once its file is open."""
    command = [sys.executable, "-m", "tests.quota.store.test_write_lock", *map(str, arguments)]
    with subprocess.Popen(
        command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            assert said(process) == "open"
            yield process
        finally:
            process.kill()


def said(process: Process) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def tell(process: Process, line: object) -> None:
    assert process.stdin
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


# -- a killed waiter ---------------------------------------------------------------


@pytest.mark.skipif(not os.access(MEMORY, os.W_OK), reason="a commit must not sleep: no /dev/shm")
@pytest.mark.parametrize("kind", ["bursts", "store"])
def test_a_waiter_behind_a_killed_process_gets_the_lock(kind: str) -> None:
    """One process writes, a second and a third wait. The second is killed. Before it runs again (it
    shares the processor of the first and yields to it: SCHED_BATCH), the first ends its write and
    starts another. A wake-up for the dead process alone would leave the third asleep for ever.
    """
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(dir=MEMORY))
        first = stack.enter_context(running("first", kind, folder))
        assert said(first) == "writing"
        second = stack.enter_context(running("patient", kind, folder))
        asleep(second)
        third = stack.enter_context(running("last", kind, folder))
        asleep(third)

        tell(first, second.pid)
        second.wait(WAITING_S)
        tell(first, "go on")
        first.wait(WAITING_S)

        assert ended(third), "the third process was forgotten"
        assert said(third) == "done"


def asleep(process: Process) -> None:
    """Wait until the process sleeps, for the lock or between two attempts."""
    found = ""
    while found.count("S") < 5 and len(found) < 100:
        found += Path(f"/proc/{process.pid}/stat").read_text().rpartition(") ")[2][0]
        time.sleep(0.02)
    assert process.poll() is None, "the lock did not stop it"


def ended(process: Process) -> bool:
    try:
        return process.wait(WAITING_S) == 0
    except subprocess.TimeoutExpired:
        return False


def main(role: str, kind: str, folder: str) -> None:
    """The process of `running`."""
    write = _store(Path(folder)) if kind == "store" else _bursts(Path(folder))
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    if role == "patient":
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    print("open", flush=True)  # noqa: T201 - the test reads it
    if role == "first":
        write(_kill)
        write(sys.stdin.readline)
    else:
        write(str)
        print("done", flush=True)  # noqa: T201


def _kill() -> None:
    print("writing", flush=True)  # noqa: T201
    os.kill(int(sys.stdin.readline()), 9)


def _store(folder: Path) -> Write:
    file = LmdbFile(folder, 1 << 20)
    return lambda change: file.write([lambda txn: (txn.put(b"x", b""), change())])


def _bursts(folder: Path) -> Write:
    bursts.PATIENCE_S = 60.0  # type: ignore[misc]
    limiter = BurstLimiter(folder, memory=folder)

    def write(change: Change) -> Wait | None:
        def decide(txn: "lmdb.Transaction[bytes]") -> Wait:
            txn.put(b"x", b"")
            change()
            return Wait(0.0, 0, 0.0)

        return limiter._decide(decide, 0.0)

    return write


# -- the lock ----------------------------------------------------------------------


def test_one_has_the_lock_and_others_time_out(file: Path) -> None:
    with closing(WriteLock(file)) as ours, closing(WriteLock(file)) as theirs:
        with ours.hold(), pytest.raises(TimeoutError, match=r"Ä\.lmdb.*0\.05 s"), theirs.hold(0.05):
            pass
        with theirs.hold(0.05):
            pass


def test_the_lock_is_released_whatever_happens(file: Path) -> None:
    with closing(WriteLock(file)) as ours, closing(WriteLock(file)) as theirs:
        with pytest.raises(ZeroDivisionError), ours.hold():
            raise ZeroDivisionError

        with theirs.hold(0), pytest.raises(TimeoutError), ours.hold(0):
            pass
        with ours.hold(0):
            pass


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    with (
        running("first", "store", tmp_path) as process,
        closing(WriteLock(tmp_path / FILE)) as lock,
    ):
        assert said(process) == "writing"
        with pytest.raises(TimeoutError), lock.hold(0.05):
            pass

        process.kill()

        with lock.hold(WAITING_S):
            pass


# -- a lock that is not freed ------------------------------------------------------


def test_a_stopped_process_stops_no_other_from_answering_bursts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """D7 fails open: one call waits, the calls after it do not"""
    monkeypatch.setattr("quota.bursts.PATIENCE_S", 0.05)
    now = datetime(2026, 11, 21, 12, tzinfo=UTC).timestamp()
    with closing(BurstLimiter(tmp_path, memory=tmp_path)) as debit:
        debit.allow("a", 1, now)
        (path,) = tmp_path.glob("societes-debit-*/debit.lmdb")
        with closing(WriteLock(path)) as stopped, stopped.hold():
            waits = [debit.allow("a", 1, now) for _ in range(100)]
        monkeypatch.setattr(debit, "_paused_until", 0.0)

        assert not any(wait.seconds for wait in waits)
        assert len(caplog.records) == 1
        assert "stopped" in caplog.text
        assert debit.allow("a", 1, now).seconds > 0


if __name__ == "__main__":
    main(*sys.argv[1:])
