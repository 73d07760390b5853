"""The LMDB file of a new shard: entries are appended table by table, keys ascending.

The file gets its name when it is complete and synced. LMDB keeps the pages of a transaction in memory until the commit,
so there is a commit every few megabytes; no reader can see these partial states, because the file has no name yet.

At the end `places` says where in the file each large value lies (FORMAT.md §3). A page of values that LMDB has written
never moves, and begins with its own number, which is how the place is found.
"""

import ctypes
import mmap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import lmdb
import msgpack
import numpy as np

from shards import format
from shards.errors import OutOfOrderError

# Address space, not disk space: the file grows with its content. The largest country needs 4 GiB.
_MAP_BYTES: Final = 1 << 36
_COMMIT_BYTES: Final = 32 << 20
_PAGE_HEADER: Final = 16

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


def append_arrays(tables: LmdbWriter, table: bytes, values: Mapping[str, Any]) -> None:
    """Add arrays, or bytes, by name to a table that has no entry yet, or only smaller keys."""
    for name in sorted(values):
        value = values[name]
        raw = np.ascontiguousarray(value).tobytes() if isinstance(value, np.ndarray) else value
        tables.append(table, name.encode(), raw)


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
            _write_places(env, partial)
            env.sync(True)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _write_places(env: lmdb.Environment, path: Path) -> None:
    """Write where each value of PLACED bytes or more lies in the file."""
    env.sync(True)
    found = []
    with env.begin(buffers=True) as txn, path.open("rb") as file:
        whole = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        for table in format.TABLES:
            database = env.open_db(table, txn=txn, create=False)
            for key, value in txn.cursor(db=database) if table != format.COMPTES else ():
                if len(value) >= format.PLACED:
                    place = _place(value, env.stat()["psize"])
                    assert memoryview(whole)[place : place + len(value)] == value
                    found.append((table.decode(), bytes(key), place, len(value)))
    with env.begin(write=True) as txn:
        database = env.open_db(format.META, txn=txn, create=False)
        txn.put(format.PLACES, msgpack.packb(found), db=database, append=True)


def _place(value: memoryview, page_size: int) -> int:
    """Where a value begins in the file, by the header of its first page: 16 bytes, first the number of the page."""
    address = np.frombuffer(value, np.uint8).__array_interface__["data"][0]
    return ctypes.c_uint64.from_address(address - _PAGE_HEADER).value * page_size + _PAGE_HEADER
