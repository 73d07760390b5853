"""What the ledger needs of a store: one transaction, in which nobody else writes.

A dict can be one, which is how the tests drive the ledger; `lmdb_file.py` has the one over LMDB.
"""

from collections.abc import Iterable
from typing import Protocol


class ReadTransaction(Protocol):
    """A consistent view of the store."""

    def get(self, key: bytes, /) -> bytes | None: ...

    def scan(self, prefix: bytes, /) -> Iterable[tuple[bytes, bytes]]:
        """The rows whose key begins with `prefix`, in the order of their keys."""
        ...


class WriteTransaction(ReadTransaction, Protocol):
    """A view that can be changed: all of it is kept, or nothing."""

    def put(self, key: bytes, value: bytes, /) -> object: ...

    def delete(self, key: bytes, /) -> object: ...
