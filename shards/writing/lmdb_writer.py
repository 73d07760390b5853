"""The LMDB file of a new shard: entries are appended table by table, keys ascending.

The file gets its name when it is complete and synced. LMDB keeps the pages of a transaction in memory until the commit,
so there is a commit every few megabytes; no reader can see these partial states, because the file has no name yet.

At the end `places` says where in the file each value lies (FORMAT.md §3). A page that LMDB has written never moves, and
begins with its own number, which is how the place is found.
"""

import ctypes
import mmap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Protocol

import lmdb
import msgpack
import numpy as np
from numpy.typing import NDArray

from shards import format
from shards.errors import OutOfOrderError

# Address space, not disk space: the file grows with its content. The largest country needs 4 GiB.
_MAP_BYTES: Final = 1 << 36
_COMMIT_BYTES: Final = 32 << 20
_NEEDS_SPACE: Final = "give its disk space, and build again"
_NEEDS_ADDRESSES: Final = (
    f"it takes {_MAP_BYTES >> 30} GiB of address space, little of it memory: raise that limit (`ulimit -v`), and build"
    " again"
)

Value = bytes | memoryview


class ShardTables(Protocol):
    """The tables of a new shard: `LmdbWriter` writes them, `shards.verify` compares them with those of a file."""

    def append(self, table: bytes, key: bytes, value: Value) -> None: ...


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
                f"table {table.decode()}: key {key.hex()} does not come after the one before; sort the input by it"
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


def append_arrays(tables: ShardTables, table: bytes, values: Mapping[str, Any]) -> None:
    """Add arrays, or bytes, by name to a table that has no entry yet, or only smaller keys."""
    for name in sorted(values):
        value = values[name]
        raw = np.ascontiguousarray(value).tobytes() if isinstance(value, np.ndarray) else value
        tables.append(table, name.encode(), raw)


class ChunkWriter:
    """Frames that are read by their number: CHUNK_ROWS of them are one value, `starts` says where each begins in it."""

    def __init__(self, tables: LmdbWriter, table: bytes) -> None:
        self._tables, self._table = tables, table
        self._frames: list[bytes] = []
        self._starts: list[NDArray[np.uint32]] = [np.empty(0, np.uint32)]
        self.count = 0

    def append(self, frame: bytes) -> None:
        """Add the next frame."""
        self._frames.append(frame)
        self.count += 1
        if len(self._frames) == format.CHUNK_ROWS:
            self._write()

    def close(self, **values: NDArray[np.uint32] | bytes) -> None:
        """Write the last chunk, `starts`, and further values of the table."""
        if self._frames:
            self._write()
        starts = {format.STARTS.decode(): np.concatenate(self._starts)}
        append_arrays(self._tables, self._table, {**starts, **values})

    def _write(self) -> None:
        lengths = np.fromiter(map(len, self._frames), np.int64, len(self._frames))
        self._starts.append((np.cumsum(lengths) - lengths).astype(format.U4))
        key = format.chunk_key(len(self._starts) - 2)
        self._tables.append(self._table, key, b"".join(self._frames))
        self._frames.clear()


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
            write_places(env, partial)
            env.sync(True)
        partial.replace(path)
    except lmdb.Error as error:  # a full disk is "Input/output error" to LMDB
        remedy = _NEEDS_ADDRESSES if isinstance(error, lmdb.MemoryError) else _NEEDS_SPACE
        raise OSError(f"{path} cannot be written: {error}; {remedy}") from error
    finally:
        partial.unlink(missing_ok=True)


def write_places(env: lmdb.Environment, path: Path) -> None:
    """Write where in the file `path` of `env` each value lies; not those of `meta`, which this moves."""
    env.sync(True)
    found = []
    with env.begin(buffers=True) as txn, path.open("rb") as file:
        whole = np.frombuffer(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ), np.uint8)
        for table in format.TABLES[1:]:
            for key, value in txn.cursor(db=env.open_db(table, txn=txn, create=False)):
                place = _place(value, env.stat()["psize"]) if len(value) else 0
                # Arrays are compared twenty times as fast as memoryviews.
                assert np.array_equal(whole[place:][: len(value)], np.frombuffer(value, np.uint8))
                found.append((table.decode(), bytes(key), place, len(value)))
    with env.begin(write=True) as txn:
        meta = env.open_db(format.META, txn=txn, create=False)
        txn.put(format.PLACES, msgpack.packb(found), db=meta)


def _place(value: memoryview, page_size: int) -> int:
    """Where a value begins in the file: the page that it begins on begins with its number, 8 bytes."""
    address: int = np.frombuffer(value, np.uint8).__array_interface__["data"][0]
    within = address % page_size
    return ctypes.c_uint64.from_address(address - within).value * page_size + within
