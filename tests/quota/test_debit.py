"""Bursts (D7): the bucket against a list of calls, and the file that workers share."""

import errno
import multiprocessing
import os
import stat
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quota.bursts import gcra
from quota.bursts.limiter import BurstLimiter

NOW = datetime(2026, 11, 21, 23, 59, tzinfo=UTC).timestamp()


# -- the bucket --------------------------------------------------------------------


@given(
    st.integers(1, 600),
    st.lists(st.floats(0, 5, allow_nan=False) | st.just(0.0), min_size=1, max_size=200),
)
def test_a_bucket_loses_a_call_and_fills_evenly(per_minute: int, pauses: list[float]) -> None:
    """Against the bucket as one would write it down: a level that rises and falls"""
    level, now = float(per_minute), NOW
    full_at: int | None = None
    for pause in pauses:
        now += pause
        level = min(per_minute, level + pause * per_minute / 60)

        wait, full_at = gcra.draw(full_at, per_minute, now)

        # Where the level is a whole number but for rounding, either answer is right.
        if abs(level - 1) > 1e-6:
            assert (wait.seconds == 0) == (level >= 1)
        if wait.seconds:
            assert wait.seconds == pytest.approx((1 - level) * 60 / per_minute, abs=1e-5)
        else:
            level = max(0.0, level - 1)
            assert wait.remaining == pytest.approx(level, abs=1 + 1e-5)
        assert wait.reset == pytest.approx((per_minute - level) * 60 / per_minute, abs=1e-5)


@pytest.mark.parametrize("per_minute", [1, 7, 60, 120, 300, 600])
def test_exactly_a_minutes_worth_passes_at_once(per_minute: int) -> None:
    full_at: int | None = None
    allowed = []
    for _ in range(per_minute + 5):
        wait, full_at = gcra.draw(full_at, per_minute, NOW)
        allowed.append(not wait.seconds)

    assert allowed == [True] * per_minute + [False] * 5


def test_who_waits_as_told_is_allowed() -> None:
    full_at: int | None = None
    now = NOW
    for _ in range(500):
        wait, full_at = gcra.draw(full_at, 7, now)
        if wait.seconds:
            now += wait.seconds + 1e-6  # what a float of this size can tell apart
            again, full_at = gcra.draw(full_at, 7, now)
            assert again.seconds == 0


def test_a_clock_that_was_ahead_makes_nobody_wait_more_than_a_minute() -> None:
    _, full_at = gcra.draw(None, 60, NOW + 86_400)

    wait, full_at = gcra.draw(full_at, 60, NOW)

    assert wait == gcra.Wait(1.0, 0, 60.0)
    assert gcra.draw(full_at, 60, NOW + 60)[0].remaining == 59


# -- the file ----------------------------------------------------------------------

# Each test has a folder instead of /dev/shm, which nobody would sweep.


def test_a_minutes_worth_is_allowed_and_then_one_at_a_time(tmp_path: Path) -> None:
    debit = BurstLimiter(tmp_path, memory=tmp_path)

    allowed = [debit.allow("ip:192.0.2.7", 60, NOW).seconds == 0 for _ in range(70)]

    assert allowed == [True] * 60 + [False] * 10
    assert debit.allow("ip:192.0.2.7", 60, NOW).seconds == pytest.approx(1)
    assert debit.allow("ip:192.0.2.8", 60, NOW).remaining == 59
    assert debit.allow("ip:192.0.2.7", 60, NOW + 1).seconds == 0
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


def test_what_says_nothing_any_more_is_forgotten(tmp_path: Path) -> None:
    debit = BurstLimiter(tmp_path, memory=tmp_path, slots=1 << 14)
    for number in range(1_000):
        debit.allow(f"ip:{number}", 60, NOW)
        debit.day(f"ip:{number}", 9, NOW)
    before = debit.rows()

    for number in range(3_000):
        debit.allow("ip:only", 600, NOW + 86_400 + number)

    assert before == 2_000
    assert debit.rows() == 1
    debit.close()


def test_what_still_counts_is_not_forgotten(tmp_path: Path) -> None:
    debit = BurstLimiter(tmp_path, memory=tmp_path, slots=1 << 10)
    for number in range(200):
        debit.day(f"ip:{number}", 1, NOW)
    for _ in range(2_000):
        debit.allow("ip:other", 10**6, NOW + 30)

    assert all(debit.day(f"ip:{number}", 1, NOW + 30).seconds for number in range(200))
    debit.close()


def test_a_full_table_is_emptied_and_nobody_is_refused_for_it(tmp_path: Path) -> None:
    debit = BurstLimiter(tmp_path, memory=tmp_path, slots=1 << 10)

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
    no_lock = os.open(tmp_path, os.O_PATH)  # of which no lock can be had: EBADF
    os.dup2(no_lock, debit._turn._file)
    os.close(no_lock)

    assert debit.allow("a", 1, NOW).seconds == 0
    assert debit.allow("a", 1, NOW).seconds > 0, "what was counted before still counts"
    debit.close()


def test_memory_that_is_full_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of it that could not be had would end the process by a signal"""
    memory = tmp_path / "memory"
    memory.mkdir()
    write = os.pwrite

    def full(file: int, data: bytes, offset: int) -> int:
        if Path(f"/proc/self/fd/{file}").readlink().is_relative_to(memory):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(file, data, offset)

    monkeypatch.setattr("os.pwrite", full)

    debit = BurstLimiter(tmp_path / "state", memory=memory)

    assert [debit.allow("a", 1, NOW).seconds for _ in range(2)] == [0, 60]
    assert [path.stat().st_size for path in memory.glob("*/debit.table")] == [0]
    debit.close()


def test_who_called_cannot_be_read_from_the_file(tmp_path: Path) -> None:
    debit = BurstLimiter(tmp_path, memory=tmp_path)
    debit.allow("192.0.2.77", 60, NOW)
    debit.close()

    (place,) = tmp_path.glob("societes-debit-*")
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert b"192.0.2.77" not in (place / "debit.table").read_bytes()


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


def test_without_memory_the_file_lies_in_the_state_folder_for_this_boot(tmp_path: Path) -> None:
    debit = BurstLimiter(tmp_path, memory=tmp_path / "no such folder")
    debit.close()

    (place,) = list(tmp_path.iterdir())
    assert place.name.startswith("debit-")
    assert (place / "debit.table").exists()


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
    assert list((tmp_path / "state").glob("debit-*/debit.table"))


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
    assert list((tmp_path / "state").glob("debit-*/debit.table"))


def test_a_folder_that_cannot_be_written_is_an_error_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")

    with pytest.raises(OSError, match="file"):
        BurstLimiter(tmp_path / "file", memory=tmp_path / "none")
