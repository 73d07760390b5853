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
from tests.proof.tools import small

NOW = datetime(2026, 11, 21, 23, 59, tzinfo=UTC).timestamp()


# Each test has a folder of its own in the place of /dev/shm.


def test_a_minutes_worth_is_allowed_and_then_one_at_a_time(tmp_path: Path) -> None:
    debit = BurstLimiter(tmp_path, memory=tmp_path)

    allowed = [debit.allow("ip:192.0.2.7", 60, NOW).seconds == 0 for _ in range(70)]

    assert allowed == [True] * 60 + [False] * 10
    assert debit.allow("ip:192.0.2.7", 60, NOW).seconds == pytest.approx(1)
    assert debit.allow("ip:192.0.2.8", 60, NOW).remaining == 59
    assert debit.allow("ip:192.0.2.7", 60, NOW + 1).seconds == 0
    debit.close()


def test_a_visit_needs_both_limits_and_a_refused_one_costs_neither(tmp_path: Path) -> None:
    """D7, D1"""
    debit = BurstLimiter(tmp_path, memory=tmp_path)

    minute = [debit.visit("a", 3, 5, NOW) for _ in range(4)]
    left = debit.day("a", 5, NOW).remaining
    full = [debit.visit("b", 10, 2, NOW) for _ in range(6)]

    assert [(one.remaining, day.remaining) for one, day in minute[:3]] == [(2, 4), (1, 3), (0, 2)]
    assert minute[3][0].seconds == pytest.approx(20)
    assert left == 1, "the refused visit was not counted for the day"
    assert [day.seconds for _, day in full] == [0, 0, 60, 60, 60, 60]
    assert debit.allow("b", 10, NOW).remaining == 7, "nor for the minute"
    debit.close()


def test_calls_at_once_are_allowed_all_or_none(tmp_path: Path) -> None:
    """Before: a long list took what was left of the minute and was refused, again at each attempt"""
    debit = BurstLimiter(tmp_path, memory=tmp_path)
    assert debit.allow("a", 60, NOW, 50).remaining == 10

    refused = [debit.allow("a", 60, NOW, 20).seconds for _ in range(3)]

    assert refused == [pytest.approx(10)] * 3
    assert debit.allow("a", 60, NOW).remaining == 9
    assert debit.allow("a", 60, NOW + 11, 20).seconds == 0
    assert debit.allow("b", 5, NOW, 65).seconds == 0, "no more than the whole bucket"
    assert debit.allow("b", 5, NOW).seconds > 0
    debit.close()


def test_a_clock_that_was_far_ahead_leaves_no_day_that_never_ends(tmp_path: Path) -> None:
    """Before: who called then, and the limits of the host, had one count until that day"""
    debit = BurstLimiter(tmp_path, memory=tmp_path)
    ahead = NOW + 400 * 86_400
    assert [debit.day("inscription", 2, ahead).seconds > 0 for _ in range(3)] == [0, 0, 1]

    days = [[debit.day("inscription", 2, NOW + day * 86_400) for _ in range(3)] for day in range(3)]

    assert [[one.seconds > 0 for one in day] for day in days] == [[False, False, True]] * 3
    debit.close()


def test_a_day_ends_at_midnight_utc(tmp_path: Path) -> None:
    debit = BurstLimiter(tmp_path, memory=tmp_path)
    today = [debit.day("2001:db8::/64", 3, NOW) for _ in range(5)]
    tomorrow = [debit.day("2001:db8::/64", 3, NOW + 60) for _ in range(5)]
    back = debit.day("2001:db8::/64", 3, NOW + 59)

    assert [wait.seconds for wait in today] == [0, 0, 0, 60, 60]
    assert [wait.remaining for wait in today] == [2, 1, 0, 0, 0]
    assert [wait.seconds > 0 for wait in tomorrow] == [False, False, False, True, True]
    assert back.seconds > 0, "a clock that steps back over midnight begins no new day"
    debit.close()


def _ask(folder: Path, calls: int) -> int:
    debit = BurstLimiter(folder, memory=folder)
    allowed = sum(debit.allow("a_0000000000aA", 100, NOW).seconds == 0 for _ in range(calls))
    debit.close()
    return allowed


def test_the_workers_of_a_host_share_the_buckets(tmp_path: Path) -> None:
    with ProcessPoolExecutor(4, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert sum(pool.map(_ask, [tmp_path] * 4, [80] * 4)) == 100


def test_two_state_folders_share_nothing(tmp_path: Path) -> None:
    one, other = (BurstLimiter(tmp_path / name, memory=tmp_path) for name in ("one", "other"))
    one.allow("a", 1, NOW)

    assert other.allow("a", 1, NOW).seconds == 0
    one.close()
    other.close()


def test_rows_that_limit_nobody_are_deleted(tmp_path: Path) -> None:
    debit = BurstLimiter(tmp_path, memory=tmp_path, rows_most=10_000)
    for number in range(1_000):
        debit.allow(f"ip:{number}", 60, NOW)
        debit.day(f"ip:{number}", 9, NOW)
    before = debit.rows()

    for number in range(3_000):
        debit.allow("ip:only", 600, NOW + 86_400 + number)

    assert before == 2_000
    assert debit.rows() == 1
    debit.close()


def test_rows_that_limit_somebody_are_kept(tmp_path: Path) -> None:
    debit = BurstLimiter(tmp_path, memory=tmp_path, rows_most=1_000)
    for number in range(200):
        debit.day(f"ip:{number}", 1, NOW)
    for _ in range(2_000):
        debit.allow("ip:other", 10**6, NOW + 30)

    assert all(debit.day(f"ip:{number}", 1, NOW + 30).seconds for number in range(200))
    debit.close()


def test_a_full_file_is_emptied_and_nobody_is_refused_for_it(tmp_path: Path) -> None:
    debit = BurstLimiter(tmp_path, memory=tmp_path, rows_most=1_000)

    waits = [debit.day(f"ip:{number}", 1, NOW) for number in range(5_000)]

    assert not any(wait.seconds for wait in waits)
    assert 0 < debit.rows() < 5_000
    assert debit.day("ip:4999", 1, NOW).seconds > 0
    for _ in range(3_000):
        debit.allow("ip:only", 600, NOW + 86_400)
    assert debit.rows() == 1
    debit.close()


def test_a_file_that_cannot_be_locked_limits_nobody_and_is_opened_anew(tmp_path: Path) -> None:
    debit = BurstLimiter(tmp_path, memory=tmp_path)
    debit.allow("a", 1, NOW)
    no_lock = os.open(tmp_path, os.O_PATH)  # flock fails on it with EBADF
    os.dup2(no_lock, debit._lock._file)
    os.close(no_lock)

    assert debit.allow("a", 1, NOW).seconds == 0
    assert debit.allow("a", 1, NOW).seconds > 0, "what was counted before still counts"
    debit.close()


def test_memory_that_is_full_is_not_used(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    memory.mkdir()
    with small(memory, "4k"):
        debit = BurstLimiter(tmp_path / "state", memory=memory)

        assert [debit.allow("a", 1, NOW).seconds for _ in range(2)] == [0, 60]
        assert list((tmp_path / "state").glob("debit-*/debit.lmdb"))
        debit.close()


def test_memory_that_becomes_full_limits_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    memory = tmp_path / "memory"
    memory.mkdir()
    with small(memory, "64k"):
        debit = BurstLimiter(tmp_path / "state", memory=memory)
        debit.allow("a", 1, NOW)
        with pytest.raises(OSError, match="space"):
            (memory / "other").write_bytes(bytes(1 << 20))

        waits = [debit.allow(f"ip:{number}", 1, NOW) for number in range(2_000)]

        assert not any(wait.seconds for wait in waits)
        assert "not limited" in caplog.text
        debit.close()


def test_a_process_that_is_killed_anywhere_leaves_a_sound_file(tmp_path: Path) -> None:
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

    debit = BurstLimiter(tmp_path, memory=tmp_path)
    assert debit.rows() > 0
    assert debit.allow("ip:0", 60, NOW).remaining < 60
    debit.close()


_CALLER = """
import sys
from pathlib import Path
from random import Random
from quota.bursts import BurstLimiter
from quota.store.lmdb_store import damage_of
from tests.proof.tools import small
limiter = BurstLimiter(Path(sys.argv[1]), memory=Path(sys.argv[1]))
print(flush=True)
number = 0
while True:
    number += 1
    limiter.allow(f"ip:{number % 1000}", 60, 1.8e9 + number / 100)
    limiter.day(f"ip:{number % 1000}", 9, 1.8e9 + number / 100)
"""


def test_callers_cannot_be_read_from_the_file(tmp_path: Path) -> None:
    debit = BurstLimiter(tmp_path, memory=tmp_path)
    debit.allow("192.0.2.77", 60, NOW)
    debit.close()

    (place,) = tmp_path.glob("societes-debit-*")
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert b"192.0.2.77" not in (place / "debit.lmdb").read_bytes()


def test_the_memory_of_a_state_folder_that_is_gone_is_given_back(tmp_path: Path) -> None:
    for name in ("gone", "kept"):
        BurstLimiter(tmp_path / name, memory=tmp_path).close()
    (tmp_path / "gone").rmdir()

    BurstLimiter(tmp_path / "new", memory=tmp_path).close()

    places = tmp_path.glob("societes-debit-*/state")
    assert {place.read_text(encoding="utf-8") for place in places} == {
        str(tmp_path / "kept"),
        str(tmp_path / "new"),
    }


def _pipe(folder: Path) -> None:
    os.mkfifo(folder / "state")


def _endless(folder: Path) -> None:
    (folder / "state").symlink_to("/dev/zero")


def _long(folder: Path) -> None:
    (folder / "state").write_bytes(b"x" * 4_097)


def _of_everybody(folder: Path) -> None:
    (folder / "state").write_text("/no/such/folder", encoding="utf-8")
    folder.chmod(0o777)


@pytest.mark.parametrize("left", [_pipe, _endless, _long, _of_everybody])
def test_what_others_leave_in_memory_neither_hangs_a_start_nor_is_removed(
    tmp_path: Path, left: Callable[[Path], None]
) -> None:
    theirs = tmp_path / f"societes-debit-{os.getuid()}-{'0' * 16}"
    theirs.mkdir(mode=0o700)
    left(theirs)
    command = (
        "import sys, pathlib, resource; from quota.bursts import BurstLimiter; "
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)); "
        "folder = pathlib.Path(sys.argv[1]); BurstLimiter(folder / 'état', memory=folder).close()"
    )

    # A process of its own: a start that hangs is ended, and does not hang the tests.
    done = subprocess.run([sys.executable, "-c", command, tmp_path], timeout=20, check=False)

    assert done.returncode == 0
    assert theirs.is_dir()


def test_a_pipe_in_place_of_our_own_note_hangs_nothing(tmp_path: Path) -> None:
    BurstLimiter(tmp_path / "state", memory=tmp_path).close()
    (place,) = list(tmp_path.glob("societes-debit-*"))
    (place / "state").unlink()
    os.mkfifo(place / "state")

    BurstLimiter(tmp_path / "state", memory=tmp_path).close()  # would wait for a reader for ever


def test_without_memory_the_file_lies_in_the_state_folder_for_this_boot(tmp_path: Path) -> None:
    debit = BurstLimiter(tmp_path, memory=tmp_path / "no such folder")
    debit.close()

    (place,) = list(tmp_path.iterdir())
    assert place.name.startswith("debit-")
    assert (place / "debit.lmdb").exists()


def test_a_place_that_is_not_ours_is_not_used(tmp_path: Path) -> None:
    first = BurstLimiter(tmp_path / "state", memory=tmp_path)
    first.close()
    (place,) = list(tmp_path.glob("societes-debit-*"))
    for path in place.iterdir():
        path.unlink()
    place.rmdir()
    (tmp_path / "theirs").mkdir()
    place.symlink_to(tmp_path / "theirs")

    BurstLimiter(tmp_path / "state", memory=tmp_path).close()

    assert not list((tmp_path / "theirs").iterdir())
    assert list((tmp_path / "state").glob("debit-*/debit.lmdb"))


def test_a_place_of_another_user_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    BurstLimiter(tmp_path / "state", memory=tmp_path).close()
    (ours,) = list(tmp_path.glob("societes-debit-*"))
    other = os.getuid() + 1
    monkeypatch.setattr("os.getuid", lambda: other)
    theirs = tmp_path / ours.name.replace(f"-{other - 1}-", f"-{other}-")
    theirs.mkdir(mode=0o777)

    BurstLimiter(tmp_path / "state", memory=tmp_path).close()

    assert not list(theirs.iterdir())
    assert list((tmp_path / "state").glob("debit-*/debit.lmdb"))


def test_a_folder_that_cannot_be_written_is_an_error_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")

    with pytest.raises(OSError, match="file"):
        BurstLimiter(tmp_path / "file", memory=tmp_path / "none")
