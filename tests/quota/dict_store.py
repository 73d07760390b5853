"""The store over a dict: the ledger without LMDB and without a thread.

It has the methods of the real stores, so that the same state machine drives all of them.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import ParamSpec, TypeVar

from quota.errors import QuotaError
from quota.ledger.row_format import ReadTransaction
from quota.store.future import LedgerWrite, StoreFuture
from quota.store.lmdb_store import LmdbStore

P = ParamSpec("P")
T = TypeVar("T")


class DictRows:
    """A transaction over a dict: reads and writes take effect at once, and nothing is rolled back."""

    def __init__(self) -> None:
        self.rows: dict[bytes, bytes] = {}

    def get(self, key: bytes, /) -> bytes | None:
        return self.rows.get(key)

    def expect(self, keys: Sequence[bytes], /) -> None:
        """Do nothing: a dict needs no notice of the keys that will be read."""

    def put(self, key: bytes, value: bytes, /) -> None:
        assert len(key) <= 511  # the longest key of LMDB
        self.rows[key] = value

    def delete(self, key: bytes, /) -> None:
        del self.rows[key]

    def scan(self, prefix: bytes, /) -> Iterator[tuple[bytes, bytes]]:
        """All rows whose key begins with the prefix, in the order of their keys, as in LMDB."""
        for key in sorted(self.rows):
            if key.startswith(prefix):
                yield key, self.rows[key]

    def read(self, operation: Callable[[ReadTransaction], T]) -> T:
        """Run a read operation; the rows are their own transaction."""
        return operation(self)


class DictStore(LmdbStore):
    """Each operation runs at once; a refused operation must have changed nothing."""

    def __init__(self) -> None:
        self._file = DictRows()  # type: ignore[assignment]

    def submit(
        self, operation: LedgerWrite[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> StoreFuture[T]:
        """Run the operation before this returns; a refused operation must have changed no row."""
        rows: DictRows = self._file  # type: ignore[assignment]
        rows_before = dict(rows.rows)
        future: StoreFuture[T] = StoreFuture()
        try:
            future.resolve(operation(rows, *args, **kwargs))
        except QuotaError as refusal:
            assert rows.rows == rows_before, "a refused operation has written"
            future.resolve(refusal)
        return future

    def rows(self) -> list[tuple[bytes, bytes]]:
        """All rows."""
        return self._file.read(lambda txn: list(txn.scan(b"")))

    def close(self) -> None:
        """Do nothing: no file is open."""
