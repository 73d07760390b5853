"""The pages of an LMDB file, read without liblmdb: no byte of a damaged file ends the process.

liblmdb maps the file and follows its page numbers, offsets and sizes unchecked, so one changed bit may be a SIGBUS.
Here each of them is compared with its page or the file before it is used, and the file is read, not mapped: one that
is cut meanwhile has fewer bytes. Only the layout of a shard is read: LMDB 0.9 on 64 bits, little-endian, one value a
key. Keys must ascend, so a walk ends.
"""

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple, Self

from shards.errors import REMEDY, CorruptError, WrongFormatError

# The structures of liblmdb 0.9 (`mdb.c`, "Database Internals").
_PAGE: Final = struct.Struct(
    "<QHHHH"
)  # MDB_page: its number, 0, flags, ends of its offsets and of its free space
_STATE: Final = struct.Struct(
    "<II16x"
)  # MDB_meta: magic number, version; after it two tables and the end
_TABLE: Final = struct.Struct(
    "<IHH32xQ"
)  # MDB_db: size of pages (in the first of a state), flags, depth, root
_END: Final = struct.Struct("<QQ")  # the last page of the file, the number of the transaction
_NODE: Final = struct.Struct(
    "<HHHH"
)  # MDB_node: a number in two halves, flags or its upper part, size of the key
_OFFSET: Final = struct.Struct("<H")
_NUMBER: Final = struct.Struct("<Q")

_MAGIC: Final = 0xBEEFC0DE
_VERSION: Final = 1
_PAGE_SIZES: Final = tuple(1 << bits for bits in range(9, 16))
_BRANCH, _LEAF, _OVERFLOW, _STATE_PAGE = 1, 2, 4, 8  # the flags of a page: one of these
_PLAIN, _ON_PAGES, _SUBTABLE = (
    0,
    1,
    2,
)  # the flags of a value: in its node, on pages of its own, a table
_DEEPEST: Final = 32  # levels of a tree


class _Tree(NamedTuple):
    page_size: int
    flags: int
    depth: int
    root: int


class LmdbPages:
    """An open LMDB file. Each method raises CorruptError where the file contradicts itself."""

    def __init__(self, path: Path) -> None:
        """Open the file, and read its last committed state.

        Raises:
            WrongFormatError: it is no LMDB file.
            CorruptError: it ends before its last page.
        """
        self._path = path
        self._file = path.open("rb")
        try:
            self._size = self._read_state(_PAGE_SIZES[0], 0)[0]
            states = [self._read_state(self._size, number) for number in (0, 1)]
            _, last_page, _, self._main = max(states, key=lambda state: state[2])
            if (last_page + 1) * self._size > self._file.seek(0, os.SEEK_END):
                raise CorruptError(f"{path} ends before its last page; build or fetch it again")
        except BaseException:
            self.close()
            raise

    def entries(self, table: bytes, most: int | None = None) -> Iterator[tuple[bytes, bytes]]:
        """The entries of a table by ascending key.

        Args:
            most: the size of the largest value; a larger one is an error.
        """
        for name, value in self._walk(self._main, _SUBTABLE, _TABLE.size):
            if name == table and len(value) == _TABLE.size:
                yield from self._walk(_Tree(*_TABLE.unpack(value)), _PLAIN, most)
                return
        raise self._corrupt_error(f"it has no table {table.decode()}")

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read_state(self, page_size: int, number: int) -> tuple[int, int, int, _Tree]:
        """A committed state: the size of pages, the last page, the transaction, the table of tables."""
        self._file.seek(number * page_size)
        page = self._file.read(page_size)
        try:
            *_, flags, _, _ = _PAGE.unpack_from(page)
            at = _PAGE.size
            magic, version = _STATE.unpack_from(page, at)
            at += _STATE.size
            size, *_ = _TABLE.unpack_from(page, at)
            main = _Tree(*_TABLE.unpack_from(page, at + _TABLE.size))
            last_page, transaction = _END.unpack_from(page, at + 2 * _TABLE.size)
        except struct.error:
            magic = None
        if (
            magic != _MAGIC
            or version != _VERSION
            or flags != _STATE_PAGE
            or size not in _PAGE_SIZES
        ):
            raise WrongFormatError(
                f"{self._path} is not a shard; `python -m pipeline build` writes them"
            )
        return size, last_page, transaction, main

    def _walk(self, table: _Tree, kind: int, most: int | None) -> Iterator[tuple[bytes, bytes]]:
        """The keys and values of a tree, ascending."""
        before = None
        nodes = self._nodes(table, table.root, table.depth, kind, most) if table.depth else ()
        for key, value in nodes:
            if before is not None and key <= before:
                raise self._corrupt_error(f"the key {key!r} comes after {before!r}")
            yield key, value
            before = key

    def _nodes(
        self, table: _Tree, number: int, depth: int, kind: int, most: int | None
    ) -> Iterator[tuple[bytes, bytes]]:
        """The keys and values of a page, of the lowest of `depth` levels or below it."""
        if not 0 < depth <= _DEEPEST or table.flags:
            raise self._corrupt_error(f"a tree of {depth} levels with the flags {table.flags}")
        page = self._page(number, _BRANCH if depth > 1 else _LEAF)
        *_, lower, upper = _PAGE.unpack_from(page)
        # A page without nodes, of which a tree may have any number, would be another.
        if lower % 2 or not _PAGE.size < lower <= upper <= self._size:
            raise self._corrupt_error(f"page {number} has nodes outside of it")
        for (start,) in _OFFSET.iter_unpack(page[_PAGE.size : lower]):
            at = start + _NODE.size
            if start < upper or at > self._size:
                raise self._corrupt_error(f"page {number} has a node outside of it")
            low, high, flags, key_size = _NODE.unpack_from(page, start)
            key, value, size = page[at:][:key_size], page[at + key_size :], low | high << 16
            if len(key) < key_size:
                raise self._corrupt_error(f"page {number} has a key that ends outside of it")
            if depth > 1:
                yield from self._nodes(table, size | flags << 32, depth - 1, kind, most)
            elif flags & ~_ON_PAGES != kind or (most is not None and size > most):
                raise self._corrupt_error(
                    f"page {number} has a value of {size} bytes, flags {flags}"
                )
            elif flags & _ON_PAGES and len(value) >= _NUMBER.size:
                yield key, self._large(_NUMBER.unpack_from(value)[0], size)
            elif not flags & _ON_PAGES and size <= len(value):
                yield key, value[:size]
            else:
                raise self._corrupt_error(f"page {number} has a node that ends outside of it")

    def _large(self, number: int, size: int) -> bytes:
        """A value on pages of its own."""
        self._page(number, _OVERFLOW)
        return self._read(number * self._size + _PAGE.size, size)

    def _page(self, number: int, kind: int) -> bytes:
        page = self._read(number * self._size, self._size)
        own, _, flags, _, _ = _PAGE.unpack_from(page)
        if (own, flags) != (number, kind):
            raise self._corrupt_error(f"page {number} is page {own} with the flags {flags}")
        return page

    def _read(self, at: int, size: int) -> bytes:
        if at + size <= self._file.seek(0, os.SEEK_END):
            self._file.seek(at)
            read = self._file.read(size)
            if len(read) == size:
                return read
        raise self._corrupt_error(f"{size} bytes at {at} are not there")

    def _corrupt_error(self, fault: str) -> CorruptError:
        return CorruptError(f"{self._path}: {fault}; {REMEDY}")
