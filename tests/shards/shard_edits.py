"""Edits of the values of a stored shard."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import lmdb
import msgpack
import numpy as np

from shards import format
from shards.writing import lmdb_writer


@contextmanager
def edit_table(path: Path, table: bytes) -> Iterator[lmdb.Transaction]:
    """A transaction on a table; after the block, `places` has the new positions of its values (FORMAT.md §3)."""
    with lmdb.open(str(path), subdir=False, lock=False, max_dbs=len(format.TABLES)) as env:
        with env.begin(write=True, db=env.open_db(table)) as txn:
            yield txn
        if table != format.META:
            lmdb_writer.write_places(env, path)


def put_frame(txn: lmdb.Transaction, number: int, packed: bytes) -> None:
    """Replace a frame of the only chunk of a table."""
    starts = np.frombuffer(bytes(txn.get(format.STARTS, b"")), "<u4")
    chunk = bytes(txn.get(format.chunk_key(0), b""))
    frames = [chunk[start:end] for start, end in pairwise([*starts.tolist(), len(chunk)])]
    frames[number] = packed
    for key, value in chunk_entries(frames).items():
        txn.put(key, value)


def chunk_entries(frames: list[bytes]) -> dict[bytes, bytes]:
    """The entries of one chunk that has these frames."""
    lengths = np.array([len(frame) for frame in frames], np.int64)
    starts = (np.cumsum(lengths) - lengths).astype("<u4").tobytes()
    return {format.chunk_key(0): b"".join(frames), format.STARTS: starts}


def value_places(path: Path) -> dict[tuple[bytes, bytes], tuple[int, int]]:
    """The first byte and the size of each value of a shard, by table and key (FORMAT.md §3)."""
    with (
        lmdb.open(str(path), subdir=False, readonly=True, lock=False, max_dbs=1) as env,
        env.begin(db=env.open_db(format.META, create=False)) as txn,
    ):
        packed = msgpack.unpackb(bytes(txn.get(format.PLACES, b"")))
    return {(table.encode(), key): (start, size) for table, key, start, size in packed}


@contextmanager
def overwrite(path: Path, place: int, value: bytes) -> Iterator[None]:
    """Overwrite bytes of a file within the block, also for processes that have mapped it."""
    with path.open("r+b", buffering=0) as file:
        file.seek(place)
        original = file.read(len(value))
        try:
            file.seek(place)
            file.write(value)
            yield
        finally:
            file.seek(place)
            file.write(original)
