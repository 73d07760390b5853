"""The store of one host: the file `quota.lmdb`, shared by all processes that open the same folder.

`LmdbFile` opens, reads, writes in groups, and reopens after a failure. `LmdbStore` runs functions of the ledger in its
transactions: a write is an operation of a group commit (`group_commit.py`), a read a transaction of its own on the
calling thread.

LMDB runs in its default durable mode: every faster mode loses or corrupts data on a power cut, and
`writemap` crashes on a full disk. Invariants: either all operations of a group are committed and synced, or none;
a process opens the file once, after the process was started, and never inherits the open file from its parent;
a writer holds the `WriteLock`, so that no process waits for LMDB's own mutex.

Each read is a transaction of its own, so it sees everything that other processes committed before. No read
transaction stays open after its call, because LMDB cannot reuse pages that an open transaction can read.

LMDB marks the process of a reader by a lock on the byte of the lock file whose offset is the pid. If a process of
another container has the same pid, the lock is taken, and opening the file raises NumberTakenError: the callers then
open the file in another process (`serve/process/workers.py`, `quota/__main__.py`).
"""

import contextlib
import errno
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, ParamSpec, TypeVar

import lmdb
from lmdb.verify import VerifyError, verify

from quota.errors import (
    UNREADABLE,
    NotAllowedError,
    NumberTakenError,
    QuotaError,
    StoreUnavailable,
    WrongStoreError,
    unreadable_row,
)
from quota.ledger import calls, row_format
from quota.ledger.row_format import WriteTransaction
from quota.ledger.upkeep import AuditReport, audit, migrate
from quota.store.future import LedgerRead, LedgerWrite, ReadyResult, StoreFuture
from quota.store.group_commit import GroupCommit, StoreOperation
from quota.store.interface import LedgerStore
from quota.store.write_lock import WriteLock

P = ParamSpec("P")
T = TypeVar("T")

FILE: Final = "quota.lmdb"  # in STATE
MAP_SIZE: Final = 64 << 30  # the most bytes of the file; space that is not used takes no disk
READERS: Final = 1024  # reader slots, which the read transactions of all processes share
CHECK_S: Final = 60.0  # seconds between two searches for dead readers (`check_readers`)
# The most rows that one transaction of `compact` deletes: other writers wait meanwhile (about 2 ms).
_COMPACT_ROWS: Final = 2_000

# Errors that mean a damaged file: more space or access rights do not help.
_DAMAGE: Final = (
    lmdb.InvalidError, lmdb.CorruptedError, lmdb.PageNotFoundError, lmdb.VersionMismatchError,
)  # fmt: skip


class LmdbTransaction:
    """An LMDB transaction with the interface that the ledger uses."""

    __slots__ = ("_txn", "delete", "get", "put")

    def __init__(self, txn: "lmdb.Transaction[bytes]") -> None:
        self._txn = txn
        self.get = txn.get
        self.put = txn.put
        self.delete = txn.delete

    def expect(self, keys: Sequence[bytes], /) -> None:
        """Do nothing: the rows are in the memory of this host."""

    def last_key(self, prefix: bytes) -> bytes | None:
        """The last key that begins with `prefix`, whose last byte is not 255."""
        with self._txn.cursor() as cursor:
            # The first possible key after all keys that begin with `prefix`.
            beyond = prefix[:-1] + bytes([prefix[-1] + 1])
            has_key = cursor.prev() if cursor.set_range(beyond) else cursor.last()
            return cursor.key() if has_key and cursor.key().startswith(prefix) else None

    def scan(self, prefix: bytes, /) -> Iterator[tuple[bytes, bytes]]:
        """The rows whose key begins with `prefix`, in ascending order of the keys."""
        with self._txn.cursor() as cursor:
            if cursor.set_range(prefix):
                for key, value in cursor:
                    if not key.startswith(prefix):
                        return
                    yield key, value


class LmdbFile:
    """The open file `quota.lmdb` of a folder. Only one thread can `write`, any thread can `read`."""

    def __init__(self, folder: Path, map_size: int) -> None:
        """Open the file of `folder`, or create it.

        Raises:
            WrongStoreError: another version of this code wrote it.
            StoreUnavailable: it cannot be opened.
        """
        self._path = folder / FILE
        self._name = str(self._path)  # for `os.stat` at each read
        self._map_size = map_size
        # Held during reads and reopening, so that no read uses a closed file.
        self._lock = threading.Lock()
        self._readers_checked_at = time.monotonic()
        self._size = 0  # the bytes of the file when last seen: LMDB never makes the file smaller
        self._env: lmdb.Environment | None = None
        self._is_closed = False  # by `close`, not by a fault
        self._write_lock: WriteLock | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._open()
        except (lmdb.Error, OSError) as error:
            raise self._unavailable_error(error) from error

    # -- reads ---------------------------------------------------------------------

    def read(self, operation: Callable[[LmdbTransaction], T]) -> T:
        """Run `operation` on the rows as they are at this moment.

        Raises:
            StoreUnavailable: the file cannot be read.
        """
        with self._lock:
            try:
                if self._env is None and not self._is_closed:
                    self._open()
                return self._run(operation)
            except lmdb.ReadersFullError:  # free the slots of dead processes, and read again below
                self._open_environment().reader_check()
            except (lmdb.Error, OSError) as error:
                raise self._unavailable_error(error) from error
            try:
                return self._run(operation)
            except (lmdb.Error, OSError) as error:
                raise self._unavailable_error(error) from error

    def _run(self, operation: Callable[[LmdbTransaction], T]) -> T:
        """Run an operation in one read transaction."""
        env = self._open_environment()
        self._check_size()
        with env.begin() as txn:
            try:
                return operation(LmdbTransaction(txn))
            except UNREADABLE as error:
                raise unreadable_row(str(self._path), error) from error

    # -- writes --------------------------------------------------------------------

    def write(self, operations: Sequence[StoreOperation[WriteTransaction]]) -> Sequence[Any]:
        """Run all operations in one synced transaction; returns the outcome of each operation.

        If the transaction fails, nothing is written, the outcomes are errors, and the file is reopened.
        """
        if time.monotonic() - self._readers_checked_at > CHECK_S:
            self.check_readers()
        outcomes: list[Any] = []
        try:
            env = self._open_environment()
            self._check_size()
            assert self._write_lock
            with self._write_lock.hold(), env.begin(write=True) as txn:
                rows = LmdbTransaction(txn)
                outcomes = [self._outcome(operation, rows) for operation in operations]
        except (lmdb.Error, OSError, StoreUnavailable) as error:
            self._reopen_after(error)
            return [self._unavailable_error(error) for _ in operations]
        return outcomes

    def _outcome(self, operation: StoreOperation[WriteTransaction], rows: LmdbTransaction) -> Any:
        """The result of the operation, or its refusal; an operation that fails has written nothing."""
        try:
            return operation(rows)
        except QuotaError as refusal:
            return refusal
        except UNREADABLE as error:
            return unreadable_row(str(self._path), error)

    def check_readers(self) -> None:
        """Free the reader slots of dead processes; called when idle, and every CHECK_S."""
        self._readers_checked_at = time.monotonic()
        # Errors are ignored here: if the file is not open, the next write reports it.
        with self._lock, contextlib.suppress(lmdb.Error, OSError, StoreUnavailable):
            self._open_environment().reader_check()

    def _reopen_after(self, error: Exception) -> None:
        """Reopen the file: after a failed write of a meta page LMDB refuses every other use."""
        with self._lock:
            if isinstance(error, lmdb.MapFullError):  # the file is full, but usable
                return
            self._shut()
            # If the file cannot be reopened now, the next read or group of operations tries again.
            with contextlib.suppress(lmdb.Error, OSError):
                self._open()

    # -- the file ------------------------------------------------------------------

    def copy(self, target: BinaryIO) -> None:
        """Write a compact copy of the rows as they are at this moment, while others write."""
        with self._lock:
            try:
                self._open_environment().copyfd(target.fileno(), compact=True)
            except lmdb.Error as error:
                raise self._unavailable_error(error) from error

    def close(self) -> None:
        """Close the file after the read that is under way."""
        with self._lock:
            self._is_closed = True
            self._shut()

    def _shut(self) -> None:
        """Close the file and its write lock, if they are open."""
        if self._env is not None:
            self._env.close()
            self._env = None
        if self._write_lock is not None:
            self._write_lock.close()
            self._write_lock = None

    def _open(self) -> None:
        """Open the file and its write lock; create or migrate the file first if necessary."""
        if not self._path.exists():
            _create_file(self._path, self._map_size)
        self._env = _open_env(self._path, self._map_size)
        try:
            self._write_lock = WriteLock(self._path)
            self._env.reader_check()
            _check_complete(self._env, self._path)
            self._size = self._path.stat().st_size
            _migrate_if_old(self._env, self._write_lock)
            _check_version(self._env, self._path)
        except BaseException:
            self._shut()
            raise

    def _open_environment(self) -> lmdb.Environment:
        """The open LMDB environment; raises StoreUnavailable if the file is not open."""
        if self._env is None:
            raise StoreUnavailable(f"{self._path} is not open; open it again")
        return self._env

    def _check_size(self) -> None:
        """Check that nobody has truncated the file: reading a page beyond its end would kill the process.

        Raises:
            lmdb.CorruptedError: it is shorter than before.
        """
        # Read before the size of the file, because another thread can see a larger file and set `_size` meanwhile.
        last_size = self._size
        size = os.stat(self._name).st_size  # noqa: PTH116 - at each read, in half the time
        if size < last_size:
            raise lmdb.CorruptedError(f"it was cut from {last_size} bytes to {size}")
        self._size = size

    def _unavailable_error(self, error: Exception) -> StoreUnavailable:
        """The error to raise for an error of LMDB or the system, with a remedy."""
        if isinstance(error, StoreUnavailable):
            return error
        remedy = "give it space and write access"
        if isinstance(error, lmdb.MapFullError):
            remedy = "drop old periods: python -m quota --state STATE compact"
        elif isinstance(error, lmdb.MemoryError):
            remedy = (
                f"it takes {self._map_size >> 30} GiB of address space, little of it memory: raise that limit"
                " (`ulimit -v`)"
            )
        elif isinstance(error, _DAMAGE):
            remedy = "replace it by a copy that `python -m quota --state STATE backup` wrote"
        elif isinstance(error, FileExistsError | NotADirectoryError):
            remedy = f"{self._path.parent} must be a folder; name another folder as --state"
        # LMDB and the system name the file too, before or after their message.
        prefix = f"{self._path}: "
        message = error.strerror if isinstance(error, OSError) else str(error).removeprefix(prefix)
        return StoreUnavailable(f"{prefix}{message}; {remedy}")


class LmdbStore(LedgerStore):
    """The store of one host. Open it once per process, in the process that uses the store (never fork)."""

    def __init__(self, folder: Path, *, map_size: int = MAP_SIZE) -> None:
        """Open the store of a STATE folder, or create it.

        Raises:
            WrongStoreError: another version of this code wrote it.
            StoreUnavailable: it cannot be opened.
        """
        self._file = LmdbFile(folder, map_size)
        self._writer = GroupCommit(self._file.write, self._file.check_readers)

    def read(
        self, operation: LedgerRead[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> ReadyResult[T]:
        """Run a function of the ledger now, on the calling thread: the result is ready."""
        return ReadyResult(self._file.read(lambda txn: operation(txn, *args, **kwargs)))

    def submit(
        self, operation: LedgerWrite[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> StoreFuture[T]:
        """Queue a function of the ledger for the next group commit."""
        return self._writer.submit(lambda txn: operation(txn, *args, **kwargs))

    # -- upkeep --------------------------------------------------------------------

    def newest_month(self) -> str | None:
        """The newest month in the last keys of the tables of periods."""
        last_keys = self._file.read(
            lambda txn: [txn.last_key(table) for table in row_format.PERIODIC]
        )
        # key[2:9] is the month of a period: of "d/2026-11-21/…", "2026-11".
        months = [key[2:9].decode() for key in last_keys if key]
        return max(months, default=None)

    def compact(self, before: str) -> int:
        """Raise the floor, then delete the older rows in short transactions, between which others can write."""
        self.submit(calls.raise_floor, before).result()
        total = 0
        while dropped := self.submit(calls.delete_old_rows, _COMPACT_ROWS).result():
            total += dropped
        return total

    def backup(self, target: Path) -> None:
        """Copy the file under a temporary name, and rename the copy after LMDB's offline checker found no damage.

        Raises:
            NotAllowedError: `target` exists, or its folder does not.
            StoreUnavailable: the copy could not be made, or is not complete.
        """
        if not target.parent.is_dir():
            raise NotAllowedError(f"{target.parent} is not a folder; create it first")
        if target.exists():
            raise NotAllowedError(f"{target} exists; name a file that does not")
        unfinished = target.with_name(f"{target.name}.partial")
        with unfinished.open("wb") as file:
            unfinished.chmod(0o600)
            self._file.copy(file)
            os.fsync(file.fileno())
        if damage := damage_of(unfinished):
            raise StoreUnavailable(
                f"{unfinished} is not a complete copy ({damage}); check the disk, and write it again"
            )
        unfinished.rename(target)
        sync(target.parent)

    def table_rows(self, table: bytes) -> Sequence[tuple[bytes, bytes]]:
        """All rows of a table as they are at this moment."""
        return self._file.read(lambda txn: list(txn.scan(table)))

    def audit(self) -> AuditReport:
        """Compare the charges with the sums, all read at one moment."""
        return self._file.read(lambda txn: audit(txn.scan))

    def close(self) -> None:
        """Commit the queued operations, then close the file."""
        self._writer.close()
        self._file.close()


def sync(path: Path) -> None:
    """Wait until the contents of a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def damage_of(path: Path) -> str:
    """The damage that LMDB's offline checker finds in a file, as text; "" if the file has no damage."""
    try:
        findings: list[str] = verify(str(path), subdir=False)  # type: ignore[no-untyped-call]
    except (VerifyError, OSError) as error:
        return str(error)
    return "; ".join(findings[:3])


def _create_file(path: Path, map_size: int) -> None:
    """Create an empty store under a temporary name; the complete and synced file then gets the name `path`.

    LMDB writes its first pages in place, and a power cut between them would leave a file that cannot
    be opened. If two processes create the file at once, the first process wins.
    """
    partial = path.with_name(f"{path.name}.{secrets.token_hex(8)}.partial")
    try:
        with (
            lmdb.open(str(partial), subdir=False, map_size=map_size, mode=0o600, lock=False) as env,
            env.begin(write=True) as txn,
        ):
            txn.put(row_format.FORMAT, row_format.VERSION)
        with contextlib.suppress(FileExistsError):
            os.link(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    sync(path.parent)


def _check_complete(env: lmdb.Environment, path: Path) -> None:
    """Check that the file contains every used page.

    The last pages can be unused and never written. So if the file ends before its last page, LMDB's checker decides.

    Raises:
        lmdb.CorruptedError: a used page is missing.
    """
    size = (env.info()["last_pgno"] + 1) * env.stat()["psize"]
    if size > path.stat().st_size and (damage := damage_of(path)):
        raise lmdb.CorruptedError(f"it was cut: {damage}")


def _open_env(path: Path, map_size: int) -> lmdb.Environment:
    """Open the file, which marks this process as a reader.

    Raises:
        NumberTakenError: a process of another container has the pid of this process.
    """
    try:
        return lmdb.open(
            str(path),
            subdir=False,
            map_size=map_size,
            max_readers=READERS,
            max_spare_txns=8,
            mode=0o600,
        )
    except lmdb.Error as error:
        # EAGAIN: another process has locked the byte of this pid in the lock file.
        if os.strerror(errno.EAGAIN) not in str(error):
            raise
        raise NumberTakenError(
            f"{path}: a process of another container has the number {os.getpid()} of this process, by which LMDB "
            "tells processes apart; start it again, or run it inside that container (`podman exec`)"
        ) from error


def _migrate_if_old(env: lmdb.Environment, lock: WriteLock) -> None:
    """Migrate a file of version 1, under the write lock: only the first process that opens the file does so."""
    with env.begin() as txn:
        is_old = txn.get(row_format.FORMAT) == row_format.UNINDEXED
    if is_old:
        with lock.hold(), env.begin(write=True) as txn:
            migrate(LmdbTransaction(txn))


def _check_version(env: lmdb.Environment, path: Path) -> None:
    """Raise WrongStoreError if another version of this code wrote the rows."""
    with env.begin() as txn:
        version = txn.get(row_format.FORMAT)
    if version != row_format.VERSION:
        raise WrongStoreError(
            f"{path} has format {(version or b'none').decode(errors='replace')}, this code reads "
            f"{row_format.VERSION.decode()}; use the version that wrote it"
        )
