"""Burst limits (contract D7), shared by the workers of a host. Never for billing.

One table in memory (`shared_table.py`, /dev/shm) that is never synced: it dies with the machine, and by
then every bucket is full again. It must not stop the service: when a process that is stopped keeps
it from the others, calls are allowed. Who calls is kept as a digest only. Now and then a call looks
at the next rows and frees those that say nothing any more, so that the table holds no more than the
callers of today.

Where /dev/shm is absent or full the table lies in the state folder, under the name of this boot: a
file that was never synced is not opened again after a power cut.
"""

import contextlib
import hashlib
import logging
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from quota.bursts import gcra
from quota.bursts import shared_table as tables
from quota.bursts.gcra import Wait
from quota.bursts.shared_table import SLOTS, SharedTable
from quota.store.write_lock import WriteLock

MEMORY: Final = Path("/dev/shm")

# A change takes microseconds: who waits longer for his turn waits for a process that is stopped.
PATIENCE_S: Final = 5.0
PAUSE_S: Final = 30.0  # until it is tried again; calls go unlimited meanwhile

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_STATE: Final = "state"  # beside the file: the STATE folder that it belongs to
_TABLE: Final = "debit.table"  # another layout, or another number of slots, needs another name
_SWEEP_EVERY: Final = 32  # calls; a whole table is swept in 32 768

# Value of a row: when the bucket is full (ns since 1970), or this bit, a day, and its count.
_DAY: Final = 1 << 63
_DIGEST: Final = 16

_log: Final = logging.getLogger("quota.bursts.limiter")

_FREE: Final = Wait(0.0, 0, 0.0)


class BurstLimiter:
    """The buckets of the host that serves `folder`. Open it once a process; for one thread."""

    def __init__(self, folder: Path, *, memory: Path = MEMORY, slots: int = SLOTS) -> None:
        """Open the buckets that belong to a STATE folder, or make them.

        Raises:
            OSError: neither `memory` nor `folder` can be written.
        """
        self._slots = slots
        self._paused_until = 0.0
        self._calls = 0
        self._path, self._table, self._turn = _first_that_opens(folder, memory, slots)

    def allow(self, who: str, per_minute: int, now: float) -> Wait:
        """One call of `who`, of which `per_minute` (>= 1) are allowed; a refused one is free."""
        name = _digest(b"b", who)

        def draw(table: SharedTable) -> Wait:
            wait, full_at = gcra.draw(table.get(name), per_minute, now)
            self._put(name, full_at, now)
            return wait

        return self._change(draw)

    def day(self, who: str, limit: int, now: float) -> Wait:
        """One call of `who`, of which `limit` are allowed until midnight UTC."""
        name = _digest(b"d", who)

        def count(table: SharedTable) -> Wait:
            day, counted = _day_and_count(table.get(name) or 0)
            # A clock that steps back to yesterday goes on with the count of today.
            today = max(day, gcra.day_of(now))
            counted = counted if day == today else 0
            wait = gcra.count(counted, limit, now)
            if not wait.seconds:
                self._put(name, _DAY | today << 32 | counted + 1, now)
            return wait

        return self._change(count)

    def rows(self) -> int:
        """How many buckets and days are remembered."""
        return self._table.rows()

    def close(self) -> None:
        self._table.close()
        self._turn.close()

    # -- the table -----------------------------------------------------------------

    def _change(self, change: Callable[[SharedTable], Wait]) -> Wait:
        if self._paused_until and time.monotonic() < self._paused_until:
            return _FREE
        try:
            self._turn.take(PATIENCE_S)
            try:
                return change(self._table)
            finally:
                self._turn.leave()
        except TimeoutError as error:
            _log.error("bursts are not limited for %d s: %s", PAUSE_S, error)
            self._paused_until = time.monotonic() + PAUSE_S
        except OSError:
            # If there is no cure, calls go unlimited: better than no service (D7 bills nothing).
            with contextlib.suppress(OSError):
                self._reopen()
        return _FREE

    def _put(self, name: bytes, value: int, now: float) -> None:
        if not self._table.put(name, value):  # a fuller table is emptied: nobody is refused for it
            self._table.empty()
            self._table.put(name, value)
        self._calls += 1
        if self._calls % _SWEEP_EVERY == 0:
            self._table.sweep(lambda value: _is_over(value, now))

    def _reopen(self) -> None:
        before = self._table, self._turn
        self._table, self._turn = _open(self._path, self._slots)
        for one in before:
            with contextlib.suppress(OSError):
                one.close()


def _day_and_count(value: int) -> tuple[int, int]:
    return (value & ~_DAY) >> 32, value & 0xFFFF_FFFF


def _is_over(value: int, now: float) -> bool:
    if value & _DAY:
        return _day_and_count(value)[0] < gcra.day_of(now)
    return gcra.is_full(value, now)


def _digest(kind: bytes, who: str) -> bytes:
    return hashlib.blake2b(kind + who.encode(), digest_size=_DIGEST).digest()


# -- where it lies -------------------------------------------------------------------


def _first_that_opens(
    folder: Path, memory: Path, slots: int
) -> tuple[Path, SharedTable, WriteLock]:
    """In memory, unless there is none or it is full; else beside the state."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for place in _in_memory(folder, memory):
        try:
            return place / _TABLE, *_open(place / _TABLE, slots)
        except OSError as error:
            _log.warning("bursts are not counted in %s: %s", place, error)
    place = _beside_the_state(folder)
    return place / _TABLE, *_open(place / _TABLE, slots)


def _open(path: Path, slots: int) -> tuple[SharedTable, WriteLock]:
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    turn = WriteLock(path)
    try:
        if not tables.is_whole(path, slots):
            with turn.held(PATIENCE_S):
                if not tables.is_whole(path, slots):  # another worker may have been faster
                    tables.make(path, slots)
        return SharedTable(path, slots), turn
    except BaseException:
        turn.close()
        raise


def _in_memory(folder: Path, memory: Path) -> Iterator[Path]:
    """The folder of ours alone for this STATE, if it can be had."""
    state = str(folder.resolve())
    family = f"societes-debit-{os.getuid()}-"
    place = memory / f"{family}{hashlib.sha256(state.encode()).hexdigest()[:16]}"
    if memory.is_dir() and os.access(memory, os.W_OK) and _is_ours(place):
        with contextlib.suppress(OSError):
            (place / _STATE).write_text(state, encoding="utf-8")
        for other in memory.glob(f"{family}*"):
            _remove_if_left_behind(other)
        yield place


def _beside_the_state(folder: Path) -> Path:
    """A folder for this boot only."""
    boot = _BOOT.read_text(encoding="ascii").strip() if _BOOT.exists() else "boot"
    place = folder / f"debit-{boot}"
    place.mkdir(exist_ok=True, mode=0o700)
    return place


def _remove_if_left_behind(place: Path) -> None:
    """Memory is not swept: give back what belongs to a STATE folder that was deleted."""
    # Another worker may be doing the same.
    with contextlib.suppress(OSError):
        if not Path((place / _STATE).read_text(encoding="utf-8")).exists():
            shutil.rmtree(place)


def _is_ours(place: Path) -> bool:
    """Make `place`, unless somebody else, who may write to /dev/shm too, was there first."""
    try:
        place.mkdir(exist_ok=True, mode=0o700)
    except OSError:
        return False
    found = place.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
