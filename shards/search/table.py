"""A generation as the compiled search reads it: the arrays of all shards, and where they lie.

Made once for a generation. Every length that a search relies on is compared with the file here.
"""

import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shards import format
from shards.codec.cells import Cell, CellRange
from shards.codec.sort_keys import KEY_OF
from shards.codec.sparse_index import EvenPlaces, probe
from shards.errors import CorruptError
from shards.format import BITS, COUNTED, GAPS, HEADED
from shards.kernel import memory, types
from shards.kernel.memory import Memory, view
from shards.query import ORDERS
from shards.search.reader import Shard

_SET: Final = struct.Struct("<II")  # kind, number of rows
CellCode = tuple[str, str]  # of a sector and of a sub-sector
_NO_CODE: Final = "\U0010ffff"  # for none: comes after every other code


class SearchTable:
    """The arrays of all shards in memory that compiled code reads, and sectors and cells by number.

    Raises:
        CorruptError: an array of a shard is shorter than another one needs.
    """

    def __init__(self, shards: Mapping[str, Shard]) -> None:
        self.isos = sorted(shards)
        self.shards = [shards[iso2] for iso2 in self.isos]
        self.numbers = {iso2: number for number, iso2 in enumerate(self.isos)}
        sectors: set[str] = set()
        cells: set[CellCode] = set()
        for shard in self.shards:
            with _whole(shard):
                sectors.update(shard.layout.sectors)
                cells.update(map(_code, shard.layout.cells))
        self.sectors = {code: number for number, code in enumerate(sorted(sectors))}
        self.cells = {code: number for number, code in enumerate(sorted(cells))}
        self.groups: dict[str, list[CellCode]] = {}
        for code in self.cells:
            self.groups.setdefault(code[1], []).append(code)
        self._sets = [RowSets(shard) for shard in self.shards]  # compiled code reads their copies
        self._memory = Memory()
        self.record = self._made()
        self.address = self._memory.place(self.record)

    def _made(self) -> types.Table:
        made = types.Table()
        made.shard_count = len(self.shards)
        made.shards, made.parts = [], []
        sector_parts = np.full((len(self.shards), len(self.sectors)), -1, np.int64)
        cell_parts = np.full((len(self.shards), len(self.cells)), -1, np.int64)
        first_mark = first_cell = 0
        for number, (shard, sets) in enumerate(zip(self.shards, self._sets, strict=True)):
            with _whole(shard):
                found = _shard(shard, sets)
                found.first_part = len(made.parts)
                for cell, part in zip(shard.layout.cells, shard.layout.single, strict=True):
                    cell_parts[number, self.cells[_code(cell)]] = len(made.parts)
                    made.parts.append(_part(shard, sets, part, cell.with_ca))
                for sector, part in shard.layout.sectors.items():
                    sector_parts[number, self.sectors[sector]] = len(made.parts)
                    made.parts.append(_part(shard, sets, part, part.start))
                found.sets, found.sets_size = sets.whole()
            found.first_mark, found.first_cell = first_mark, first_cell
            first_mark += (shard.rows + 31) >> 5
            first_cell += found.cell_count
            made.shards.append(found)
        made.sector_parts, made.sector_count = view(sector_parts), len(self.sectors)
        made.cell_parts, made.cell_count = view(cell_parts), len(self.cells)
        return made


def _code(cell: Cell) -> CellCode:
    return cell.secteur or _NO_CODE, cell.sous_secteur or _NO_CODE


@contextmanager
def _whole(shard: Shard) -> Iterator[None]:
    """Turn what values of the wrong size or type lead to into CorruptError."""
    try:
        yield
    except (ValueError, TypeError, LookupError, struct.error) as error:
        raise CorruptError(
            f"{shard.path}: {error}; run `python -m shards verify`, then build or fetch it again"
        ) from error


class RowSets:
    """The row sets and lists of a shard as one array of u32, by position.

    Compiled code reads them where they lie in the file: a position is a quarter of an address. Values
    that do not lie at a multiple of 4 are copied. Interpreted code reads a copy of all.
    """

    def __init__(self, shard: Shard) -> None:
        self._shard = shard
        self._copies: list[NDArray[np.uint8]] = [np.zeros(4, np.uint8)]
        self._size = 1

    def add(self, value: memoryview) -> int:
        """The position of a value."""
        raw = np.frombuffer(value, np.uint8)
        address = int(raw.__array_interface__["data"][0])
        if memory.COMPILED and address % 4 == 0:
            return address // 4
        copy = np.zeros((len(raw) + 3) // 4 * 4, np.uint8)
        copy[: len(raw)] = raw
        self._copies.append(copy)
        if memory.COMPILED:
            return int(copy.__array_interface__["data"][0]) // 4
        position = self._size
        self._size += len(copy) // 4
        return position

    def add_set(self, value: memoryview) -> int:
        """The position of a row set, which is whole."""
        kind, size = _SET.unpack_from(value)
        heads = len(ORDERS) * format.HEAD_ROWS * 4 * bool(kind & HEADED)
        plain = kind if kind == COUNTED else kind & ~HEADED
        least = {
            BITS: (self._shard.rows + 63) // 64 * 8, GAPS: size, COUNTED: 0
        }.get(plain, 4 * size)  # fmt: skip
        if len(value) < 8 + heads + least or size > self._shard.rows:
            raise CorruptError(f"{self._shard.path}: a row set ends before its last row")
        return self.add(value)

    def whole(self) -> tuple[memoryview, int]:
        """The array of all, and its length; compiled, it begins at address 0."""
        if memory.COMPILED:
            return memoryview(b"").cast("I"), 2**61
        return view(np.concatenate(self._copies).view(np.uint32)), self._size


def _shard(shard: Shard, sets: RowSets) -> types.ShardArrays:
    made = types.ShardArrays()
    layout = shard.layout
    made.rows, made.cell_count = shard.rows, len(layout.cells)
    made.with_site = layout.whole.with_site
    made.site_bit = format.website_bit(shard.facts.dtype.str)
    made.cell_of = _column(shard, shard.cell_of)
    _set_facts(made, shard)
    made.order = [view(shard.order(tri)) for tri in ORDERS]
    made.order_size = [len(shard.order(tri)) for tri in ORDERS]
    made.rank = [_column(shard, shard.rank(KEY_OF.get(tri, (tri,))[0])) for tri in ORDERS]
    _set_keys(made, shard)
    _set_words(made, shard)
    _set_ids(made, shard)
    made.heavy_keys, made.heavy_sets, made.heavy_count = _directory(
        (int.from_bytes(key, "big"), sets.add_set(value))
        for key, value in shard.values(format.HEAVY)
    )
    found = shard.idents.folded
    intervals = (
        (found.beginning_with(probe(key)), value) for key, value in shard.values(format.PREFIX)
    )
    made.prefix_keys, made.prefix_sets, made.prefix_count = _directory(
        (first << 32 | end, sets.add_set(value)) for (first, end), value in intervals
    )
    made.junction_keys, made.junction_sets, made.junction_count = _directory(
        (int.from_bytes(key.ljust(8, b"\0"), "big"), sets.add_set(value))
        for key, value in shard.values(format.JUNCTION)
    )
    texts = [(key, sets.add_set(value)) for key, value in shard.values(format.PHRASE)]
    data = b"".join(text + b"\n" for text, _ in texts)
    made.phrases, made.phrases_size = memoryview(data), len(data)
    starts = np.cumsum([0, *(len(text) + 1 for text, _ in texts)])
    made.phrase_starts = view(starts.astype(np.uint32))
    made.phrase_sets = view(np.array([place for _, place in texts], np.uint64))
    made.phrase_count = len(texts)
    return made


def _directory(sets: Iterator[tuple[int, int]]) -> tuple[memoryview, memoryview, int]:
    """Keys, ascending, their positions, and how many there are."""
    both = np.array(sorted(sets), np.uint64).reshape(-1, 2)
    return view(both[:, 0].copy()), view(both[:, 1].copy()), len(both)


def _column(shard: Shard, array: NDArray[Any]) -> memoryview:
    _same(shard, len(array), shard.rows)
    return view(array)


def _same(shard: Shard, length: int, expected: int) -> None:
    if length != expected:
        raise CorruptError(f"{shard.path}: an array has {length} entries instead of {expected}")


def _set_facts(made: types.ShardArrays, shard: Shard) -> None:
    made.known = shard.steps("ca_desc").known
    _same(shard, len(shard.turnover_facts), made.known)
    none = np.empty(0, np.uint16), np.empty(0, np.uint32)
    made.wide = int(shard.facts.dtype.itemsize == 4)
    facts, wide_facts = (none[0], shard.facts) if made.wide else (shard.facts, none[1])
    _same(shard, len(shard.facts), shard.rows)
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
        _same(shard, len(runs.places), len(runs.keys) + 1)
    made.steps = [view(runs.places) for runs in by_order]
    made.step_count = [len(runs.keys) for runs in by_order]
    made.longest = int(np.diff(none.places).max(initial=0))
    for tri, least in zip(ORDERS, made.order_size, strict=True):
        if tri in KEY_OF and least < min(shard.rows, shard.steps(KEY_OF[tri][0]).known):
            raise CorruptError(f"{shard.path}: the order {tri} ends before its last value")
    made.turnover_keys = view(shard.steps("ca_desc").keys)
    made.capital_keys = view(shard.steps("capital_desc").keys)
    made.headcount_keys = view(shard.steps("effectif_desc").keys)
    made.date_keys = view(shard.steps("recent").keys)
    made.score_keys = view(shard.steps("score").keys)


def _set_words(made: types.ShardArrays, shard: Shard) -> None:
    index = shard.words
    made.words, made.words_size = memoryview(index.words.data), len(index.words.data)
    made.word_starts, made.word_count = view(index.words.starts), len(index.words)
    made.owners = view(index.owners)
    _same(shard, len(index.owners), -(-made.words_size // format.OWNED))
    made.suffixes, made.suffix_count = view(index.suffixes.places), len(index.suffixes.places)
    made.suffix_keys = view(index.suffixes.keys)
    _same(shard, len(index.suffixes.keys), -(-made.suffix_count // format.SAMPLED))
    made.posting_starts = view(index.starts)
    _same(shard, len(index.starts), made.word_count + 1)
    made.postings, made.posting_count = view(index.postings), len(index.postings)
    made.tokens, made.token_count = view(index.tokens), len(index.tokens)
    made.token_starts = view(index.token_starts)
    _same(shard, len(index.token_starts), shard.rows + 1)


def _set_ids(made: types.ShardArrays, shard: Shard) -> None:
    folded = shard.idents.folded
    even = isinstance(folded.places, EvenPlaces)
    made.ids, made.ids_size = memoryview(folded.data), len(folded.data)
    made.id_width = (folded.places[1] if shard.rows > 1 else 1) if even else 0
    made.id_starts = view(np.empty(0, np.uint32) if even else np.asarray(folded.places))
    made.id_keys = view(folded.keys)
    _same(shard, len(folded.places), shard.rows)
    _same(shard, len(folded.keys), -(-shard.rows // format.SAMPLED))
    made.id_rows = _column(shard, shard.idents.rows)


def _part(shard: Shard, sets: RowSets, part: CellRange, known_stop: int) -> types.Part:
    made = types.Part()
    made.start, made.stop, made.first, made.end = part.start, part.stop, part.first, part.end
    made.with_ca, made.sites, made.known_stop = part.with_ca, part.with_site, known_stop
    if not 0 <= part.start <= known_stop <= part.stop <= shard.rows:
        raise CorruptError(f"{shard.path}: the cell {part.place} has rows outside the shard")
    made.listed = int(part.stop - part.start >= format.TOP_LEAST)
    made.top = [0] * len(ORDERS)
    if made.listed:
        size = min(format.TOP_ROWS, part.stop - part.start)
        lists = [shard.top_view(part.place, tri) for tri in ORDERS]
        for held in lists:
            _same(shard, len(held), 4 * size)
        made.top = [sets.add(held) for held in lists]
    return made
