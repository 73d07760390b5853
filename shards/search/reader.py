"""The reader of one shard: open it once, share it between threads, never write to it.

Columns, orders and indexes are views of the memory-mapped file: nothing is copied, and the page cache of the system is
the only cache. A view is made at its first use. LMDB reads every page of a value that it returns, so values are taken
from a map of the file, where `places` says that they lie (FORMAT.md §3). No view may be used after `close`.

LMDB is closed again once its table `meta` is read, so any number of threads may use a shard.
"""

import mmap
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from threading import Lock
from typing import Any, Final, NamedTuple, Self

import lmdb
import msgpack
import numpy as np
import zstandard
from numpy.typing import NDArray

from shards import format
from shards.codec import aliases, cells, codes, record, sort_keys
from shards.codec.arrays import Rows
from shards.codec.cells import Cell, CellRange, Layout
from shards.codec.chunks import Chunks
from shards.codec.folding import fold_id
from shards.codec.sort_keys import KeyRuns, Keys
from shards.codec.sparse_index import EvenPlaces, SparseIndex
from shards.codec.strings import Texts
from shards.errors import CorruptError, WrongFormatError, reading
from shards.query import ORDERS
from shards.search import id_lookup
from shards.search.id_lookup import IdLookup
from shards.search.name_lookup import NameLookup

# Cached properties, dropped at `close`.
_CACHED: Final = (
    "layout", "facts", "turnover_facts", "website_turnover", "website_headcount",
    "words", "idents", "sets", "phrases", "list_starts", "top_rows", "frames",
    "statement_rows", "statements", "spellings", "ratio_years", "_ratios", "_steps",
)  # fmt: skip
# Of each value, the bytes that are read ahead when a shard is opened.
_FIRST_BYTES: Final = 1 << 14


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
        meta = _meta(path)
        self.iso2, self.rows = format.unpack_header(meta[format.HEADER])
        with path.open("rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        try:
            self._places = _places(meta[format.PLACES], len(self._map))
            self._read_beginnings()
            self._cells = cells.load(meta[format.CELLS])
            self.longest = int.from_bytes(meta[format.LONGEST], "little")
            self.dictionary = meta[format.DICTIONARY]
        except (LookupError, ValueError, TypeError) as error:
            raise CorruptError(
                f"{path}: {error!r} in its table `meta`; build or fetch the file again"
            ) from error
        self._records = zstandard.ZstdDecompressor(
            dict_data=zstandard.ZstdCompressionDict(self.dictionary) if self.dictionary else None
        )
        self._comptes = zstandard.ZstdDecompressor()
        self._decompressing = Lock()  # a decompressor is not for two threads at once

    # -- companies -----------------------------------------------------------------

    def record(self, row: int, *, coordonnees: bool) -> bytes:
        """The JSON object of a company, UTF-8; without `coordonnees` its contact fields are null."""
        return self.records([row], coordonnees=coordonnees)[0]

    def records(self, rows: Sequence[int], *, coordonnees: bool) -> list[bytes]:
        """The JSON objects of several companies."""
        frames = self.frames
        return [
            record.decode(
                self._decompress(row, frames, row, format.ZSTD_MAGIC), coordonnees=coordonnees
            )
            for row in rows
        ]

    def company(self, row: int) -> dict[str, Any]:
        """A company as a dict of the fields of §2.1, contacts included; for display and checks."""
        return record.company(self.record(row, coordonnees=True))

    def names(self, rows: Sequence[int]) -> list[str]:
        """The names of several companies, as registered."""
        found = self.records(rows, coordonnees=False)
        return [company["nom"] for company in record.companies(b",".join(found))]

    @reading()
    def comptes(self, row: int) -> bytes | None:
        """The JSON array of a company's statement lines (contract E5), None if it has none."""
        return self._statement_parts(row)[0]

    @reading()
    def withheld(self, row: int) -> dict[int, list[str]]:
        """The codes of a company's statement lines that the build withheld, by year."""
        return record.withheld(self._statement_parts(row)[1])

    def _statement_parts(self, row: int) -> tuple[bytes | None, bytes]:
        number = self._statement(row)
        if number is None:
            return None, b""
        lines, _, withheld = self._decompress(row, self.statements, number).partition(b"\n")
        return lines, withheld

    def has_comptes(self, row: int) -> bool:
        """Whether a company has statement lines."""
        return self._statement(row) is not None

    def ratio(self, code: str) -> NDArray[np.float64]:
        """A ratio of the last year of the companies with statements, in the order of `statement_rows`."""
        found = self._ratios.get(code)
        if found is None:
            found = self._ratios[code] = self._array(format.RATIO, code, format.F8)
        return found

    @cached_property
    def _ratios(self) -> dict[str, NDArray[np.float64]]:
        return {}

    @cached_property
    def ratio_years(self) -> NDArray[np.uint16]:
        """The last year of the statements of these companies, 0 if they have no line."""
        return self._array(format.RATIO, format.YEARS.decode(), format.U2)

    def _statement(self, row: int) -> int | None:
        """The number of a company's statements among all, None if it has none."""
        rows = self.statement_rows
        number = int(rows.searchsorted(row))
        return number if number < len(rows) and rows[number] == row else None

    @reading()
    def rows_by_number(self, number: str) -> list[int]:
        """The rows of the companies with this LEI or VAT number, compared by letters and digits."""
        folded = fold_id(number)
        return [
            row
            for row in self.maybe_numbered(number)
            if folded in {fold_id(self.company(row)[field] or "") for field in aliases.FIELDS}
        ]

    def maybe_numbered(self, number: str) -> list[int]:
        """The rows of `rows_by_number`, and rarely others: no record is read, so any thread may ask."""
        keys, rows = self.aliases["keys"], self.aliases["rows"]
        wanted = np.uint64(aliases.key(number))
        first, end = keys.searchsorted(wanted), keys.searchsorted(wanted, "right")
        return [int(row) for row in rows[first:end]]

    @cached_property
    def aliases(self) -> Mapping[str, NDArray[Any]]:
        """The hashes of LEI and VAT numbers, ascending, and their rows."""
        types = {"keys": format.U8, "rows": format.U4}
        return {name: self._array(format.ALIAS, name, dtype) for name, dtype in types.items()}

    @reading()
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
        return cells.layout(self._cells)

    def cell_at(self, row: int) -> Cell:
        """The cell of a row."""
        return self._cells[bisect_right(self._cells, row, key=attrgetter("start")) - 1]

    @cached_property
    def facts(self) -> NDArray[Any]:
        """The headcount code and the website bit of each row (FORMAT.md §7)."""
        return self._array(format.COLUMN, "facts", self._facts_type)

    def codes(self, name: str) -> NDArray[Any]:
        """A column of codes: `etat`, `actif`, `tranche`, or one of `codes.COMPARED` (FORMAT.md §7)."""
        if name in ("etat", "tranche"):
            return self._array(format.COLUMN, name, "|u1")
        if name == "actif":
            return self._array(format.COLUMN, name, format.U4)
        if name == "nace":
            count = int(np.diff(self.code_array("nace.cells")).max(initial=0))
        else:
            count = len(self.code_texts(name)) + 1
        return self._array(format.COLUMN, name, codes.code_type(count))

    def actif_eur(self, row: int) -> float | None:
        """The total assets of a company in euros."""
        return self.actifs_eur([row])[0]

    @reading()
    def actifs_eur(self, rows: Sequence[int]) -> list[float | None]:
        """The total assets of several companies in euros."""
        listed = self.code_array("actif.amounts", "<f8")
        found: list[float] = codes.amounts(self.codes("actif")[np.array(rows)], listed).tolist()
        return [None if euros != euros else euros for euros in found]

    def code_texts(self, name: str) -> Texts:
        """What the codes 1, 2, … of a column of texts stand for."""
        data = self._view(format.CODE, f"{name}.data".encode())
        return Texts(data, self.code_array(f"{name}.starts"))

    def code_array(self, name: str, dtype: str = format.U4) -> NDArray[Any]:
        """An array of the table `code`."""
        return self._array(format.CODE, name, dtype)

    @cached_property
    def spellings(self) -> Texts:
        """The spellings of each town, from `ville.spelling_ends` of it on, the most frequent one first."""
        data = self._view(format.CODE, b"ville.spellings")
        return Texts(data, self.code_array("ville.spelling_starts"))

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
        found = self._steps.get(tri)
        if found is None:
            keys = self._array(format.KEY, tri, format.KEYS[tri])
            found = self._steps[tri] = KeyRuns(keys, self._array(format.STEP, tri, format.U4))
        return found

    @cached_property
    def _steps(self) -> dict[str, KeyRuns]:
        return {}

    def keys(self, tri: str, rows: Rows) -> Keys:
        """The keys of these rows in the order `tri`, any order except `nom`."""
        stored, sign = sort_keys.KEY_OF[tri]
        keys = self.steps(stored).key_at(self.rank(stored).take(rows))
        return keys if sign > 0 else -keys

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
    def frames(self) -> Chunks:
        """The compressed records, by row."""
        return self._chunks(format.RECORD, self.rows)

    @cached_property
    def statement_rows(self) -> Rows:
        """The rows with statements, ascending."""
        return self._array(format.COMPTES, format.ROWS.decode(), format.U4)

    @cached_property
    def statements(self) -> Chunks:
        """The compressed statements of these rows."""
        return self._chunks(format.COMPTES, len(self.statement_rows))

    def _chunks(self, table: bytes, count: int) -> Chunks:
        starts = self._array(table, format.STARTS.decode(), format.U4)
        chunks = range(-(-count // format.CHUNK_ROWS))
        return Chunks(starts, [self._view(table, format.chunk_key(chunk)) for chunk in chunks])

    def _decompress(self, row: int, frames: Chunks, number: int, magic: bytes = b"") -> bytes:
        decompressor = self._records if frames is self.frames else self._comptes
        try:
            with self._decompressing:
                return bytes(decompressor.decompress(magic + bytes(frames[number])))
        # The size that a changed frame claims may be immense.
        except (zstandard.ZstdError, LookupError, MemoryError) as error:
            raise CorruptError(
                f"{self.path}: row {row} is damaged ({error}); build or fetch the file again"
            ) from error

    # -- the file ----------------------------------------------------------------------

    def entries(self, table: bytes) -> int:
        """The number of entries of a table."""
        return sum(1 for name, _ in self._places if name == table)

    def size(self, table: bytes) -> int:
        """The size of the values of a table in bytes."""
        return sum(place.size for (name, _), place in self._places.items() if name == table)

    def items(self, table: bytes) -> Iterator[tuple[bytes, bytes]]:
        """All entries of a table by ascending key, as LMDB has them."""
        with _open(self.path) as env, env.begin(buffers=True) as txn:
            for key, value in txn.cursor(db=env.open_db(table, txn=txn, create=False)):
                yield bytes(key), bytes(value)

    def misplaced_values(self) -> Iterator[str]:
        """The values that are not where `places` says, as table and key."""
        left = set(self._places)
        for table in format.TABLES[1:]:
            for key, value in self.items(table):
                if (table, key) not in left or self._view(table, key) != value:
                    yield f"{table.decode()} {key!r}"
                left.discard((table, key))
        yield from (f"{table.decode()} {key!r}" for table, key in sorted(left))

    def close(self) -> None:
        """Close the file; no view of this shard may be used afterwards."""
        for name in _CACHED:
            self.__dict__.pop(name, None)
        self._places.clear()
        with suppress(BufferError):  # somebody has a view: the map is closed with the last one
            self._map.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read_beginnings(self) -> None:
        """Have the beginnings of all values read side by side: a first search would wait for one after the other."""
        for start, stop in _beginnings(self._places.values()):
            with suppress(OSError):  # an advice
                self._map.madvise(mmap.MADV_WILLNEED, start, stop - start)

    def _texts(self, table: bytes) -> Texts:
        return Texts(self._view(table, b"data"), self._array(table, "starts", format.U4))

    @cached_property
    def _facts_type(self) -> str:
        return format.facts_type(len(self.steps("effectif_desc").keys))

    def _array(self, table: bytes, name: str, dtype: str) -> NDArray[Any]:
        """An array in place; one that does not begin at a multiple of 8 is copied."""
        view = self._view(table, name.encode())
        found = np.frombuffer(view, dtype=dtype) if len(view) else np.empty(0, dtype=dtype)
        return found if found.ctypes.data % 8 == 0 else found.copy()

    def _view(self, table: bytes, key: bytes) -> memoryview:
        """A value in place."""
        place = self._places.get((table, key))
        if not self._places:
            raise ValueError(f"{self.path} is closed")
        if place is None:
            raise CorruptError(
                f"{self.path}: table {table.decode()} has no key {key!r}; "
                "run `python -m shards verify` and rebuild or fetch the file again"
            )
        return memoryview(self._map)[place.start : place.start + place.size]


def _open(path: Path) -> lmdb.Environment:
    return lmdb.open(
        str(path), subdir=False, readonly=True, lock=False, readahead=False,
        max_dbs=len(format.TABLES),
    )  # fmt: skip


def _meta(path: Path) -> dict[bytes, bytes]:
    """The values of `meta`.

    Raises:
        WrongFormatError: the file is no shard, or a shard of another format version.
        CorruptError: the file is shorter than LMDB has written it.
    """
    try:
        with _open(path) as env, env.begin() as txn:
            if (env.info()["last_pgno"] + 1) * env.stat()["psize"] > path.stat().st_size:
                raise CorruptError(f"{path} ends before its last page; build or fetch it again")
            meta = env.open_db(format.META, txn=txn, create=False)
            # Every format version has this value, so a wrong version is reported before a missing one.
            format.unpack_header(txn.get(format.HEADER, b"", db=meta))
            return dict(txn.cursor(db=meta))
    except lmdb.Error as error:
        raise WrongFormatError(
            f"{path} is not a shard ({error}); `python -m pipeline build` writes them"
        ) from error


def _beginnings(places: Iterable[_Place]) -> list[tuple[int, int]]:
    """The pages that hold the first bytes of these values, as ranges of bytes; ranges that touch are one.

    >>> _beginnings([_Place(4096, 1 << 20), _Place(20_000, 5), _Place(1 << 22, 1), _Place(7, 0)])
    [(4096, 20480), (4194304, 4194305)]
    """
    found: list[tuple[int, int]] = []
    for start, size in sorted(place for place in places if place.size):
        first, stop = start & ~(mmap.PAGESIZE - 1), start + min(size, _FIRST_BYTES)
        if found and first <= found[-1][1]:
            first, stop = found[-1][0], max(stop, found.pop()[1])
        found.append((first, stop))
    return found


def _places(packed: bytes, size: int) -> dict[tuple[bytes, bytes], _Place]:
    """The places of all values, which lie in a file of `size` bytes.

    Raises:
        CorruptError: some do not.
    """
    try:
        places = {
            (table.encode(), key): _Place(start, length)
            for table, key, start, length in msgpack.unpackb(packed)
        }
        if all(0 <= start <= start + length <= size for start, length in places.values()):
            return places
    except (ValueError, TypeError, AttributeError):
        pass  # no list of places
    raise CorruptError("the places of its values are damaged; build or fetch the file again")
