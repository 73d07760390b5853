"""All rows that a search found, as a bit a row: what many rows have in common is read along the orders.

An order has the rows of a band side by side, and turnovers in their order, so a pass along it takes a nanosecond or
two for each row of a country, whether it is marked or not. Few rows are better looked up one by one.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shards.codec.arrays import Rows
from shards.kernel import types
from shards.kernel.memory import Memory, view
from shards.kernel.results import market
from shards.query import ORDERS
from shards.ratios.distribution import Figures
from shards.search.search import Base
from shards.search.table import SearchTable

# The memo of a generation: from which country each next distinct turnover comes.
_SEQUENCE: Final = "turnover sequence"

Bits = NDArray[np.uint32]


class MarkedRows:
    """The rows of some shards, a bit each.

    Attributes:
        bits: those of all shards, one after the other.
        totals: by number of a shard, how many are marked.
    """

    def __init__(self, table: SearchTable, bits: Bits | None = None) -> None:
        self._table = table
        words = sum((shard.rows + 31) >> 5 for shard in table.shards) + 1
        self.bits = np.zeros(words, np.uint32) if bits is None else bits
        self.totals = [0] * len(table.shards)

    def mark(self, rows: Rows, lists: Sequence[tuple[int, int, int]]) -> None:
        """Mark rows[first : first + count] of each shard, given as (number, first, count).

        Raises:
            CorruptError: a row is outside its shard.
        """
        placed = Memory()
        record = placed.place(self._record(rows=view(rows)))
        for number, first, count in lists:
            market.mark(self._table.address, record, number, first, count)
            self.totals[number] += count

    @classmethod
    def union(cls, several: "Sequence[MarkedRows]") -> "MarkedRows":
        """The rows of several, which are of different shards."""
        first, *others = several
        if not others:
            return first
        made = cls(first._table, np.bitwise_or.reduce([one.bits for one in several]))
        made.totals = [sum(totals) for totals in zip(*(one.totals for one in several), strict=True)]
        return made

    def of(self, number: int) -> NDArray[np.bool_]:
        """The marks of a shard, by row."""
        shard = self._table.record.shards[number]
        words = self.bits[shard.first_mark :][: (shard.rows + 31) >> 5]
        marks = np.unpackbits(words.view(np.uint8), count=shard.rows, bitorder="little")
        return marks.view(np.bool_)

    def bands(self, tri: str) -> NDArray[np.int64]:
        """The marked rows in each band of an order, as a census counts them (`DimensionValues.numbers`).

        Raises:
            CorruptError: a shard refers to what it does not have.
        """
        kind = types.COLUMNS + ORDERS.index(tri)
        counts = np.zeros(self._table.kinds[-1].stop + 1, np.int64)
        placed = Memory()
        record = placed.place(self._record(counts=view(counts)))
        for number, total in enumerate(self.totals):
            if total:
                market.bands(self._table.address, record, number, kind, total)
        return counts[self._table.kinds[kind]]

    def turnovers(self, base: Base) -> Figures:
        """The turnovers of the marked rows, ascending.

        Raises:
            CorruptError: a shard refers to what it does not have.
        """
        steps = [shard.steps("ca_desc") for shard in self._table.shards]
        chosen = np.array([total > 0 for total in self.totals], np.int64)
        found = np.empty(sum(one.known for one, use in zip(steps, chosen, strict=True) if use))
        cursors = np.array([len(one.keys) for one in steps], np.int64)
        sequence = turnover_sequence(base)
        placed = Memory()
        record = self._record(cursors=view(cursors), chosen=view(chosen), figures=view(found))
        record.sequence, record.sequence_size = memoryview(sequence), len(sequence)
        record.room = len(found)
        count = market.turnovers(self._table.address, placed.place(record))
        return found[:count]

    def _record(self, **arrays: memoryview) -> types.MarketArrays:
        made = types.MarketArrays()
        none = view(np.empty(0, np.uint32))
        for name, kind in types.MarketArrays.__annotations__.items():
            setattr(made, name, 0 if kind is types.Int else arrays.get(name, none))
        made.bits = view(self.bits)
        return made


def turnover_sequence(base: Base) -> bytes:
    """The numbers of the shards from which all distinct turnovers come, ascending; a byte each, kept in the memo."""
    found: bytes | None = base.memo.get(_SEQUENCE)
    if found is None:
        keys = [base[iso2].steps("ca_desc").keys for iso2 in sorted(base)]
        numbers = np.repeat(np.arange(len(keys), dtype=np.uint8), [len(one) for one in keys])
        order = np.argsort(np.concatenate([*keys, np.empty(0)]))
        found = base.memo[_SEQUENCE] = numbers[order[::-1]].tobytes()
    return found
