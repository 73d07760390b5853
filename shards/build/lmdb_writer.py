"""An LMDB file that is being filled, table by table, keys in ascending order.

It appears under its name when it is whole and on disk. LMDB keeps the pages of a transaction in
memory until it is committed, so one is committed every few megabytes: nobody reads the file before
it has its name, so nothing half-written is ever seen.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import lmdb

from shards import format
from shards.errors import OutOfOrderError

# Address space, not disk: a sparse file grows to what is written. The largest country needs 4 GiB.
_MAP_BYTES: Final = 1 << 36
_COMMIT_BYTES: Final = 32 << 20

Value = bytes | memoryview


class LmdbWriter:
    """The tables of a shard. `append` adds an entry after all that its table holds."""

    def __init__(self, env: lmdb.Environment) -> None:
        self._env = env
        self._txn = env.begin(write=True)
        self._tables: dict[bytes, Any] = {
            name: env.open_db(name, txn=self._txn) for name in format.TABLES
        }
        self._pending = 0

    def append(self, table: bytes, key: bytes, value: Value) -> None:
        """Add an entry.

        Raises:
            OutOfOrderError: `key` does not come after the last one of the table.
        """
        if not self._txn.put(key, value, db=self._tables[table], append=True):
            raise OutOfOrderError(
                f"table {table.decode()}: key {key.hex()} does not come after the one before"
            )
        self._pending += len(value)
        if self._pending >= _COMMIT_BYTES:
            self.commit()
            self._txn = self._env.begin(write=True)

    def commit(self) -> None:
        self._txn.commit()
        self._pending = 0

    def abort(self) -> None:
        self._txn.abort()


@contextmanager
def open_writer(path: Path) -> Iterator[LmdbWriter]:
    """Tables to fill; they become the file `path` at the end of the block, unless it raises."""
    partial = path.with_name(path.name + ".partial")
    partial.unlink(missing_ok=True)
    try:
        with lmdb.open(
            str(partial),
            subdir=False,
            lock=False,
            sync=False,  # once, at the end
            map_size=_MAP_BYTES,
            max_dbs=len(format.TABLES),
        ) as env:
            tables = LmdbWriter(env)
            try:
                yield tables
            except BaseException:
                tables.abort()
                raise
            tables.commit()
            env.sync(True)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
