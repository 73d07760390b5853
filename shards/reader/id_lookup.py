"""The index of identifiers: rows by whole identifier (contract E2).

It is the folded identifiers, sorted, and the row of each. `shards/kernel` finds those that begin with `q`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shards.codec.arrays import Rows
from shards.codec.sparse_index import EvenPlaces, SparseIndex, probe
from shards.codec.strings import END

# How an identifier of a court begins: with a letter and four digits, once or twice, before the register.
_COURT: Final = re.compile(rb"(?:[A-Z]\d{4}[A-Z]?){1,2}(?=HR|GN|VR|PR|GS)")
# Codes with their next letters, and bytes of an identifier in which they are looked for.
_MOST_COURTS: Final = 4_000
_READ: Final = 16


@dataclass(frozen=True, slots=True)
class IdLookup:
    """The index of one shard (FORMAT.md §3, table `ident`).

    Attributes:
        folded: the folded identifiers, sorted, ties by row.
        rows: the row of each of them.
    """

    folded: SparseIndex[NDArray[np.uint32]] | SparseIndex[EvenPlaces]
    rows: Rows

    @property
    def width(self) -> int:
        """The length of all folded identifiers; 0 if they differ."""
        places = self.folded.places
        return places[1] - 1 if isinstance(places, EvenPlaces) and len(places) > 1 else 0


def rows_equal_to(index: IdLookup, whole: str) -> Rows:
    """The rows whose folded identifier is `whole`, which is folded; ascending."""
    first, end = index.folded.beginning_with(probe(whole.encode() + END))
    return index.rows[first:end]


def courts(index: IdLookup) -> list[str]:
    """The codes of courts that identifiers begin with (XJustiz): of two where a company moved."""
    return list(dict.fromkeys(code.decode() for code in _courts(index)))


def _courts(index: IdLookup) -> Iterator[bytes]:
    """A look-up for each code and its next letter, not for each identifier."""
    folded, at = index.folded, 0
    for _ in range(_MOST_COURTS):
        if at >= len(folded.places):
            return
        place = int(folded.places[at])
        text = bytes(folded.data[place : place + _READ])
        matched = _COURT.match(text)
        if matched:
            yield matched.group()
        # R3306HRB1 and R3306R3304HRB1 begin alike: only what has the next letter too is passed over.
        known = text[: matched.end() + 1] if matched else text[:1]
        at = folded.end_of(known, at)
