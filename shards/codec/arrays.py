"""Array operations that NumPy lacks, or does slowly on millions of numbers."""

from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", np.uint32, np.uint64, np.int64)

Rows = NDArray[np.uint32]  # row numbers of a shard

# `nonzero` is fast if more than one entry in ten is true, or if there are few entries.
_SPARSE: Final = 10
_FEW: Final = 4_096


def flatnonzero(mask: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The same as `np.flatnonzero`, several times faster where few entries are true (NumPy: 50 ns per entry found).

    >>> flatnonzero(np.array([False, True])).tolist()
    [1]
    """
    if len(mask) < _FEW or np.count_nonzero(mask) * _SPARSE > len(mask):
        return mask.nonzero()[0]
    # Eight entries at a time; in those that are not all false, at least one in eight is true.
    whole = len(mask) // 8 * 8
    eights = mask[:whole].view(np.uint64)
    chosen = flatnonzero(eights != 0)
    inside = np.flatnonzero(eights.take(chosen).view(np.bool_))
    found = chosen.take(inside >> 3) << 3
    found += inside & 7
    return np.concatenate((found, np.flatnonzero(mask[whole:]) + whole))


def sort_distinct(numbers: NDArray[T]) -> NDArray[T]:
    """The distinct `numbers`, ascending; `numbers` is overwritten. Much faster than `np.unique`.

    >>> sort_distinct(np.array([3, 1, 3], dtype=np.uint32)).tolist()
    [1, 3]
    """
    numbers.sort()
    if len(numbers) < 2:
        return numbers
    keep = np.empty(len(numbers), dtype=bool)
    keep[0] = True
    np.not_equal(numbers[1:], numbers[:-1], out=keep[1:])
    return numbers[keep]


def ranges(first: NDArray[np.int64], count: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers first, first + 1, … first + count - 1 of each range, range after range.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = count.cumsum()
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(first - ends + count, count) + np.arange(total)
