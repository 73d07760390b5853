"""The store of one host: the file `quota.lmdb`, shared by all processes that open the same folder.

Writes are operations of a group commit (`group_commit.py`), run by functions of the ledger in a
transaction of the file (`lmdb_file.py`). Reads are transactions of their own, on the calling thread.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, ParamSpec, TypeVar

from quota.errors import NotAllowedError, StoreUnavailable
from quota.ledger import calls, row_format
from quota.ledger.audit import AuditReport, audit
from quota.store.future import ReadyResult, StoreFuture
from quota.store.group_commit import GroupCommit
from quota.store.ledger_store import LedgerStore
from quota.store.lmdb_file import MAP_SIZE, LmdbFile, damage_of, sync
from quota.store.transactions import Reading, Writing

P = ParamSpec("P")
T = TypeVar("T")

# Rows that one transaction of `compact` deletes: other writers wait that long (about 2 ms).
_COMPACT_ROWS: Final = 2_000


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
