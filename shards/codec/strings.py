"""Lists of texts as two arrays: the UTF-8 bytes of all texts, each followed by a newline, and their starts.

Words and identifiers are stored so, and names are passed to the writer so. No such text contains a newline, and END
sorts before every byte of a folded text: a search for `text` finds prefixes, a search for `text` + END whole texts.
UTF-8 needs no further care: its bytes sort like the code points, and a text occurs in another exactly where its bytes
do.
"""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

END: Final = b"\n"


class Interval(NamedTuple):
    """The positions [first, end) in a sorted list."""

    first: int
    end: int


def interval_key(interval: Interval) -> int:
    """The key of an interval in an index of row sets: the first position in the upper 32 bits, the end below.

    >>> hex(interval_key(Interval(1, 5)))
    '0x100000005'
    """
    return interval.first << 32 | interval.end


def pair_key(pair: bytes) -> int:
    """The key of two characters in an index of row sets: their UTF-8 as a big-endian number, filled with zeros.

    >>> hex(pair_key(b"ab"))
    '0x6162000000000000'
    """
    return int.from_bytes(pair.ljust(8, b"\0"), "big")


@dataclass(frozen=True, slots=True)
class Texts:
    """A list of texts: text i is data[starts[i] : starts[i + 1] - 1], so `starts` has one entry more than texts."""

    data: memoryview | bytes
    starts: NDArray[np.uint32]

    def __getitem__(self, index: int) -> bytes:
        return bytes(self.data[int(self.starts[index]) : int(self.starts[index + 1]) - 1])

    def __len__(self) -> int:
        return len(self.starts) - 1


def place_of(texts: Texts, text: bytes) -> int:
    """The place of a text in a list that is sorted, -1 if it is not there.

    >>> place_of(pack(["ab", "cd"]), b"cd"), place_of(pack(["ab", "cd"]), b"c")
    (1, -1)
    """
    place = bisect_left(texts, text)
    return place if place < len(texts) and texts[place] == text else -1


def pack(texts: Iterable[str]) -> Texts:
    """The list of `texts`, none of which contains a newline.

    >>> pack(["ab", "", "é"]).data
    b'ab\\n\\n\\xc3\\xa9\\n'
    """
    encoded = [text.encode() + END for text in texts]
    starts = np.zeros(len(encoded) + 1, dtype=np.uint32)
    np.cumsum([len(text) for text in encoded], out=starts[1:])
    return Texts(b"".join(encoded), starts)
