"""The calls of one thread to the kernel: a query goes in, a total and the rows of a page come out.

The code that every search runs uses no NumPy: the processor's caches lose its code between two searches, and a cold
NumPy call costs as much as the search (decision 215).
"""

import mmap
from collections.abc import Callable, Collection
from heapq import merge
from itertools import groupby
from math import inf
from operator import itemgetter
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shards.codec.arrays import Rows
from shards.errors import CorruptError
from shards.kernel import types
from shards.kernel.memory import Memory, view
from shards.kernel.scope import run as mark
from shards.kernel.search import run
from shards.query import DEEPEST, Query
from shards.reader.shard import CompanyRow, Shard, ShardRow
from shards.search import kernel_query
from shards.search.generation_arrays import GenerationArrays
from shards.search.result_page import RecordJoiner, ResultPage, SlotCounts

_BLOCK_LENGTH: Final = 1_024  # the numbers in a block: row numbers, then tables of counts
# If a search lists more rows than this, their memory is given back to the system; each 1 024 rows cost a page fault at
# the next use.
_MOST_KEPT_ROWS: Final = 1 << 18
_ROW_BYTES: Final = 4  # the bytes of a row number
# The estimated cost, in nanoseconds, above which a search reads arrays from end to end. Before the first such search,
# the read-ahead of the system is turned on.
_SCAN_COST: Final = 1e6

Int64Array = NDArray[np.int64]
# A function of a compiled module. Its arguments: arrays, query, working memory, folded `q`, a number.
KernelFunction = Callable[[Any, Any, Any, bytes, int], int]


class KernelSession:
    """Runs the searches of one thread, one at a time: it holds the query and the working memory.

    Attributes:
        arrays: the arrays of the generation.
        joiner: joins the records of result rows.
    """

    def __init__(self, arrays: GenerationArrays) -> None:
        """Allocate the memory of the query; the first search allocates the working memory."""
        self.arrays = arrays
        self.joiner = RecordJoiner(arrays)
        self._query = kernel_query.QueryMemory(arrays, self.joiner)
        self._width = -1  # the most rows of a head; -1: the working memory is not allocated

    def page(
        self, query: Query, budget: float, *, offset: int, limit: int, census: Collection[int] = ()
    ) -> ResultPage | None:
        """The total, and rows [offset, offset + limit); None if the estimated cost exceeds `budget` nanoseconds.

        Args:
            census: kinds of slots in which the matches are also counted.

        Raises:
            CorruptError: a shard refers to a row, a word or a place that it does not have.
        """
        total = self._run(query, offset, limit, budget, census=census)
        if total == types.TOO_DEAR:
            return None
        if budget == inf:  # a search within a budget lists few rows
            self._release_rows(total)
        places: list[ShardRow] = []
        if limit and offset < total:
            count, ties = self._result
            if query.tri == "nom" and ties:
                places = self._break_ties(count, offset, offset + limit)
            else:
                numbers = self._page[: 2 * min(limit, count - offset)].tolist()
                places = list(zip(numbers[::2], numbers[1::2], strict=True))
        isos, slots = self.arrays.isos, self.arrays.kinds
        return ResultPage(
            total,
            tuple([CompanyRow(isos[shard], row) for shard, row in places]),
            {kind: self._counts[slots[kind]].copy() for kind in census},
        )

    def mark(
        self,
        query: Query,
        kinds: Collection[int],
        bits: NDArray[np.uint32],
        totals: Int64Array,
        *,
        needed: bool,
    ) -> tuple[int, SlotCounts]:
        """The total, and the matches in each slot of `kinds`; marks the matches if `needed`, or if that is faster.

        Args:
            bits: one bit per row, all zero; receives the marks.
            totals: one number per shard, all zero; receives the number of marks.

        Raises:
            CorruptError: a shard refers to a row, a word or a place that it does not have.
        """
        self.arrays.expect_scans()
        total = 0
        texts = self._write(query, 0, 0, inf, census=kinds)
        if texts is not None:
            placed = Memory()
            marks = placed.place(market_arrays(bits=bits, chosen=totals, counts=self._counts))
            total = self._call(mark, marks, needed, *texts)
            self._release_rows(total)
        slots = self.arrays.kinds
        return total, {kind: self._counts[slots[kind]].copy() for kind in kinds}

    def rows_by_shard(self, query: Query) -> list[tuple[Shard, Rows]]:
        """All matches by shard, in no particular order; shards without matches are left out.

        Raises:
            CorruptError: a shard refers to a row, a word or a place that it does not have.
        """
        total = self._run(query, 0, 0, inf, listed=True)
        if not total:
            return []
        lists = zip(*(array.tolist() for array in self.result_rows(self._result[0])), strict=True)
        rows = [
            (self.arrays.shards[number], self._rows[first : first + count].copy())
            for number, first, count in lists
        ]
        self._release_rows(total)
        return rows

    def ask(
        self,
        function: KernelFunction,
        query: Query,
        number: int,
        *,
        limit: int = 0,
        tail: bytes = b"",
    ) -> int:
        """Call a compiled function for a query, and return its result; `result_rows` then gives the rows.

        `q` must contain a word; otherwise the function is not called, and the result is 0.

        Args:
            function: the function `run` of a module like `shards/suggest/completion.py`.
            number: its last argument: which task it runs, or the most errors of a word.
            limit: the most rows that the function lists.
            tail: bytes after the folded `q`.

        Raises:
            CorruptError: a shard refers to a row, a word or a place that it does not have.
        """
        texts = self._write(query, 0, limit, inf)
        if texts is None:
            return 0
        text, *_ = texts
        return self._call(function, text + tail, number)

    def result_rows(self, count: int) -> tuple[Int64Array, Int64Array, Int64Array]:
        """The first `count` rows in working memory: shard numbers, rows, and a number that the called function defines.

        The arrays are valid until the next search.
        """
        return self._found_shard[:count], self._found_row[:count], self._found_tie[:count]

    def _run(
        self,
        query: Query,
        offset: int,
        limit: int,
        budget: float,
        *,
        census: Collection[int] = (),
        listed: bool = False,
    ) -> int:
        """Run a search: return the total (or TOO_DEAR), and leave the rows in the working memory.

        0 also if no company can match the query, which then does not run.
        """
        # Until the read-ahead is on, a search that would read arrays from end to end returns TOO_DEAR and runs again.
        first_budget = budget if self.arrays.expects_scans else min(budget, _SCAN_COST)
        texts = self._write(query, offset, limit, first_budget, census=census, listed=listed)
        if texts is None:
            return 0
        total = self._call(run, *texts)
        if total == types.TOO_DEAR and first_budget < budget:
            self.arrays.expect_scans()
            return self._run(query, offset, limit, budget, census=census, listed=listed)
        return total

    def _write(
        self,
        query: Query,
        offset: int,
        limit: int,
        budget: float,
        *,
        census: Collection[int] = (),
        listed: bool = False,
    ) -> tuple[bytes, ...] | None:
        """Write a query into the working memory, before a kernel function is called.

        Args:
            offset, limit: the first row of the page, and the number of its rows.
            budget: the estimated cost above which the search returns TOO_DEAR.
            census: the kinds of slots in which the matches are counted; their counts are set to zero.
            listed: whether all matching rows are listed, not only those of the page.

        Returns:
            The texts that each call passes to the kernel; None if no company can match.
        """
        if offset + limit > self._width:
            self._make_scratch(offset + limit)
        for kind in census:
            self._counts[self.arrays.kinds[kind]] = 0
        if not self.arrays.shards:
            return None
        kinds = sum(1 << kind for kind in census) + types.LISTED * listed
        return self._query.write(query, offset, limit, kinds, budget)

    def _call(self, function: Callable[..., int], *arguments: Any) -> int:
        """Call a compiled function for the written query."""
        try:
            return function(self.arrays.address, self._query.address, self._scratch, *arguments)
        except CorruptError:
            # Marks can remain in the working memory, so the next search allocates it again.
            self._width = -1
            raise

    # -- ties ------------------------------------------------------------------------------

    def _break_ties(self, count: int, offset: int, end: int) -> list[ShardRow]:
        """The page, with rows of equal folded names sorted by raw name, then country, then identifier."""
        shards, rows, ties = (array.tolist() for array in self.result_rows(count))
        places = list(zip(shards, rows, strict=True))
        start = 0
        while start < count:
            stop = start + 1
            while stop < count and ties[stop]:  # the same folded name as the row before
                stop += 1
            if stop > offset and start < end:
                places[start:stop] = self._sort_by_raw_name(places[start:stop])
            start = stop
        return places[offset:end]

    def _sort_by_raw_name(self, tied_rows: list[ShardRow]) -> list[ShardRow]:
        """Sort rows of one folded name by raw name; the rows of each shard are sorted already, so they are merged."""
        shard_of = itemgetter(0)
        rows_by_shard = [
            list(shard_rows)
            for _, shard_rows in groupby(sorted(tied_rows, key=shard_of), key=shard_of)
        ]
        return (
            tied_rows
            if len(rows_by_shard) == 1
            else list(merge(*rows_by_shard, key=self._raw_name))
        )

    def _raw_name(self, place: ShardRow) -> tuple[str, int]:
        """The name as registered, and the number of the shard: the sort key among equal folded names."""
        shard, row = place
        return self.arrays.shards[shard].names([row])[0], shard

    # -- working memory ----------------------------------------------------------------------

    def _release_rows(self, total: int) -> None:
        """Give the memory of the list of rows back to the system if more than _MOST_KEPT_ROWS rows were listed."""
        if total > _MOST_KEPT_ROWS:
            self._memory_of_rows.madvise(mmap.MADV_DONTNEED)

    def _make_scratch(self, count: int) -> None:
        """Allocate the working memory (`types.Scratch`) for pages that end at `count` rows, at least DEEPEST.

        Sets `_scratch`, its address for compiled functions, and the arrays through which Python reads the results.
        """
        scratch = types.Scratch()
        shards = self.arrays.record.shards
        rows = sum(shard.rows for shard in shards)
        self._width = max(count, DEEPEST)
        scratch.width, scratch.found_size = self._width, len(shards) * self._width
        scratch.rows_size = 3 * rows + 1  # the lists of `ids`, of `q`, and of the matches
        self._memory_of_rows = mmap.mmap(-1, _ROW_BYTES * scratch.rows_size, mmap.MAP_PRIVATE)
        self._rows = np.frombuffer(self._memory_of_rows, np.uint32)
        scratch.rows = view(self._rows)
        scratch.marks = view(
            np.zeros(sum((shard.rows + 31) >> 5 for shard in shards) + 1, np.uint32)
        )
        cells = sum(shard.cell_count for shard in shards)
        scratch.cells = view(np.zeros(cells + 1, np.uint32))
        self._counts = np.zeros(self.arrays.kinds[-1].stop + 1, np.int64)
        scratch.counts = view(self._counts)
        # `narrow_scope` writes the chosen cells after the parts of the query.
        scratch.selected = view(np.zeros(2 * len(self.arrays.record.parts) + 1, np.int64))
        scratch.block = view(np.zeros(_BLOCK_LENGTH, np.int64))
        mask = np.zeros(types.MASKED, np.uint8)
        scratch.mask, scratch.mask_words = view(mask), view(mask.view(np.uint64))
        scratch.allowed = view(np.zeros(self.arrays.allowed + 1, np.uint8))
        # `head_of_q` needs room for two entries per row.
        scratch.heap = view(np.zeros(2 * self._width + 1, np.int64))
        scratch.heads = view(np.zeros(scratch.found_size, np.int64))
        scratch.sources = [types.ShardSearch() for _ in shards]
        for source in scratch.sources:
            for name, kind in types.ShardSearch.__annotations__.items():
                lists = kind == types.PerColumn[types.i64]
                setattr(source, name, [0] * types.COLUMNS if lists else 0)
        self._found_shard, self._found_row, self._found_tie = (
            np.zeros(scratch.found_size, np.int64) for _ in range(3)
        )
        self._result, self._page = (
            kernel_query.zero_i64s(2),
            kernel_query.zero_i64s(2 * self._width),
        )
        scratch.found_shard, scratch.found_row = view(self._found_shard), view(self._found_row)
        scratch.found_tie, scratch.result, scratch.page = (
            view(self._found_tie),
            self._result,
            self._page,
        )
        scratch.used, scratch.spent = 0, 0.0
        scratch.near_shard = scratch.near_size = scratch.near_half = scratch.near_most = 0
        self._working = Memory()
        self._scratch = self._working.place(scratch)


def market_arrays(**arrays: NDArray[Any]) -> types.MarketArrays:
    """The record of marked rows for the compiled modules, from arrays by field name; other fields are empty."""
    market, empty = types.MarketArrays(), view(np.empty(0, np.uint32))
    for name, kind in types.MarketArrays.__annotations__.items():
        setattr(market, name, 0 if kind is types.i64 else empty)
    for name, column in arrays.items():
        setattr(market, name, view(column))
    return market
