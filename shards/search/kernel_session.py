"""Questions of one thread to the kernel: a query goes in, a total and the rows of a page come out.

What every search does uses no NumPy: between two searches the processor forgets its code, and a call of it that is
cold costs as much as the search (decision 215).
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
from shards.reader.shard import Shard
from shards.search import kernel_query
from shards.search.generation_arrays import GenerationArrays
from shards.search.result_page import MergedRow, RecordJoiner, ResultPage, SlotCounts

_BLOCK: Final = 1_024
# Rows that a search may list and leave in its memory; filling it anew costs a page fault for each 1 024.
_KEPT: Final = 1 << 18
_WORD: Final = 4
# Nanoseconds, by estimate: what a search costs that reads through arrays.
_SCANNED: Final = 1e6

Numbers = NDArray[np.int64]
Place = tuple[int, int]  # a shard, by its place in the table, and a row of it
# A function of a compiled module: arrays, query and working memory, the folded `q`, a number of its own.
Asked = Callable[[Any, Any, Any, bytes, int], int]


class KernelSession:
    """Asks the kernel for one thread: a query and its working memory, one search at a time.

    Attributes:
        arrays: the arrays that it searches.
        joiner: joins the records of the rows that it returns.
    """

    def __init__(self, arrays: GenerationArrays) -> None:
        self.arrays = arrays
        self.joiner = RecordJoiner(arrays)
        self._query = kernel_query.QueryMemory(arrays, self.joiner)
        self._width = -1

    def page(
        self, query: Query, budget: float, *, offset: int, limit: int, census: Collection[int] = ()
    ) -> ResultPage | None:
        """The total, and rows [offset, offset + limit); None if that costs over `budget` nanoseconds.

        Args:
            census: kinds of slots in which the matches are counted, too.

        Raises:
            CorruptError: a shard refers to what it does not have.
        """
        total = self._run(query, offset, limit, budget, census=census)
        if total == types.TOO_DEAR:
            return None
        if budget == inf:  # a search within a budget lists few rows
            self._release_rows(total)
        places: list[Place] = []
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
            tuple([MergedRow(isos[shard], row) for shard, row in places]),
            {kind: self._counts[slots[kind]].copy() for kind in census},
        )

    def mark(
        self,
        query: Query,
        kinds: Collection[int],
        bits: NDArray[np.uint32],
        totals: Numbers,
        *,
        needed: bool,
    ) -> tuple[int, SlotCounts]:
        """The total, and the matches in each slot of `kinds`; they are marked where that is `needed`, or faster.

        Args:
            bits, totals: zeros, a bit a row and a number a shard; what is marked.

        Raises:
            CorruptError: a shard refers to what it does not have.
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
        """All matches by shard, in no order; shards without any are left out.

        Raises:
            CorruptError: a shard refers to what it does not have.
        """
        total = self._run(query, 0, 0, inf, listed=True)
        if not total:
            return []
        lists = zip(*(array.tolist() for array in self.listed(self._result[0])), strict=True)
        rows = [
            (self.arrays.shards[number], self._rows[first : first + count].copy())
            for number, first, count in lists
        ]
        self._release_rows(total)
        return rows

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
        texts = self._write(query, 0, limit, inf)
        if texts is None:
            return 0
        text, *_ = texts
        return self._call(function, text + tail, number)

    def listed(self, count: int) -> tuple[Numbers, Numbers, Numbers]:
        """The first `count` rows in working memory: shard, row, a third number; valid until the next search."""
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
        """The total; the rows are in the working memory."""
        allowed = budget if self.arrays.expects_scans else min(budget, _SCANNED)
        texts = self._write(query, offset, limit, allowed, census=census, listed=listed)
        if texts is None:
            return 0
        total = self._call(run, *texts)
        if total == types.TOO_DEAR and allowed < budget:
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
        """Write a query, and make the counts of the census zero; the texts of `QueryMemory.write`."""
        if offset + limit > self._width:
            self._make_scratch(offset + limit)
        for kind in census:
            self._counts[self.arrays.kinds[kind]] = 0
        if not self.arrays.shards:
            return None
        kinds = sum(1 << kind for kind in census) + types.LISTED * listed
        return self._query.write(query, offset, limit, kinds, budget)

    def _call(self, function: Callable[..., int], *arguments: Any) -> int:
        """The result of a compiled function for the query that is written."""
        try:
            return function(self.arrays.address, self._query.address, self._scratch, *arguments)
        except CorruptError:
            self._width = -1  # marks may be left in the working memory
            raise

    # -- ties ------------------------------------------------------------------------------

    def _break_ties(self, count: int, offset: int, end: int) -> list[Place]:
        """The page, where folded names are equal: by raw name, then country, then identifier."""
        shards, rows, ties = (array.tolist() for array in self.listed(count))
        places = list(zip(shards, rows, strict=True))
        start = 0
        while start < count:
            stop = start + 1
            while stop < count and ties[stop]:
                stop += 1
            if stop > offset and start < end:
                places[start:stop] = self._by_raw_name(places[start:stop])
            start = stop
        return places[offset:end]

    def _by_raw_name(self, alike: list[Place]) -> list[Place]:
        """Rows of one folded name, those of a shard in their order; few names are read."""
        shard_of = itemgetter(0)
        runs = [list(run) for _, run in groupby(sorted(alike, key=shard_of), key=shard_of)]
        return alike if len(runs) == 1 else list(merge(*runs, key=self._raw_name))

    def _raw_name(self, place: Place) -> tuple[str, int]:
        shard, row = place
        return self.arrays.shards[shard].names([row])[0], shard

    # -- working memory ----------------------------------------------------------------------

    def _release_rows(self, total: int) -> None:
        """Give the system back the memory of a long list of rows."""
        if total > _KEPT:
            self._memory_of_rows.madvise(mmap.MADV_DONTNEED)

    def _make_scratch(self, count: int) -> None:
        """Make the working memory for pages that end at `count` rows."""
        made = types.Scratch()
        shards = self.arrays.record.shards
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
        self._counts = np.zeros(self.arrays.kinds[-1].stop + 1, np.int64)
        made.counts = view(self._counts)
        made.selected = view(np.zeros(2 * len(self.arrays.record.parts) + 1, np.int64))
        made.block = view(np.zeros(_BLOCK, np.int64))
        mask = np.zeros(types.MASKED, np.uint8)
        made.mask, made.mask_words = view(mask), view(mask.view(np.uint64))
        made.allowed = view(np.zeros(self.arrays.allowed + 1, np.uint8))
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
        self._result, self._page = (
            kernel_query.zero_i64s(2),
            kernel_query.zero_i64s(2 * self._width),
        )
        made.found_shard, made.found_row = view(self._found_shard), view(self._found_row)
        made.found_tie, made.result, made.page = view(self._found_tie), self._result, self._page
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
