"""The store over a dict: the ledger without LMDB and without a thread.

It has the methods of the real stores, so that the same state machine drives all of them.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import ParamSpec, TypeVar

from quota.errors import QuotaError
from quota.ledger.row_format import ReadTransaction
from quota.store.future import StoreFuture, Writing
from quota.store.lmdb_store import LmdbStore

P = ParamSpec("P")
T = TypeVar("T")


class DictRows:
    """A transaction over a dict."""

    def __init__(self) -> None:
        self.rows: dict[bytes, bytes] = {}

    def get(self, key: bytes, /) -> bytes | None:
        return self.rows.get(key)

    def expect(self, keys: Sequence[bytes], /) -> None:
        """Do nothing."""

    def put(self, key: bytes, value: bytes, /) -> None:
        assert len(key) <= 511
        self.rows[key] = value

    def delete(self, key: bytes, /) -> None:
        del self.rows[key]

    def scan(self, prefix: bytes, /) -> Iterator[tuple[bytes, bytes]]:
        for key in sorted(self.rows):
            if key.startswith(prefix):
                yield key, self.rows[key]

    def read(self, operation: Callable[[ReadTransaction], T]) -> T:
        return operation(self)


class DictStore(LmdbStore):
    """Each operation runs at once; a refused one must have changed nothing."""

    def __init__(self) -> None:
        self._file = DictRows()  # type: ignore[assignment]

    def submit(
        self, operation: Writing[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> StoreFuture[T]:
        rows: DictRows = self._file  # type: ignore[assignment]
        before = dict(rows.rows)
        future: StoreFuture[T] = StoreFuture()
        try:
            future.resolve(operation(rows, *args, **kwargs))
        except QuotaError as refusal:
            assert rows.rows == before, "a refused operation has written"
            future.resolve(refusal)
        return future

    def rows(self) -> list[tuple[bytes, bytes]]:
        """All rows."""
        return self._file.read(lambda txn: list(txn.scan(b"")))

    def close(self) -> None:
        """Nothing is open."""
