"""Questions of one thread to the kernel: a query goes in, a total and the rows of a page come out.

What every search does uses no NumPy: between two searches the processor forgets its code, and a call of it that is
cold costs as much as the search (decision 215).
"""

import mmap
from collections.abc import Callable, Collection, Mapping
from heapq import merge
from itertools import groupby
from math import inf
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shards.codec.arrays import Rows
from shards.errors import CorruptError
from shards.kernel import types
from shards.kernel.memory import Memory, view
from shards.kernel.scope import run as mark
from shards.kernel.search import run
from shards.query import DEEPEST, Query
from shards.reader.shard import Shard
from shards.search import kernel_query
from shards.search.generation_arrays import GenerationArrays
from shards.search.kernel_query import CompiledQuery, compile_query
from shards.search.result_page import (
    MergedRow,
    Place,
    Places,
    RecordJoiner,
    ResultPage,
    merged_rows,
)

_BLOCK: Final = 1_024
# Rows that a search may list and leave in its memory; filling it anew costs a page fault for each 1 024.
_KEPT: Final = 1 << 18
_WORD: Final = 4
# Nanoseconds, by estimate: what a search costs that reads through arrays.
_SCANNED: Final = 1e6

_NOWHERE: Final = np.empty((0, 2), np.int64)

Numbers = NDArray[np.int64]
# A function of a compiled module: arrays, query and working memory, the folded `q`, a number of its own.
Asked = Callable[[Any, Any, Any, bytes, int], int]


class Census(NamedTuple):
    """A whole search: its total, the matches in each slot of some kinds, and its first rows."""

    total: int
    counts: Mapping[int, NDArray[np.int64]]
    rows: tuple[MergedRow, ...]


class KernelSession:
    """Asks the kernel for one thread: a query and its working memory, one search at a time."""

    def __init__(self, arrays: GenerationArrays) -> None:
        self._arrays = arrays
        self._joiner = RecordJoiner(arrays)
        self._query = kernel_query.QueryMemory(arrays, self._joiner)
        self._width = -1
        self._is_filled = False

    @property
    def arrays(self) -> GenerationArrays:
        """The arrays that it searches."""
        return self._arrays

    def page(self, query: Query, budget: float, *, offset: int, limit: int) -> ResultPage | None:
        """The total, and rows [offset, offset + limit); None if that costs over `budget` nanoseconds.

        Raises:
            CorruptError: a shard refers to what it does not have.
        """
        isos = self._arrays.isos
        asked = compile_query(query)
        if asked is None or not isos:
            return ResultPage(0, isos, _NOWHERE)
        total = self._run(asked, query, offset, limit, budget)
        if total == types.TOO_DEAR:
            return None
        return ResultPage(total, isos, self._places(asked, total, offset, limit))

    def census(
        self, query: Query, kinds: Collection[int], budget: float, *, limit: int = 0
    ) -> Census | None:
        """The matches in each slot of `kinds`, and the first `limit` rows; None over `budget` nanoseconds.

        Raises:
            CorruptError: a shard refers to what it does not have.
        """
        asked = compile_query(query)
        slots = self._arrays.kinds
        if asked is None or not self._arrays.shards:
            nothing = {
                kind: np.zeros(slots[kind].stop - slots[kind].start, np.int64) for kind in kinds
            }
            return Census(0, nothing, ())
        total = self._run(asked, query, 0, limit, budget, census=kinds)
        if total == types.TOO_DEAR:
            return None
        places = self._places(asked, total, 0, limit)
        counts = {kind: self._counts[slots[kind]].copy() for kind in kinds}
        return Census(total, counts, merged_rows(self._arrays.isos, places))

    def scope(
        self,
        query: Query,
        kinds: Collection[int],
        bits: NDArray[np.uint32],
        totals: NDArray[np.int64],
        *,
        needed: bool,
    ) -> tuple[int, Mapping[int, NDArray[np.int64]]]:
        """The total, and the matches in each slot of `kinds`; they are marked where that is `needed`, or faster.

        Args:
            bits, totals: zeros, a bit a row and a number a shard; what is marked.

        Raises:
            CorruptError: a shard refers to what it does not have.
        """
        asked, slots = compile_query(query), self._arrays.kinds
        self._arrays.expect_scans()
        if self._width < 0:
            self._make_scratch(0)
        for kind in kinds:
            self._counts[slots[kind]] = 0
        total = 0
        if asked is not None and self._arrays.shards:
            placed = Memory()
            marks = placed.place(
                market_arrays(bits=bits, chosen=totals, counts=self._counts),
            )
            texts = self._query.write(asked, query, 0, 0, sum(1 << kind for kind in kinds), np.inf)
            arrays = (self._arrays.address, self._query.address, self._scratch)
            try:
                total = mark(*arrays, marks, needed, *texts)
            except CorruptError:
                self._width = -1  # marks may be left in the working memory
                raise
        return total, {kind: self._counts[slots[kind]].copy() for kind in kinds}

    def rows_by_shard(self, query: Query) -> list[tuple[Shard, Rows]]:
        """All matches by shard, in no order; shards without any are left out.

        Raises:
            CorruptError: a shard refers to what it does not have.
        """
        rows, lists = self.lists(query)
        return [
            (self._arrays.shards[number], rows[first : first + count].copy())
            for number, first, count in lists
        ]

    def lists(self, query: Query) -> tuple[Rows, list[tuple[int, int, int]]]:
        """(shard, first, count) of the matches in working memory; valid until the next search.

        Raises:
            CorruptError: a shard refers to what it does not have.
        """
        asked = compile_query(query)
        if asked is None or not self._arrays.shards:
            return np.empty(0, np.uint32), []
        if not self._run(asked, query, 0, 0, inf, listed=True):
            return self._rows, []
        lists = (array.tolist() for array in self.listed(self._result[0]))
        return self._rows, list(zip(*lists, strict=True))

    def ask(
        self, function: Asked, query: Query, number: int, *, limit: int = 0, tail: bytes = b""
    ) -> int:
        """The result of a compiled function for a query; `listed` has its rows. `q` must have a word.

        Args:
            function: of a module like `shards/suggest/completion.py`; it takes `number`.
            limit: the most rows that it lists.
            tail: bytes behind the folded `q`.

        Raises:
            CorruptError: a shard refers to what it does not have.
        """
        asked = compile_query(query)
        if asked is None or not self._arrays.isos:
            return 0
        if self._width < limit or self._width < 0:
            self._make_scratch(limit)
        text = self._query.write(asked, query, 0, limit, False, inf)[0] + tail
        return function(self._arrays.address, self._query.address, self._scratch, text, number)

    def listed(self, count: int) -> tuple[Numbers, Numbers, Numbers]:
        """The first `count` rows in working memory: shard, row, a third number; valid until the next search."""
        return self._found_shard[:count], self._found_row[:count], self._found_tie[:count]

    def give_back(self) -> None:
        """Give the system back what a search filled with many rows; the rows of its last search are lost."""
        if self._is_filled:
            self._is_filled = False
            self._memory_of_rows.madvise(mmap.MADV_DONTNEED)

    def records(self, places: Places, *, coordonnees: bool) -> bytes:
        """The JSON objects of companies, joined by commas; without `coordonnees` contact fields are null.

        Raises:
            CorruptError: a record is damaged.
        """
        return self._joiner.join(places, coordonnees=coordonnees)

    def _run(
        self,
        asked: CompiledQuery,
        query: Query,
        offset: int,
        limit: int,
        budget: float,
        *,
        census: Collection[int] = (),
        listed: bool = False,
    ) -> int:
        """The total; the rows are in the working memory."""
        if offset + limit > self._width:
            self._make_scratch(offset + limit)
        for kind in census:
            self._counts[self._arrays.kinds[kind]] = 0
        asked_kinds = sum(1 << kind for kind in census) + types.LISTED * listed
        allowed = budget if self._arrays.expects_scans else min(budget, _SCANNED)
        texts = self._query.write(asked, query, offset, limit, asked_kinds, allowed)
        try:
            total = run(self._arrays.address, self._query.address, self._scratch, *texts)
        except CorruptError:
            self._width = -1  # marks may be left in the working memory
            raise
        if total == types.TOO_DEAR and allowed < budget:
            self._arrays.expect_scans()
            return self._run(asked, query, offset, limit, budget, census=census, listed=listed)
        if total > _KEPT and (listed or budget == np.inf):
            self._is_filled = True
        return total

    def _places(self, asked: CompiledQuery, total: int, offset: int, limit: int) -> Places:
        """The rows of the page, which are in the working memory."""
        if not limit or offset >= total:
            return _NOWHERE
        found, ties = self._result
        if asked.tri == "nom" and ties:
            return np.array(self._break_ties(found, offset, offset + limit), np.int64)
        count = min(limit, found - offset)
        return memoryview(bytes(self._page[: 16 * count])).cast("q", (count, 2))

    # -- ties ------------------------------------------------------------------------------

    def _break_ties(self, found_count: int, offset: int, count: int) -> list[Place]:
        """The page, where folded names are equal: by raw name, then country, then identifier."""
        places = list(
            zip(
                self._found_shard[:found_count].tolist(),
                self._found_row[:found_count].tolist(),
                strict=True,
            )
        )
        ties = self._found_tie[:found_count].tolist()
        start = 0
        while start < found_count:
            end = start + 1
            while end < found_count and ties[end]:
                end += 1
            if end > offset and start < count:
                places[start:end] = self._by_raw_name(places[start:end])
            start = end
        return places[offset:count]

    def _by_raw_name(self, alike: list[Place]) -> list[Place]:
        """Rows of one folded name, those of a shard in their order; few names are read."""
        runs = [list(run) for _, run in groupby(sorted(alike, key=_shard_of), key=_shard_of)]
        return alike if len(runs) == 1 else list(merge(*runs, key=self._raw_name))

    def _raw_name(self, place: Place) -> tuple[str, int]:
        shard, row = place
        return self._arrays.shards[shard].names([row])[0], shard

    # -- working memory ----------------------------------------------------------------------

    def _make_scratch(self, count: int) -> None:
        """Make the working memory for pages that end at `count` rows."""
        made = types.Scratch()
        shards = self._arrays.record.shards
        rows = sum(shard.rows for shard in shards)
        self._width = max(count, DEEPEST)
        made.width, made.found_size = self._width, len(shards) * self._width
        made.rows_size = 3 * rows + 1
        self._memory_of_rows = mmap.mmap(-1, _WORD * made.rows_size, mmap.MAP_PRIVATE)
        self._rows = np.frombuffer(self._memory_of_rows, np.uint32)
        made.rows = view(self._rows)
        made.marks = view(np.zeros(sum((shard.rows + 31) >> 5 for shard in shards) + 1, np.uint32))
        cells = sum(shard.cell_count for shard in shards)
        made.cells = view(np.zeros(cells + 1, np.uint32))
        self._counts = np.zeros(self._arrays.kinds[-1].stop + 1, np.int64)
        made.counts = view(self._counts)
        made.selected = view(np.zeros(2 * len(self._arrays.record.parts) + 1, np.int64))
        made.block = view(np.zeros(_BLOCK, np.int64))
        mask = np.zeros(types.MASKED, np.uint8)
        made.mask, made.mask_words = view(mask), view(mask.view(np.uint64))
        made.allowed = view(np.zeros(self._arrays.allowed + 1, np.uint8))
        made.heap = view(np.zeros(2 * self._width + 1, np.int64))
        made.heads = view(np.zeros(made.found_size, np.int64))
        made.sources = [types.ShardSearch() for _ in shards]
        for source in made.sources:
            for name, kind in types.ShardSearch.__annotations__.items():
                lists = kind == types.PerColumn[types.i64]
                setattr(source, name, [0] * types.COLUMNS if lists else 0)
        self._found_shard, self._found_row, self._found_tie = (
            np.zeros(made.found_size, np.int64) for _ in range(3)
        )
        self._result, pairs = kernel_query.zero_i64s(2), kernel_query.zero_i64s(2 * self._width)
        self._page = pairs.cast("B")
        made.found_shard, made.found_row = view(self._found_shard), view(self._found_row)
        made.found_tie, made.result, made.page = view(self._found_tie), self._result, pairs
        made.used, made.spent = 0, 0.0
        made.near_shard = made.near_size = made.near_half = made.near_most = 0
        self._working = Memory()
        self._scratch = self._working.place(made)


def market_arrays(**arrays: NDArray[Any]) -> types.MarketArrays:
    """Marked rows for the compiled modules: arrays by the names of their fields."""
    made, none = types.MarketArrays(), view(np.empty(0, np.uint32))
    for name, kind in types.MarketArrays.__annotations__.items():
        setattr(made, name, 0 if kind is types.i64 else none)
    for name, column in arrays.items():
        setattr(made, name, view(column))
    return made


def _shard_of(place: Place) -> int:
    return place[0]
