"""The write lock: one process at a time, and no waiter is forgotten if another waiter is killed."""

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
from quota.bursts import BurstDecision, BurstLimiter
from quota.store.lmdb_store import FILE, LmdbFile
from quota.store.write_lock import WriteLock

ROOT = Path(__file__).parents[3]
MEMORY = Path("/dev/shm")  # files here need no disk, so a commit does not sleep
WAITING_S = 20.0  # seconds for a process that must end or free its lock

Process = subprocess.Popen[str]
Change = Callable[[], object]
# A function that runs a change while it holds the lock of a store or of the burst limits.
Write = Callable[[Change], object]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """An empty file to lock; the lock does not depend on its content."""
    path = tmp_path / "Ä.lmdb"
    path.touch()
    return path


@contextmanager
def start_process(*arguments: object) -> Iterator[Process]:
    """A process that runs `main`; it prints "open" once its file is open."""
    command = [sys.executable, "-m", "tests.quota.store.test_write_lock", *map(str, arguments)]
    with subprocess.Popen(
        command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            assert read_line(process) == "open"
            yield process
        finally:
            process.kill()


def read_line(process: Process) -> str:
    """The next line that the process prints."""
    assert process.stdout
    return process.stdout.readline().strip()


def send_line(process: Process, line: object) -> None:
    """Send a line to the input of the process."""
    assert process.stdin
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


# -- a killed waiter ---------------------------------------------------------------


@pytest.mark.skipif(not os.access(MEMORY, os.W_OK), reason="a commit must not sleep: no /dev/shm")
@pytest.mark.parametrize("kind", ["bursts", "store"])
def test_a_process_that_waits_after_a_killed_process_gets_the_lock(kind: str) -> None:
    """One process writes, a second and a third wait. The second is killed. Before it runs again (it
    shares the processor of the first and yields to it: SCHED_BATCH), the first ends its write and
    starts another. A wake-up for the dead process alone would leave the third asleep for ever.
    """
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(dir=MEMORY))
        first = stack.enter_context(start_process("first", kind, folder))
        assert read_line(first) == "writing"
        second = stack.enter_context(start_process("patient", kind, folder))
        wait_until_asleep(second)
        third = stack.enter_context(start_process("last", kind, folder))
        wait_until_asleep(third)

        send_line(first, second.pid)
        second.wait(WAITING_S)
        send_line(first, "go on")
        first.wait(WAITING_S)

        assert has_ended(third), "the third process was forgotten"
        assert read_line(third) == "done"


def wait_until_asleep(process: Process) -> None:
    """Wait until the process sleeps, for the lock or between two attempts."""
    state = ""  # a letter per look at the process; S: it sleeps
    while state.count("S") < 5 and len(state) < 100:
        state += Path(f"/proc/{process.pid}/stat").read_text().rpartition(") ")[2][0]
        time.sleep(0.02)
    assert process.poll() is None, "the lock did not stop it"


def has_ended(process: Process) -> bool:
    """Whether the process ends without an error within WAITING_S."""
    try:
        return process.wait(WAITING_S) == 0
    except subprocess.TimeoutExpired:
        return False


def main(role: str, kind: str, folder: str) -> None:
    """The program of `start_process`.

    The role "first" writes twice, and waits for the test in each write; the other roles write once. `kind` is
    the file that is written: "store" or "bursts".
    """
    write = _write_to_store(Path(folder)) if kind == "store" else _write_to_bursts(Path(folder))
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # all processes share one processor
    if role == "patient":  # after a wake-up, a batch process lets the running process go on
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    print("open", flush=True)  # noqa: T201 - the test reads it
    if role == "first":
        write(_kill_named_process)
        write(sys.stdin.readline)
    else:
        write(str)  # a change that does nothing
        print("done", flush=True)  # noqa: T201


def _kill_named_process() -> None:
    """Report that the lock is held, then kill the process whose id the test sends."""
    print("writing", flush=True)  # noqa: T201
    os.kill(int(sys.stdin.readline()), 9)


def _write_to_store(folder: Path) -> Write:
    """A function that runs a change in a write transaction of a store."""
    file = LmdbFile(folder, 1 << 20)
    return lambda change: file.write([lambda txn: (txn.put(b"x", b""), change())])


def _write_to_bursts(folder: Path) -> Write:
    """A function that runs a change while it holds the lock of the burst limits in `folder`.

    Sets the patience of all limiters to 60 s.
    """
    # The limiter must wait for the lock as long as the test takes.
    bursts.PATIENCE_S = 60.0  # type: ignore[misc]
    limiter = BurstLimiter(folder, memory=folder)

    def write(change: Change) -> BurstDecision | None:
        """Run the change in a decision of the limiter, which holds the lock meanwhile."""

        def decide(txn: "lmdb.Transaction[bytes]") -> BurstDecision:
            """Run the change in the transaction of the limiter, and allow the call."""
            txn.put(b"x", b"")
            change()
            return BurstDecision(0.0, 0, 0.0)

        return limiter._decide(decide, 0.0)

    return write


# -- the lock ----------------------------------------------------------------------


def test_one_process_has_the_lock_and_others_time_out(file: Path) -> None:
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
        start_process("first", "store", tmp_path) as process,
        closing(WriteLock(tmp_path / FILE)) as lock,
    ):
        assert read_line(process) == "writing"
        with pytest.raises(TimeoutError), lock.hold(0.05):
            pass

        process.kill()

        with lock.hold(WAITING_S):
            pass


# -- a lock that is not freed ------------------------------------------------------


def test_a_stopped_process_makes_others_wait_for_burst_limits_only_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """D7: calls are allowed while the lock cannot be had; one call waits for it, later calls do not"""
    monkeypatch.setattr("quota.bursts.PATIENCE_S", 0.05)
    now = datetime(2026, 11, 21, 12, tzinfo=UTC).timestamp()
    with closing(BurstLimiter(tmp_path, memory=tmp_path)) as limiter:
        limiter.allow("a", 1, now)
        (path,) = tmp_path.glob("societes-debit-*/debit.lmdb")
        with closing(WriteLock(path)) as foreign_lock, foreign_lock.hold():
            waits = [limiter.allow("a", 1, now) for _ in range(100)]
        monkeypatch.setattr(limiter, "_paused_until", 0.0)

        assert not any(wait.seconds for wait in waits)
        assert len(caplog.records) == 1
        assert "stopped" in caplog.text
        assert limiter.allow("a", 1, now).seconds > 0


if __name__ == "__main__":
    main(*sys.argv[1:])
