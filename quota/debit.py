"""Burst limits (contract D7), shared by the workers of a host. Never for billing.

One LMDB file in memory (/dev/shm) that is never synced: it dies with the machine, and by then
every bucket is full again. It must not stop the service: when the file cannot be written, or a
process that is stopped keeps it from the others, calls are allowed. Who calls is kept as a digest
only. Each call looks at two other rows and deletes those that say nothing any more, so that the
file holds no more than the callers of today.

Where /dev/shm is absent it lies in the state folder, under the name of this boot: a file that was
never synced is not opened again after a power cut.
"""

import contextlib
import hashlib
import logging
import os
import shutil
import stat
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import lmdb

from quota import bucket
from quota.bucket import Wait
from quota.turn import Turn

T = TypeVar("T")

MEMORY: Final = Path("/dev/shm")
MAP_SIZE: Final = 64 << 20  # about 700 000 callers of a day; a fuller file is emptied
READERS: Final = 1024

# A change takes microseconds: who waits longer for his turn waits for a process that is stopped.
PATIENCE_S: Final = 5.0
PAUSE_S: Final = 30.0  # until it is tried again; calls go unlimited meanwhile

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_STATE: Final = "state"  # beside the file: the STATE folder that it belongs to
_LOOKED_AT: Final = 2

# Row: kind and digest of who -> when the bucket is full (ns since 1970), or day and its count.
_BUCKET: Final = b"b"
_DAY: Final = b"d"
_FULL_AT: Final = struct.Struct(">Q")
_COUNT: Final = struct.Struct(">II")
_DIGEST: Final = 16

_log: Final = logging.getLogger("quota.debit")

_FREE: Final = Wait(0.0, 0, 0.0)


class Debit:
    """The buckets of the host that serves `folder`. Open it once a process; for one thread."""

    def __init__(self, folder: Path, *, memory: Path = MEMORY, map_size: int = MAP_SIZE) -> None:
        """Open the buckets that belong to a STATE folder, or make them.

        Raises:
            OSError, lmdb.Error: neither `memory` nor `folder` can be written.
        """
        self._path = _place(folder, memory) / "debit.lmdb"
        self._map_size = map_size
        self._cursor = b""
        self._paused_until = 0.0
        self._env = self._open()
        self._turn = Turn(self._path)

    def allow(self, who: str, per_minute: int, now: float) -> Wait:
        """One call of `who`, of which `per_minute` (>= 1) are allowed; a refused one is free."""
        key = _BUCKET + _digest(who)

        def draw(txn: "lmdb.Transaction[bytes]") -> Wait:
            stored = txn.get(key)
            full_at = None if stored is None else _FULL_AT.unpack(stored)[0]
            wait, after = bucket.draw(full_at, per_minute, now)
            txn.put(key, _FULL_AT.pack(after))
            self._forget(txn, now)
            return wait

        return self._write(draw)

    def day(self, who: str, limit: int, now: float) -> Wait:
        """One call of `who`, of which `limit` are allowed until midnight UTC."""
        key = _DAY + _digest(who)

        def count(txn: "lmdb.Transaction[bytes]") -> Wait:
            day, counted = _COUNT.unpack(txn.get(key) or bytes(_COUNT.size))
            # A clock that steps back to yesterday goes on with the count of today.
            today = max(day, bucket.day_of(now))
            wait = bucket.count(counted if day == today else 0, limit, now)
            if not wait.seconds:
                txn.put(key, _COUNT.pack(today, counted + 1 if day == today else 1))
            self._forget(txn, now)
            return wait

        return self._write(count)

    def rows(self) -> int:
        """How many buckets and days are remembered."""
        return self._env.stat()["entries"]

    def close(self) -> None:
        self._env.close()
        self._turn.close()

    # -- the file ------------------------------------------------------------------

    def _write(self, change: "Callable[[lmdb.Transaction[bytes]], Wait]") -> Wait:
        if time.monotonic() < self._paused_until:
            return _FREE
        try:
            with self._turn.held(PATIENCE_S), self._env.begin(write=True) as txn:
                return change(txn)
        except lmdb.MapFullError:
            self._try(self._empty)
        except TimeoutError as error:
            _log.error("bursts are not limited for %d s: %s", PAUSE_S, error)
            self._paused_until = time.monotonic() + PAUSE_S
        except (lmdb.Error, OSError):
            self._try(self._reopen)
        return _FREE

    def _try(self, cure: Callable[[], None]) -> None:
        # If there is no cure, calls go unlimited: better than no service (D7 bills nothing).
        with contextlib.suppress(lmdb.Error, OSError):
            cure()

    def _empty(self) -> None:
        with self._turn.held(PATIENCE_S), self._env.begin(write=True) as txn:
            txn.drop(self._env.open_db(txn=txn), delete=False)

    def _reopen(self) -> None:
        self._env.close()
        self._env = self._open()
        before, self._turn = self._turn, Turn(self._path)
        before.close()

    def _open(self) -> lmdb.Environment:
        return lmdb.open(
            str(self._path),
            subdir=False,
            map_size=self._map_size,
            max_readers=READERS,
            sync=False,
            metasync=False,
            mode=0o600,
        )

    def _forget(self, txn: "lmdb.Transaction[bytes]", now: float) -> None:
        """Delete the next few rows that say nothing more, from where the last call stopped."""
        with txn.cursor() as cursor:
            found = cursor.set_range(self._cursor)
            for _ in range(_LOOKED_AT):
                if not found:
                    break
                if _is_over(cursor.key(), cursor.value(), now):
                    cursor.delete()  # and is on the next row
                    found = bool(cursor.key())
                else:
                    found = cursor.next()
            self._cursor = cursor.key() if found else b""


def _is_over(key: bytes, value: bytes, now: float) -> bool:
    if key.startswith(_BUCKET):
        return bucket.is_full(_FULL_AT.unpack(value)[0], now)
    return bool(_COUNT.unpack(value)[0] < bucket.day_of(now))


def _digest(who: str) -> bytes:
    return hashlib.blake2b(who.encode(), digest_size=_DIGEST).digest()


def _place(folder: Path, memory: Path) -> Path:
    """A folder of ours alone: in memory, else beside the state, for this boot only."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    state = str(folder.resolve())
    family = f"societes-debit-{os.getuid()}-"
    place = memory / f"{family}{hashlib.sha256(state.encode()).hexdigest()[:16]}"
    if memory.is_dir() and os.access(memory, os.W_OK) and _is_ours(place):
        (place / _STATE).write_text(state, encoding="utf-8")
        for other in memory.glob(f"{family}*"):
            _remove_if_left_behind(other)
        return place
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
