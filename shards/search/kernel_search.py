"""The compiled search: a query goes in, a total and the rows of a page come out."""

from collections.abc import Mapping, Sequence
from heapq import merge
from itertools import groupby
from typing import Any, Final

import numpy as np

from shards import format
from shards.errors import CorruptError
from shards.kernel import memory, types
from shards.kernel.memory import Memory, view
from shards.kernel.search import run
from shards.query import DEEPEST, ORDERS, Query
from shards.search import kernel_table
from shards.search.compiled_query import CompiledQuery, NameTerm, compile_query
from shards.search.kernel_table import Places
from shards.search.merge import MergedRow
from shards.search.reader import Shard

# Nanoseconds, measured on 2.8 million rows; only their ratios matter.
SPAN: float = 25.0  # a range of rows
ALONG: float = 0.3  # a row tested beside its neighbours
LISTED: float = 4.0  # a row tested by its number
START: float = 300.0  # a walk, or rows to rank
# Rows that are listed while they are counted; more are listed only if a page needs it.
ROOM: int = 1 << 16
# What a shard is asked for at first: this many rows, and this many times its share of the page.
SPARE: int = 4
SHARES: int = 2

_BLOCK: Final = 1_024


class Engine:
    """Searches the shards of a generation; one thread at a time."""

    def __init__(self, shards: Mapping[str, Shard]) -> None:
        self._shards = [shards[iso2] for iso2 in sorted(shards)]
        self._number = {shard.iso2: at for at, shard in enumerate(self._shards)}
        self._places = Places(self._shards)
        self._table = kernel_table.table(self._shards, self._places)
        self._memory = Memory()
        self._table_address = self._memory.place(self._table)
        self._every = np.arange(len(self._shards), dtype=np.int64)
        self._width = 0

    def page(self, query: Query, *, offset: int, limit: int) -> tuple[int, tuple[MergedRow, ...]]:
        """The total, and rows [offset, offset + limit)."""
        asked = compile_query(query)
        if asked is None or not self._shards:
            return 0, ()
        count = offset + limit
        if count > self._width:
            self._make_scratch(count)
        question = self._question(asked, query.pays, offset, limit)
        held = Memory()
        total = run(self._table_address, held.place(question), self._scratch_address)
        found = int(self._result[0]) if limit and offset < total else 0
        if not found:
            return total, ()
        shards, rows = self._found_shard[:found].tolist(), self._found_row[:found].tolist()
        if asked.tri == "nom" and self._found_tie[offset:found].any():
            places = self._untied(shards, rows, self._found_tie[:found].tolist(), offset, count)
        else:
            places = list(zip(shards[offset:count], rows[offset:count], strict=True))
        return total, tuple(MergedRow(self._shards[shard].iso2, row) for shard, row in places)

    def _untied(
        self, shards: list[int], rows: list[int], ties: list[int], offset: int, count: int
    ) -> list[tuple[int, int]]:
        """The page, where folded names are equal: by raw name, then country."""
        places = list(zip(shards, rows, strict=True))
        start = 0
        while start < len(places):
            end = start + 1
            while end < len(places) and ties[end]:
                end += 1
            group = places[start:end]
            if end > offset and start < count and len({shard for shard, _ in group}) > 1:
                group.sort(key=lambda place: place[0])
                runs = [list(run) for _, run in groupby(group, key=lambda place: place[0])]
                places[start:end] = merge(*runs, key=self._raw_name)
            start = end
        return places[offset:count]

    def _raw_name(self, place: tuple[int, int]) -> tuple[str, int]:
        shard, row = place
        return self._shards[shard].names([row])[0], shard

    def _make_scratch(self, count: int) -> None:
        """Working memory for pages that end at `count` rows."""
        scratch = types.Scratch()
        shards = self._table.shards
        number = len(shards)
        rows = sum(shard.rows for shard in shards)
        self._width = max(count, DEEPEST)
        scratch.rows, scratch.rows_size = view(np.empty(2 * rows + 1, np.uint32)), 2 * rows + 1
        scratch.marks = view(np.zeros(sum((s.rows + 31) >> 5 for s in shards) + 1, np.uint32))
        scratch.cells = view(np.zeros(sum(s.cell_count for s in shards) + 1, np.uint32))
        scratch.selected = view(np.zeros(len(self._table.parts) + 1, np.int64))
        scratch.block = view(np.zeros(_BLOCK, np.int64))
        scratch.heap = view(np.zeros(2 * self._width + 1, np.int64))
        scratch.heads, scratch.width = view(np.zeros(number * self._width, np.int64)), self._width
        scratch.sources = [types.Source() for _ in shards]
        for source in scratch.sources:
            for name in types.Source.__annotations__:
                setattr(source, name, 0)
        scratch.found_size = number * self._width
        self._found_shard, self._found_row, self._found_tie = (
            np.zeros(scratch.found_size, np.int64) for _ in range(3)
        )
        self._result = np.zeros(1, np.int64)
        scratch.found_shard, scratch.found_row = view(self._found_shard), view(self._found_row)
        scratch.found_tie, scratch.result = view(self._found_tie), view(self._result)
        scratch.used = 0
        self._scratch_address = self._memory.place(scratch)

    def _question(
        self, asked: CompiledQuery, pays: Sequence[str], offset: int, limit: int
    ) -> types.Question:
        made = types.Question()
        made.tri, made.offset, made.limit = ORDERS.index(asked.tri), offset, limit
        chosen = self._every
        if pays:
            chosen = np.array(sorted({self._number[iso2] for iso2 in pays}), np.int64)
        made.shards, made.shard_count = view(chosen), len(chosen)
        made.scope, codes = self._scope(asked)
        made.scope_codes, made.scope_count = view(np.array(codes, np.int64)), len(codes)
        made.has_turnover = int(asked.turnover is not None)
        made.any_turnover = int(asked.turnover == (-np.inf, np.inf))
        made.turnover_low, made.turnover_high = asked.turnover or (0.0, 0.0)
        made.has_headcount = int(asked.headcount is not None)
        made.headcount_low, made.headcount_high = map(int, asked.headcount or (0, 0))
        made.website = int(asked.site_web)
        _set_name(made, asked.named)
        made.head_rows, made.top_rows = format.HEAD_ROWS, format.TOP_ROWS
        made.top_least = format.TOP_LEAST
        made.room, made.spare, made.shares = ROOM, SPARE, SHARES
        made.span_cost, made.along_cost = SPAN, ALONG
        made.listed_cost, made.start_cost = LISTED, START
        return made

    def _scope(self, asked: CompiledQuery) -> tuple[int, list[int]]:
        places = self._places
        if asked.sous_secteurs is not None:
            cells = (cell for group in set(asked.sous_secteurs) for cell in places.groups.get(group, ()))
            return types.CELLS, sorted(
                places.cells[cell]
                for cell in cells
                if not asked.secteurs or cell[0] in asked.secteurs
            )
        if asked.secteurs:
            return types.SECTORS, [
                places.sectors[code] for code in asked.secteurs if code in places.sectors
            ]
        return types.EVERYWHERE, []


def _set_name(made: types.Question, named: NameTerm | None) -> None:
    parts = named.parts if named else ()
    text = b" ".join(parts)
    endings = parts[0] + b"\n" if parts else b""
    made.named = int(named is not None)
    made.text, made.text_size = memoryview(text), len(text)
    starts = np.cumsum([0, *(len(part) + 1 for part in parts)])
    made.word_starts, made.word_count = view(starts.astype(np.int64)), len(parts)
    words = [part.decode() for part in parts]
    pairs = [(one[-1] + other[0]).encode() for one, other in zip(words, words[1:], strict=False)]
    keys = [int.from_bytes(pair.ljust(8, b"\0"), "big") for pair in pairs]
    made.junctions = view(np.array(keys, np.uint64))
    made.single_characters = int(len(words) == 2 and all(len(word) == 1 for word in words))
    made.suffix_low, made.suffix_high = _bounds(text[: format.SUFFIX_BYTES])
    made.endings = memoryview(endings)
    made.ending_low, made.ending_high = _bounds(endings[: format.SUFFIX_BYTES])
    prefix = named.prefix.text if named and named.prefix else b""
    made.prefix, made.prefix_size = memoryview(prefix), len(prefix)
    made.prefix_low, made.prefix_high = _bounds(prefix)


def _bounds(text: bytes) -> tuple[int, int]:
    """The numbers between which the first 8 bytes lie of what begins with `text`."""
    head = text[:8]
    low = int.from_bytes(head.ljust(8, b"\0"), "big")
    return low, low + (1 << 8 * (8 - len(head))) if head else 0
