"""The LMDB file of a new shard: entries are appended table by table, keys ascending.

The file gets its name when it is complete and synced. LMDB keeps the pages of a transaction in memory until the commit,
so there is a commit every few megabytes; no reader can see these partial states, because the file has no name yet.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import lmdb

from shards import format
from shards.errors import OutOfOrderError

# Address space, not disk space: the file grows with its content. The largest country needs 4 GiB.
_MAP_BYTES: Final = 1 << 36
_COMMIT_BYTES: Final = 32 << 20

Value = bytes | memoryview


class LmdbWriter:
    """The tables of a shard, to which entries are appended."""

    def __init__(self, env: lmdb.Environment) -> None:
        self._env = env
        self._txn = env.begin(write=True)
        self._tables: dict[bytes, Any] = {
            name: env.open_db(name, txn=self._txn) for name in format.TABLES
        }
        self._pending = 0

    def append(self, table: bytes, key: bytes, value: Value) -> None:
        """Add an entry at the end of a table.

        Raises:
            OutOfOrderError: `key` does not sort after the last key of the table.
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
        """Commit what was appended; for a further `append`, begin another transaction."""
        self._txn.commit()
        self._pending = 0

    def abort(self) -> None:
        """Drop what was appended since the last commit."""
        self._txn.abort()


@contextmanager
def open_writer(path: Path) -> Iterator[LmdbWriter]:
    """Open a writer; at the end of the block its tables become the file `path`, unless the block raises."""
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
