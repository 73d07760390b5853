"""All matches of a search as a bitmap, one bit per row; figures of many rows are read in the orders of the shards.

In an order the rows of a band are adjacent, and turnovers are sorted. A pass along an order takes a nanosecond or two
for each row of the country, marked or not, so a few rows are looked up one by one instead.
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

# The key of the order of all turnovers (`turnover_sequence`) in the memo of a generation.
_SEQUENCE: Final = "turnover sequence"

Bits = NDArray[np.uint32]  # one bit per row, 32 rows in each number


class TurnoverSequence(NamedTuple):
    """The shard of each turnover of a generation, in the order of turnovers, in two halves that begin at the middle.

    Attributes:
        halves: the shard number of each turnover, one byte each: the lesser half descends, the greater half ascends.
            Equal turnovers of a shard are one step; `types.NEXT_STEP` is added to one byte of each step.
        cursors: for each shard, the step and the place in its `ca_desc` at which both halves begin.
        rows: the number of turnovers by half and shard.
    """

    halves: tuple[bytes, bytes]
    cursors: NDArray[np.int64]
    rows: NDArray[np.int64]


@translate_errors()
def turnover_sequence(base: ShardSet) -> TurnoverSequence:
    """The order of all turnovers, computed once and stored in the memo of the generation.

    Raises:
        CorruptError: a shard has more turnovers than rows, or a broken array.
    """
    sequence: TurnoverSequence | None = base.memo.get(_SEQUENCE)
    if sequence is None:
        sequence = base.memo[_SEQUENCE] = _read_sequence([base[iso2] for iso2 in sorted(base)])
    return sequence


def _read_sequence(shards: Sequence[Shard]) -> TurnoverSequence:
    """The order of all turnovers of a generation, so that the quantiles of a market need no sorting.

    The turnovers are split at their middle, because two threads read them at the same time, outwards from there: one
    reads the lesser half downwards, the other the greater half upwards. A cursor is the place in `ca_desc` of a shard
    where both threads begin, with the number of its step (a step is the rows of equal turnover).

    Raises:
        CorruptError: the shards have more turnovers than rows.
    """
    steps = [shard.steps("ca_desc") for shard in shards]
    step_counts = [len(step.keys) for step in steps]
    # Keys are negated turnovers, so descending keys are ascending turnovers. `order` sorts the steps of all shards.
    order = np.argsort(np.concatenate([*(step.keys for step in steps), np.empty(0)]))[::-1]
    shard_numbers = np.repeat(np.arange(len(shards), dtype=np.uint8), step_counts)[order]
    counts_by_shard = [
        np.diff(step.places[: len(step.keys) + 1].astype(np.int64)) for step in steps
    ]
    row_counts = np.concatenate([*counts_by_shard, np.empty(0, np.int64)])[order]
    if row_counts.sum() > sum(shard.rows for shard in shards):
        raise CorruptError("a shard has more turnovers than rows; build or fetch it again")
    starts = row_counts.cumsum() - row_counts
    half_step = int(starts.searchsorted(int(row_counts.sum()) // 2))  # of the distinct turnovers
    lesser_steps = np.bincount(shard_numbers[:half_step], minlength=len(shards))
    sequence = np.repeat(shard_numbers, row_counts)
    sequence[starts] |= types.NEXT_STEP
    middle = int(row_counts[:half_step].sum())
    halves = (sequence[:middle][::-1].tobytes(), sequence[middle:].tobytes())
    # The lesser half of the turnovers of a shard are the last steps of its `ca_desc`.
    cursors = [
        (
            step_count - lesser_count,
            int(step.places[step_count - lesser_count]) if step_count else 0,
        )
        for step, step_count, lesser_count in zip(
            steps, step_counts, lesser_steps.tolist(), strict=True
        )
    ]
    turnovers_by_half = [
        np.bincount(shard_numbers[part], row_counts[part], len(shards))
        for part in (slice(half_step), slice(half_step, None))
    ]
    return TurnoverSequence(
        halves, np.array(cursors, np.int64).ravel(), np.array(turnovers_by_half, np.int64)
    )


class RowBitmap:
    """Marked rows of the shards of a generation, one bit per row.

    Attributes:
        bits: the bits of all shards, one shard after the other.
        totals: the number of marked rows by shard number.
    """

    def __init__(self, arrays: GenerationArrays, bits: Bits | None = None) -> None:
        """Begin with these marks (the caller then sets `totals`), or without a marked row."""
        self._arrays = arrays
        words = sum((shard.rows + 31) >> 5 for shard in arrays.shards) + 1
        self.bits = np.zeros(words, np.uint32) if bits is None else bits
        self.totals = [0] * len(arrays.shards)

    def mark(
        self, session: KernelSession, query: Query, kinds: Collection[int], *, needed: bool = True
    ) -> tuple[int, SlotCounts]:
        """Count the matches of a search by slots, and mark them if `needed`, or if marking makes counting faster.

        Returns the number of matches, and the counts of the slots by kind. `totals` becomes the number of marked rows
        by shard number.

        Raises:
            CorruptError: a shard refers to a row, a word or a place that it does not have.
        """
        marked_counts = np.zeros(len(self.totals), np.int64)
        result = session.mark(query, kinds, self.bits, marked_counts, needed=needed)
        self.totals = marked_counts.tolist()
        return result

    @classmethod
    def union(cls, bitmaps: "Sequence[RowBitmap]") -> "RowBitmap":
        """The union of bitmaps that mark different shards."""
        first_bitmap, *other_bitmaps = bitmaps
        if not other_bitmaps:
            return first_bitmap
        union = cls(first_bitmap._arrays, np.bitwise_or.reduce([bitmap.bits for bitmap in bitmaps]))
        union.totals = [
            sum(totals) for totals in zip(*(bitmap.totals for bitmap in bitmaps), strict=True)
        ]
        return union

    def marked_places(self, number: int, rows: Rows) -> NDArray[np.intp]:
        """The indexes in `rows` of the rows that are marked; `rows` are rows of shard `number`."""
        first = self._arrays.record.shards[number].first_mark
        words = self.bits[first:][rows >> 5]
        return np.flatnonzero((words >> (rows & 31)) & 1)

    def room(self, sequence: TurnoverSequence) -> tuple[int, int]:
        """The most turnovers that `write` can write for each half, to allocate `figures`: lesser half, greater half.

        All turnovers of a shard with a marked row are counted, also those of its rows without a mark.
        """
        lesser, greater = (sequence.rows * (np.array(self.totals) > 0)).sum(axis=1).tolist()
        return lesser, greater

    def write(self, sequence: TurnoverSequence, half: int, figures: Figures, first: int) -> int:
        """Write the turnovers of the marked rows of one half, ascending, and return the number of turnovers.

        The greater half is written to `figures` from index `first` on, the lesser half before this index.

        Args:
            half: 0 for the lesser half, 1 for the greater half.
            figures: an array for both halves, as long as the sum of `room`.
            first: the room of the lesser half.

        Raises:
            CorruptError: a shard refers to a row, a word or a place that it does not have.
        """
        has_marks = np.array([total > 0 for total in self.totals], np.int64)
        cursors = sequence.cursors.copy()
        record = market_arrays(bits=self.bits, cursors=cursors, chosen=has_marks, figures=figures)
        record.sequence = memoryview(sequence.halves[half])
        record.sequence_size = len(record.sequence)
        placed = Memory()
        start = first if half else first - 1
        return scope.turnovers(self._arrays.address, placed.place(record), start, not half)
