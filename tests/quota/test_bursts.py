"""Burst limits (D7) in the file that the processes of a host share."""

import multiprocessing
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest

from quota.bursts import BurstLimiter
from quota.store.lmdb_store import damage_of
from tests.proof.tools import mount_disk

NOW = datetime(2026, 11, 21, 23, 59, tzinfo=UTC).timestamp()  # a minute before the end of the day


# Each test passes its own folder as `memory`, in place of /dev/shm, the memory that a host shares.


def test_the_calls_of_a_minute_are_allowed_together_and_then_one_a_second(tmp_path: Path) -> None:
    """The limit is 60 calls a minute, for each caller"""
    limiter = BurstLimiter(tmp_path, memory=tmp_path)

    allowed = [limiter.allow("ip:192.0.2.7", 60, NOW).seconds == 0 for _ in range(70)]

    assert allowed == [True] * 60 + [False] * 10
    assert limiter.allow("ip:192.0.2.7", 60, NOW).seconds == pytest.approx(1)
    assert limiter.allow("ip:192.0.2.8", 60, NOW).remaining == 59
    assert limiter.allow("ip:192.0.2.7", 60, NOW + 1).seconds == 0
    limiter.close()


def test_a_visit_needs_the_limits_of_minute_and_day_and_a_refused_visit_uses_none(
    tmp_path: Path,
) -> None:
    """D7, D1: the third and fourth arguments of `visit` are the limits of the minute and of the day"""
    limiter = BurstLimiter(tmp_path, memory=tmp_path)

    four_visits = [limiter.visit("a", 3, 5, NOW) for _ in range(4)]
    day_remaining = limiter.day("a", 5, NOW).remaining
    six_visits = [limiter.visit("b", 10, 2, NOW) for _ in range(6)]

    assert [(minute.remaining, day.remaining) for minute, day in four_visits[:3]] == [
        (2, 4),
        (1, 3),
        (0, 2),
    ]
    assert four_visits[3][0].seconds == pytest.approx(
        20
    )  # at 3 visits a minute, the next is in 20 s
    assert day_remaining == 1, "the refused visit was not counted for the day"
    # NOW is 23:59, so a day ends in 60 s.
    assert [day.seconds for _, day in six_visits] == [0, 0, 60, 60, 60, 60]
    assert limiter.allow("b", 10, NOW).remaining == 7, "nor for the minute"
    limiter.close()


def test_calls_that_one_request_makes_are_allowed_all_or_none(tmp_path: Path) -> None:
    """Fixed: a long list used up the rest of the minute and was refused, again at each attempt"""
    limiter = BurstLimiter(tmp_path, memory=tmp_path)
    assert limiter.allow("a", 60, NOW, 50).remaining == 10

    refused = [limiter.allow("a", 60, NOW, 20).seconds for _ in range(3)]

    assert refused == [pytest.approx(10)] * 3
    assert limiter.allow("a", 60, NOW).remaining == 9
    assert limiter.allow("a", 60, NOW + 11, 20).seconds == 0
    assert limiter.allow("b", 5, NOW, 65).seconds == 0, "no more than the whole bucket"
    assert limiter.allow("b", 5, NOW).seconds > 0
    limiter.close()


def test_a_clock_that_was_far_ahead_leaves_no_day_that_never_ends(tmp_path: Path) -> None:
    """Fixed: a caller of that day, and the limits of the host, had one count until that day"""
    limiter = BurstLimiter(tmp_path, memory=tmp_path)
    ahead = NOW + 400 * 86_400
    assert [limiter.day("inscription", 2, ahead).seconds > 0 for _ in range(3)] == [0, 0, 1]

    days = [
        [limiter.day("inscription", 2, NOW + day * 86_400) for _ in range(3)] for day in range(3)
    ]

    assert [[wait.seconds > 0 for wait in day] for day in days] == [[False, False, True]] * 3
    limiter.close()


def test_a_day_ends_at_midnight_utc(tmp_path: Path) -> None:
    """It is 23:59, and the limit is 3 calls a day"""
    limiter = BurstLimiter(tmp_path, memory=tmp_path)
    today = [limiter.day("2001:db8::/64", 3, NOW) for _ in range(5)]
    tomorrow = [limiter.day("2001:db8::/64", 3, NOW + 60) for _ in range(5)]
    back = limiter.day("2001:db8::/64", 3, NOW + 59)

    assert [wait.seconds for wait in today] == [0, 0, 0, 60, 60]
    assert [wait.remaining for wait in today] == [2, 1, 0, 0, 0]
    assert [wait.seconds > 0 for wait in tomorrow] == [False, False, False, True, True]
    assert back.seconds > 0, "a clock that steps back over midnight begins no new day"
    limiter.close()


def _count_allowed(folder: Path, calls: int) -> int:
    """The calls that a process is allowed of `calls`, all at one moment, with a limit of 100 a minute."""
    limiter = BurstLimiter(folder, memory=folder)
    allowed = sum(limiter.allow("a_0000000000aA", 100, NOW).seconds == 0 for _ in range(calls))
    limiter.close()
    return allowed


def test_the_workers_of_a_host_share_the_buckets(tmp_path: Path) -> None:
    """Four processes ask for 80 calls each, of a limit of 100"""
    with ProcessPoolExecutor(4, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert sum(pool.map(_count_allowed, [tmp_path] * 4, [80] * 4)) == 100


def test_two_state_folders_share_nothing(tmp_path: Path) -> None:
    limiter, other_limiter = (
        BurstLimiter(tmp_path / name, memory=tmp_path) for name in ("one", "other")
    )
    limiter.allow("a", 1, NOW)

    assert other_limiter.allow("a", 1, NOW).seconds == 0
    limiter.close()
    other_limiter.close()


def test_rows_that_limit_nobody_are_deleted(tmp_path: Path) -> None:
    limiter = BurstLimiter(tmp_path, memory=tmp_path, rows_most=10_000)
    for number in range(1_000):
        limiter.allow(f"ip:{number}", 60, NOW)
        limiter.day(f"ip:{number}", 9, NOW)
    rows_before = limiter.rows()

    # One caller calls a day later, when the rows of the first day no longer limit anybody.
    for number in range(3_000):
        limiter.allow("ip:only", 600, NOW + 86_400 + number)

    assert rows_before == 2_000  # each caller has a row of the minute and a row of the day
    assert limiter.rows() == 1
    limiter.close()


def test_rows_that_limit_somebody_are_kept(tmp_path: Path) -> None:
    """200 callers have used up their day; 2 000 calls of another caller delete none of their rows"""
    limiter = BurstLimiter(tmp_path, memory=tmp_path, rows_most=1_000)
    for number in range(200):
        limiter.day(f"ip:{number}", 1, NOW)
    for _ in range(2_000):
        limiter.allow("ip:other", 10**6, NOW + 30)

    assert all(limiter.day(f"ip:{number}", 1, NOW + 30).seconds for number in range(200))
    limiter.close()


def test_a_full_file_is_emptied_and_nobody_is_refused_for_it(tmp_path: Path) -> None:
    """5 000 callers of one call a day need more rows than the 1 000 that the file may have"""
    limiter = BurstLimiter(tmp_path, memory=tmp_path, rows_most=1_000)

    waits = [limiter.day(f"ip:{number}", 1, NOW) for number in range(5_000)]

    assert not any(wait.seconds for wait in waits)
    assert 0 < limiter.rows() < 5_000
    assert limiter.day("ip:4999", 1, NOW).seconds > 0
    for _ in range(3_000):
        limiter.allow("ip:only", 600, NOW + 86_400)
    assert limiter.rows() == 1
    limiter.close()


def test_a_file_that_cannot_be_locked_limits_nobody_and_is_opened_again(tmp_path: Path) -> None:
    limiter = BurstLimiter(tmp_path, memory=tmp_path)
    limiter.allow("a", 1, NOW)
    no_lock = os.open(tmp_path, os.O_PATH)  # flock fails on it with EBADF
    os.dup2(no_lock, limiter._lock._file)
    os.close(no_lock)

    assert limiter.allow("a", 1, NOW).seconds == 0
    assert limiter.allow("a", 1, NOW).seconds > 0, "calls that were counted before still count"
    limiter.close()


def test_memory_that_is_full_is_not_used(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    memory.mkdir()
    with mount_disk(memory, "4k"):
        limiter = BurstLimiter(tmp_path / "state", memory=memory)

        assert [limiter.allow("a", 1, NOW).seconds for _ in range(2)] == [0, 60]
        assert list((tmp_path / "state").glob("debit-*/debit.lmdb"))
        limiter.close()


def test_memory_that_becomes_full_limits_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """If the limiter has no room for the row of another caller, it allows the call, and the log says so."""
    memory = tmp_path / "memory"
    memory.mkdir()
    with mount_disk(memory, "64k"):
        limiter = BurstLimiter(tmp_path / "state", memory=memory)
        limiter.allow("a", 1, NOW)
        # Another file uses up the rest of the memory.
        with pytest.raises(OSError, match="space"):
            (memory / "other").write_bytes(bytes(1 << 20))

        waits = [limiter.allow(f"ip:{number}", 1, NOW) for number in range(2_000)]

        assert not any(wait.seconds for wait in waits)
        assert "not limited" in caplog.text
        limiter.close()


def test_a_process_that_is_killed_anywhere_leaves_a_sound_file(tmp_path: Path) -> None:
    """Ten processes are killed after a random time; the last limiter reads their counts"""
    chance = Random(1)
    for _ in range(10):
        with subprocess.Popen(
            [sys.executable, "-c", _CALLER, str(tmp_path)], stdout=subprocess.PIPE
        ) as caller:
            assert caller.stdout
            caller.stdout.readline()
            time.sleep(chance.uniform(0.001, 0.05))
            os.kill(caller.pid, signal.SIGKILL)
        (file,) = tmp_path.glob("societes-debit-*/debit.lmdb")
        assert not damage_of(file)

    limiter = BurstLimiter(tmp_path, memory=tmp_path)
    assert limiter.rows() > 0
    assert limiter.allow("ip:0", 60, NOW).remaining < 60
    limiter.close()


# A process that prints a line when its limiter is open, and then calls for 1 000 addresses without an end.
_CALLER = """
import sys
from pathlib import Path
from quota.bursts import BurstLimiter
limiter = BurstLimiter(Path(sys.argv[1]), memory=Path(sys.argv[1]))
print(flush=True)
number = 0
while True:
    number += 1
    limiter.allow(f"ip:{number % 1000}", 60, 1.8e9 + number / 100)
    limiter.day(f"ip:{number % 1000}", 9, 1.8e9 + number / 100)
"""


def test_callers_cannot_be_read_from_the_file(tmp_path: Path) -> None:
    limiter = BurstLimiter(tmp_path, memory=tmp_path)
    limiter.allow("192.0.2.77", 60, NOW)
    limiter.close()

    (folder,) = tmp_path.glob("societes-debit-*")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert b"192.0.2.77" not in (folder / "debit.lmdb").read_bytes()


def test_the_memory_of_a_deleted_state_folder_is_freed(tmp_path: Path) -> None:
    for name in ("gone", "stays"):
        BurstLimiter(tmp_path / name, memory=tmp_path).close()
    (tmp_path / "gone").rmdir()

    BurstLimiter(tmp_path / "new", memory=tmp_path).close()

    notes = tmp_path.glob("societes-debit-*/state")
    assert {note.read_text(encoding="utf-8") for note in notes} == {
        str(tmp_path / "stays"),
        str(tmp_path / "new"),
    }


def _make_pipe(folder: Path) -> None:
    """A reader of a pipe waits until somebody writes."""
    os.mkfifo(folder / "state")


def _make_endless_file(folder: Path) -> None:
    """A file that has no end, and would fill the memory of a reader."""
    (folder / "state").symlink_to("/dev/zero")


def _make_long_file(folder: Path) -> None:
    """A file longer than any path of Linux (4 096 bytes)."""
    (folder / "state").write_bytes(b"x" * 4_097)


def _make_writable_by_all(folder: Path) -> None:
    """A folder in which another user can have written the file."""
    (folder / "state").write_text("/no/such/folder", encoding="utf-8")
    folder.chmod(0o777)


@pytest.mark.parametrize(
    "make_state_file", [_make_pipe, _make_endless_file, _make_long_file, _make_writable_by_all]
)
def test_files_of_others_in_memory_block_no_start_and_are_not_removed(
    tmp_path: Path, make_state_file: Callable[[Path], None]
) -> None:
    foreign_folder = tmp_path / f"societes-debit-{os.getuid()}-{'0' * 16}"
    foreign_folder.mkdir(mode=0o700)
    make_state_file(foreign_folder)
    command = (
        "import sys, pathlib, resource; from quota.bursts import BurstLimiter; "
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)); "
        "folder = pathlib.Path(sys.argv[1]); BurstLimiter(folder / 'état', memory=folder).close()"
    )

    # The limiter starts in another process: if the start hangs, that process is ended and the test fails.
    start = subprocess.run([sys.executable, "-c", command, tmp_path], timeout=120, check=False)

    assert start.returncode == 0
    assert foreign_folder.is_dir()


def test_a_pipe_in_place_of_the_file_that_names_the_state_folder_blocks_no_start(
    tmp_path: Path,
) -> None:
    BurstLimiter(tmp_path / "state", memory=tmp_path).close()
    (folder,) = list(tmp_path.glob("societes-debit-*"))
    (folder / "state").unlink()
    os.mkfifo(folder / "state")

    BurstLimiter(
        tmp_path / "state", memory=tmp_path
    ).close()  # without a check the start would wait for ever for another end of the pipe


def test_without_memory_the_file_is_in_the_state_folder_for_this_boot(tmp_path: Path) -> None:
    limiter = BurstLimiter(tmp_path, memory=tmp_path / "no such folder")
    limiter.close()

    (folder,) = list(tmp_path.iterdir())
    assert folder.name.startswith("debit-")
    assert (folder / "debit.lmdb").exists()


def test_a_link_in_place_of_the_folder_in_memory_is_not_followed(tmp_path: Path) -> None:
    limiter = BurstLimiter(tmp_path / "state", memory=tmp_path)
    limiter.close()
    (folder,) = list(tmp_path.glob("societes-debit-*"))
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    (tmp_path / "theirs").mkdir()
    folder.symlink_to(tmp_path / "theirs")

    BurstLimiter(tmp_path / "state", memory=tmp_path).close()

    assert not list((tmp_path / "theirs").iterdir())
    assert list((tmp_path / "state").glob("debit-*/debit.lmdb"))


def test_a_folder_in_memory_of_another_user_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    BurstLimiter(tmp_path / "state", memory=tmp_path).close()
    (folder,) = list(tmp_path.glob("societes-debit-*"))
    other_user = os.getuid() + 1
    monkeypatch.setattr("os.getuid", lambda: other_user)
    foreign_folder = tmp_path / folder.name.replace(f"-{other_user - 1}-", f"-{other_user}-")
    foreign_folder.mkdir(mode=0o777)

    BurstLimiter(tmp_path / "state", memory=tmp_path).close()

    assert not list(foreign_folder.iterdir())
    assert list((tmp_path / "state").glob("debit-*/debit.lmdb"))


def test_a_folder_that_cannot_be_written_is_an_error_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")

    with pytest.raises(OSError, match="file"):
        BurstLimiter(tmp_path / "file", memory=tmp_path / "none")
