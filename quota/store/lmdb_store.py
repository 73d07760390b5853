"""The store of one host: the file `quota.lmdb`, shared by all processes that open the same folder.

`LmdbFile` opens, reads, writes in groups, and reopens after a failure. `LmdbStore` runs functions of the ledger in its
transactions: a write is an operation of a group commit (`group_commit.py`), a read a transaction of its own on the
calling thread.

LMDB runs in its default durable mode: every faster mode loses or corrupts data on a power cut, and
`writemap` crashes on a full disk. Invariants: a group is committed and synced as a whole or not at
all; a process opens the file once, after it was started, and never inherits it; a writer holds the
`WriteLock`, so that no process waits for LMDB's own mutex.

Each read is a transaction of its own, so it sees all that other processes committed before. No read
transaction outlives its call, because LMDB cannot reuse the pages that an open one can see.

LMDB marks the process of a reader by a lock at its number (pid) in the lock file. A process of another container may
have that number; then the lock is held, and this process is a NumberTakenError: whoever opens the file does so in
another process (`serve/process/workers.py`, `quota/__main__.py`).
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
from quota.store.future import Reading, ReadyResult, StoreFuture, Writing
from quota.store.group_commit import GroupCommit, Operation
from quota.store.interface import LedgerStore
from quota.store.write_lock import WriteLock

P = ParamSpec("P")
T = TypeVar("T")

FILE: Final = "quota.lmdb"
MAP_SIZE: Final = 64 << 30  # sparse: unused space takes no disk
READERS: Final = 1024
CHECK_S: Final = 60.0
# Rows that one transaction of `compact` deletes: other writers wait that long (about 2 ms).
_COMPACT_ROWS: Final = 2_000

# Errors that neither space nor access rights repair.
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
        """The last key that begins with `prefix`, of which no byte is the greatest."""
        with self._txn.cursor() as cursor:
            beyond = prefix[:-1] + bytes([prefix[-1] + 1])
            found = cursor.prev() if cursor.set_range(beyond) else cursor.last()
            return cursor.key() if found and cursor.key().startswith(prefix) else None

    def scan(self, prefix: bytes, /) -> Iterator[tuple[bytes, bytes]]:
        with self._txn.cursor() as cursor:
            if cursor.set_range(prefix):
                for key, value in cursor:
                    if not key.startswith(prefix):
                        return
                    yield key, value


class LmdbFile:
    """The open file `quota.lmdb` of a folder. One thread may `write`, any thread may `read`."""

    def __init__(self, folder: Path, map_size: int) -> None:
        """Open the file of `folder`, or create it.

        Raises:
            WrongStoreError: another version of this code wrote it.
            StoreUnavailable: it cannot be opened.
        """
        self._path = folder / FILE
        self._name = str(self._path)
        self._map_size = map_size
        # Held during reads and reopening, so that no read uses a closed file.
        self._lock = threading.Lock()
        self._checked = time.monotonic()
        self._size = 0  # bytes of the file at least: LMDB never makes it smaller
        self._env: lmdb.Environment | None = None
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
            StoreUnavailable: it cannot be read.
        """
        with self._lock:
            try:
                return self._run(operation)
            except lmdb.ReadersFullError:
                self._open_environment().reader_check()
            except (lmdb.Error, OSError) as error:
                raise self._unavailable_error(error) from error
            try:
                return self._run(operation)
            except (lmdb.Error, OSError) as error:
                raise self._unavailable_error(error) from error

    def _run(self, operation: Callable[[LmdbTransaction], T]) -> T:
        env = self._open_environment()
        self._check_size()
        with env.begin() as txn:
            try:
                return operation(LmdbTransaction(txn))
            except UNREADABLE as error:
                raise unreadable_row(str(self._path), error) from error

    # -- writes --------------------------------------------------------------------

    def write(self, operations: Sequence[Operation[WriteTransaction]]) -> Sequence[Any]:
        """Run all operations in one synced transaction; returns one outcome each."""
        if time.monotonic() - self._checked > CHECK_S:
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

    def _outcome(self, operation: Operation[WriteTransaction], rows: LmdbTransaction) -> Any:
        """What the operation returns or is refused with; one that fails has written nothing yet."""
        try:
            return operation(rows)
        except QuotaError as refusal:
            return refusal
        except UNREADABLE as error:
            return unreadable_row(str(self._path), error)

    def check_readers(self) -> None:
        """Free the reader slots of dead processes; called when idle, and every CHECK_S."""
        self._checked = time.monotonic()
        # If the file is not open, the next write reports it.
        with self._lock, contextlib.suppress(lmdb.Error, OSError, StoreUnavailable):
            self._open_environment().reader_check()

    def _reopen_after(self, error: Exception) -> None:
        """Reopen the file: after a failed write of a meta page LMDB refuses every other use."""
        with self._lock:
            if isinstance(error, lmdb.MapFullError):
                return
            self._shut()
            # If this fails too, the next group tries again.
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
        with self._lock:
            self._shut()

    def _shut(self) -> None:
        if self._env is not None:
            self._env.close()
            self._env = None
        if self._write_lock is not None:
            self._write_lock.close()
            self._write_lock = None

    def _open(self) -> None:
        if not self._path.exists():
            _create(self._path, self._map_size)
        self._env = _open_env(self._path, self._map_size)
        try:
            self._write_lock = WriteLock(self._path)
            self._env.reader_check()
            _check_whole(self._env, self._path)
            self._size = self._path.stat().st_size
            _bring_up(self._env, self._write_lock)
            _check_version(self._env, self._path)
        except BaseException:
            self._shut()
            raise

    def _open_environment(self) -> lmdb.Environment:
        if self._env is None:
            raise StoreUnavailable(f"{self._path} is not open; open it again")
        return self._env

    def _check_size(self) -> None:
        """Check that nobody has cut the file: to read a page beyond its end would end the process.

        Raises:
            lmdb.CorruptedError: it is shorter than it was.
        """
        known = self._size  # before the file is asked: another thread may see it grow meanwhile
        size = os.stat(self._name).st_size  # noqa: PTH116 - at each read, at half the time
        if size < known:
            raise lmdb.CorruptedError(f"it was cut from {known} bytes to {size}")
        self._size = size

    def _unavailable_error(self, error: Exception) -> StoreUnavailable:
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
            remedy = "put a copy in its place (python -m quota --state STATE backup wrote it)"
        elif isinstance(error, FileExistsError | NotADirectoryError):
            remedy = f"{self._path.parent} is to be a folder; name another one as --state"
        # LMDB and the system name the file too, before or after their message.
        named = f"{self._path}: "
        said = error.strerror if isinstance(error, OSError) else str(error).removeprefix(named)
        return StoreUnavailable(f"{named}{said}; {remedy}")


class LmdbStore(LedgerStore):
    """`Store` over LMDB. Open it once per process, in the process that uses it (never fork)."""

    def __init__(self, folder: Path, *, map_size: int = MAP_SIZE) -> None:
        """Open the store of a STATE folder, or create it.

        Raises:
            WrongStoreError: another version of this code wrote it.
            StoreUnavailable: it cannot be opened.
        """
        self._file = LmdbFile(folder, map_size)
        self._writer = GroupCommit(self._file.write, self._file.check_readers)

    def read(
        self, operation: Reading[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> ReadyResult[T]:
        return ReadyResult(self._file.read(lambda txn: operation(txn, *args, **kwargs)))

    def submit(
        self, operation: Writing[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> StoreFuture[T]:
        return self._writer.submit(lambda txn: operation(txn, *args, **kwargs))

    # -- upkeep --------------------------------------------------------------------

    def newest_month(self) -> str | None:
        last = self._file.read(lambda txn: [txn.last_key(table) for table in row_format.PERIODIC])
        months = [key[2:9].decode() for key in last if key]
        return max(months, default=None)

    def compact(self, before: str) -> int:
        self.submit(calls.raise_floor, before).result()
        total = 0
        while dropped := self.submit(calls.drop, _COMPACT_ROWS).result():
            total += dropped
        return total

    def backup(self, target: Path) -> None:
        """Write the copy under a temporary name; LMDB's offline checker reads it before it appears.

        Raises:
            NotAllowedError: `target` exists, or its folder does not.
            StoreUnavailable: the copy could not be made, or is not whole.
        """
        if not target.parent.is_dir():
            raise NotAllowedError(f"{target.parent} is no folder; make it first")
        if target.exists():
            raise NotAllowedError(f"{target} exists; name a file that does not")
        unfinished = target.with_name(f"{target.name}.partial")
        with unfinished.open("wb") as file:
            unfinished.chmod(0o600)
            self._file.copy(file)
            os.fsync(file.fileno())
        if damage := damage_of(unfinished):
            raise StoreUnavailable(
                f"{unfinished} is not a whole copy ({damage}); check the disk, and make it again"
            )
        unfinished.rename(target)
        sync(target.parent)

    def table_rows(self, table: bytes) -> Sequence[tuple[bytes, bytes]]:
        return self._file.read(lambda txn: list(txn.scan(table)))

    def audit(self) -> AuditReport:
        return self._file.read(lambda txn: audit(txn.scan))

    def close(self) -> None:
        self._writer.close()
        self._file.close()


def sync(path: Path) -> None:
    """Wait until the contents of a file, or the names in a folder, are on the disk."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def damage_of(path: Path) -> str:
    """The findings of LMDB's offline checker, which reads the file as bytes; "" if it is sound."""
    try:
        findings: list[str] = verify(str(path), subdir=False)  # type: ignore[no-untyped-call]
    except (VerifyError, OSError) as error:
        return str(error)
    return "; ".join(findings[:3])


def _create(path: Path, map_size: int) -> None:
    """Create an empty file, which gets its name once it is whole and synced.

    LMDB writes its first pages in place, and a power cut between them would leave a file that cannot
    be opened. If two processes create the file at once, the first one wins.
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


def _check_whole(env: lmdb.Environment, path: Path) -> None:
    """Check that the file has every page that is used.

    The last pages may be unused and never written, so a file that ends before them is read to decide.

    Raises:
        lmdb.CorruptedError: it ends too early.
    """
    size = (env.info()["last_pgno"] + 1) * env.stat()["psize"]
    if size > path.stat().st_size and (damage := damage_of(path)):
        raise lmdb.CorruptedError(f"it was cut: {damage}")


def _open_env(path: Path, map_size: int) -> lmdb.Environment:
    """Open the file, which marks this process as a reader.

    Raises:
        NumberTakenError: a process of another container has its number.
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
        if os.strerror(errno.EAGAIN) not in str(error):
            raise
        raise NumberTakenError(
            f"{path}: a process of another container has the number {os.getpid()} of this process, by which LMDB "
            "tells them apart; start it again, or run it inside that container (`podman exec`)"
        ) from error


def _bring_up(env: lmdb.Environment, lock: WriteLock) -> None:
    """Add the rows of this version to a file of the one before, once for all processes."""
    with env.begin() as txn:
        is_old = txn.get(row_format.FORMAT) == row_format.UNINDEXED
    if is_old:
        with lock.hold(), env.begin(write=True) as txn:
            migrate(LmdbTransaction(txn))


def _check_version(env: lmdb.Environment, path: Path) -> None:
    with env.begin() as txn:
        found = txn.get(row_format.FORMAT)
    if found != row_format.VERSION:
        raise WrongStoreError(
            f"{path} has format {(found or b'none').decode(errors='replace')}, this code reads "
            f"{row_format.VERSION.decode()}; use the version that wrote it"
        )
