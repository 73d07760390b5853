"""The store over a dict: ledger, registry and exports without LMDB and without a thread.

It has the methods of the real one, so that both are driven by the same machine.
"""

from collections.abc import Callable, Iterator
from typing import TypeVar

from quota.errors import QuotaError
from quota.ledger.transaction import ReadTransaction, WriteTransaction
from quota.store.lmdb_store import LmdbStore
from quota.store.promise import Promise

T = TypeVar("T")


class DictRows:
    """A transaction over a dict; one that is given up leaves the dict as it was."""

    def __init__(self) -> None:
        self.rows: dict[bytes, bytes] = {}

    def get(self, key: bytes, /) -> bytes | None:
        return self.rows.get(key)

    def put(self, key: bytes, value: bytes, /) -> None:
        assert len(key) <= 511
        self.rows[key] = value

    def delete(self, key: bytes, /) -> None:
        del self.rows[key]

    def scan(self, prefix: bytes, /) -> Iterator[tuple[bytes, bytes]]:
        for key in sorted(self.rows):
            if key.startswith(prefix):
                yield key, self.rows[key]

    def read(self, look: Callable[[ReadTransaction], T]) -> T:
        return look(self)


class DictStore(LmdbStore):
    """Each wish is done at once; a refused one must have changed nothing."""

    def __init__(self) -> None:
        self._environment = DictRows()  # type: ignore[assignment]

    def _submit(self, wish: Callable[[WriteTransaction], T]) -> Promise[T]:
        rows: DictRows = self._environment  # type: ignore[assignment]
        before = dict(rows.rows)
        promise: Promise[T] = Promise()
        try:
            promise.settle(wish(rows))
        except QuotaError as refused:
            assert rows.rows == before, "a refused wish has written"
            promise.settle(refused)
        return promise

    def rows(self) -> list[tuple[bytes, bytes]]:
        """All that it holds."""
        return self._environment.read(lambda txn: list(txn.scan(b"")))

    def close(self) -> None:
        """Nothing is open."""
