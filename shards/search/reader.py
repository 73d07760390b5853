"""The reader of one shard: open it once, share it between threads, never write to it.

Columns, orders and indexes are views of the memory-mapped file: nothing is copied, and the page cache of the system is
the only cache. A view is made at its first use. LMDB reads every page of a value that it returns, so large values are
mapped without it, where `places` of the file says (FORMAT.md §3). No view may be used after `close`.

The statements and small values come from the read transaction of the shard, which serves one thread at a time, so every
use of it is under a lock. Views need none.
"""

import mmap
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, Final, NamedTuple, Self

import lmdb
import msgpack
import numpy as np
import orjson
import zstandard
from numpy.typing import NDArray

from shards import format
from shards.codec import cells, record, sort_keys
from shards.codec.arrays import Rows
from shards.codec.cells import CellRange, Layout
from shards.codec.folding import fold_id
from shards.codec.sort_keys import KeyRuns, Keys
from shards.codec.sparse_index import EvenPlaces, SparseIndex
from shards.codec.strings import Texts
from shards.errors import CorruptError, WrongFormatError
from shards.query import ORDERS
from shards.search import id_lookup
from shards.search.id_lookup import IdLookup
from shards.search.name_lookup import NameLookup

# Cached properties, dropped at `close`.
_CACHED: Final = (
    "layout", "cell_of", "facts", "turnover_facts", "website_turnover", "website_headcount",
    "words", "idents", "sets", "phrases", "list_starts", "top_rows", "record_starts",
    "record_chunks",
)  # fmt: skip


class _Place(NamedTuple):
    """Where a large value lies in the file."""

    start: int
    size: int


class SetIndex(NamedTuple):
    """Row sets by number: the keys, ascending, and the place of each set in `Shard.sets`."""

    keys: NDArray[np.uint64]
    places: NDArray[np.uint32]


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
        self._places: dict[tuple[bytes, bytes], _Place] = {}
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
        with path.open("rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        self._places = self._read_places()
        self.dictionary = self._value(format.META, format.DICTIONARY)
        self._records = zstandard.ZstdDecompressor(
            dict_data=zstandard.ZstdCompressionDict(self.dictionary) if self.dictionary else None
        )
        self._comptes = zstandard.ZstdDecompressor()

    # -- companies -----------------------------------------------------------------

    def record(self, row: int, *, coordonnees: bool) -> bytes:
        """The JSON object of a company, UTF-8; without `coordonnees` its contact fields are null."""
        return self.records([row], coordonnees=coordonnees)[0]

    def records(self, rows: Sequence[int], *, coordonnees: bool) -> list[bytes]:
        """The JSON objects of several companies."""
        return [record.decode(self._stored(row), coordonnees=coordonnees) for row in rows]

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
        keys = self._array(format.KEY, tri, format.KEYS[tri])
        return KeyRuns(keys, self._array(format.STEP, tri, format.U4))

    def keys(self, tri: str, rows: Rows) -> Keys:
        """The keys of these rows in the order `tri`, any order except `nom`."""
        stored, sign = sort_keys.KEY_OF[tri]
        keys = self.steps(stored).key_at(self.rank(stored).take(rows))
        return keys if sign > 0 else -keys

    @cached_property
    def longest(self) -> int:
        """The number of rows of the most frequent turnover."""
        return int.from_bytes(self._value(format.META, format.LONGEST), "little")

    def order(self, tri: str) -> Rows:
        """The rows in the order `tri`; of the rows that are null in it, only the first TOP_ROWS."""
        return self._array(format.ORDER, tri, format.U4)

    def rank(self, tri: str) -> Rows:
        """The place of each row in the order `tri`, any order except `ca_asc`."""
        return self._array(format.RANK, tri, format.U4)

    @cached_property
    def list_starts(self) -> Mapping[str, int]:
        """Where the lists of the sectors (`62`) and cells (`62/62.0`) that have some begin in `top_rows`."""
        return cells.list_starts(self.layout)

    @cached_property
    def top_rows(self) -> Rows:
        """The first rows of these sectors and cells, order by order."""
        return self._array(format.TOP, format.ROWS.decode(), format.U4)

    def top(self, part: CellRange, tri: str) -> Rows:
        """The first rows of a sector or cell of TOP_LEAST rows or more in the order `tri`."""
        size = min(format.TOP_ROWS, part.stop - part.start)
        start = self.list_starts[part.place] + size * ORDERS.index(tri)
        return self.top_rows[start : start + size]

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
        )

    @cached_property
    def sets(self) -> NDArray[np.uint32]:
        """All stored row sets (FORMAT.md §8); one at place p begins at index 2 × p."""
        return self._array(format.SET, format.ROWS.decode(), format.U4)

    def set_index(self, table: bytes) -> SetIndex:
        """The keys of the sets of `heavy`, `junction` or `prefix`, and their places."""
        return SetIndex(
            self._array(table, "keys", format.U8), self._array(table, "places", format.U4)
        )

    @cached_property
    def phrases(self) -> tuple[Texts, NDArray[np.uint32]]:
        """The texts of `phrase`, sorted, and the places of their sets."""
        return self._texts(format.PHRASE), self._array(format.PHRASE, "places", format.U4)

    # -- records -----------------------------------------------------------------------

    @cached_property
    def record_starts(self) -> NDArray[np.uint32]:
        """Where the record of each row begins in its chunk."""
        return self._array(format.RECORD, format.STARTS.decode(), format.U4)

    @cached_property
    def record_chunks(self) -> Sequence[memoryview]:
        """The records of CHUNK_ROWS rows each, the last chunk excepted."""
        chunks = range(-(-self.rows // format.CHUNK_ROWS))
        return [self._view(format.RECORD, format.row_key(chunk)) for chunk in chunks]

    def _stored(self, row: int) -> bytes:
        """The content of a record, as `record.encode` made it."""
        try:
            return bytes(self._records.decompress(format.ZSTD_MAGIC + self._frame(row)))
        except (zstandard.ZstdError, LookupError) as error:
            raise CorruptError(
                f"{self.path}: the record of row {row} is damaged ({error}); build or fetch the file again"
            ) from error

    def _frame(self, row: int) -> bytes:
        """The compressed bytes of a record."""
        chunk, place = divmod(row, format.CHUNK_ROWS)
        held = self.record_chunks[chunk]
        last = place == format.CHUNK_ROWS - 1 or row == self.rows - 1
        end = len(held) if last else int(self.record_starts[row + 1])
        return bytes(held[int(self.record_starts[row]) : end])

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

    def misplaced(self) -> Iterator[str]:
        """The large values that are not where `places` says, as table and key; not safe for several threads."""
        left = set(self._places)
        for table in format.TABLES:
            with self._txn.cursor(db=self._tables[table]) as cursor:
                for key, value in cursor if table != format.COMPTES else ():
                    if len(value) >= format.PLACED:
                        name = table, bytes(key)
                        if name not in left or self._view(*name) != value:
                            yield f"{table.decode()} {name[1]!r}"
                        left.discard(name)
        yield from (f"{table.decode()} {key!r}" for table, key in sorted(left))

    def close(self) -> None:
        """Close the file; no view of this shard may be used afterwards."""
        for name in _CACHED:
            self.__dict__.pop(name, None)
        self._places.clear()
        self._txn.abort()
        self._env.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _texts(self, table: bytes) -> Texts:
        return Texts(self._view(table, b"data"), self._array(table, "starts", format.U4))

    @cached_property
    def _facts_type(self) -> str:
        return format.facts_type(len(self.steps("effectif_desc").keys))

    def _read_places(self) -> dict[tuple[bytes, bytes], _Place]:
        try:
            places = {
                (table.encode(), key): _Place(start, size)
                for table, key, start, size in msgpack.unpackb(
                    self._value(format.META, format.PLACES)
                )
            }
            if all(0 <= start <= start + size <= len(self._map) for start, size in places.values()):
                return places
        except (ValueError, TypeError, AttributeError):
            pass  # no list of places
        raise CorruptError(
            f"{self.path}: the places of its values are damaged; build or fetch the file again"
        )

    def _array(self, table: bytes, name: str, dtype: str) -> NDArray[Any]:
        view = self._view(table, name.encode())
        return np.frombuffer(view, dtype=dtype) if len(view) else np.empty(0, dtype=dtype)

    def _value(self, table: bytes, key: bytes) -> bytes:
        return bytes(self._view(table, key))

    def _view(self, table: bytes, key: bytes) -> memoryview:
        """A value in place; a small one is copied, so that its address is a multiple of 8."""
        place = self._places.get((table, key))
        if place is not None:
            return memoryview(self._map)[place.start : place.start + place.size]
        with self._lock:
            return memoryview(bytes(self._get(table, key)))

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
