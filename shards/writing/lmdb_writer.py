"""The LMDB file of a new shard: entries are appended table by table, keys ascending.

The file gets its final name when it is complete and synced. LMDB keeps the pages of a transaction in memory until the
commit, so there is a commit every few megabytes. No reader sees these partial states, because the file has only its
temporary name.

At the end `places` is written: the place of each value in the file (FORMAT.md §3). A page that LMDB has written does
not move, and begins with its own number, from which the place is computed.
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

# Address space, not disk space: the file grows with its content. The largest country has 4 GiB.
_MAP_BYTES: Final = 1 << 36
# The bytes of values after which a transaction is committed.
_COMMIT_BYTES: Final = 32 << 20
_SPACE_REMEDY: Final = "give its disk space, and build again"
_ADDRESSES_REMEDY: Final = (
    f"it takes {_MAP_BYTES >> 30} GiB of address space, little of it memory: raise that limit (`ulimit -v`), and build"
    " again"
)

Value = bytes | memoryview


class ShardTables(Protocol):
    """The tables of a new shard: `LmdbWriter` writes them, `shards.verify` compares them with the tables of a file."""

    def append(self, table: bytes, key: bytes, value: Value) -> None:
        """Add an entry at the end of a table."""
        ...


class LmdbWriter:
    """The tables of a shard, to which entries are appended."""

    def __init__(self, env: lmdb.Environment) -> None:
        """Create all tables of the format, in the first transaction."""
        self._env = env
        self._txn = env.begin(write=True)
        self._tables: dict[bytes, Any] = {
            name: env.open_db(name, txn=self._txn) for name in format.TABLES
        }
        self._uncommitted_bytes = 0

    def append(self, table: bytes, key: bytes, value: Value) -> None:
        """Add an entry at the end of a table.

        Raises:
            OutOfOrderError: `key` does not sort after the last key of the table.
        """
        if not self._txn.put(key, value, db=self._tables[table], append=True):
            raise OutOfOrderError(
                f"table {table.decode()}: key {key.hex()} does not come after the one before; sort the input by it"
            )
        self._uncommitted_bytes += len(value)
        if self._uncommitted_bytes >= _COMMIT_BYTES:
            self.commit()
            self._txn = self._env.begin(write=True)

    def commit(self) -> None:
        """Commit the appended entries. Before another `append`, the caller begins a new transaction."""
        self._txn.commit()
        self._uncommitted_bytes = 0

    def abort(self) -> None:
        """Drop the entries since the last commit."""
        self._txn.abort()


def append_arrays(tables: ShardTables, table: bytes, values: Mapping[str, Any]) -> None:
    """Append arrays or bytes, by name, to a table whose keys are all smaller."""
    for name in sorted(values):
        value = values[name]
        raw = np.ascontiguousarray(value).tobytes() if isinstance(value, np.ndarray) else value
        tables.append(table, name.encode(), raw)


class ChunkWriter:
    """Writes frames that are read by number: CHUNK_ROWS frames are one value, and `starts` has their starts in it."""

    def __init__(self, tables: LmdbWriter, table: bytes) -> None:
        """Begin without frames; `_starts` has an array per written chunk, after an empty one."""
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
        """Write the collected frames as one chunk."""
        lengths = np.fromiter(map(len, self._frames), np.int64, len(self._frames))
        self._starts.append((np.cumsum(lengths) - lengths).astype(format.U4))
        # The first array of `_starts` is empty and the last is of this chunk, so the chunk has this number.
        key = format.chunk_key(len(self._starts) - 2)
        self._tables.append(self._table, key, b"".join(self._frames))
        self._frames.clear()


@contextmanager
def open_writer(path: Path) -> Iterator[LmdbWriter]:
    """Open a writer. At the end of the block its tables become the file `path`, unless the block raises."""
    partial = path.with_name(path.name + ".partial")
    partial.unlink(missing_ok=True)
    try:
        with lmdb.open(
            str(partial),
            subdir=False,
            lock=False,
            sync=False,  # synced once, at the end
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
        remedy = _ADDRESSES_REMEDY if isinstance(error, lmdb.MemoryError) else _SPACE_REMEDY
        raise OSError(f"{path} cannot be written: {error}; {remedy}") from error
    finally:
        partial.unlink(missing_ok=True)


def write_places(env: lmdb.Environment, path: Path) -> None:
    """Write the place of each value in the file `path` of `env`, except values of `meta`, which this write moves."""
    env.sync(True)
    places = []
    with env.begin(buffers=True) as txn, path.open("rb") as file:
        mapped_file = np.frombuffer(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ), np.uint8)
        for table in format.TABLES[1:]:
            for key, value in txn.cursor(db=env.open_db(table, txn=txn, create=False)):
                place = _place_in_file(value, env.stat()["psize"]) if len(value) else 0
                # Arrays are compared twenty times as fast as memoryviews.
                assert np.array_equal(
                    mapped_file[place:][: len(value)], np.frombuffer(value, np.uint8)
                )
                places.append((table.decode(), bytes(key), place, len(value)))
    with env.begin(write=True) as txn:
        meta = env.open_db(format.META, txn=txn, create=False)
        txn.put(format.PLACES, msgpack.packb(places), db=meta)


def _place_in_file(value: memoryview, page_size: int) -> int:
    """The place of a value in the file.

    Args:
        value: a view of the page in LMDB's map. The page begins with its number in 8 bytes, which are read in memory.
    """
    address: int = np.frombuffer(value, np.uint8).__array_interface__["data"][0]
    offset = address % page_size
    return ctypes.c_uint64.from_address(address - offset).value * page_size + offset
