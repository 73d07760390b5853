"""The reader of one shard: open it once, share it between threads, never write to it.

Columns, orders and indexes are views of the mapped file (`shard_file`), in the page cache of the system; only short
arrays that are not aligned are copied. A view is made at its first use. No view may be used after `close`.
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
from shards.codec.sort_keys import KeyRuns, Keys
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
                self._decompress(row, frames, row, format.MOST_RECORD, format.ZSTD_MAGIC),
                coordonnees=coordonnees,
            )
            for row in rows
        ]

    def company(self, row: int) -> dict[str, Any]:
        """A company as a dict of the fields of §2.1, contacts included; for display and checks."""
        return record.company(self.record(row, coordonnees=True))

    def companies(self, rows: Sequence[int]) -> list[dict[str, Any]]:
        """Several companies, as `company` does."""
        return record.companies(b",".join(self.records(rows, coordonnees=True)))

    def names(self, rows: Sequence[int]) -> list[str]:
        """The names of several companies, as registered."""
        return [company["nom"] for company in self.companies(rows)]

    @translate_errors()
    def comptes(self, row: int) -> bytes | None:
        """The JSON array of a company's statement lines (contract E5), None if it has none."""
        return self._statement_parts(row)[0]

    @translate_errors()
    def withheld_codes(self, row: int) -> dict[int, list[str]]:
        """The codes of a company's statement lines that the build withheld, by year."""
        return record.withheld_codes(self._statement_parts(row)[1])

    def _statement_parts(self, row: int) -> tuple[bytes | None, bytes]:
        number = self._statement(row)
        if number is None:
            return None, b""
        text = self._decompress(row, self.statements, number, format.MOST_STATEMENTS)
        lines, _, withheld = text.partition(b"\n")
        return lines, withheld

    def has_comptes(self, row: int) -> bool:
        """Whether a company has statement lines."""
        return self._statement(row) is not None

    def ratio(self, code: str) -> NDArray[np.float64]:
        """A ratio of the last year of the companies with statements, in the order of `statement_rows`."""
        found = self._ratios.get(code)
        if found is None:
            found = self._ratios[code] = self.file.array(format.RATIO, code, format.F8)
        return found

    @cached_property
    def _ratios(self) -> dict[str, NDArray[np.float64]]:
        return {}

    @cached_property
    def ratio_years(self) -> NDArray[np.uint16]:
        """The last year of the statements of these companies, 0 if they have no line."""
        return self.file.array(format.RATIO, format.YEARS.decode(), format.U2)

    @cached_property
    def ratio_orders(self) -> Mapping[str, NDArray[np.uint32]]:
        """By code, the places of the known values in `ratio`, ascending by value."""
        held = (self.file.array(format.RATIO, name, format.U4) for name in format.RATIO_ORDERS)
        return dict(zip(ordered_codes(), np.split(*held), strict=False))

    def _statement(self, row: int) -> int | None:
        """The number of a company's statements among all, None if it has none."""
        rows = self.statement_rows
        number = int(rows.searchsorted(row))
        return number if number < len(rows) and rows[number] == row else None

    @cached_property
    def courts(self) -> list[str]:
        """The codes of the courts that number the companies."""
        return lookups.courts(self.idents) if self.rows else []

    @translate_errors()
    def rows_by_number(self, number: str) -> list[int]:
        """The rows of the companies with this LEI or VAT number, compared by letters and digits."""
        folded = fold_id(number)
        return [
            row
            for row in self.maybe_numbered(number)
            if folded in {fold_id(self.company(row)[field] or "") for field in codes.ALIASES}
        ]

    def maybe_numbered(self, number: str) -> list[int]:
        """The rows of `rows_by_number`, and rarely others: no record is read, so any thread may ask."""
        keys, rows = self.aliases["keys"], self.aliases["rows"]
        wanted = np.uint64(codes.alias_key(number))
        first, end = keys.searchsorted(wanted), keys.searchsorted(wanted, "right")
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
        if name == "nace":
            count = int(np.diff(self.code_array("nace.cells")).max(initial=0))
        else:
            count = len(self.code_texts(name)) + 1
        return self.file.array(format.COLUMN, name, codes.code_type(count))

    @translate_errors()
    def actifs_eur(self, rows: Sequence[int]) -> list[float | None]:
        """The total assets of several companies in euros."""
        listed = self.code_array("actif.amounts", "<f8")
        found: list[float] = codes.amounts(self.codes("actif")[np.array(rows)], listed).tolist()
        return [None if euros != euros else euros for euros in found]

    def code_texts(self, name: str) -> Texts:
        """What the codes 1, 2, … of a column of texts stand for."""
        data = self.file.value(format.CODE, f"{name}.data".encode())
        return Texts(data, self.code_array(f"{name}.starts"))

    def code_array(self, name: str, dtype: str = format.U4) -> NDArray[Any]:
        """An array of the table `code`."""
        return self.file.array(format.CODE, name, dtype)

    @cached_property
    def spellings(self) -> Texts:
        """The spellings of each town, from `ville.spelling_ends` of it on, the most frequent one first."""
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
        """The distinct keys of an order of `format.KEYS`, with the places where each begins."""
        found = self._steps.get(tri)
        if found is None:
            keys = self.file.array(format.KEY, tri, format.KEYS[tri])
            found = self._steps[tri] = KeyRuns(keys, self.file.array(format.STEP, tri, format.U4))
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
        return self.file.array(format.ORDER, tri, format.U4)

    def rank(self, tri: str) -> Rows:
        """The place of each row in the order `tri`, any order except `ca_asc`."""
        return self.file.array(format.RANK, tri, format.U4)

    @cached_property
    def list_starts(self) -> Mapping[str, int]:
        """Where the lists of the sectors (`62`) and cells (`62/62.0`) that have some begin in `top_rows`."""
        return cells.list_starts(self.layout)

    @cached_property
    def top_rows(self) -> Rows:
        """The first rows of these sectors and cells, order by order."""
        return self.file.array(format.TOP, format.ROWS.decode(), format.U4)

    def first_rows(self, part: CellRange, tri: str) -> Rows:
        """The first rows of a sector or cell of TOP_LEAST rows or more in the order `tri`."""
        size = min(format.TOP_ROWS, part.stop - part.start)
        start = self.list_starts[part.place] + size * ORDERS.index(tri)
        return self.top_rows[start : start + size]

    # -- names and identifiers -------------------------------------------------------

    @cached_property
    def words(self) -> NameLookup:
        """The index of the words of names."""
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
        """The index of identifiers."""
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
        """All stored row sets (FORMAT.md §8); one at place p begins at index 2 × p."""
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
        """The compressed statements of these rows."""
        return self._chunks(format.COMPTES, len(self.statement_rows))

    def _chunks(self, table: bytes, count: int) -> Chunks:
        starts = self.file.array(table, format.STARTS.decode(), format.U4)
        numbers = range(-(-count // format.CHUNK_ROWS))
        return Chunks(starts, [self.file.value(table, format.chunk_key(n)) for n in numbers])

    def _decompress(
        self, row: int, frames: Chunks, number: int, most: int, magic: bytes = b""
    ) -> bytes:
        try:
            with self._decompressing:
                decompressor = self._plain_and_trained[frames is self.frames]
                return decompress(magic + bytes(frames[number]), most, decompressor)
        except (zstandard.ZstdError, LookupError, ValueError) as error:
            raise CorruptError(
                f"{self.path}: row {row} is damaged ({error}); build or fetch the file again"
            ) from error

    @cached_property
    def _plain_and_trained(self) -> tuple[zstandard.ZstdDecompressor, zstandard.ZstdDecompressor]:
        held = self.file.value(format.RECORD, format.DICTIONARY)
        known = zstandard.ZstdCompressionDict(held) if held else None
        return zstandard.ZstdDecompressor(), zstandard.ZstdDecompressor(dict_data=known)

    def close(self) -> None:
        """Close the file; no view of this shard may be used afterwards."""
        for name in _CACHED:
            self.__dict__.pop(name, None)
        self.file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @cached_property
    def _facts_type(self) -> str:
        return format.facts_type(len(self.steps("effectif_desc").keys))
