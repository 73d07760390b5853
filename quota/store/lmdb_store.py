"""The store of one host: a file `quota.lmdb`, shared by all processes that open the same folder.

Each write is a wish of the writer thread (`group_commit.py`), done by a function of the ledger in a
transaction of the environment (`lmdb_file.py`); here they are put together. LMDB lets one process
write at a time: there is no other lock.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from quota.errors import NotAllowedError, StoreUnavailable
from quota.ledger import calls
from quota.ledger.transaction import ReadTransaction, WriteTransaction
from quota.store.base import AccountBook
from quota.store.group_commit import GroupCommit
from quota.store.lmdb_file import MAP_SIZE, LmdbFile, damage_of, sync
from quota.store.promise import Kept, Promise

T = TypeVar("T")

# Rows a transaction of `compact` deletes: other writers wait that long (about 2 ms).
_STRETCH: Final = 2_000


class LmdbStore(AccountBook):
    """`Store` over LMDB. Open it in the process that uses it (spawn, never fork), and once."""

    def __init__(self, folder: Path, *, map_size: int = MAP_SIZE) -> None:
        """Open the store of a STATE folder, or make it.

        Raises:
            WrongStoreError: another version of this code wrote it.
            StoreUnavailable: it cannot be opened.
        """
        self._environment = LmdbFile(folder, map_size)
        self._writer = GroupCommit(self._environment.write, self._environment.rest)

    def _read(self, look: Callable[[ReadTransaction], T]) -> Kept[T]:
        return Kept(self._environment.read(look))

    def _submit(self, wish: Callable[[WriteTransaction], T]) -> Promise[T]:
        return self._writer.submit(wish)

    # -- upkeep --------------------------------------------------------------------

    def compact(self, before: str) -> int:
        self._submit(lambda txn: calls.raise_floor(txn, before)).result()
        total = 0
        while dropped := self._submit(lambda txn: calls.drop(txn, _STRETCH)).result():
            total += dropped
        return total

    def backup(self, target: Path) -> None:
        """As `Store.backup`; the copy is read back by LMDB's offline checker before it appears.

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
            self._environment.copy(file)
            os.fsync(file.fileno())
        if damage := damage_of(unfinished):
            raise StoreUnavailable(f"{unfinished} is not a whole copy: {damage}")
        unfinished.rename(target)
        sync(target.parent)

    def close(self) -> None:
        self._writer.close()
        self._environment.close()
