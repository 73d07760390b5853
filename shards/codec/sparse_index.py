"""A sparse index over sorted texts: the first 8 bytes of every 16th text, as a number.

A search among millions of texts is a binary search among the numbers, which lie close together in memory, followed by
four steps among the texts themselves. Two lists have such an index: suffixes of words, and identifiers.
"""

from bisect import bisect_left
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from shards.codec.strings import Interval
from shards.format import SAMPLED

_HEAD: Final = 8


class EvenPlaces:
    """The places 0, width, 2 × width, … where texts of equal length begin; an array that is not stored."""

    def __init__(self, width: int, count: int) -> None:
        self._places = range(0, width * count, width)

    def __getitem__(self, index: int) -> int:
        return self._places[index]

    def __len__(self) -> int:
        return len(self._places)

    def array(self) -> NDArray[np.uint32]:
        """All places as an array, for verification; it takes the memory that this class saves."""
        return np.array(self._places, dtype=np.uint32)


@dataclass(frozen=True, slots=True, eq=False)
class Probe:
    """A text to look up, with the bounds of the numbers of all texts that begin with it."""

    text: bytes
    bounds: NDArray[np.uint64]


def probe(text: bytes) -> Probe:
    """Prepare the lookup of `text`, once for all shards.

    >>> [hex(bound) for bound in probe(b"ab").bounds]
    ['0x6162000000000000', '0x6163000000000000']
    """
    return Probe(text, np.array(bounds(text), dtype=np.uint64))


def bounds(text: bytes) -> tuple[int, int]:
    """The numbers [low, high) of the first 8 bytes of all texts that begin with `text`; twice 0 if it is empty."""
    head = text[:_HEAD]
    low = int.from_bytes(head.ljust(_HEAD, b"\0"), "big")
    return low, low + (1 << 8 * (_HEAD - len(head))) if head else 0


P = TypeVar("P", NDArray[np.uint32], EvenPlaces)


@dataclass(frozen=True, slots=True)
class SparseIndex(Generic[P]):
    """The places of texts in `data`, sorted by the bytes from there on, and the numbers of places 0, 16, 32, …"""

    data: memoryview | bytes
    places: P
    keys: NDArray[np.uint64]

    def beginning_with(self, wanted: Probe) -> Interval:
        """The interval of `places` where texts begin with the text of `wanted`."""
        low, high = (SAMPLED * self.keys.searchsorted(wanted.bounds)).tolist()
        text, count = wanted.text, len(self.places)
        # If the text is no longer than the numbers, they decide all but the last few places.
        decided = len(text) <= _HEAD
        first = self._count_below(text, low - SAMPLED + 1, min(low if decided else high, count))
        if first == count or not self._begins(first, text):
            return Interval(first, first)
        least = max(first, high - SAMPLED + 1) if decided else first
        return Interval(first, self._count_below(text + b"\xff", least, min(high, count)))

    def end_of(self, text: bytes, first: int) -> int:
        """The first place from `first` on where a text neither sorts before `text` nor begins with it."""
        return self._count_below(text + b"\xff", first, len(self.places))

    def _begins(self, index: int, text: bytes) -> bool:
        place = int(self.places[index])
        return bytes(self.data[place : place + len(text)]) == text

    def _count_below(self, text: bytes, low: int, high: int) -> int:
        """The number of places whose texts sort before `text`; it is at least `low` and at most `high`."""
        data, places, length = self.data, self.places, len(text)

        def at(index: int) -> bytes:
            place = int(places[index])
            return bytes(data[place : place + length])

        return bisect_left(range(high), text, lo=max(0, low), key=at)
