"""All rows that a search found, as a bit a row: what many rows have in common is read along the orders.

An order has the rows of a band side by side, and turnovers in their order, so a pass along it takes a nanosecond or
two for each row of a country, whether it is marked or not. Few rows are better looked up one by one.
"""

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shards.codec.arrays import Rows
from shards.errors import CorruptError, translate_errors
from shards.kernel import scope, types
from shards.kernel.memory import Memory
from shards.query import Query
from shards.ratios.distribution import Figures
from shards.reader.shard import Shard
from shards.search.generation_arrays import GenerationArrays
from shards.search.kernel_session import KernelSession, market_arrays
from shards.search.result_page import SlotCounts
from shards.search.search import ShardSet

# The memo of a generation: from which country each next turnover comes.
_SEQUENCE: Final = "turnover sequence"

Bits = NDArray[np.uint32]


class TurnoverSequence(NamedTuple):
    """The order of the turnovers of all companies of a generation, in two halves that begin at its middle.

    Attributes:
        halves: the number of the shard of each turnover, a byte each: of the lesser ones descending, of the others
            ascending; `types.NEXT_STEP` is added to the least of equal ones of a shard.
        cursors: by shard, the step and the place in its order at which both begin.
        rows: by half and shard, how many turnovers are in it.
    """

    halves: tuple[bytes, bytes]
    cursors: NDArray[np.int64]
    rows: NDArray[np.int64]


@translate_errors()
def turnover_sequence(base: ShardSet) -> TurnoverSequence:
    """The order of all turnovers, made once and kept in the memo of the generation.

    Raises:
        CorruptError: the turnovers of a shard do not follow each other.
    """
    found: TurnoverSequence | None = base.memo.get(_SEQUENCE)
    if found is None:
        found = base.memo[_SEQUENCE] = _read_sequence([base[iso2] for iso2 in sorted(base)])
    return found


def _read_sequence(shards: Sequence[Shard]) -> TurnoverSequence:
    steps = [shard.steps("ca_desc") for shard in shards]
    distinct = [len(step.keys) for step in steps]
    order = np.argsort(np.concatenate([*(step.keys for step in steps), np.empty(0)]))[::-1]
    numbers = np.repeat(np.arange(len(shards), dtype=np.uint8), distinct)[order]
    sizes = [np.diff(step.places[: len(step.keys) + 1].astype(np.int64)) for step in steps]
    size = np.concatenate([*sizes, np.empty(0, np.int64)])[order]
    if size.sum() > sum(shard.rows for shard in shards):
        raise CorruptError("a shard has more turnovers than rows; build or fetch it again")
    starts = size.cumsum() - size
    half = int(starts.searchsorted(int(size.sum()) // 2))  # of the distinct ones
    lesser = np.bincount(numbers[:half], minlength=len(shards))
    rows = np.repeat(numbers, size)
    rows[starts] |= types.NEXT_STEP
    middle = int(size[:half].sum())
    halves = (rows[:middle][::-1].tobytes(), rows[middle:].tobytes())
    cursors = [
        (number - less, int(step.places[number - less]) if number else 0)
        for step, number, less in zip(steps, distinct, lesser.tolist(), strict=True)
    ]
    known = [
        np.bincount(numbers[part], size[part], len(shards))
        for part in (slice(half), slice(half, None))
    ]
    return TurnoverSequence(halves, np.array(cursors, np.int64).ravel(), np.array(known, np.int64))


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
        found = session.mark(query, kinds, self.bits, chosen, needed=needed)
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

    def marked_places(self, number: int, rows: Rows) -> NDArray[np.intp]:
        """The places, among these rows of a shard, of those that are marked."""
        first = self._arrays.record.shards[number].first_mark
        words = self.bits[first:][rows >> 5]
        return np.flatnonzero((words >> (rows & 31)) & 1)

    def room(self, sequence: TurnoverSequence) -> tuple[int, int]:
        """How many turnovers the marked rows have at most, in each half."""
        lesser, greater = (sequence.rows * (np.array(self.totals) > 0)).sum(axis=1).tolist()
        return lesser, greater

    def write(self, sequence: TurnoverSequence, half: int, figures: Figures, first: int) -> int:
        """Write the turnovers of the marked rows of one half, ascending, before or from `first`; returns how many.

        Args:
            figures: has `room` for both halves, and `first` is that of the lesser one.

        Raises:
            CorruptError: a shard refers to what it does not have.
        """
        chosen = np.array([total > 0 for total in self.totals], np.int64)
        cursors = sequence.cursors.copy()
        record = market_arrays(bits=self.bits, cursors=cursors, chosen=chosen, figures=figures)
        record.sequence = memoryview(sequence.halves[half])
        record.sequence_size = len(record.sequence)
        placed = Memory()
        start = first if half else first - 1
        return scope.turnovers(self._arrays.address, placed.place(record), start, not half)
