"""The reader of one shard: open it once, share it between threads, never write to it.

Columns, orders and indexes are views of the mapped file (`shard_file`), in the page cache of the system; only arrays
that are not aligned are copied. A view is created at its first use. Do not use a view after `close`.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from threading import Lock
from typing import Any, Final, NamedTuple, Self

import numpy as np
import zstandard
from numpy.typing import NDArray

from shards import format
from shards.codec import cells, codes, record, sort_keys
from shards.codec.arrays import Rows
from shards.codec.cells import Cell, CellRange, Layout
from shards.codec.folding import fold_id
from shards.codec.record import Chunks, decompress
from shards.codec.sort_keys import KeyRuns, SortKeys
from shards.codec.strings import EvenPlaces, SparseIndex, Texts
from shards.errors import CorruptError, translate_errors
from shards.query import ORDERS
from shards.ratios.ratio_table import ordered_codes
from shards.reader import lookups, shard_file
from shards.reader.lookups import IdLookup, NameLookup
from shards.reader.shard_file import ShardFile

# Cached properties, dropped at `close`.
_CACHED: Final = (
    "layout", "facts", "turnover_facts", "website_turnover", "website_headcount",
    "words", "idents", "courts", "sets", "phrases", "list_starts", "top_rows", "frames",
    "statement_rows", "statements", "spellings", "ratio_years", "ratio_orders", "_ratios", "_steps",
)  # fmt: skip


# The number of a shard in `GenerationArrays.shards`, and a row of this shard.
ShardRow = tuple[int, int]


class CompanyRow(NamedTuple):
    """A company: its country and its row in the shard of this country."""

    iso2: str
    row: int


class SetIndex(NamedTuple):
    """Row sets by numeric key: the keys, ascending, and the place of each set in `Shard.sets`."""

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
            WrongFormatError: the file is not a shard, or a shard of another format version.
        """
        self.path = path
        meta = shard_file.read_meta(path)
        self.iso2, self.rows = format.unpack_header(meta[format.HEADER])
        try:
            self.file = ShardFile(path, meta[format.PLACES])
            self._cells = cells.load(meta[format.CELLS])
            self.longest = int.from_bytes(meta[format.LONGEST], "little")
        except (LookupError, ValueError, TypeError) as error:
            raise CorruptError(
                f"{path}: {error!r} in its table `meta`; build or fetch the file again"
            ) from error
        self._decompressor_lock = Lock()  # a decompressor can serve only one thread at a time

    # -- companies -----------------------------------------------------------------

    def record(self, row: int, *, coordonnees: bool) -> bytes:
        """The JSON object of a company, UTF-8; without `coordonnees` its contact fields are null."""
        return self.records([row], coordonnees=coordonnees)[0]

    def records(self, rows: Sequence[int], *, coordonnees: bool) -> list[bytes]:
        """The JSON objects of several companies, in the order of `rows`; without `coordonnees`, contacts are null."""
        frames = self.frames
        return [
            record.decode(
                self._decompress(row, frames, row, format.MOST_RECORD, format.ZSTD_MAGIC),
                coordonnees=coordonnees,
            )
            for row in rows
        ]

    def company(self, row: int) -> dict[str, Any]:
        """A company as a dict of the fields of §2.1, contacts included; for display and checks."""
        return record.company(self.record(row, coordonnees=True))

    def companies(self, rows: Sequence[int]) -> list[dict[str, Any]]:
        """Several companies, in the form of `company`."""
        return record.companies(b",".join(self.records(rows, coordonnees=True)))

    def names(self, rows: Sequence[int]) -> list[str]:
        """The names of several companies, as registered."""
        return [company["nom"] for company in self.companies(rows)]

    @translate_errors()
    def comptes(self, row: int) -> bytes | None:
        """The JSON array of a company's statement lines (contract E5); None if it has no statements."""
        return self._statement_parts(row)[0]

    @translate_errors()
    def withheld_codes(self, row: int) -> dict[int, list[str]]:
        """The codes of a company's statement lines that the build withheld, by year."""
        return record.withheld_codes(self._statement_parts(row)[1])

    def _statement_parts(self, row: int) -> tuple[bytes | None, bytes]:
        """The JSON of a company's statement lines (None without statements), and of its withheld codes."""
        index = self._statement_index(row)
        if index is None:
            return None, b""
        text = self._decompress(row, self.statements, index, format.MOST_STATEMENTS)
        lines, _, withheld = text.partition(b"\n")
        return lines, withheld

    def has_comptes(self, row: int) -> bool:
        """Whether a company has statement lines."""
        return self._statement_index(row) is not None

    def ratio(self, code: str) -> NDArray[np.float64]:
        """A ratio of the last year of the companies with statements, in the order of `statement_rows`."""
        values = self._ratios.get(code)
        if values is None:
            values = self._ratios[code] = self.file.array(format.RATIO, code, format.F8)
        return values

    @cached_property
    def _ratios(self) -> dict[str, NDArray[np.float64]]:
        """The ratios that are read already, by code."""
        return {}

    @cached_property
    def ratio_years(self) -> NDArray[np.uint16]:
        """The last year of the statements of each company in `statement_rows`; 0 if it has no statement line."""
        return self.file.array(format.RATIO, format.YEARS.decode(), format.U2)

    @cached_property
    def ratio_orders(self) -> Mapping[str, NDArray[np.uint32]]:
        """For each code of a ratio, the indexes in `ratio` of the values that are not null, ascending by value."""
        arrays = (self.file.array(format.RATIO, name, format.U4) for name in format.RATIO_ORDERS)
        # `np.split` at the ends of the lists also returns an empty part after the last end.
        return dict(zip(ordered_codes(), np.split(*arrays), strict=False))

    def _statement_index(self, row: int) -> int | None:
        """The index of a company in `statement_rows`; None if it has no statements."""
        rows = self.statement_rows
        index = int(rows.searchsorted(row))
        return index if index < len(rows) and rows[index] == row else None

    @cached_property
    def courts(self) -> list[str]:
        """The codes of courts in the identifiers of the companies."""
        return lookups.courts(self.idents) if self.rows else []

    @translate_errors()
    def rows_by_number(self, number: str) -> list[int]:
        """The rows of the companies with this LEI or VAT number, compared by letters and digits with the records."""
        folded = fold_id(number)
        return [
            row
            for row in self.rows_by_hash(number)
            if folded in {fold_id(self.company(row)[field] or "") for field in codes.ALIASES}
        ]

    def rows_by_hash(self, number: str) -> list[int]:
        """The rows of `rows_by_number`, and rarely others of equal hash; reads no record, so any thread can call it."""
        keys, rows = self.aliases["keys"], self.aliases["rows"]
        key = np.uint64(codes.alias_key(number))
        first, end = keys.searchsorted(key), keys.searchsorted(key, "right")
        return [int(row) for row in rows[first:end]]

    @cached_property
    def aliases(self) -> Mapping[str, NDArray[Any]]:
        """The hashes of LEI and VAT numbers, ascending, and their rows."""
        types = {"keys": format.U8, "rows": format.U4}
        return {name: self.file.array(format.ALIAS, name, dtype) for name, dtype in types.items()}

    @translate_errors()
    def find(self, identifier: str) -> int | None:
        """The row of `identifier`: the exact match, else the only match by letters and digits (contract E2)."""
        folded = fold_id(identifier)
        alike = lookups.rows_equal_to(self.idents, folded).tolist()
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
        return self.file.array(format.COLUMN, "facts", self._facts_type)

    def codes(self, name: str) -> NDArray[Any]:
        """A column of codes: `etat`, `actif`, `tranche`, or one of `codes.COMPARED` (FORMAT.md §7)."""
        if name in ("etat", "tranche"):
            return self.file.array(format.COLUMN, name, "|u1")
        if name == "actif":
            return self.file.array(format.COLUMN, name, format.U4)
        # The type of the other columns depends on the number of codes, for `nace` on the most codes of one cell.
        if name == "nace":
            count = int(np.diff(self.code_array("nace.cells")).max(initial=0))
        else:
            count = len(self.code_texts(name)) + 1
        return self.file.array(format.COLUMN, name, codes.code_type(count))

    @translate_errors()
    def actifs_eur(self, rows: Sequence[int]) -> list[float | None]:
        """The total assets of several companies in euros."""
        amounts_by_code = self.code_array("actif.amounts", "<f8")
        amounts: list[float] = codes.amounts(
            self.codes("actif")[np.array(rows)], amounts_by_code
        ).tolist()
        # Only NaN differs from itself.
        return [None if euros != euros else euros for euros in amounts]

    def code_texts(self, name: str) -> Texts:
        """The texts of the codes 1, 2, … of a column of texts."""
        data = self.file.value(format.CODE, f"{name}.data".encode())
        return Texts(data, self.code_array(f"{name}.starts"))

    def code_array(self, name: str, dtype: str = format.U4) -> NDArray[Any]:
        """An array of the table `code`."""
        return self.file.array(format.CODE, name, dtype)

    @cached_property
    def spellings(self) -> Texts:
        """The spellings of all towns, town by town, the most frequent first; `ville.spelling_ends` bounds the towns."""
        data = self.file.value(format.CODE, b"ville.spellings")
        return Texts(data, self.code_array("ville.spelling_starts"))

    @cached_property
    def turnover_facts(self) -> NDArray[Any]:
        """The facts of the rows with a turnover, in the order `ca_desc`."""
        return self.file.array(format.SORTED, "facts", self._facts_type)

    @cached_property
    def website_turnover(self) -> Rows:
        """The places in `ca_desc` of the rows with a turnover and a website."""
        return self.file.array(format.WEBSITE, "ca_desc", format.U4)

    @cached_property
    def website_headcount(self) -> Rows:
        """The places in `effectif_desc` of the rows with a headcount and a website."""
        return self.file.array(format.WEBSITE, "effectif_desc", format.U4)

    def steps(self, tri: str) -> KeyRuns:
        """The distinct keys (steps) of an order of `format.KEYS`, with the place where each begins; read once."""
        runs = self._steps.get(tri)
        if runs is None:
            keys = self.file.array(format.KEY, tri, format.KEYS[tri])
            runs = self._steps[tri] = KeyRuns(keys, self.file.array(format.STEP, tri, format.U4))
        return runs

    @cached_property
    def _steps(self) -> dict[str, KeyRuns]:
        """The keys that are read already, by order."""
        return {}

    def keys(self, tri: str, rows: Rows) -> SortKeys:
        """The keys of these rows in the order `tri`, any order except `nom`."""
        # `ca_asc` has no stored keys: its keys are those of `ca_desc` with the other sign.
        stored, sign = sort_keys.KEY_OF[tri]
        keys = self.steps(stored).key_at(self.rank(stored).take(rows))
        return keys if sign > 0 else -keys

    def order(self, tri: str) -> Rows:
        """The rows in the order `tri`; of the rows that are null in it, only the first TOP_ROWS."""
        return self.file.array(format.ORDER, tri, format.U4)

    def rank(self, tri: str) -> Rows:
        """The place of each row in the order `tri`, any order except `ca_asc`."""
        return self.file.array(format.RANK, tri, format.U4)

    @cached_property
    def list_starts(self) -> Mapping[str, int]:
        """The index in `top_rows` of the lists of each sector (`62`) and cell (`62/62.0`) that has lists."""
        return cells.list_starts(self.layout)

    @cached_property
    def top_rows(self) -> Rows:
        """The first rows of each sector and cell in `list_starts`, order by order."""
        return self.file.array(format.TOP, format.ROWS.decode(), format.U4)

    def first_rows(self, part: CellRange, tri: str) -> Rows:
        """The stored first rows in the order `tri` of a sector or cell, which must have TOP_LEAST rows or more."""
        size = min(format.TOP_ROWS, part.stop - part.start)
        start = self.list_starts[part.place] + size * ORDERS.index(tri)
        return self.top_rows[start : start + size]

    # -- names and identifiers -------------------------------------------------------

    @cached_property
    def words(self) -> NameLookup:
        """The index of names: their words, the suffixes of words, the rows of each word, and the words of each row."""
        texts = self.file.texts(format.WORD)
        return NameLookup(
            texts,
            self.file.array(format.WORD, "owners", format.U4),
            SparseIndex(
                texts.data,
                self.file.array(format.WORD, "suffixes", format.U4),
                self.file.array(format.WORD, "suffix_keys", format.U8),
            ),
            self.file.array(format.WORD, "posting_starts", format.U4),
            self.file.array(format.WORD, "postings", format.U4),
            self.file.array(format.NAME, "tokens", format.U4),
            self.file.array(format.NAME, "starts", format.U4),
        )

    @cached_property
    def idents(self) -> IdLookup:
        """The index of identifiers, folded and sorted; the places of identifiers of equal length are computed."""
        data = self.file.value(format.IDENT, b"data")
        starts = self.file.array(format.IDENT, "starts", format.U4)
        keys = self.file.array(format.IDENT, "keys", format.U8)
        same_length = len(starts) == 2  # only the end of the first text is stored
        return IdLookup(
            SparseIndex(data, EvenPlaces(int(starts[1]), self.rows), keys)
            if same_length
            else SparseIndex(data, starts[:-1], keys),
            self.file.array(format.IDENT, "rows", format.U4),
        )

    @cached_property
    def sets(self) -> NDArray[np.uint32]:
        """All stored row sets (FORMAT.md §8); the set at place p begins at index 2 × p."""
        return self.file.array(format.SET, format.ROWS.decode(), format.U4)

    def set_index(self, table: bytes) -> SetIndex:
        """The keys of the sets of `heavy`, `junction` or `prefix`, and their places."""
        return SetIndex(
            self.file.array(table, "keys", format.U8), self.file.array(table, "places", format.U4)
        )

    @cached_property
    def phrases(self) -> tuple[Texts, NDArray[np.uint32]]:
        """The texts of `phrase`, sorted, and the places of their sets."""
        return self.file.texts(format.PHRASE), self.file.array(format.PHRASE, "places", format.U4)

    # -- records -----------------------------------------------------------------------

    @cached_property
    def frames(self) -> Chunks:
        """The compressed records, by row."""
        return self._chunks(format.RECORD, self.rows)

    @cached_property
    def statement_rows(self) -> Rows:
        """The rows with statements, ascending."""
        return self.file.array(format.COMPTES, format.ROWS.decode(), format.U4)

    @cached_property
    def statements(self) -> Chunks:
        """The compressed statements of the rows in `statement_rows`."""
        return self._chunks(format.COMPTES, len(self.statement_rows))

    def _chunks(self, table: bytes, count: int) -> Chunks:
        """The `count` frames of a table, with CHUNK_ROWS frames in every chunk except the last."""
        starts = self.file.array(table, format.STARTS.decode(), format.U4)
        chunks = range(-(-count // format.CHUNK_ROWS))  # the quotient is rounded up
        return Chunks(starts, [self.file.value(table, format.chunk_key(chunk)) for chunk in chunks])

    def _decompress(
        self, row: int, frames: Chunks, number: int, most: int, magic: bytes = b""
    ) -> bytes:
        """The content of frame `number`, at most `most` bytes; `row` is for errors.

        Frames of records are stored without their first bytes, which `magic` puts back.

        Raises:
            CorruptError: the frame is damaged or too long.
        """
        try:
            with self._decompressor_lock:
                # Records have the dictionary (index True, 1), statements have none (index 0).
                decompressor = self._plain_and_trained[frames is self.frames]
                return decompress(magic + bytes(frames[number]), most, decompressor)
        except (zstandard.ZstdError, LookupError, ValueError) as error:
            raise CorruptError(
                f"{self.path}: row {row} is damaged ({error}); build or fetch the file again"
            ) from error

    @cached_property
    def _plain_and_trained(self) -> tuple[zstandard.ZstdDecompressor, zstandard.ZstdDecompressor]:
        """The decompressor without a dictionary (statements), and with the dictionary (records)."""
        content = self.file.value(format.RECORD, format.DICTIONARY)
        dictionary = zstandard.ZstdCompressionDict(content) if content else None
        return zstandard.ZstdDecompressor(), zstandard.ZstdDecompressor(dict_data=dictionary)

    def close(self) -> None:
        """Close the file. Do not use a view of this shard afterwards."""
        for name in _CACHED:
            self.__dict__.pop(name, None)
        self.file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @cached_property
    def _facts_type(self) -> str:
        """The NumPy type of `facts`, which depends on the number of distinct headcounts."""
        return format.facts_type(len(self.steps("effectif_desc").keys))
