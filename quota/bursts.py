"""Burst limits (contract D7): calls per minute, and per day for visitors, shared by the processes of a host.

The limits affect no bill. Their values are in `serve/config.py` (`BurstLimits`); `serve/access/burst_gate.py` decides
which calls share a limit.

A bucket holds the n calls of one minute and fills evenly: a caller can make all n calls at once, and then one call
every 60/n seconds. A bucket is stored as one number (GCRA): the moment at which the bucket will be full again. A full
bucket need not be stored. The clock can be set back: a bucket that would become full later than an empty bucket is
treated as empty, so that nobody waits for more than a minute.

The limits are rows of an LMDB file in memory that is never synced. A restart of the machine deletes the file. That
does no harm to buckets, which are full again by then; the calls of the day begin at 0 again. A decision is one
transaction, and a process that is killed during a transaction leaves the rows as they were.

The limits fail open: if the file cannot be written, or a stopped process holds the lock of the file, calls are
allowed. A caller is stored only as a digest. Once per _SWEEP_EVERY calls the limiter reads the next _SWEEP_ROWS rows
and deletes the rows that no longer limit anybody, so that the file does not grow for ever.

The folder of the file is in /dev/shm and belongs to one STATE folder. If /dev/shm is absent or cannot be used, the
file is in a folder inside STATE. The name of that folder contains the id of this boot, because a file that was never
synced must not be opened again after a power cut.

Any user can write to /dev/shm: a pipe, a link or an endless file there could block or mislead a process that
opens it. So the limiter uses only folders that belong to this user and that nobody else may write to. In
these folders it reads only small regular files, without waiting.
"""

import contextlib
import hashlib
import logging
import mmap
import os
import shutil
import stat
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import lmdb

from quota.store.write_lock import WriteLock

WINDOW: Final = 60 * 10**9  # ns: the time in which an empty bucket becomes full
DAY_S: Final = 86_400

# Seconds to wait for the lock. A decision takes microseconds, so a longer wait means that a process with the lock is
# stopped.
PATIENCE_S: Final = 5.0
# After a failure: seconds until the file is used again. Calls are not limited meanwhile.
PAUSE_S: Final = 30.0

_FILE: Final = "debit.lmdb"  # the name of the file with the limits
_MAP_SIZE: Final = 64 << 20  # the most bytes of the file; space that is not used takes no memory
_HEADER: Final = 2 * mmap.PAGESIZE  # bytes that LMDB writes into a new file: a shorter file is new
# If the file has this many rows, all rows are deleted. A row takes some 50 bytes, so these rows fill less than half of
# the file.
_ROWS_MOST: Final = 500_000

_SWEEP_EVERY: Final = 32  # calls from one sweep to the next
_SWEEP_ROWS: Final = 64  # the most rows that a sweep reads

# Keys of rows: _BUCKET or _DAY, and the digest of a caller. Values: the moment at which the bucket is full (ns since
# 1970); or a day (counted from 1 January 1970) and the calls of that day.
_BUCKET: Final = b"b"
_DAY: Final = b"d"
_FULL_AT: Final = struct.Struct(">Q")
_COUNT: Final = struct.Struct(">II")
_DIGEST_BYTES: Final = 16  # of the digest of a caller

_log: Final = logging.getLogger("quota.bursts")

_Transaction = lmdb.Transaction
T = TypeVar("T")
MEMORY: Final = Path("/dev/shm")  # a folder whose files are in memory

# A new random id after each start of the machine.
_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
_OWNER_FILE: Final = "state"  # in a folder in /dev/shm: has the path of the STATE folder to which that folder belongs
_LONGEST_PATH: Final = 4_096  # the most bytes of the path in `_OWNER_FILE` (PATH_MAX)
# Open flags: follow no link, do not wait for the other end of a pipe, and close the file in child programs.
_OPEN_FLAGS: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


# -- a bucket ------------------------------------------------------------------------


class BurstDecision(NamedTuple):
    """Whether a call is allowed, and how many more calls are.

    Attributes:
        seconds: 0.0 for an allowed call, otherwise the time until the next call is allowed.
        remaining: the calls that are allowed at once after this call.
        reset: seconds until all calls are available again.
    """

    seconds: float
    remaining: int
    reset: float


# The decision on each call while the file cannot be used.
_UNLIMITED: Final = BurstDecision(0.0, 0, 0.0)


def draw(
    full_at: int | None, per_minute: int, now: float, calls: int = 1
) -> tuple[BurstDecision, int]:
    """Decide on `calls` calls at `now` (Unix seconds); returns the decision and the new `full_at`.

    Either all calls are allowed, or none. More calls than a bucket holds need a full bucket, and empty it.

    `full_at` is the moment at which the bucket will be full; None for a full bucket. The unit is 1 ns:
    the n intervals of a minute are rounded down, so together they are never longer than a minute.

    >>> draw(None, 60, 0.0)
    (BurstDecision(seconds=0.0, remaining=59, reset=1.0), 1000000000)
    >>> draw(60_000_000_000, 60, 0.0)
    (BurstDecision(seconds=1.0, remaining=0, reset=60.0), 60000000000)
    """
    ns_per_call = WINDOW // per_minute
    now_ns = int(now * 1e9)
    full_if_empty = now_ns + WINDOW
    full_before = now_ns if full_at is None else min(max(full_at, now_ns), full_if_empty)
    full_after = full_before + ns_per_call * min(calls, per_minute)
    if full_after > full_if_empty:
        return BurstDecision(
            (full_after - full_if_empty) / 1e9, 0, (full_before - now_ns) / 1e9
        ), full_before
    return BurstDecision(
        0.0, (full_if_empty - full_after) // ns_per_call, (full_after - now_ns) / 1e9
    ), full_after


def is_full(full_at: int, now: float) -> bool:
    """Whether a bucket that will be full at `full_at` (ns) is full at `now` (s); it need not be stored then."""
    return full_at <= now * 1e9


def day_of(now: float) -> int:
    """The day (UTC), counted from 1 January 1970."""
    return int(now // DAY_S)


def count_of_day(calls_before: int, limit: int, now: float) -> BurstDecision:
    """Decide on a call at `now` after `calls_before` calls on the same day.

    >>> count_of_day(999, 1000, 86_390.0), count_of_day(1000, 1000, 86_390.0)
    (BurstDecision(seconds=0.0, remaining=0, reset=10.0), BurstDecision(seconds=10.0, remaining=0, reset=10.0))
    """
    seconds_left = (day_of(now) + 1) * DAY_S - now
    allowed = calls_before < limit
    return BurstDecision(
        0.0 if allowed else seconds_left, max(0, limit - calls_before - 1), seconds_left
    )


# -- the buckets of all callers ------------------------------------------------------


class BurstLimiter:
    """The limits of the host that serves a STATE folder. Open it once per process; for one thread."""

    def __init__(self, state: Path, *, memory: Path = MEMORY, rows_most: int = _ROWS_MOST) -> None:
        """Open the limits that belong to a STATE folder, or create them.

        Raises:
            OSError: neither `memory` nor `state` can be written.
        """
        self._rows_most = rows_most
        self._paused_until = 0.0  # after a failure: calls are not limited until then
        self._calls = 0  # decisions of this process, to sweep after every _SWEEP_EVERY
        self._next_swept = b""  # the key at which the next sweep starts
        self._path, self._env, self._lock = _open_in_first_folder(state, memory)

    def allow(self, who: str, per_minute: int, now: float, calls: int = 1) -> BurstDecision:
        """Count `calls` calls of client `who`, limited to `per_minute` (>= 1); refused calls cost nothing."""
        caller = _caller_digest(who)

        def draw_and_store(txn: "_Transaction[bytes]") -> BurstDecision:
            """Decide, and store the new row of the bucket; refused calls take nothing from it."""
            decision, new_row = _draw_stored(txn, caller, per_minute, now, calls)
            txn.put(_BUCKET + caller, new_row)
            return decision

        return self._decide(draw_and_store, now) or _UNLIMITED

    def day(self, who: str, limit: int, now: float) -> BurstDecision:
        """Count one call of client `who`, limited to `limit` until midnight UTC."""
        caller = _caller_digest(who)

        def count_and_store(txn: "_Transaction[bytes]") -> BurstDecision:
            """Decide, and store the new count unless the call is refused."""
            decision, new_row = _count_stored(txn, caller, limit, now)
            if not decision.seconds:  # 0.0 for an allowed call
                txn.put(_DAY + caller, new_row)
            return decision

        return self._decide(count_and_store, now) or _UNLIMITED

    def visit(
        self, who: str, per_minute: int, per_day: int, now: float
    ) -> tuple[BurstDecision, BurstDecision]:
        """Count one call of client `who` under both limits; a call that either limit refuses costs nothing.

        Returns:
            The decision of the minute, and the decision of the day.
        """
        caller = _caller_digest(who)

        def count_both(txn: "_Transaction[bytes]") -> tuple[BurstDecision, BurstDecision]:
            """Decide by both limits, and store both rows unless one of them refuses the call."""
            minute_decision, bucket_row = _draw_stored(txn, caller, per_minute, now)
            day_decision, day_row = _count_stored(txn, caller, per_day, now)
            if not minute_decision.seconds and not day_decision.seconds:
                txn.put(_BUCKET + caller, bucket_row)
                txn.put(_DAY + caller, day_row)
            return minute_decision, day_decision

        return self._decide(count_both, now) or (_UNLIMITED, _UNLIMITED)

    def rows(self) -> int:
        """The number of rows: buckets, and days of visitors."""
        return int(self._env.stat()["entries"])

    def close(self) -> None:
        """Close the file and its lock; the rows stay for other processes."""
        self._env.close()
        self._lock.close()

    # -- transactions --------------------------------------------------------------

    def _decide(self, decide: "Callable[[_Transaction[bytes]], T]", now: float) -> T | None:
        """The result of `decide` in a transaction; None if the file fails, and the caller then allows the call.

        After a timeout or a full file, no call is limited for PAUSE_S. One transaction in _SWEEP_EVERY also deletes
        old rows.
        """
        if self._paused_until and time.monotonic() < self._paused_until:
            return None
        try:
            self._lock.acquire(PATIENCE_S)
            try:
                with self._env.begin(write=True) as txn:
                    self._calls += 1
                    if self._calls % _SWEEP_EVERY == 0:
                        self._sweep(txn, now)
                    return decide(txn)
            finally:
                self._lock.release()
        except (TimeoutError, lmdb.DiskError) as error:  # a stopped process, or memory is full
            _log.error(
                "bursts are not limited for %d s: %s; give %s room if it is full",
                PAUSE_S, error, self._path,
            )  # fmt: skip
            self._paused_until = time.monotonic() + PAUSE_S
        except (lmdb.Error, OSError):
            # If the file cannot be reopened either, calls are not limited, which is better than no service.
            with contextlib.suppress(OSError):
                self._reopen()
        return None

    def _sweep(self, txn: "_Transaction[bytes]", now: float) -> None:
        """Delete the rows without effect on any later call, among the next _SWEEP_ROWS rows.

        The next sweep goes on after these rows. If there are too many rows, all are deleted.
        """
        if self.rows() >= self._rows_most:  # losing some counts is better than a full file
            txn.drop(self._env.open_db(txn=txn), delete=False)
            return
        with txn.cursor() as cursor:
            has_row = cursor.set_range(self._next_swept)
            for _ in range(_SWEEP_ROWS):
                if not has_row:
                    break
                if _limits_nobody(cursor.key(), cursor.value(), now):
                    cursor.delete()  # moves the cursor to the next row
                    has_row = bool(cursor.key())
                else:
                    has_row = cursor.next()
            self._next_swept = cursor.key() if has_row else b""

    def _reopen(self) -> None:
        """Open the file again after an error of LMDB, or create it again."""
        self._env.close()  # first, because LMDB does not allow a process to open the same file twice
        env, lock = _open_or_replace(self._path)
        old_lock = self._lock
        self._env, self._lock = env, lock
        old_lock.close()


def _draw_stored(
    txn: "_Transaction[bytes]", caller: bytes, per_minute: int, now: float, calls: int = 1
) -> tuple[BurstDecision, bytes]:
    """The decision on `calls` calls of a caller by its bucket, and the new value of the row."""
    stored = txn.get(_BUCKET + caller)
    full_at = None if stored is None else _FULL_AT.unpack(stored)[0]
    decision, full_at = draw(full_at, per_minute, now, calls)
    return decision, _FULL_AT.pack(full_at)


def _count_stored(
    txn: "_Transaction[bytes]", caller: bytes, limit: int, now: float
) -> tuple[BurstDecision, bytes]:
    """The decision on a call by the calls of the caller's day, and the value of the row after an allowed call."""
    day, calls = _COUNT.unpack(txn.get(_DAY + caller) or bytes(_COUNT.size))
    today = day_of(now)
    if day == today + 1:  # the clock was set back past midnight: continue the stored count
        today = day
    calls = calls if day == today else 0
    return count_of_day(calls, limit, now), _COUNT.pack(today, calls + 1)


def _limits_nobody(key: bytes, value: bytes, now: float) -> bool:
    """Whether a row no longer limits anybody: the bucket is full, or the day has passed.

    A count of tomorrow still limits its caller: the clock was set back past midnight.
    """
    if key.startswith(_BUCKET):
        return is_full(_FULL_AT.unpack(value)[0], now)
    return not 0 <= _COUNT.unpack(value)[0] - day_of(now) <= 1


def _caller_digest(who: str) -> bytes:
    """The digest of a client in the keys of its rows."""
    return hashlib.blake2b(who.encode(), digest_size=_DIGEST_BYTES).digest()


# -- the file ----------------------------------------------------------------------


def _open_in_first_folder(state: Path, memory: Path) -> "tuple[Path, lmdb.Environment, WriteLock]":
    """Open the file in the first folder that allows it; returns its path, its LMDB environment and its lock."""
    error = OSError(f"no folder for the burst limits of {state}")
    for folder in folders(state, memory):
        try:
            return folder / _FILE, *_open_or_replace(folder / _FILE)
        except OSError as failure:
            _log.warning("bursts are not counted in %s: %s", folder, failure)
            error = failure
    raise error


def _open_or_replace(path: Path) -> "tuple[lmdb.Environment, WriteLock]":
    """Open the file, or create it; a file that LMDB cannot read is replaced."""
    try:
        try:
            return _open_file(path)
        except lmdb.InvalidError:
            path.unlink(missing_ok=True)
            return _open_file(path)
    except lmdb.Error as error:
        raise OSError(f"{path}: {error}; give it space and write access") from error


def _open_file(path: Path) -> "tuple[lmdb.Environment, WriteLock]":
    """Open the file, or create it; return its LMDB environment, and the lock under which alone it may be written."""
    path.touch(mode=0o600)
    lock = WriteLock(path)
    try:
        # Only creating needs the lock: a stopped process that holds the lock must not delay a start.
        is_new = path.stat().st_size < _HEADER
        with lock.hold(PATIENCE_S) if is_new else contextlib.nullcontext():
            env = lmdb.open(
                str(path),
                subdir=False,
                map_size=_MAP_SIZE,
                max_spare_txns=1,
                mode=0o600,
                sync=False,
                metasync=False,
                # LMDB's own lock is not needed, because every transaction holds the `WriteLock`. If memory is
                # full, an access to LMDB's lock file would end the process by a signal.
                lock=False,
            )
    except BaseException:
        lock.close()
        raise
    return env, lock


# -- the folder ----------------------------------------------------------------------


def folders(state: Path, memory: Path) -> Iterator[Path]:
    """The folders to try, in this order: in `memory` if possible, then in the STATE folder.

    Folders in `memory` whose STATE folder was deleted are removed.

    Raises:
        OSError: the STATE folder cannot be written.
    """
    state.mkdir(parents=True, exist_ok=True, mode=0o700)
    state_path = str(state.resolve())
    name_prefix = f"societes-debit-{os.getuid()}-"
    folder = memory / f"{name_prefix}{hashlib.sha256(state_path.encode()).hexdigest()[:16]}"
    if memory.is_dir() and os.access(memory, os.W_OK) and _create_private(folder):
        with contextlib.suppress(OSError):
            _write_text(folder / _OWNER_FILE, state_path)
        for existing in memory.glob(f"{name_prefix}*"):
            _remove_if_abandoned(existing)
        yield folder
    boot = _BOOT_ID.read_text(encoding="ascii").strip() if _BOOT_ID.exists() else "boot"
    folder = state / f"debit-{boot}"
    folder.mkdir(exist_ok=True, mode=0o700)
    yield folder


def _remove_if_abandoned(folder: Path) -> None:
    """Remove a folder of burst limits whose STATE folder was deleted: nothing else frees its memory."""
    # Another process may be removing the same folder.
    with contextlib.suppress(OSError):
        if _is_private(folder) and not Path(_read_text(folder / _OWNER_FILE)).exists():
            shutil.rmtree(folder)


def _read_text(path: Path) -> str:
    """The text of a small file. Raises OSError: it is not a regular file, is empty or is too large."""
    with os.fdopen(os.open(path, os.O_RDONLY | _OPEN_FLAGS), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(f"{path} is not a file; remove it")
        text = file.read(_LONGEST_PATH + 1)
    if not 0 < len(text) <= _LONGEST_PATH:
        raise OSError(f"{path} does not have 1 to {_LONGEST_PATH} bytes; remove it")
    return os.fsdecode(text)


def _write_text(path: Path, text: str) -> None:
    """Create or replace a small file. Raises OSError: the name belongs to something that is not a regular file."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | _OPEN_FLAGS, 0o600), "wb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(f"{path} is not a file; remove it")
        file.truncate()
        file.write(os.fsencode(text))


def _create_private(folder: Path) -> bool:
    """Create the folder if it does not exist; False if others own it or may write to it, or if it cannot be created."""
    try:
        folder.mkdir(exist_ok=True, mode=0o700)
        return _is_private(folder)
    except OSError:
        return False


def _is_private(folder: Path) -> bool:
    """Whether this is a folder of this user to which nobody else may write. Raises OSError."""
    status = folder.lstat()
    is_folder, writable_by_others = (
        stat.S_ISDIR(status.st_mode),
        status.st_mode & (stat.S_IWGRP | stat.S_IWOTH),
    )
    return is_folder and status.st_uid == os.getuid() and not writable_by_others
