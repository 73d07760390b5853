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

# Prefixes that are looked at, and bytes of an identifier in which one is looked for.
_PREFIXES: Final = 1_000
_PREFIX: Final = 12


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


def rows_behind_prefixes(index: IdLookup, whole: str, prefix: re.Pattern[bytes]) -> list[int]:
    """The rows whose folded identifier is `whole` behind something that `prefix` matches: the code of a court."""
    return [
        row
        for found in _prefixes(index, prefix)
        for row in rows_equal_to(index, found.decode() + whole).tolist()
    ]


def _prefixes(index: IdLookup, prefix: re.Pattern[bytes]) -> Iterator[bytes]:
    """The distinct beginnings of identifiers that `prefix` matches: a look-up for each, not one for each identifier."""
    folded, at = index.folded, 0
    for _ in range(_PREFIXES):
        if at >= len(folded.places):
            return
        place = int(folded.places[at])
        text = bytes(folded.data[place : place + _PREFIX])
        matched = prefix.match(text)
        if matched:
            yield matched.group()
        known = matched.group() if matched else text[:1]
        at = folded.end_of(known, at)
