"""The pages of an LMDB file, read without liblmdb, so that a damaged file cannot end the process.

liblmdb maps the file and follows page numbers, offsets and sizes without checks, so one changed bit can cause a SIGBUS.
Here each number is compared with the size of its page or of the file before use. The file is read, not mapped: if the
file is truncated meanwhile, a read only returns fewer bytes. Only the layout of a shard is supported: LMDB 0.9, 64
bits, little-endian, one value per key. Keys must ascend; otherwise a damaged tree could be read without end.
"""

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple, Self

from shards.errors import REMEDY, CorruptError, WrongFormatError

# The structures of liblmdb 0.9 (`mdb.c`, "Database Internals"). A committed state (MDB_meta) is _STATE, two tables (the
# list of free pages and the table of all tables), then _END. It is on page 0 or 1.
# MDB_page: page number, 0, flags, end of the offsets, end of the free space.
_PAGE: Final = struct.Struct("<QHHHH")
# MDB_meta: magic number, version.
_STATE: Final = struct.Struct("<II16x")
# MDB_db, the B+ tree of a table: page size (only in the first table of a state), flags, depth, page number of the root.
_TABLE: Final = struct.Struct("<IHH32xQ")
# MDB_meta: the last page of the file, the number of the transaction.
_END: Final = struct.Struct("<QQ")
# MDB_node: in a leaf, the size of the value in two halves, flags, and the size of the key. In a branch, the first three
# are a page number in three parts, the lowest first.
_NODE: Final = struct.Struct("<HHHH")
_OFFSET: Final = struct.Struct("<H")  # where a node begins in its page
_NUMBER: Final = struct.Struct("<Q")  # the first page of a value on its own pages

_MAGIC: Final = 0xBEEFC0DE  # of MDB_meta
_VERSION: Final = 1  # of MDB_meta
_PAGE_SIZES: Final = tuple(1 << bits for bits in range(9, 16))  # 512 bytes to 32 KiB
_BRANCH, _LEAF, _OVERFLOW, _STATE_PAGE = 1, 2, 4, 8  # the flag that says the kind of a page
# The flags of a value: stored in its node, stored on its own pages, the description of a table.
_PLAIN, _ON_PAGES, _SUBTABLE = 0, 1, 2
_DEEPEST: Final = 32  # the most levels of a tree


class _Tree(NamedTuple):
    """The B+ tree of a table, with the fields of _TABLE."""

    page_size: int
    flags: int
    depth: int
    root: int


class LmdbPages:
    """An open LMDB file. Its methods raise CorruptError if the file contradicts itself."""

    def __init__(self, path: Path) -> None:
        """Open the file, and read its last committed state.

        Raises:
            WrongFormatError: the file is not an LMDB file.
            CorruptError: the file ends before its last page.
        """
        self._path = path
        self._file = path.open("rb")
        try:
            # A state is shorter than the smallest page, so it can be read before the page size is known.
            self._page_size = self._read_state(_PAGE_SIZES[0], 0)[0]
            states = [self._read_state(self._page_size, number) for number in (0, 1)]
            # The state of the last transaction counts.
            _, last_page, _, self._table_of_tables = max(states, key=lambda state: state[2])
            if (last_page + 1) * self._page_size > self._file.seek(0, os.SEEK_END):
                raise CorruptError(f"{path} ends before its last page; build or fetch it again")
        except BaseException:
            self.close()
            raise

    def entries(self, table: bytes, most: int | None = None) -> Iterator[tuple[bytes, bytes]]:
        """The keys and values of a table by ascending key.

        Args:
            most: the most bytes of a value; a larger value is an error.
        """
        for name, value in self._walk(self._table_of_tables, _SUBTABLE, _TABLE.size):
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
        """The committed state on page `number`: page size, last page, transaction number, the table of all tables.

        An LMDB file has two states, on pages 0 and 1, written by turns; the greater transaction number is the last
        state.

        Raises:
            WrongFormatError: the page is not the state of an LMDB file.
        """
        self._file.seek(number * page_size)
        page = self._file.read(page_size)
        try:
            *_, flags, _, _ = _PAGE.unpack_from(page)
            offset = _PAGE.size
            magic, version = _STATE.unpack_from(page, offset)
            offset += _STATE.size
            size, *_ = _TABLE.unpack_from(page, offset)
            main = _Tree(*_TABLE.unpack_from(page, offset + _TABLE.size))
            last_page, transaction = _END.unpack_from(page, offset + 2 * _TABLE.size)
        except struct.error:
            magic = None  # the page is too short, and is refused below
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
        """The keys and values of a tree by ascending key; `kind` and `most` are as in `_nodes`."""
        previous_key = None
        nodes = self._nodes(table, table.root, table.depth, kind, most) if table.depth else ()
        for key, value in nodes:
            if previous_key is not None and key <= previous_key:
                raise self._corrupt_error(f"the key {key!r} comes after {previous_key!r}")
            yield key, value
            previous_key = key

    def _nodes(
        self, table: _Tree, number: int, depth: int, kind: int, most: int | None
    ) -> Iterator[tuple[bytes, bytes]]:
        """The keys and values of page `number` and of all pages below, which have `depth` levels together.

        A value must have the flags `kind`, except _ON_PAGES, and at most `most` bytes.
        """
        if not 0 < depth <= _DEEPEST or table.flags:
            raise self._corrupt_error(f"a tree of {depth} levels with the flags {table.flags}")
        page = self._page(number, _BRANCH if depth > 1 else _LEAF)
        *_, lower, upper = _PAGE.unpack_from(page)
        # A page without nodes is an error, too: a damaged tree could contain any number of such pages.
        if lower % 2 or not _PAGE.size < lower <= upper <= self._page_size:
            raise self._corrupt_error(f"page {number} has nodes outside of it")
        for (start,) in _OFFSET.iter_unpack(page[_PAGE.size : lower]):
            at = start + _NODE.size
            if start < upper or at > self._page_size:
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
        """A value of `size` bytes on its own pages, which begin at page `number`."""
        self._page(number, _OVERFLOW)
        return self._read(number * self._page_size + _PAGE.size, size)

    def _page(self, number: int, kind: int) -> bytes:
        """The bytes of a page, after a check that its header has this number and the flag `kind`."""
        page = self._read(number * self._page_size, self._page_size)
        stored_number, _, flags, _, _ = _PAGE.unpack_from(page)
        if (stored_number, flags) != (number, kind):
            raise self._corrupt_error(
                f"page {number} is page {stored_number} with the flags {flags}"
            )
        return page

    def _read(self, at: int, size: int) -> bytes:
        """The `size` bytes of the file from byte `at` on."""
        if at + size <= self._file.seek(0, os.SEEK_END):
            self._file.seek(at)
            content = self._file.read(size)
            if len(content) == size:
                return content
        raise self._corrupt_error(f"{size} bytes at {at} are not there")

    def _corrupt_error(self, fault: str) -> CorruptError:
        """The error for a file that contradicts itself, with the remedy."""
        return CorruptError(f"{self._path}: {fault}; {REMEDY}")
