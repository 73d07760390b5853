"""Burst limits (contract D7): calls per minute, and per day for visitors, shared by the processes of a host.

They are never for billing. The figures are in `serve/config.py` (`BurstLimits`); `serve/access/burst_gate.py` decides
whose calls count together.

A bucket holds the calls of one minute and fills evenly: a caller may spend all of them at once, and then gets one every
60/n seconds. It is stored as one number (GCRA), the moment at which it will be full again; a full bucket need not be
stored. The clock may be set back: a bucket that would be full later than an empty one is treated as empty, so that
nobody waits for more than a minute.

The limits are rows of an LMDB file in memory that is never synced. It is lost with the machine, and
by the time that is back every bucket is full again. A decision is one transaction, and a process
that is killed in the middle of one leaves the rows as they were.

The limits fail open: if the file cannot be written, or a stopped process holds its lock, calls are
allowed. A caller is stored as a digest only. Every few calls the limiter looks at the next few rows
and deletes those that no longer limit anything, so that the file holds the callers of today.

The folder of the file is in /dev/shm and belongs to one STATE folder. If /dev/shm is absent, or
cannot be used, a folder inside STATE replaces it, named after this boot: a file that was never
synced must not be opened again after a power cut.

Anybody may write to /dev/shm, and leave there whatever hangs or misleads who opens it: a pipe, a link, a
file without an end. So only folders that belong to this user, and that nobody else may write to, are
looked into; and there only whole small files are read, without waiting.
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

WINDOW: Final = 60 * 10**9
DAY_S: Final = 86_400

# A decision takes microseconds, so a longer wait means that a process with the lock is stopped.
PATIENCE_S: Final = 5.0
PAUSE_S: Final = 30.0  # until the file is tried again; calls are not limited meanwhile

_FILE: Final = "debit.lmdb"
_MAP_SIZE: Final = 64 << 20  # sparse
_HEADER: Final = 2 * mmap.PAGESIZE  # the pages that LMDB writes into a new file
# A row takes some 50 bytes, so these fill less than half of the map.
_ROWS_MOST: Final = 500_000

_SWEEP_EVERY: Final = 32  # calls
_SWEEP_ROWS: Final = 64

# Rows: the kind and the digest of a caller -> the moment its bucket is full (ns since 1970), or a day
# (since 1970) and the calls of that day.
_BUCKET: Final = b"b"
_DAY: Final = b"d"
_FULL_AT: Final = struct.Struct(">Q")
_COUNT: Final = struct.Struct(">II")
_DIGEST: Final = 16

_log: Final = logging.getLogger("quota.bursts")

_Transaction = lmdb.Transaction
T = TypeVar("T")
MEMORY: Final = Path("/dev/shm")

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_STATE: Final = "state"  # a file with the path of the STATE folder that a folder belongs to
_LONGEST: Final = 4_096  # bytes of such a path (PATH_MAX)
# Neither through a link nor waiting for the other end of a pipe.
_FLAGS: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


# -- a bucket ------------------------------------------------------------------------


class Wait(NamedTuple):
    """The decision on one call.

    Attributes:
        seconds: 0.0 for an allowed call, otherwise the time until the next one is allowed.
        remaining: calls that could be made at once after this one.
        reset: seconds until all calls are available again.
    """

    seconds: float
    remaining: int
    reset: float


_ALLOWED: Final = Wait(0.0, 0, 0.0)


def draw(full_at: int | None, per_minute: int, now: float, calls: int = 1) -> tuple[Wait, int]:
    """Decide on so many calls at once at `now` (Unix seconds); returns the decision and the new state.

    They are allowed all or none. More than a bucket holds are as many as it holds.

    The state is the moment at which the bucket will be full, in whole nanoseconds, so that n shares
    of a minute never add up to more than a minute.

    >>> draw(None, 60, 0.0)
    (Wait(seconds=0.0, remaining=59, reset=1.0), 1000000000)
    >>> draw(60_000_000_000, 60, 0.0)
    (Wait(seconds=1.0, remaining=0, reset=60.0), 60000000000)
    """
    share = WINDOW // per_minute
    moment = int(now * 1e9)
    empty = moment + WINDOW
    before = moment if full_at is None else min(max(full_at, moment), empty)
    after = before + share * min(calls, per_minute)
    if after > empty:
        return Wait((after - empty) / 1e9, 0, (before - moment) / 1e9), before
    return Wait(0.0, (empty - after) // share, (after - moment) / 1e9), after


def is_full(full_at: int, now: float) -> bool:
    """Whether the bucket is full, as if it had never been used."""
    return full_at <= now * 1e9


def day_of(now: float) -> int:
    """The day (UTC), counted from 1 January 1970."""
    return int(now // DAY_S)


def count(counted: int, limit: int, now: float) -> Wait:
    """Decide on the call that follows `counted` calls of its day.

    >>> count(999, 1000, 86_390.0), count(1000, 1000, 86_390.0)
    (Wait(seconds=0.0, remaining=0, reset=10.0), Wait(seconds=10.0, remaining=0, reset=10.0))
    """
    left = (day_of(now) + 1) * DAY_S - now
    allowed = counted < limit
    return Wait(0.0 if allowed else left, max(0, limit - counted - 1), left)


# -- the buckets of all callers ------------------------------------------------------


class BurstLimiter:
    """The limits of the host that serves a STATE folder. Open it once per process; for one thread."""

    def __init__(self, state: Path, *, memory: Path = MEMORY, rows_most: int = _ROWS_MOST) -> None:
        """Open the limits that belong to a STATE folder, or create them.

        Raises:
            OSError: neither `memory` nor `state` can be written.
        """
        self._rows_most = rows_most
        self._paused_until = 0.0
        self._calls = 0
        self._swept = b""  # the key at which the next sweep starts
        self._path, self._env, self._lock = _open_first(state, memory)

    def allow(self, who: str, per_minute: int, now: float, calls: int = 1) -> Wait:
        """Count `calls` of client `who`, limited to `per_minute` (>= 1); those that are refused cost nothing."""
        caller = _digest(who)

        def draw(txn: "_Transaction[bytes]") -> Wait:
            wait, bucket = _draw(txn, caller, per_minute, now, calls)
            txn.put(_BUCKET + caller, bucket)
            return wait

        return self._decide(draw, now) or _ALLOWED

    def day(self, who: str, limit: int, now: float) -> Wait:
        """Count one call of client `who`, limited to `limit` until midnight UTC."""
        caller = _digest(who)

        def count(txn: "_Transaction[bytes]") -> Wait:
            wait, counted = _count(txn, caller, limit, now)
            if not wait.seconds:
                txn.put(_DAY + caller, counted)
            return wait

        return self._decide(count, now) or _ALLOWED

    def visit(self, who: str, per_minute: int, per_day: int, now: float) -> tuple[Wait, Wait]:
        """Count one call of client `who`, who has both limits; a call that one refuses costs nothing.

        Returns:
            The decision by the minute, and the one by the day.
        """
        caller = _digest(who)

        def count_both(txn: "_Transaction[bytes]") -> tuple[Wait, Wait]:
            minute, bucket = _draw(txn, caller, per_minute, now)
            day, counted = _count(txn, caller, per_day, now)
            if not minute.seconds and not day.seconds:
                txn.put(_BUCKET + caller, bucket)
                txn.put(_DAY + caller, counted)
            return minute, day

        return self._decide(count_both, now) or (_ALLOWED, _ALLOWED)

    def rows(self) -> int:
        """The number of buckets and days that are stored."""
        return int(self._env.stat()["entries"])

    def close(self) -> None:
        self._env.close()
        self._lock.close()

    # -- transactions --------------------------------------------------------------

    def _decide(self, decision: "Callable[[_Transaction[bytes]], T]", now: float) -> T | None:
        """Run a decision in a transaction; None if that cannot be done: the call is allowed."""
        if self._paused_until and time.monotonic() < self._paused_until:
            return None
        try:
            self._lock.acquire(PATIENCE_S)
            try:
                with self._env.begin(write=True) as txn:
                    self._calls += 1
                    if self._calls % _SWEEP_EVERY == 0:
                        self._sweep(txn, now)
                    return decision(txn)
            finally:
                self._lock.release()
        except (TimeoutError, lmdb.DiskError) as error:  # a stopped process, or memory is full
            _log.error(
                "bursts are not limited for %d s: %s; give %s room if it is full",
                PAUSE_S, error, self._path,
            )  # fmt: skip
            self._paused_until = time.monotonic() + PAUSE_S
        except (lmdb.Error, OSError):
            # If that fails as well, calls are not limited, which is better than no service.
            with contextlib.suppress(OSError):
                self._reopen()
        return None

    def _sweep(self, txn: "_Transaction[bytes]", now: float) -> None:
        """Delete what limits nobody among the next few rows; in a file that is too full, all rows."""
        if self.rows() >= self._rows_most:  # better to forget some limits than to refuse anybody
            txn.drop(self._env.open_db(txn=txn), delete=False)
            return
        with txn.cursor() as cursor:
            more = cursor.set_range(self._swept)
            for _ in range(_SWEEP_ROWS):
                if not more:
                    break
                if _is_over(cursor.key(), cursor.value(), now):
                    cursor.delete()  # moves the cursor to the next row
                    more = bool(cursor.key())
                else:
                    more = cursor.next()
            self._swept = cursor.key() if more else b""

    def _reopen(self) -> None:
        self._env.close()  # a process may open the file only once
        env, lock = _open(self._path)
        before = self._lock
        self._env, self._lock = env, lock
        before.close()


def _draw(
    txn: "_Transaction[bytes]", caller: bytes, per_minute: int, now: float, calls: int = 1
) -> tuple[Wait, bytes]:
    """The decision of a caller's bucket, and its row after that."""
    stored = txn.get(_BUCKET + caller)
    full_at = None if stored is None else _FULL_AT.unpack(stored)[0]
    wait, full_at = draw(full_at, per_minute, now, calls)
    return wait, _FULL_AT.pack(full_at)


def _count(txn: "_Transaction[bytes]", caller: bytes, limit: int, now: float) -> tuple[Wait, bytes]:
    """The decision of a caller's day, and its row after an allowed call."""
    day, counted = _COUNT.unpack(txn.get(_DAY + caller) or bytes(_COUNT.size))
    today = day_of(now)
    if day == today + 1:  # a clock that steps back to yesterday continues the count of today
        today = day
    counted = counted if day == today else 0
    return count(counted, limit, now), _COUNT.pack(today, counted + 1)


def _is_over(key: bytes, value: bytes, now: float) -> bool:
    if key.startswith(_BUCKET):
        return is_full(_FULL_AT.unpack(value)[0], now)
    return not 0 <= _COUNT.unpack(value)[0] - day_of(now) <= 1


def _digest(who: str) -> bytes:
    return hashlib.blake2b(who.encode(), digest_size=_DIGEST).digest()


# -- the file ----------------------------------------------------------------------


def _open_first(state: Path, memory: Path) -> "tuple[Path, lmdb.Environment, WriteLock]":
    """Open the file in the first folder that allows it."""
    error = OSError(f"no folder for the burst limits of {state}")
    for folder in folders(state, memory):
        try:
            return folder / _FILE, *_open(folder / _FILE)
        except OSError as refused:
            _log.warning("bursts are not counted in %s: %s", folder, refused)
            error = refused
    raise error


def _open(path: Path) -> "tuple[lmdb.Environment, WriteLock]":
    """Open the file, or create it; a file that was made in part only is replaced."""
    try:
        try:
            return _open_file(path)
        except lmdb.InvalidError:
            path.unlink(missing_ok=True)
            return _open_file(path)
    except lmdb.Error as error:
        raise OSError(f"{path}: {error}; give it space and write access") from error


def _open_file(path: Path) -> "tuple[lmdb.Environment, WriteLock]":
    path.touch(mode=0o600)
    lock = WriteLock(path)
    try:
        # Only creating needs the lock: a stopped process that has it must not delay a start.
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
                # Every transaction holds the `WriteLock`, and LMDB's lock file could end the process
                # by a signal if memory is full.
                lock=False,
            )
    except BaseException:
        lock.close()
        raise
    return env, lock


# -- the folder ----------------------------------------------------------------------


def folders(state: Path, memory: Path) -> Iterator[Path]:
    """The folders to try, in this order: in `memory` if possible, then in the STATE folder.

    Raises:
        OSError: the STATE folder cannot be written.
    """
    state.mkdir(parents=True, exist_ok=True, mode=0o700)
    name = str(state.resolve())
    family = f"societes-debit-{os.getuid()}-"
    folder = memory / f"{family}{hashlib.sha256(name.encode()).hexdigest()[:16]}"
    if memory.is_dir() and os.access(memory, os.W_OK) and _is_ours(folder):
        with contextlib.suppress(OSError):
            _write_text(folder / _STATE, name)
        for other in memory.glob(f"{family}*"):
            _remove_if_abandoned(other)
        yield folder
    boot = _BOOT.read_text(encoding="ascii").strip() if _BOOT.exists() else "boot"
    folder = state / f"debit-{boot}"
    folder.mkdir(exist_ok=True, mode=0o700)
    yield folder


def _remove_if_abandoned(folder: Path) -> None:
    """Remove a folder whose STATE folder was deleted: nothing else frees memory."""
    # Another process may be removing it, too.
    with contextlib.suppress(OSError):
        if _is_private(folder) and not Path(_read_text(folder / _STATE)).exists():
            shutil.rmtree(folder)


def _read_text(path: Path) -> str:
    """The text of a small file. Raises OSError: it is none."""
    with os.fdopen(os.open(path, os.O_RDONLY | _FLAGS), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(f"{path} is no file; remove it")
        text = file.read(_LONGEST + 1)
    if not 0 < len(text) <= _LONGEST:
        raise OSError(f"{path} has not from 1 to {_LONGEST} bytes; remove it")
    return os.fsdecode(text)


def _write_text(path: Path, text: str) -> None:
    """Write a small file anew. Raises OSError: something else has its name."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | _FLAGS, 0o600), "wb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(f"{path} is no file; remove it")
        file.truncate()
        file.write(os.fsencode(text))


def _is_ours(folder: Path) -> bool:
    """Create the folder; False if another user, who may write to /dev/shm too, made it first."""
    try:
        folder.mkdir(exist_ok=True, mode=0o700)
        return _is_private(folder)
    except OSError:
        return False


def _is_private(folder: Path) -> bool:
    """Is it a folder of this user that nobody else may write to? Raises OSError."""
    status = folder.lstat()
    is_folder, others = stat.S_ISDIR(status.st_mode), status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return is_folder and status.st_uid == os.getuid() and not others
