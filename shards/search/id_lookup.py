"""The index of identifiers: rows by whole identifier (contract E2).

It is the folded identifiers, sorted, and the row of each. `shards/kernel` finds those that begin with `q`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shards.codec.arrays import Rows
from shards.codec.sparse_index import EvenPlaces, SparseIndex, probe
from shards.codec.strings import END


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
