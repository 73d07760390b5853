"""The arrays of all shards of a generation, by address, for the compiled search.

The arrays are gathered once for a generation. This module checks that their lengths agree with each other.
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

CellCode = tuple[str, str]  # the codes of a sector and a sub-sector
_NO_CODE: Final = "\U0010ffff"  # stands for null; sorts after every other code


class GenerationArrays:
    """The arrays of all shards, in memory that compiled code reads, and the numbers of shards, sectors and cells.

    Attributes:
        isos, numbers: the country of each shard number, and the reverse.
        sectors, cells: the number of each sector, and of each pair of a sector and a sub-sector.
        groups: the cells of each sub-sector.
        kinds: by kind (a column of codes, the bands of an order, or the cells), its slots in the counts of a census.
        amounts: by shard number, the amounts of total assets that codes refer to by index (`codes.listed_amounts`).
        record, address: the record of the generation for the kernel, and its address.
        allowed: the number of bytes of `Scratch.allowed`, which marks the codes that a query allows.
        expects_scans: whether the read-ahead of the system is on.

    Raises:
        CorruptError: an array of a shard is shorter than another one needs; `path` is the path of the shard.
    """

    def __init__(self, shards: Mapping[str, Shard]) -> None:
        """Number the shards, sectors and cells in sorted order, and gather and place the arrays."""
        self.isos = sorted(shards)
        self.shards = [shards[iso2] for iso2 in self.isos]
        self.numbers = {iso2: number for number, iso2 in enumerate(self.isos)}
        sectors: set[str] = set()
        cells: set[CellCode] = set()
        for shard in self.shards:
            with translate_errors(str(shard.path)):
                sectors.update(shard.layout.sectors)
                cells.update(map(_cell_code, shard.layout.cells))
        self.sectors = {code: number for number, code in enumerate(sorted(sectors))}
        self.cells = {code: number for number, code in enumerate(sorted(cells))}
        self.groups: dict[str, list[CellCode]] = {}
        for code in self.cells:
            self.groups.setdefault(code[1], []).append(code)
        self.kinds = [slice(0)] * types.KINDS  # set by `_place_counts`
        self._memory = Memory()
        self.amounts: list[NDArray[np.float64]] = []
        self.record = self._build()
        self.address = self._memory.place(self.record)
        self.expects_scans = False

    def expect_scans(self) -> None:
        """Turn on the read-ahead of the system: searches will read through the files."""
        if not self.expects_scans:
            self.expects_scans = True
            for shard in self.shards:
                shard.file.expect_scans()

    def _build(self) -> types.Table:
        """Gather the arrays of all shards in the record for the kernel; give each shard its range of working memory.

        The range begins at `first_mark` (marks of rows), `first_cell` (marks of cells) and `first_code` (marks of
        allowed codes). `Table.parts` are ranges of rows: each cell and each sector of each shard. This method also sets
        `kinds`, `amounts` (by shard, the total assets that its codes refer to) and `allowed` (the room for the marks of
        codes).
        """
        table = types.Table()
        table.shard_count = len(self.shards)
        table.shards, table.parts = [], []
        # By shard and sector, and by shard and cell: the index of the part, or -1 if the shard has no such part.
        sector_parts = np.full((len(self.shards), len(self.sectors)), -1, np.int64)
        cell_parts = np.full((len(self.shards), len(self.cells)), -1, np.int64)
        first_mark = first_cell = first_code = 0
        for number, shard in enumerate(self.shards):
            with translate_errors(str(shard.path)):
                arrays = _shard_arrays(shard)
                self.amounts.append(shard.code_array("actif.amounts", "<f8"))
                arrays.first_part = len(table.parts)
                for cell, part in zip(shard.layout.cells, shard.layout.single, strict=True):
                    cell_parts[number, self.cells[_cell_code(cell)]] = len(table.parts)
                    table.parts.append(_part_record(shard, part, cell.with_ca))
                for sector, part in shard.layout.sectors.items():
                    sector_parts[number, self.sectors[sector]] = len(table.parts)
                    table.parts.append(_part_record(shard, part, part.start))
            arrays.first_mark, arrays.first_cell = first_mark, first_cell
            first_mark += (shard.rows + 31) >> 5  # 32 marks of rows in each number
            first_cell += arrays.cell_count
            arrays.first_code = [0] * types.COLUMNS
            for column in range(types.COLUMNS):
                arrays.first_code[column] = first_code  # NACE: a code per cell and activity
                first_code += max(arrays.code_count[column], arrays.pair_count)
            table.shards.append(arrays)
        self._place_counts(table.shards)
        table.sector_parts, table.sector_count = view(sector_parts), len(self.sectors)
        table.cell_parts, table.cell_count = view(cell_parts), len(self.cells)
        self.allowed = first_code
        return table

    def _place_counts(self, shards: Sequence[types.ShardArrays]) -> None:
        """Assign an index in the counts of a census to each slot; the slots of a kind are adjacent."""
        first = 0
        for shard in shards:
            shard.first_count = [0] * types.KINDS
        for kind in range(types.KINDS):
            start = first
            for shard in shards:
                shard.first_count[kind] = first
                first += shard.run_count[kind]
            self.kinds[kind] = slice(start, first)


def _cell_code(cell: Cell) -> CellCode:
    """The codes of a cell, with _NO_CODE for null."""
    return cell.secteur or _NO_CODE, cell.sous_secteur or _NO_CODE


def _shard_arrays(shard: Shard) -> types.ShardArrays:
    """The arrays of one shard, with checked lengths; `_build` later sets its range of the working memory.

    Raises:
        CorruptError: the shard has too many rows, or arrays that do not fit each other.
    """
    arrays = types.ShardArrays()
    layout = shard.layout
    if shard.rows > types.MOST_ROWS:
        raise CorruptError(f"{shard.path}: {shard.rows} rows, more than a shard may have; {REMEDY}")
    arrays.rows, arrays.cell_count = shard.rows, len(layout.cells)
    arrays.with_site = sum(cell.with_site for cell in layout.cells)
    arrays.site_bit = format.website_bit(shard.facts.dtype.str)
    _set_cells(arrays, shard)
    _set_facts(arrays, shard)
    _set_codes(arrays, shard)
    _set_activities(arrays, shard)
    arrays.order = [view(shard.order(tri)) for tri in ORDERS]
    arrays.order_size = [len(shard.order(tri)) for tri in ORDERS]
    arrays.rank = [_row_array(shard, shard.rank(KEY_OF.get(tri, (tri,))[0])) for tri in ORDERS]
    _set_keys(arrays, shard)
    _set_runs(arrays, shard)
    _set_words(arrays, shard)
    _set_ids(arrays, shard)
    _set_sets(arrays, shard)
    _set_records(arrays, shard)
    return arrays


def _set_cells(arrays: types.ShardArrays, shard: Shard) -> None:
    """Set where the rows of each cell end, and the cell of every 64th row, where searches for a cell begin."""
    stops = np.array([cell.stop for cell in shard.layout.cells], np.int64)
    if (np.diff(stops, prepend=0) <= 0).any() or stops[-1:].tolist() != [shard.rows][: len(stops)]:
        raise CorruptError(
            f"{shard.path}: the cells do not cover the rows one after the other; {REMEDY}"
        )
    cells_of_64th_rows = stops.searchsorted(np.arange(0, shard.rows, 64), side="right")
    arrays.cell_marks = view(cells_of_64th_rows.astype(np.uint16))
    arrays.cell_stops = view(stops.astype(np.uint32))


def _set_codes(arrays: types.ShardArrays, shard: Shard) -> None:
    """Set the arrays of each column of codes, at the number of the column in `kernel.types`."""
    empty = view(np.empty(0, np.uint8))
    arrays.small, arrays.code_texts = [empty] * types.COLUMNS, [empty] * types.COLUMNS
    arrays.half, arrays.broad, arrays.code_ends, arrays.code_starts = (
        [empty] * types.COLUMNS for _ in range(4)
    )
    arrays.code_width, arrays.code_count, arrays.code_sizes = (
        [0] * types.COLUMNS for _ in range(3)
    )
    columns = {types.TRANCHE: shard.codes("tranche")} | {
        search_column.number: shard.rank(search_column.codes)
        if search_column.codes in ORDERS
        else shard.codes(search_column.codes)
        for search_column in COLUMNS.values()
        if search_column.number >= 0
    }
    for column, codes in columns.items():
        width = codes.dtype.itemsize
        arrays.code_width[column] = width
        if width == 1:
            arrays.small[column] = _row_array(shard, codes)
        else:
            (arrays.half if width == 2 else arrays.broad)[column] = _row_array(shard, codes)
    ends = shard.code_array("etat.ends")
    _require_length(shard, len(ends), STATE_CODES + 1)
    _set_ends(arrays, shard, types.COMPTES, ends)
    # The number of rows of each state, without and with statements.
    state_counts = np.diff(ends).reshape(2, STATEMENTS).sum(axis=0)
    _set_ends(arrays, shard, types.ETAT, np.append(0, state_counts.cumsum()).astype(np.uint32))
    for name in COMPARED:
        column, texts = COLUMNS[name].number, shard.code_texts(name)
        arrays.code_texts[column], arrays.code_sizes[column] = (
            memoryview(texts.data),
            len(texts.data),
        )
        arrays.code_starts[column] = view(texts.starts)
        _set_ends(arrays, shard, column, shard.code_array(f"{name}.ends"))
        _require_length(shard, arrays.code_count[column], len(texts) + 1)
    arrays.quantiles = view(shard.code_array("actif.quantiles"))
    arrays.quantile_count = len(arrays.quantiles)
    arrays.assets = int(shard.code_array("actif.known").sum())


def _check_sums(shard: Shard, ends: NDArray[np.uint32]) -> None:
    """Raise CorruptError unless the ends of adjacent ranges ascend from 0 to the number of rows of the shard."""
    if ends[0] or (ends[1:] < ends[:-1]).any() or ends[-1] != shard.rows:
        raise CorruptError(
            f"{shard.path}: the counts of its codes do not add up to its rows; {REMEDY}"
        )


def _set_ends(
    arrays: types.ShardArrays, shard: Shard, column: int, ends: NDArray[np.uint32]
) -> None:
    """Set where the rows of each code of a column end, and the number of codes."""
    _check_sums(shard, ends)
    arrays.code_ends[column], arrays.code_count[column] = view(ends), len(ends) - 1


def _set_runs(arrays: types.ShardArrays, shard: Shard) -> None:
    """Set the slots of a census by kind: where the rows of each code, band, activity or cell end.

    For a kind of bands, the slot of every 64th place of the order is also set, where the search for a slot begins.
    """
    arrays.run_ends = [view(np.empty(0, np.uint32))] * types.KINDS
    arrays.run_marks = [view(np.empty(0, np.uint16))] * types.KINDS
    arrays.run_count = [0] * types.KINDS
    names = {types.FORME: "forme", types.VILLE: "ville", types.TRANCHE: "tranche"}
    ends = {kind: shard.code_array(f"{name}.ends") for kind, name in names.items()}
    _require_length(shard, len(ends[types.TRANCHE]), bands.HEADCOUNT_CODES + 1)
    ends[types.ETAT] = np.asarray(arrays.code_ends[types.ETAT])
    ends[types.NACE] = shard.code_array("nace.code_ends")
    ends[types.BY_CELL] = np.append(0, arrays.cell_stops).astype(np.uint32)
    for tri in bands.BANDED:
        kind = types.COLUMNS + ORDERS.index(tri)
        # A copy: these numbers bound writes to working memory, so they must not change after the check.
        ends[kind] = shard.code_array(f"{tri}.ends").copy()
        places = np.arange(0, shard.rows, 64)
        marks = ends[kind][1:].searchsorted(places, side="right").astype(np.uint16)
        arrays.run_marks[kind] = view(marks)
    for kind, run_ends in ends.items():
        _check_sums(shard, run_ends)
        arrays.run_ends[kind], arrays.run_count[kind] = view(run_ends), len(run_ends) - 1


def _set_activities(arrays: types.ShardArrays, shard: Shard) -> None:
    """Set the activities of each cell: one pair per cell and activity, and where the rows of each pair end."""
    starts, codes, ends = map(shard.code_array, ("nace.cells", "nace.codes", "nace.code_ends"))
    # A copy: these numbers bound writes to working memory, so they must not change after the check.
    starts = starts.copy()
    arrays.pair_count = len(codes)
    _require_length(shard, len(starts), arrays.cell_count + 1)
    _require_length(shard, len(ends), len(codes) + 1)
    if (np.diff(starts.astype(np.int64), prepend=0, append=len(codes)) < 0).any():
        raise CorruptError(
            f"{shard.path}: the activities of its cells do not follow each other; {REMEDY}"
        )
    arrays.pair_cells, arrays.pair_codes, arrays.pair_ends = view(starts), view(codes), view(ends)


def _set_records(arrays: types.ShardArrays, shard: Shard) -> None:
    """Set the compressed records and their dictionary."""
    arrays.record_starts = _row_array(shard, shard.frames.starts)
    chunks = shard.frames.chunks
    arrays.record_chunks = view(np.array([address_of(chunk) for chunk in chunks], np.uint64))
    arrays.record_sizes = view(np.array([len(chunk) for chunk in chunks], np.uint64))
    library, dictionary = libzstd(), shard.file.value(format.RECORD, format.DICTIONARY)
    arrays.dictionary = library.dictionary(shard, bytes(dictionary)) if library else 0


def _set_sets(arrays: types.ShardArrays, shard: Shard) -> None:
    """Set the stored first rows of large cells and sectors, the row sets of frequent texts, and the indexes of sets."""
    arrays.top, arrays.top_size = view(shard.top_rows), len(shard.top_rows)
    arrays.sets, arrays.sets_size = view(shard.sets), len(shard.sets)
    for name in (format.HEAVY, format.PREFIX, format.JUNCTION):
        index = shard.set_index(name)
        _require_length(shard, len(index.places), len(index.keys))
        setattr(arrays, f"{name.decode()}_keys", view(index.keys))
        setattr(arrays, f"{name.decode()}_places", view(index.places))
        setattr(arrays, f"{name.decode()}_count", len(index.keys))
    texts, places = shard.phrases
    arrays.phrases, arrays.phrases_size = memoryview(texts.data), len(texts.data)
    arrays.phrase_starts, arrays.phrase_places = view(texts.starts), view(places)
    arrays.phrase_count = len(places)
    _require_length(shard, len(texts), len(places))


def _row_array(shard: Shard, array: NDArray[Any]) -> memoryview:
    """An array with one entry for each row, checked."""
    _require_length(shard, len(array), shard.rows)
    return view(array)


def _require_length(shard: Shard, length: int, expected: int) -> None:
    """Raise CorruptError if an array has another number of entries than `expected`."""
    if length != expected:
        raise CorruptError(
            f"{shard.path}: an array has {length} entries instead of {expected}; {REMEDY}"
        )


def _set_facts(arrays: types.ShardArrays, shard: Shard) -> None:
    """Set the facts of rows (headcount code and website), by row and in the order `ca_desc`.

    Also sets the places of the rows with a website in `ca_desc` and `effectif_desc`. Facts of 16 and of 32 bits have
    their own arrays, of which one is empty.
    """
    arrays.turnover_count = shard.steps("ca_desc").non_null_count
    _require_length(shard, len(shard.turnover_facts), arrays.turnover_count)
    if arrays.turnover_count > shard.rows:
        raise CorruptError(f"{shard.path}: more rows have a turnover than there are; {REMEDY}")
    empty_arrays = np.empty(0, np.uint16), np.empty(0, np.uint32)
    arrays.wide = int(shard.facts.dtype.itemsize == 4)
    facts, wide_facts = (
        (empty_arrays[0], shard.facts) if arrays.wide else (shard.facts, empty_arrays[1])
    )
    _require_length(shard, len(shard.facts), shard.rows)
    turnover_facts = shard.turnover_facts
    arrays.facts, arrays.wide_facts = view(facts), view(wide_facts)
    arrays.turnover_facts = view(empty_arrays[0] if arrays.wide else turnover_facts)
    arrays.wide_turnover_facts = view(turnover_facts if arrays.wide else empty_arrays[1])
    arrays.sites_turnover = view(shard.website_turnover)
    arrays.sites_turnover_count = len(shard.website_turnover)
    arrays.sites_headcount = view(shard.website_headcount)
    arrays.sites_headcount_count = len(shard.website_headcount)


def _set_keys(arrays: types.ShardArrays, shard: Shard) -> None:
    """Set the distinct keys (steps) of each order, the first place of each step, and the length of the longest step."""
    turnovers = shard.steps("ca_desc")
    steps_by_order = [shard.steps(KEY_OF[tri][0]) if tri in KEY_OF else turnovers for tri in ORDERS]
    for steps in steps_by_order:
        _require_length(shard, len(steps.places), len(steps.keys) + 1)
    arrays.steps = [view(steps.places) for steps in steps_by_order]
    arrays.step_count = [len(steps.keys) for steps in steps_by_order]
    arrays.longest = shard.longest
    for tri, order_size in zip(ORDERS, arrays.order_size, strict=True):
        if tri in KEY_OF and order_size < min(
            shard.rows, shard.steps(KEY_OF[tri][0]).non_null_count
        ):
            raise CorruptError(
                f"{shard.path}: the order {tri} ends before its last value; {REMEDY}"
            )
    arrays.turnover_keys = view(shard.steps("ca_desc").keys)
    arrays.capital_keys = view(shard.steps("capital_desc").keys)
    arrays.headcount_keys = view(shard.steps("effectif_desc").keys)
    arrays.date_keys = view(shard.steps("recent").keys)
    arrays.score_keys = view(shard.steps("score").keys)


def _set_words(arrays: types.ShardArrays, shard: Shard) -> None:
    """Set the index of names: the words, the suffixes of words, the rows of each word, and the words of each row."""
    index = shard.words
    arrays.words, arrays.words_size = memoryview(index.words.data), len(index.words.data)
    arrays.word_starts, arrays.word_count = view(index.words.starts), len(index.words)
    arrays.beginnings = view(np.zeros(types.ONE_BYTE * types.ONE_BYTE + 2, np.uint32))
    arrays.owners = view(index.owners)
    _require_length(shard, len(index.owners), -(-arrays.words_size // format.OWNED))
    arrays.suffixes, arrays.suffix_count = view(index.suffixes.places), len(index.suffixes.places)
    arrays.suffix_keys = view(index.suffixes.keys)
    _require_length(shard, len(index.suffixes.keys), -(-arrays.suffix_count // format.SAMPLED))
    arrays.posting_starts = view(index.starts)
    _require_length(shard, len(index.starts), arrays.word_count + 1)
    arrays.postings, arrays.posting_count = view(index.postings), len(index.postings)
    arrays.tokens, arrays.token_count = view(index.tokens), len(index.tokens)
    arrays.token_starts = view(index.token_starts)
    _require_length(shard, len(index.token_starts), shard.rows + 1)


def _set_ids(arrays: types.ShardArrays, shard: Shard) -> None:
    """Set the index of identifiers."""
    folded = shard.idents.folded
    # Identifiers of equal length begin at computed places, so only the width is needed.
    even = isinstance(folded.places, EvenPlaces)
    arrays.ids, arrays.ids_size = memoryview(folded.data), len(folded.data)
    arrays.id_width = (folded.places[1] if shard.rows > 1 else 1) if even else 0
    arrays.id_starts = view(np.empty(0, np.uint32) if even else np.asarray(folded.places))
    arrays.id_keys = view(folded.keys)
    _require_length(shard, len(folded.places), shard.rows)
    _require_length(shard, len(folded.keys), -(-shard.rows // format.SAMPLED))
    arrays.id_rows = _row_array(shard, shard.idents.rows)


def _part_record(shard: Shard, part: CellRange, known_stop: int) -> types.Part:
    """The record of a sector or a cell, checked.

    Args:
        known_stop: for a cell the end of its rows with a turnover; for a sector its start, because it is not used.
    """
    record = types.Part()
    record.start, record.stop, record.first_cell, record.end_cell = (
        part.start,
        part.stop,
        part.first,
        part.end,
    )
    record.with_ca, record.sites, record.known_stop = part.with_ca, part.with_site, known_stop
    if not 0 <= part.start <= known_stop <= part.stop <= shard.rows:
        raise CorruptError(
            f"{shard.path}: the cell {part.place} has rows outside the shard; {REMEDY}"
        )
    start = shard.list_starts.get(part.place)
    record.listed = 0 if start is None else min(format.TOP_ROWS, part.stop - part.start)
    record.top = start or 0
    if record.top + len(ORDERS) * record.listed > len(shard.top_rows):
        raise CorruptError(f"{shard.path}: the lists of {part.place} are not there; {REMEDY}")
    return record


# -- libzstd of this machine, by address -------------------------------------------------------

# Compiled code decompresses the records of a page in one call. The package `zstandard` has no such function, and does
# not export its own copy of the library. Nearly every Linux system has libzstd, because its package manager uses it;
# without libzstd, records are decompressed one by one.

_FORMAT: Final = 1000  # the parameter ZSTD_d_format: whether frames begin with their magic number
_MAGICLESS: Final = 1  # its value for the frames of a shard, which have no magic number


class LibZstd:
    """The functions of libzstd that decompress records."""

    def __init__(self, library: Any) -> None:
        """Declare the C types of the functions that Python calls, and find the address of the one for compiled code."""
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
        address: int = self._library.ZSTD_createDCtx()
        weakref.finalize(owner, self._library.ZSTD_freeDCtx, address)
        self._library.ZSTD_DCtx_setParameter(address, _FORMAT, _MAGICLESS)
        return address

    def dictionary(self, owner: object, content: bytes) -> int:
        """The address of a prepared dictionary, which lives as long as its owner."""
        address: int = self._library.ZSTD_createDDict(content, len(content))
        weakref.finalize(owner, self._library.ZSTD_freeDDict, address)
        return address


@cache
def libzstd() -> LibZstd | None:
    """The libzstd of this machine; None if the machine has none."""
    try:
        return LibZstd(ctypes.CDLL("libzstd.so.1"))
    except (OSError, AttributeError):
        return None
