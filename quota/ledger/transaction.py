"""The transaction that the ledger needs of a store; no other transaction writes during it.

Three implementations exist: over LMDB (`store/lmdb_file.py`), over Redis (`redis/transaction.py`),
and over a dict, in the tests of the ledger.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol


class ReadTransaction(Protocol):
    """A consistent view of the store."""

    def get(self, key: bytes, /) -> bytes | None: ...

    def expect(self, keys: Sequence[bytes], /) -> object:
        """Name rows that will be read: a store at a distance fetches them in one round trip.

        A key without its last part names all rows that begin with it (`o/<account>/`), and the
        tables after it the rows of theirs that those name (`k/`, `l/`).
        """

    def scan(self, prefix: bytes, /) -> Iterable[tuple[bytes, bytes]]:
        """The rows whose key begins with `prefix`, in ascending order of the keys."""
        ...


class WriteTransaction(ReadTransaction, Protocol):
    """A view that can be changed; all changes are kept, or none."""

    def put(self, key: bytes, value: bytes, /) -> object: ...

    def delete(self, key: bytes, /) -> object: ...
