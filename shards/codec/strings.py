"""Many short texts as two arrays: their UTF-8 bytes, each ended by a newline, and their starts.

Three indexes are such lists: names by row, words sorted, identifiers sorted. No folded text holds a
newline, so the end of a text is a byte that sorts before every other, and `text` + END is the text
itself where `text` alone is a prefix. UTF-8 needs no care beyond that: its bytes sort as the code
points do, and a text occurs in another exactly where its bytes do.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

END: Final = b"\n"


class Interval(NamedTuple):
    """Positions [first, end) in a sorted list."""

    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Texts:
    """Text i is data[starts[i] : starts[i + 1] - 1]; `starts` has one entry more."""

    data: memoryview | bytes
    starts: NDArray[np.uint32]

    def __getitem__(self, index: int) -> bytes:
        return bytes(self.data[int(self.starts[index]) : int(self.starts[index + 1]) - 1])

    def __len__(self) -> int:
        return len(self.starts) - 1


def pack(texts: Iterable[str]) -> Texts:
    """The two arrays of `texts`.

    >>> pack(["ab", "", "é"]).data
    b'ab\\n\\n\\xc3\\xa9\\n'
    """
    encoded = [text.encode() + END for text in texts]
    starts = np.zeros(len(encoded) + 1, dtype=np.uint32)
    np.cumsum([len(text) for text in encoded], out=starts[1:])
    return Texts(b"".join(encoded), starts)
