"""All rows that a search found, as a bit a row: what many rows have in common is read along the orders.

An order has the rows of a band side by side, and turnovers in their order, so a pass along it takes a nanosecond or
two for each row of a country, whether it is marked or not. Few rows are better looked up one by one.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shards.codec.arrays import Rows
from shards.kernel import types
from shards.kernel.memory import Memory, view
from shards.kernel.results import market
from shards.ratios.distribution import Figures
from shards.search.generation_arrays import GenerationArrays
from shards.search.search import ShardSet

# The memo of a generation: from which country each next distinct turnover comes.
_SEQUENCE: Final = "turnover sequence"

Bits = NDArray[np.uint32]


class TurnoverSequence(NamedTuple):
    """The order of all distinct turnovers of a generation.

    Attributes:
        shards: the number of the shard of each, ascending by turnover; a byte each.
        middle: by shard, how many of its turnovers are in the first half of these.
    """

    shards: bytes
    middle: NDArray[np.int64]


def turnover_sequence(base: ShardSet) -> TurnoverSequence:
    """The order of all distinct turnovers, made once and kept in the memo of the generation."""
    found: TurnoverSequence | None = base.memo.get(_SEQUENCE)
    if found is None:
        keys = [base[iso2].steps("ca_desc").keys for iso2 in sorted(base)]
        numbers = np.repeat(np.arange(len(keys), dtype=np.uint8), [len(one) for one in keys])
        order = np.argsort(np.concatenate([*keys, np.empty(0)]))
        numbers = numbers[order[::-1]]
        middle = np.bincount(numbers[: len(numbers) // 2], minlength=len(keys))
        found = base.memo[_SEQUENCE] = TurnoverSequence(numbers.tobytes(), middle)
    return found


class RowBitmap:
    """The rows of some shards, a bit each.

    Attributes:
        bits: those of all shards, one after the other.
        totals: by number of a shard, how many are marked.
    """

    def __init__(self, arrays: GenerationArrays, bits: Bits | None = None) -> None:
        self._arrays = arrays
        words = sum((shard.rows + 31) >> 5 for shard in arrays.shards) + 1
        self.bits = np.zeros(words, np.uint32) if bits is None else bits
        self.totals = [0] * len(arrays.shards)

    def mark(self, rows: Rows, lists: Sequence[tuple[int, int, int]]) -> None:
        """Mark rows[first : first + count] of each shard, given as (number, first, count).

        Raises:
            CorruptError: a row is outside its shard.
        """
        placed = Memory()
        record = placed.place(self.record(rows=view(rows)))
        for number, first, count in lists:
            market.mark(self._arrays.address, record, number, first, count)
            self.totals[number] += count

    @classmethod
    def union(cls, several: "Sequence[RowBitmap]") -> "RowBitmap":
        """The rows of several, which are of different shards."""
        first, *others = several
        if not others:
            return first
        made = cls(first._arrays, np.bitwise_or.reduce([one.bits for one in several]))
        made.totals = [sum(totals) for totals in zip(*(one.totals for one in several), strict=True)]
        return made

    def of_shard(self, number: int) -> NDArray[np.bool_]:
        """The marks of a shard, by row."""
        shard = self._arrays.record.shards[number]
        words = self.bits[shard.first_mark :][: (shard.rows + 31) >> 5]
        marks = np.unpackbits(words.view(np.uint8), count=shard.rows, bitorder="little")
        return marks.view(np.bool_)

    def bands(self, kind: int) -> NDArray[np.int64]:
        """The marked rows in each slot of a kind: bands of headcount, or those of an order, as a census counts them.

        Raises:
            CorruptError: a shard refers to what it does not have.
        """
        counts = np.zeros(self._arrays.kinds[-1].stop + 1, np.int64)
        placed = Memory()
        record = placed.place(self.record(counts=view(counts)))
        for number, total in enumerate(self.totals):
            if total:
                market.bands(self._arrays.address, record, number, kind, total)
        return counts[self._arrays.kinds[kind]]

    def count_lesser(self, sequence: TurnoverSequence) -> int:
        """How many marked rows have a turnover in the first half of all distinct ones.

        Raises:
            CorruptError: a shard refers to what it does not have.
        """
        placed = Memory()
        record = placed.place(self.record())
        found = 0
        for number, total in enumerate(self.totals):
            steps = self._arrays.shards[number].steps("ca_desc")
            first = int(steps.places[len(steps.keys) - sequence.middle[number]])
            if total:
                found += market.turnovers_from(self._arrays.address, record, number, first)
        return found

    def write(self, sequence: TurnoverSequence, half: int, figures: Figures) -> int:
        """Write the turnovers of the marked rows, ascending, from one half of all distinct ones; returns how many.

        Raises:
            CorruptError: a shard refers to what it does not have, or there are more than `figures` has room for.
        """
        middle = len(sequence.shards) // 2
        sizes = [len(shard.steps("ca_desc").keys) for shard in self._arrays.shards]
        cursors = np.array(sizes, np.int64) - half * sequence.middle
        chosen = np.array([total > 0 for total in self.totals], np.int64)
        part = (
            memoryview(sequence.shards)[middle:] if half else memoryview(sequence.shards)[:middle]
        )
        record = self.record(
            cursors=view(cursors), chosen=view(chosen), figures=view(figures), sequence=part
        )
        record.sequence_size, record.room = len(part), len(figures)
        placed = Memory()
        return market.turnovers(self._arrays.address, placed.place(record))

    def record(self, **arrays: memoryview) -> types.MarketArrays:
        """These rows for the compiled modules, with other arrays by the names of their fields."""
        made = types.MarketArrays()
        none = view(np.empty(0, np.uint32))
        for name, kind in types.MarketArrays.__annotations__.items():
            setattr(made, name, 0 if kind is types.i64 else arrays.get(name, none))
        made.bits = view(self.bits)
        return made
