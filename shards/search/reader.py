"""The reader of one shard: open it once, share it between threads, never write to it.

Columns, orders and indexes are views of the memory-mapped file: nothing is copied, and the page cache of the system is
the only cache. Only the header is read at opening; a view is made at its first use. Views live as long as the
read transaction of the shard, which lasts until `close`; that is safe because a published shard never changes. No view
may be used after `close`.

A read transaction serves one thread at a time, so every use of it is under a lock. Views need none.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, Final, Self, TypeVar

import lmdb
import numpy as np
import orjson
import zstandard
from numpy.typing import NDArray

from shards import format
from shards.codec import cells, record, row_sets, sort_keys
from shards.codec.arrays import Rows
from shards.codec.cells import Layout
from shards.codec.folding import fold_id
from shards.codec.row_sets import Counted, Packed
from shards.codec.sort_keys import KeyRuns, Keys
from shards.codec.sparse_index import EvenPlaces, SparseIndex
from shards.codec.strings import Interval, Texts
from shards.errors import CorruptError, WrongFormatError
from shards.search import id_lookup
from shards.search.id_lookup import IdLookup
from shards.search.name_lookup import NameLookup

# Cached properties, dropped at `close`.
_CACHED: Final = (
    "layout", "cell_of", "facts", "turnover_facts", "website_turnover", "website_headcount",
    "words", "idents",
)  # fmt: skip


_Name = TypeVar("_Name")
_View = TypeVar("_View")


class _Views(dict[_Name, _View]):
    """Views by name, each fetched from the file once, because LMDB touches every page of a value that it returns.

    Absence is not remembered: callers may ask for any name, and the memo would grow without bound.
    """

    def __init__(self, load: Callable[[_Name], _View]) -> None:
        self._load = load

    def __missing__(self, name: _Name) -> _View:
        view = self._load(name)
        if view is not None:
            self[name] = view
        return view


class Shard:
    """One open shard: the companies of one country, numbered 0, 1, … in layout order (FORMAT.md §3).

    >>> with Shard(path) as shard:  # doctest: +SKIP
    ...     shard.record(0, coordonnees=False)
    """

    iso2: str
    rows: int

    def __init__(self, path: Path) -> None:
        """Open the shard at `path`.

        Raises:
            WrongFormatError: the file is no shard, or a shard of another format version.
        """
        self.path = path
        self._lock = Lock()
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
            # Every format version has this table, so a wrong version is reported before a missing table.
            self._tables = {format.META: self._table(format.META)}
            self.iso2, self.rows = format.unpack_header(self._value(format.META, format.HEADER))
            self._tables |= {name: self._table(name) for name in format.TABLES}
        except lmdb.Error as error:
            raise WrongFormatError(
                f"{path} is not a shard ({error}); `python -m pipeline build` writes them"
            ) from error
        dictionary = self._value(format.META, format.DICTIONARY)
        self._records = zstandard.ZstdDecompressor(
            dict_data=zstandard.ZstdCompressionDict(dictionary) if dictionary else None
        )
        self._comptes = zstandard.ZstdDecompressor()
        self._orders: _Views[str, Rows] = _Views(
            lambda tri: self._array(format.ORDER, tri, format.U4)
        )
        self._ranks: _Views[str, Rows] = _Views(
            lambda tri: self._array(format.RANK, tri, format.U4)
        )
        self._steps = _Views(self._read_steps)
        self._sets = _Views(self._read_set)
        self._unions = _Views(self._read_union)

    # -- companies -----------------------------------------------------------------

    def record(self, row: int, *, coordonnees: bool) -> bytes:
        """The JSON object of a company, UTF-8; without `coordonnees` its contact fields are null."""
        return self.records([row], coordonnees=coordonnees)[0]

    def records(self, rows: Sequence[int], *, coordonnees: bool) -> list[bytes]:
        """The JSON objects of several companies."""
        return [record.decode(stored, coordonnees=coordonnees) for stored in self._stored(rows)]

    def company(self, row: int) -> dict[str, Any]:
        """A company as a dict of the fields of §2.1, contacts included; for display and checks."""
        company: dict[str, Any] = orjson.loads(self.record(row, coordonnees=True))
        return company

    def names(self, rows: Sequence[int]) -> list[str]:
        """The names of several companies, as registered."""
        return [orjson.loads(company)["nom"] for company in self.records(rows, coordonnees=False)]

    def comptes(self, row: int) -> bytes | None:
        """The JSON array of a company's statement lines (contract E5), None if it has none."""
        with self._lock:
            packed = self._txn.get(format.row_key(row), db=self._tables[format.COMPTES])
            return None if packed is None else bytes(self._comptes.decompress(packed))

    def find(self, identifier: str) -> int | None:
        """The row of `identifier`: the exact match, else the only match by letters and digits (contract E2)."""
        folded = fold_id(identifier)
        alike = id_lookup.rows_equal_to(self.idents, folded).tolist()
        for row in alike:
            if self.company(row)["id"] == identifier:
                return int(row)
        return int(alike[0]) if folded and len(alike) == 1 else None

    # -- columns and orders ----------------------------------------------------------

    @cached_property
    def layout(self) -> Layout:
        """The cells, with the ranges of sectors and sub-sectors."""
        return cells.layout(cells.load(self._value(format.META, format.CELLS)))

    @cached_property
    def cell_of(self) -> NDArray[np.uint16]:
        """The cell of each row."""
        return self._array(format.COLUMN, "cell", format.CELL_TYPE)

    @cached_property
    def facts(self) -> NDArray[Any]:
        """The headcount code and the website bit of each row (FORMAT.md §7)."""
        return self._array(format.COLUMN, "facts", self._facts_type)

    @cached_property
    def turnover_facts(self) -> NDArray[Any]:
        """The facts of the rows with a turnover, in the order `ca_desc`."""
        return self._array(format.SORTED, "facts", self._facts_type)

    @cached_property
    def website_turnover(self) -> Rows:
        """The places in `ca_desc` of the rows with a turnover and a website."""
        return self._array(format.WEBSITE, "ca_desc", format.U4)

    @cached_property
    def website_headcount(self) -> Rows:
        """The places in `effectif_desc` of the rows with a headcount and a website."""
        return self._array(format.WEBSITE, "effectif_desc", format.U4)

    def steps(self, tri: str) -> KeyRuns:
        """The distinct keys of an order of `format.KEYS`, with the places where each begins."""
        return self._steps[tri]

    def keys(self, tri: str, rows: Rows) -> Keys:
        """The keys of these rows in the order `tri`, any order except `nom`."""
        stored, sign = sort_keys.KEY_OF[tri]
        keys = self.steps(stored).key_at(self._ranks[stored].take(rows))
        return keys if sign > 0 else -keys

    def order(self, tri: str) -> Rows:
        """The rows in the order `tri`; of the rows that are null in it, only the first TOP_ROWS."""
        return self._orders[tri]

    def rank(self, tri: str) -> Rows:
        """The place of each row in the order `tri`, any order except `ca_asc`."""
        return self._ranks[tri]

    def top(self, place: str, tri: str) -> Rows:
        """The first rows of a sector (`62`) or a cell (`62/62.0`) in the order `tri`.

        Raises:
            CorruptError: there is no such list; only places of TOP_LEAST rows or more have one.
        """
        return np.frombuffer(self._view(format.TOP, format.top_key(place, tri)), dtype=format.U4)

    def top_view(self, place: str, tri: str) -> memoryview:
        """The bytes of `top`."""
        return self._view(format.TOP, format.top_key(place, tri))

    # -- names and identifiers -------------------------------------------------------

    @cached_property
    def words(self) -> NameLookup:
        """The index of the words of names."""
        texts = self._texts(format.WORD)
        return NameLookup(
            texts,
            self._array(format.WORD, "owners", format.U4),
            SparseIndex(
                texts.data,
                self._array(format.WORD, "suffixes", format.U4),
                self._array(format.WORD, "suffix_keys", format.U8),
            ),
            self._array(format.WORD, "posting_starts", format.U4),
            self._array(format.WORD, "postings", format.U4),
            self._array(format.NAME, "tokens", format.U4),
            self._array(format.NAME, "starts", format.U4),
            self.heavy,
            lambda pair: self._sets[format.JUNCTION, pair],
            lambda text: self._sets[format.PHRASE, text],
        )

    @cached_property
    def idents(self) -> IdLookup:
        """The index of identifiers."""
        data = self._view(format.IDENT, b"data")
        starts = self._array(format.IDENT, "starts", format.U4)
        keys = self._array(format.IDENT, "keys", format.U8)
        same_length = len(starts) == 2  # only the end of the first text is stored
        return IdLookup(
            SparseIndex(data, EvenPlaces(int(starts[1]), self.rows), keys)
            if same_length
            else SparseIndex(data, starts[:-1], keys),
            self._array(format.IDENT, "rows", format.U4),
            format.heavy_size(self.rows),
            lambda prefix: self._sets[format.PREFIX, prefix],
            *id_lookup.first_and_last(data),
        )

    def heavy(self, interval: Interval) -> Packed | Counted | None:
        """The stored union of an interval of suffixes, or its size and heads; None if there is neither."""
        return self._unions[interval]

    # -- the file ----------------------------------------------------------------------

    def entries(self, table: bytes) -> int:
        """The number of entries of a table."""
        return int(self._txn.stat(self._tables[table])["entries"])

    def size(self, table: bytes) -> int:
        """The size of a table in bytes, by whole pages of the file."""
        stat = self._txn.stat(self._tables[table])
        pages = stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"]
        return int(pages * stat["psize"])

    def items(self, table: bytes) -> Iterator[tuple[bytes, bytes]]:
        """All entries of a table by ascending key; not safe for several threads."""
        with self._txn.cursor(db=self._tables[table]) as cursor:
            for key, value in cursor:
                yield bytes(key), bytes(value)

    def values(self, table: bytes) -> Iterator[tuple[bytes, memoryview]]:
        """All entries of a table, in their order, values in place; for one thread alone."""
        with self._txn.cursor(db=self._tables[table]) as cursor:
            for key, value in cursor:
                yield bytes(key), value

    def close(self) -> None:
        """Close the file; no view of this shard may be used afterwards."""
        for views in (self._orders, self._ranks, self._steps, self._sets, self._unions):
            views.clear()
        for name in _CACHED:
            self.__dict__.pop(name, None)
        self._txn.abort()
        self._env.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _stored(self, rows: Sequence[int]) -> list[bytes]:
        """The records of `rows`: fetched in one call, decompressed one by one (zstd's bulk call took longer)."""
        decompress = self._records.decompress
        keys = [format.row_key(row) for row in rows]
        with self._lock, self._txn.cursor(db=self._tables[format.RECORD]) as cursor:
            found = cursor.getmulti(keys)
            if len(found) < len(
                keys
            ):  # getmulti leaves out absent keys; `_get` names the first of them
                for key in keys:
                    self._get(format.RECORD, key)
            return [decompress(format.ZSTD_MAGIC + packed) for _, packed in found]

    def _texts(self, table: bytes) -> Texts:
        return Texts(self._view(table, b"data"), self._array(table, "starts", format.U4))

    @cached_property
    def _facts_type(self) -> str:
        return format.facts_type(len(self.steps("effectif_desc").keys))

    def _read_steps(self, tri: str) -> KeyRuns:
        keys = self._array(format.KEY, tri, format.KEYS[tri])
        return KeyRuns(keys, self._array(format.STEP, tri, format.U4))

    def _read_set(self, name: tuple[bytes, bytes]) -> Packed | None:
        packed = self._packed(*name)
        return None if packed is None else row_sets.unpack(packed, self.rows)

    def _read_union(self, interval: Interval) -> Packed | Counted | None:
        packed = self._packed(format.HEAVY, format.interval_key(*interval))
        return None if packed is None else row_sets.unpack_union(packed, self.rows)

    def _packed(self, table: bytes, key: bytes) -> memoryview | None:
        with self._lock:
            packed: memoryview | None = self._txn.get(key, db=self._tables[table])
        return packed

    def _array(self, table: bytes, name: str, dtype: str) -> NDArray[Any]:
        view = self._view(table, name.encode())
        return np.frombuffer(view, dtype=dtype) if len(view) else np.empty(0, dtype=dtype)

    def _value(self, table: bytes, key: bytes) -> bytes:
        return bytes(self._view(table, key))

    def _view(self, table: bytes, key: bytes) -> memoryview:
        with self._lock:
            return self._get(table, key)

    def _get(self, table: bytes, key: bytes) -> memoryview:
        view: memoryview | None = self._txn.get(key, db=self._tables[table])
        if view is None:
            raise CorruptError(
                f"{self.path}: table {table.decode()} has no key {key!r}; "
                "run `python -m shards verify` and rebuild or fetch the file again"
            )
        return view

    def _table(self, name: bytes) -> Any:
        return self._env.open_db(name, txn=self._txn, create=False)
