"""All rows that a search found, as a bit a row: what many rows have in common is read along the orders.

An order has the rows of a band side by side, and turnovers in their order, so a pass along it takes a nanosecond or
two for each row of a country, whether it is marked or not. Few rows are better looked up one by one.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shards.kernel.memory import Memory
from shards.kernel.results import market
from shards.query import Query
from shards.ratios.distribution import Figures
from shards.search.generation_arrays import GenerationArrays
from shards.search.kernel_session import KernelSession, market_arrays
from shards.search.search import ShardSet

# The memo of a generation: from which country each next distinct turnover comes.
_SEQUENCE: Final = "turnover sequence"

Bits = NDArray[np.uint32]
SlotCounts = Mapping[int, NDArray[np.int64]]  # by kind of a census


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

    def mark(
        self, session: KernelSession, query: Query, kinds: Collection[int], *, needed: bool = True
    ) -> tuple[int, SlotCounts]:
        """Mark what a search finds, and count it by slots; what is not `needed` is marked where that is faster.

        Raises:
            CorruptError: a shard refers to a row, a word or a place that it does not have.
        """
        chosen = np.zeros(len(self.totals), np.int64)
        found = session.scope(query, kinds, self.bits, chosen, needed=needed)
        self.totals = chosen.tolist()
        return found

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

    def count_lesser(self, sequence: TurnoverSequence) -> int:
        """How many marked rows have a turnover in the first half of all distinct ones.

        Raises:
            CorruptError: a shard refers to what it does not have.
        """
        placed = Memory()
        record = placed.place(market_arrays(bits=self.bits))
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
        record = market_arrays(bits=self.bits, cursors=cursors, chosen=chosen, figures=figures)
        record.sequence, record.sequence_size, record.room = part, len(part), len(figures)
        placed = Memory()
        return market.turnovers(self._arrays.address, placed.place(record))
