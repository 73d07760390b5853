"""The LMDB environment under the store: opened, read, written in groups, and cured.

Default durable mode and nothing faster: every other mode loses or corrupts on a power cut, and
`writemap` dies of a full disk. What stays true: a group is committed and synced, or none of it is;
one process has the file open once; it is opened after the process was made, never inherited;
who writes has the turn (`write_lock.py`), so that nobody waits for LMDB's own mutex.

A read is a transaction of its own, so that it sees what other processes committed before it, and
none is held for longer than a call: the pages of an open one can never be used again.
"""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar

import lmdb
from lmdb.verify import VerifyError, verify

from quota.errors import QuotaError, StoreUnavailable, WrongStoreError
from quota.ledger import row_format
from quota.ledger.transaction import ReadTransaction, WriteTransaction
from quota.store.group_commit import Wish
from quota.store.write_lock import WriteLock

T = TypeVar("T")

FILE: Final = "quota.lmdb"
MAP_SIZE: Final = 64 << 30  # sparse: what is not used takes no disk
READERS: Final = 1024
CHECK_S: Final = 60.0

# What no space and no right mends.
_DAMAGE: Final = (
    lmdb.InvalidError, lmdb.CorruptedError, lmdb.PageNotFoundError, lmdb.VersionMismatchError,
)  # fmt: skip


class LmdbTransaction:
    """An LMDB transaction as the ledger wants it."""

    __slots__ = ("_txn", "delete", "get", "put")

    def __init__(self, txn: "lmdb.Transaction[bytes]") -> None:
        self._txn = txn
        self.get = txn.get
        self.put = txn.put
        self.delete = txn.delete

    def scan(self, prefix: bytes, /) -> Iterator[tuple[bytes, bytes]]:
        with self._txn.cursor() as cursor:
            if cursor.set_range(prefix):
                for key, value in cursor:
                    if not key.startswith(prefix):
                        return
                    yield key, value


class LmdbFile:
    """The file `quota.lmdb` of a folder, open. `write` is for one thread, `read` for any."""

    def __init__(self, folder: Path, map_size: int) -> None:
        """Open the store of `folder`, or make it.

        Raises:
            WrongStoreError: it is a store of another version.
            StoreUnavailable: it cannot be opened.
        """
        self._path = folder / FILE
        self._map_size = map_size
        # Held while the file is read or opened anew, so that no read meets a closed one.
        self._lock = threading.Lock()
        self._checked = time.monotonic()
        self._env: lmdb.Environment | None = None
        self._turn: WriteLock | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._open()
        except (lmdb.Error, OSError) as error:
            raise self._unavailable(error) from error

    # -- reads ---------------------------------------------------------------------

    def read(self, look: Callable[[ReadTransaction], T]) -> T:
        """What `look` makes of the store as it is at this moment.

        Raises:
            StoreUnavailable: it cannot be read.
        """
        with self._lock:
            try:
                return self._look(look)
            except lmdb.ReadersFullError:
                self._check_readers()
            except lmdb.Error as error:
                raise self._unavailable(error) from error
            try:
                return self._look(look)
            except lmdb.Error as error:
                raise self._unavailable(error) from error

    def _look(self, look: Callable[[ReadTransaction], T]) -> T:
        with self._opened().begin() as txn:
            return look(LmdbTransaction(txn))

    # -- writes --------------------------------------------------------------------

    def write(self, wishes: Sequence[Wish[WriteTransaction]]) -> Sequence[Any]:
        """Do all of them in one synced transaction (`writer.Commit`)."""
        if time.monotonic() - self._checked > CHECK_S:
            self.rest()
        outcomes: list[Any] = []
        try:
            env = self._opened()
            assert self._turn
            with self._turn.held(), env.begin(write=True) as txn:
                rows = LmdbTransaction(txn)
                outcomes = [_outcome(wish, rows) for wish in wishes]
        except (lmdb.Error, OSError, StoreUnavailable) as error:
            self._cure(error)
            return [self._unavailable(error) for _ in wishes]
        return outcomes

    def rest(self) -> None:
        """Free the reader slots of processes that died; called now and then."""
        self._checked = time.monotonic()
        # Where it is not open, the next write says so.
        with self._lock, contextlib.suppress(lmdb.Error, StoreUnavailable):
            self._check_readers()

    def _cure(self, error: Exception) -> None:
        """Open the file anew where LMDB wants it: after a failed write of a meta page it panics."""
        with self._lock:
            if isinstance(error, lmdb.MapFullError):
                return
            self._shut()
            # Else the next group tries again.
            with contextlib.suppress(lmdb.Error, OSError):
                self._open()

    # -- the file ------------------------------------------------------------------

    def copy(self, target: BinaryIO) -> None:
        """A compact copy of the store as it is at this moment, while others write."""
        with self._lock:
            try:
                self._opened().copyfd(target.fileno(), compact=True)
            except lmdb.Error as error:
                raise self._unavailable(error) from error

    def close(self) -> None:
        with self._lock:
            self._shut()

    def _shut(self) -> None:
        if self._env is not None:
            self._env.close()
            self._env = None
        if self._turn is not None:
            self._turn.close()
            self._turn = None

    def _open(self) -> None:
        if not self._path.exists():
            _create(self._path, self._map_size)
        self._env = lmdb.open(
            str(self._path),
            subdir=False,
            map_size=self._map_size,
            max_readers=READERS,
            max_spare_txns=8,
            mode=0o600,
        )
        try:
            self._turn = WriteLock(self._path)
            self._check_readers()
            _check_version(self._env, self._path)
        except BaseException:
            self._shut()
            raise

    def _opened(self) -> lmdb.Environment:
        if self._env is None:
            raise StoreUnavailable(f"{self._path} is not open")
        return self._env

    def _check_readers(self) -> None:
        self._opened().reader_check()

    def _unavailable(self, error: Exception) -> StoreUnavailable:
        if isinstance(error, StoreUnavailable):
            return error
        remedy = "give it space and write access"
        if isinstance(error, lmdb.MapFullError):
            remedy = "drop old periods: python -m quota --state STATE compact"
        elif isinstance(error, _DAMAGE):
            remedy = "put a copy in its place (python -m quota --state STATE backup wrote it)"
        elif isinstance(error, FileExistsError | NotADirectoryError):
            remedy = f"{self._path.parent} is to be a folder; name another one as --state"
        # LMDB and the system name the file, too, before what they say or behind it.
        named = f"{self._path}: "
        said = error.strerror if isinstance(error, OSError) else str(error).removeprefix(named)
        return StoreUnavailable(f"{named}{said}; {remedy}")


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def damage_of(path: Path) -> str:
    """What LMDB's offline checker finds wrong with a file, which it reads without opening it."""
    try:
        findings: list[str] = verify(str(path), subdir=False)  # type: ignore[no-untyped-call]
    except (VerifyError, OSError) as error:
        return str(error)
    return "; ".join(findings[:3])


def _outcome(wish: Wish[WriteTransaction], rows: LmdbTransaction) -> Any:
    try:
        return wish(rows)
    except QuotaError as refused:
        return refused


def _create(path: Path, map_size: int) -> None:
    """Make an empty store, which appears under its name when it is whole and synced.

    LMDB writes its first pages in place: a power cut among them would leave a file that nothing
    opens. Of two processes that make one at once, the first wins.
    """
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    partial.unlink(missing_ok=True)
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


def _check_version(env: lmdb.Environment, path: Path) -> None:
    with env.begin() as txn:
        found = txn.get(row_format.FORMAT)
    if found != row_format.VERSION:
        raise WrongStoreError(
            f"{path} has format {(found or b'none').decode(errors='replace')}, this code reads "
            f"{row_format.VERSION.decode()}; use the version that wrote it"
        )
