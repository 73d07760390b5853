"""Array operations that NumPy lacks, or does slowly on millions of numbers."""

from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", np.uint32, np.uint64, np.int64)

Rows = NDArray[np.uint32]  # row numbers of a shard

# NumPy's `nonzero` is fast if more than one entry in _SPARSE_FROM is true, or if there are fewer than _SHORT_MASK
# entries.
_SPARSE_FROM: Final = 10
_SHORT_MASK: Final = 4_096


def flatnonzero(mask: NDArray[np.bool_]) -> NDArray[np.intp]:
    """`np.flatnonzero`, but several times faster if few entries are true (NumPy: 50 ns per true entry).

    >>> flatnonzero(np.array([False, True])).tolist()
    [1]
    """
    if len(mask) < _SHORT_MASK or np.count_nonzero(mask) * _SPARSE_FROM > len(mask):
        return mask.nonzero()[0]
    # Eight entries at a time: most eights are all false and are skipped as one number; the others are searched.
    whole_size = len(mask) // 8 * 8
    eights = mask[:whole_size].view(np.uint64)
    true_eights = flatnonzero(eights != 0)
    true_entries = np.flatnonzero(eights.take(true_eights).view(np.bool_))
    places = true_eights.take(true_entries >> 3) << 3
    places += true_entries & 7
    return np.concatenate((places, np.flatnonzero(mask[whole_size:]) + whole_size))


def sort_distinct(numbers: NDArray[T]) -> NDArray[T]:
    """The distinct `numbers`, ascending; `numbers` is overwritten. This is much faster than `np.unique`.

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
    """The numbers first[i], first[i] + 1, … first[i] + count[i] - 1 of each range i, one range after the other.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = count.cumsum()
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(first - ends + count, count) + np.arange(total)
