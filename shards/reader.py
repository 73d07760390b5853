"""Reads one shard. Open once, share within a thread, never write.

Columns, orders and indexes are views of the file: the reader copies nothing, the page cache is the
only cache. They live as long as the read transaction below, which lasts as long as the shard is
open; that is safe because a published shard never changes. After `close` no view may be used.
What costs nothing until asked for: nothing is read at open but the header and the cells.
"""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import lmdb
import numpy as np
import orjson
import zstandard
from numpy.typing import NDArray
from pyroaring import BitMap

from shards import cells, format, idents, orders, record
from shards.cells import Cell
from shards.errors import CorruptError, WrongFormatError
from shards.idents import Idents
from shards.orders import Keys, Rows
from shards.text import fold_id
from shards.texts import Interval, Texts
from shards.words import Words


class Shard:
    """One open shard: the companies of a country, numbered 0, 1, … in layout order.

    >>> with Shard(path) as shard:  # doctest: +SKIP
    ...     shard.record(0, coordonnees=False)
    """

    iso2: str
    rows: int
    cells: tuple[Cell, ...]

    def __init__(self, path: Path) -> None:
        """Open the shard at `path`.

        Raises:
            WrongFormatError: if it is no shard, or one of another format version.
        """
        self.path = path
        try:
            self._env = lmdb.open(
                str(path),
                subdir=False,
                readonly=True,
                lock=False,
                readahead=False,
                max_dbs=len(format.TABLES),
            )
            self._txn = self._env.begin(buffers=True)
            self._tables = {
                name: self._env.open_db(name, txn=self._txn, create=False) for name in format.TABLES
            }
        except lmdb.Error as error:
            raise WrongFormatError(
                f"{path} is not a shard ({error}); `python -m pipeline build` writes them"
            ) from error
        self.iso2, self.rows = format.unpack_header(self._value(format.META, format.HEADER))
        self.cells = cells.load(self._value(format.META, format.CELLS))
        dictionary = self._value(format.META, format.DICTIONARY)
        self._decompress = zstandard.ZstdDecompressor(
            dict_data=zstandard.ZstdCompressionDict(dictionary) if dictionary else None
        ).decompress
        self._decompress_comptes = zstandard.ZstdDecompressor().decompress
        self._views: dict[tuple[bytes, bytes], NDArray[Any]] = {}

    # -- companies -----------------------------------------------------------------

    def record(self, row: int, *, coordonnees: bool) -> bytes:
        """The JSON object of a company; its contact fields are null without `coordonnees`."""
        packed = self._view(format.RECORD, format.row_key(row))
        return record.decode(self._decompress(packed), coordonnees=coordonnees)

    def company(self, row: int) -> dict[str, Any]:
        """A company as a dict of the fields of §2.1, contacts included: for people and checks."""
        company: dict[str, Any] = orjson.loads(self.record(row, coordonnees=True))
        return company

    def comptes(self, row: int) -> bytes | None:
        """The JSON array of a company's statement lines (contract E5), or None if it has none."""
        packed = self._txn.get(format.row_key(row), db=self._tables[format.COMPTES])
        return None if packed is None else bytes(self._decompress_comptes(packed))

    def find(self, identifier: str) -> int | None:
        """The row of `identifier`: exactly, else by letters and digits if that is unique (E2)."""
        folded = fold_id(identifier)
        alike = [int(row) for row in idents.equal_to(self.idents, folded)]
        for row in alike:
            if self.company(row)["id"] == identifier:
                return row
        return alike[0] if folded and len(alike) == 1 else None

    # -- columns and orders ----------------------------------------------------------

    def column(self, name: str) -> NDArray[Any]:
        """The values of a column of `format.COLUMNS`, by row."""
        return self._array(format.COLUMN, name.encode(), format.COLUMNS[name])

    def keys(self, tri: str, rows: Rows) -> Keys:
        """What `tri` compares (any order but `nom`), for these rows."""
        column, _ = orders.COLUMN_OF[tri]
        return orders.keys(tri, self.column(column)[rows])

    def order(self, tri: str) -> Rows:
        """All rows in the order `tri`."""
        return self._array(format.ORDER, tri.encode(), format.U4)

    def rank(self, tri: str) -> Rows:
        """The place of each row in the order `tri`."""
        return self._array(format.RANK, tri.encode(), format.U4)

    def top(self, place: str, tri: str) -> Rows:
        """The first rows of a sector (`62`) or a cell (`62/62.0`) in the order `tri`."""
        return self._array(format.TOP, format.top_key(place, tri), format.U4)

    # -- names and identifiers -------------------------------------------------------

    @cached_property
    def names(self) -> Texts:
        """Folded names, by row."""
        return self._texts(format.NAME)

    @cached_property
    def words(self) -> Words:
        """The index of the words of names."""
        return Words(
            self._texts(format.WORD),
            self._array(format.WORD, b"suffixes", format.U4),
            self._array(format.WORD, b"posting_starts", format.U4),
            self._array(format.WORD, b"postings", format.U4),
        )

    @cached_property
    def idents(self) -> Idents:
        """The index of identifiers."""
        return Idents(self._texts(format.IDENT), self._array(format.IDENT, b"rows", format.U4))

    def heavy(self, interval: Interval) -> BitMap | None:
        """The rows of an interval of suffixes that is too heavy to unite during a search."""
        packed = self._txn.get(format.interval_key(*interval), db=self._tables[format.HEAVY])
        return None if packed is None else BitMap.deserialize(bytes(packed))

    # -- the file ----------------------------------------------------------------------

    def entries(self, table: bytes) -> int:
        """How many entries a table has."""
        return int(self._txn.stat(self._tables[table])["entries"])

    def size(self, table: bytes) -> int:
        """Bytes of the pages that a table takes in the file."""
        stat = self._txn.stat(self._tables[table])
        pages = stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"]
        return int(pages * stat["psize"])

    def items(self, table: bytes) -> Iterator[tuple[bytes, bytes]]:
        """All entries of a table, in their order in the file."""
        with self._txn.cursor(db=self._tables[table]) as cursor:
            for key, value in cursor:
                yield bytes(key), bytes(value)

    def close(self) -> None:
        """Give the file back; nothing that this shard has lent may be used afterwards."""
        self._views.clear()
        for name in ("names", "words", "idents"):
            self.__dict__.pop(name, None)
        self._txn.abort()
        self._env.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _texts(self, table: bytes) -> Texts:
        return Texts(self._view(table, b"data"), self._array(table, b"starts", format.U4))

    def _array(self, table: bytes, key: bytes, dtype: str) -> NDArray[Any]:
        # py-lmdb touches every page of a value when asked for it: ask once (ARCHITECTURE.md).
        known = self._views.get((table, key))
        if known is None:
            view = self._view(table, key)
            known = np.frombuffer(view, dtype=dtype) if len(view) else np.empty(0, dtype=dtype)
            self._views[table, key] = known
        return known

    def _value(self, table: bytes, key: bytes) -> bytes:
        return bytes(self._view(table, key))

    def _view(self, table: bytes, key: bytes) -> memoryview:
        view: memoryview | None = self._txn.get(key, db=self._tables[table])
        if view is None:
            raise CorruptError(
                f"{self.path}: table {table.decode()} has no key {key!r}; "
                "run `python -m shards verify` and rebuild or fetch the file again"
            )
        return view
