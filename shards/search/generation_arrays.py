"""A generation as the compiled search reads it: the arrays of all shards, and where they lie.

Made once for a generation. Every length that a search relies on is compared with the file here.
"""

import ctypes
import weakref
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shards import format
from shards.codec import bands
from shards.codec.cells import Cell, CellRange
from shards.codec.codes import COMPARED, STATE_CODES, STATEMENTS
from shards.codec.sort_keys import KEY_OF
from shards.codec.strings import EvenPlaces
from shards.errors import REMEDY, CorruptError, translate_errors
from shards.kernel import types
from shards.kernel.memory import Memory, address_of, view
from shards.query import ORDERS
from shards.reader.shard import Shard
from shards.search.columns import COLUMNS

CellCode = tuple[str, str]  # of a sector and of a sub-sector
_NO_CODE: Final = "\U0010ffff"  # for none: comes after every other code


class GenerationArrays:
    """The arrays of all shards in memory that compiled code reads, and sectors and cells by number.

    Raises:
        CorruptError: an array of a shard is shorter than another one needs; `path` is that of its file.
    """

    def __init__(self, shards: Mapping[str, Shard]) -> None:
        self.isos = sorted(shards)
        self.shards = [shards[iso2] for iso2 in self.isos]
        self.numbers = {iso2: number for number, iso2 in enumerate(self.isos)}
        sectors: set[str] = set()
        cells: set[CellCode] = set()
        for shard in self.shards:
            with translate_errors(str(shard.path)):
                sectors.update(shard.layout.sectors)
                cells.update(map(_code, shard.layout.cells))
        self.sectors = {code: number for number, code in enumerate(sorted(sectors))}
        self.cells = {code: number for number, code in enumerate(sorted(cells))}
        self.groups: dict[str, list[CellCode]] = {}
        for code in self.cells:
            self.groups.setdefault(code[1], []).append(code)
        self.kinds = [slice(0)] * types.KINDS  # of a census, in its counts
        self._memory = Memory()
        self.amounts: list[NDArray[np.float64]] = []
        self.record = self._build()
        self.address = self._memory.place(self.record)
        self.expects_scans = False

    def expect_scans(self) -> None:
        """Have the system read on from what a search asks of the files, since it will ask for more."""
        if not self.expects_scans:
            self.expects_scans = True
            for shard in self.shards:
                shard.file.expect_scans()

    def _build(self) -> types.Table:
        made = types.Table()
        made.shard_count = len(self.shards)
        made.shards, made.parts = [], []
        sector_parts = np.full((len(self.shards), len(self.sectors)), -1, np.int64)
        cell_parts = np.full((len(self.shards), len(self.cells)), -1, np.int64)
        first_mark = first_cell = first_code = 0
        for number, shard in enumerate(self.shards):
            with translate_errors(str(shard.path)):
                found = _shard(shard)
                self.amounts.append(shard.code_array("actif.amounts", "<f8"))
                found.first_part = len(made.parts)
                for cell, part in zip(shard.layout.cells, shard.layout.single, strict=True):
                    cell_parts[number, self.cells[_code(cell)]] = len(made.parts)
                    made.parts.append(_part(shard, part, cell.with_ca))
                for sector, part in shard.layout.sectors.items():
                    sector_parts[number, self.sectors[sector]] = len(made.parts)
                    made.parts.append(_part(shard, part, part.start))
            found.first_mark, found.first_cell = first_mark, first_cell
            first_mark += (shard.rows + 31) >> 5
            first_cell += found.cell_count
            found.first_code = [0] * types.COLUMNS
            for column in range(types.COLUMNS):
                found.first_code[column] = first_code
                first_code += max(found.code_count[column], found.pair_count)
            made.shards.append(found)
        self._place_counts(made.shards)
        made.sector_parts, made.sector_count = view(sector_parts), len(self.sectors)
        made.cell_parts, made.cell_count = view(cell_parts), len(self.cells)
        self.allowed = first_code
        return made

    def _place_counts(self, shards: Sequence[types.ShardArrays]) -> None:
        """Give each slot of each kind of a census its place; those of a kind are neighbours."""
        first = 0
        for shard in shards:
            shard.first_count = [0] * types.KINDS
        for kind in range(types.KINDS):
            start = first
            for shard in shards:
                shard.first_count[kind] = first
                first += shard.run_count[kind]
            self.kinds[kind] = slice(start, first)


def _code(cell: Cell) -> CellCode:
    return cell.secteur or _NO_CODE, cell.sous_secteur or _NO_CODE


def _shard(shard: Shard) -> types.ShardArrays:
    made = types.ShardArrays()
    layout = shard.layout
    if shard.rows > types.MOST_ROWS:
        raise CorruptError(f"{shard.path}: {shard.rows} rows, more than a shard may have; {REMEDY}")
    made.rows, made.cell_count = shard.rows, len(layout.cells)
    made.with_site = sum(cell.with_site for cell in layout.cells)
    made.site_bit = format.website_bit(shard.facts.dtype.str)
    _set_cells(made, shard)
    _set_facts(made, shard)
    _set_codes(made, shard)
    _set_activities(made, shard)
    made.order = [view(shard.order(tri)) for tri in ORDERS]
    made.order_size = [len(shard.order(tri)) for tri in ORDERS]
    made.rank = [_column(shard, shard.rank(KEY_OF.get(tri, (tri,))[0])) for tri in ORDERS]
    _set_keys(made, shard)
    _set_runs(made, shard)
    _set_words(made, shard)
    _set_ids(made, shard)
    _set_sets(made, shard)
    _set_records(made, shard)
    return made


def _set_cells(made: types.ShardArrays, shard: Shard) -> None:
    stops = np.array([cell.stop for cell in shard.layout.cells], np.int64)
    if (np.diff(stops, prepend=0) <= 0).any() or stops[-1:].tolist() != [shard.rows][: len(stops)]:
        raise CorruptError(
            f"{shard.path}: its cells do not follow each other up to its last row; {REMEDY}"
        )
    marks = stops.searchsorted(np.arange(0, shard.rows, 64), side="right")
    made.cell_marks, made.cell_stops = view(marks.astype(np.uint16)), view(stops.astype(np.uint32))


def _set_codes(made: types.ShardArrays, shard: Shard) -> None:
    """The columns of codes, in the order of `kernel.types`."""
    none = view(np.empty(0, np.uint8))
    made.small, made.code_texts = [none] * types.COLUMNS, [none] * types.COLUMNS
    made.half, made.broad, made.code_ends, made.code_starts = (
        [none] * types.COLUMNS for _ in range(4)
    )
    made.code_width, made.code_count, made.code_sizes = ([0] * types.COLUMNS for _ in range(3))
    held = {types.TRANCHE: shard.codes("tranche")} | {
        one.number: shard.rank(one.codes) if one.codes in ORDERS else shard.codes(one.codes)
        for one in COLUMNS.values()
        if one.number >= 0
    }
    for column, codes in held.items():
        width = codes.dtype.itemsize
        made.code_width[column] = width
        if width == 1:
            made.small[column] = _column(shard, codes)
        else:
            (made.half if width == 2 else made.broad)[column] = _column(shard, codes)
    ends = shard.code_array("etat.ends")
    _require_length(shard, len(ends), STATE_CODES + 1)
    _set_ends(made, shard, types.COMPTES, ends)
    counts = np.diff(ends).reshape(2, STATEMENTS).sum(axis=0)
    _set_ends(made, shard, types.ETAT, np.append(0, counts.cumsum()).astype(np.uint32))
    for name in COMPARED:
        column, texts = COLUMNS[name].number, shard.code_texts(name)
        made.code_texts[column], made.code_sizes[column] = memoryview(texts.data), len(texts.data)
        made.code_starts[column] = view(texts.starts)
        _set_ends(made, shard, column, shard.code_array(f"{name}.ends"))
        _require_length(shard, made.code_count[column], len(texts) + 1)
    made.quantiles = view(shard.code_array("actif.quantiles"))
    made.quantile_count = len(made.quantiles)
    made.assets = int(shard.code_array("actif.known").sum())


def _check_sums(shard: Shard, ends: NDArray[np.uint32]) -> None:
    """Check that the ends of neighbouring ranges ascend from 0 to the rows of the shard."""
    if ends[0] or (ends[1:] < ends[:-1]).any() or ends[-1] != shard.rows:
        raise CorruptError(
            f"{shard.path}: the counts of its codes do not add up to its rows; {REMEDY}"
        )


def _set_ends(made: types.ShardArrays, shard: Shard, column: int, ends: NDArray[np.uint32]) -> None:
    _check_sums(shard, ends)
    made.code_ends[column], made.code_count[column] = view(ends), len(ends) - 1


def _set_runs(made: types.ShardArrays, shard: Shard) -> None:
    """What a census counts: codes, bands of orders, activities and cells."""
    made.run_ends = [view(np.empty(0, np.uint32))] * types.KINDS
    made.run_marks = [view(np.empty(0, np.uint16))] * types.KINDS
    made.run_count = [0] * types.KINDS
    names = {types.FORME: "forme", types.VILLE: "ville", types.TRANCHE: "tranche"}
    ends = {kind: shard.code_array(f"{name}.ends") for kind, name in names.items()}
    _require_length(shard, len(ends[types.TRANCHE]), bands.HEADCOUNT_CODES + 1)
    ends[types.ETAT] = np.asarray(made.code_ends[types.ETAT])
    ends[types.NACE] = shard.code_array("nace.code_ends")
    ends[types.BY_CELL] = np.append(0, made.cell_stops).astype(np.uint32)
    for tri in bands.BANDED:
        kind = types.COLUMNS + ORDERS.index(tri)
        ends[kind] = shard.code_array(f"{tri}.ends").copy()  # slots are counted by these bounds
        places = np.arange(0, shard.rows, 64)
        marks = ends[kind][1:].searchsorted(places, side="right").astype(np.uint16)
        made.run_marks[kind] = view(marks)
    for kind, found in ends.items():
        _check_sums(shard, found)
        made.run_ends[kind], made.run_count[kind] = view(found), len(found) - 1


def _set_activities(made: types.ShardArrays, shard: Shard) -> None:
    """The activities of each cell."""
    starts, codes, ends = map(shard.code_array, ("nace.cells", "nace.codes", "nace.code_ends"))
    starts = (
        starts.copy()
    )  # slots are written by these bounds: what is checked here is what is used
    made.pair_count = len(codes)
    _require_length(shard, len(starts), made.cell_count + 1)
    _require_length(shard, len(ends), len(codes) + 1)
    if (np.diff(starts.astype(np.int64), prepend=0, append=len(codes)) < 0).any():
        raise CorruptError(
            f"{shard.path}: the activities of its cells do not follow each other; {REMEDY}"
        )
    made.pair_cells, made.pair_codes, made.pair_ends = view(starts), view(codes), view(ends)


def _set_records(made: types.ShardArrays, shard: Shard) -> None:
    made.record_starts = _column(shard, shard.frames.starts)
    chunks = shard.frames.chunks
    made.record_chunks = view(np.array([address_of(chunk) for chunk in chunks], np.uint64))
    made.record_sizes = view(np.array([len(chunk) for chunk in chunks], np.uint64))
    library, dictionary = libzstd(), shard.file.value(format.RECORD, format.DICTIONARY)
    made.dictionary = library.dictionary(shard, bytes(dictionary)) if library else 0


def _set_sets(made: types.ShardArrays, shard: Shard) -> None:
    made.top, made.top_size = view(shard.top_rows), len(shard.top_rows)
    made.sets, made.sets_size = view(shard.sets), len(shard.sets)
    for name in (format.HEAVY, format.PREFIX, format.JUNCTION):
        index = shard.set_index(name)
        _require_length(shard, len(index.places), len(index.keys))
        setattr(made, f"{name.decode()}_keys", view(index.keys))
        setattr(made, f"{name.decode()}_places", view(index.places))
        setattr(made, f"{name.decode()}_count", len(index.keys))
    texts, places = shard.phrases
    made.phrases, made.phrases_size = memoryview(texts.data), len(texts.data)
    made.phrase_starts, made.phrase_places = view(texts.starts), view(places)
    made.phrase_count = len(places)
    _require_length(shard, len(texts), len(places))


def _column(shard: Shard, array: NDArray[Any]) -> memoryview:
    _require_length(shard, len(array), shard.rows)
    return view(array)


def _require_length(shard: Shard, length: int, expected: int) -> None:
    if length != expected:
        raise CorruptError(
            f"{shard.path}: an array has {length} entries instead of {expected}; {REMEDY}"
        )


def _set_facts(made: types.ShardArrays, shard: Shard) -> None:
    made.known = shard.steps("ca_desc").known_rows
    _require_length(shard, len(shard.turnover_facts), made.known)
    if made.known > shard.rows:
        raise CorruptError(f"{shard.path}: more rows have a turnover than there are; {REMEDY}")
    none = np.empty(0, np.uint16), np.empty(0, np.uint32)
    made.wide = int(shard.facts.dtype.itemsize == 4)
    facts, wide_facts = (none[0], shard.facts) if made.wide else (shard.facts, none[1])
    _require_length(shard, len(shard.facts), shard.rows)
    along = shard.turnover_facts
    made.facts, made.wide_facts = view(facts), view(wide_facts)
    made.turnover_facts = view(none[0] if made.wide else along)
    made.wide_turnover_facts = view(along if made.wide else none[1])
    made.sites_turnover = view(shard.website_turnover)
    made.sites_turnover_count = len(shard.website_turnover)
    made.sites_headcount = view(shard.website_headcount)
    made.sites_headcount_count = len(shard.website_headcount)


def _set_keys(made: types.ShardArrays, shard: Shard) -> None:
    none = shard.steps("ca_desc")
    by_order = [shard.steps(KEY_OF[tri][0]) if tri in KEY_OF else none for tri in ORDERS]
    for runs in by_order:
        _require_length(shard, len(runs.places), len(runs.keys) + 1)
    made.steps = [view(runs.places) for runs in by_order]
    made.step_count = [len(runs.keys) for runs in by_order]
    made.longest = shard.longest
    for tri, least in zip(ORDERS, made.order_size, strict=True):
        if tri in KEY_OF and least < min(shard.rows, shard.steps(KEY_OF[tri][0]).known_rows):
            raise CorruptError(
                f"{shard.path}: the order {tri} ends before its last value; {REMEDY}"
            )
    made.turnover_keys = view(shard.steps("ca_desc").keys)
    made.capital_keys = view(shard.steps("capital_desc").keys)
    made.headcount_keys = view(shard.steps("effectif_desc").keys)
    made.date_keys = view(shard.steps("recent").keys)
    made.score_keys = view(shard.steps("score").keys)


def _set_words(made: types.ShardArrays, shard: Shard) -> None:
    index = shard.words
    made.words, made.words_size = memoryview(index.words.data), len(index.words.data)
    made.word_starts, made.word_count = view(index.words.starts), len(index.words)
    made.beginnings = view(np.zeros(types.ONE_BYTE * types.ONE_BYTE + 2, np.uint32))
    made.owners = view(index.owners)
    _require_length(shard, len(index.owners), -(-made.words_size // format.OWNED))
    made.suffixes, made.suffix_count = view(index.suffixes.places), len(index.suffixes.places)
    made.suffix_keys = view(index.suffixes.keys)
    _require_length(shard, len(index.suffixes.keys), -(-made.suffix_count // format.SAMPLED))
    made.posting_starts = view(index.starts)
    _require_length(shard, len(index.starts), made.word_count + 1)
    made.postings, made.posting_count = view(index.postings), len(index.postings)
    made.tokens, made.token_count = view(index.tokens), len(index.tokens)
    made.token_starts = view(index.token_starts)
    _require_length(shard, len(index.token_starts), shard.rows + 1)


def _set_ids(made: types.ShardArrays, shard: Shard) -> None:
    folded = shard.idents.folded
    even = isinstance(folded.places, EvenPlaces)
    made.ids, made.ids_size = memoryview(folded.data), len(folded.data)
    made.id_width = (folded.places[1] if shard.rows > 1 else 1) if even else 0
    made.id_starts = view(np.empty(0, np.uint32) if even else np.asarray(folded.places))
    made.id_keys = view(folded.keys)
    _require_length(shard, len(folded.places), shard.rows)
    _require_length(shard, len(folded.keys), -(-shard.rows // format.SAMPLED))
    made.id_rows = _column(shard, shard.idents.rows)


def _part(shard: Shard, part: CellRange, known_stop: int) -> types.Part:
    made = types.Part()
    made.start, made.stop, made.first, made.end = part.start, part.stop, part.first, part.end
    made.with_ca, made.sites, made.known_stop = part.with_ca, part.with_site, known_stop
    if not 0 <= part.start <= known_stop <= part.stop <= shard.rows:
        raise CorruptError(
            f"{shard.path}: the cell {part.place} has rows outside the shard; {REMEDY}"
        )
    start = shard.list_starts.get(part.place)
    made.listed = 0 if start is None else min(format.TOP_ROWS, part.stop - part.start)
    made.top = start or 0
    if made.top + len(ORDERS) * made.listed > len(shard.top_rows):
        raise CorruptError(f"{shard.path}: the lists of {part.place} are not there; {REMEDY}")
    return made


# -- libzstd of this machine, by address -------------------------------------------------------

# Compiled code decompresses the records of a page in one call. The package `zstandard` has no such function, and keeps
# its own copy of the library to itself. libzstd is part of nearly every Linux system, because the package managers use
# it; where it is missing, records are decompressed one by one.

_FORMAT: Final = 1000  # ZSTD_d_format: frames begin with or without their magic number
_MAGICLESS: Final = 1


class LibZstd:
    """The functions of libzstd that records need."""

    def __init__(self, library: Any) -> None:
        self._library = library
        for name in ("ZSTD_createDCtx", "ZSTD_createDDict"):
            getattr(library, name).restype = ctypes.c_void_p
        library.ZSTD_createDDict.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        library.ZSTD_DCtx_setParameter.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
        for name in ("ZSTD_freeDCtx", "ZSTD_freeDDict"):
            getattr(library, name).argtypes = [ctypes.c_void_p]
        function = ctypes.cast(library.ZSTD_decompress_usingDDict, ctypes.c_void_p)
        self.decompress = function.value

    def context(self, owner: object) -> int:
        """The address of a decompression context, which lives as long as its owner."""
        made: int = self._library.ZSTD_createDCtx()
        weakref.finalize(owner, self._library.ZSTD_freeDCtx, made)
        self._library.ZSTD_DCtx_setParameter(made, _FORMAT, _MAGICLESS)
        return made

    def dictionary(self, owner: object, content: bytes) -> int:
        """The address of a prepared dictionary, which lives as long as its owner; an empty one has none."""
        made: int = self._library.ZSTD_createDDict(content, len(content))
        weakref.finalize(owner, self._library.ZSTD_freeDDict, made)
        return made


@cache
def libzstd() -> LibZstd | None:
    """The library; None where this machine has none."""
    try:
        return LibZstd(ctypes.CDLL("libzstd.so.1"))
    except (OSError, AttributeError):
        return None
