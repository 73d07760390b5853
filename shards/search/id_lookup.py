"""Identifiers, by prefix (contract B15) and one by one (E2): folded, sorted, with their rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shards.codec.arrays import Rows, distinct
from shards.codec.row_sets import NO_LOOKUP, Listed, Lookup, Packed, lazy_lookup
from shards.codec.sparse_index import EvenPlaces, Probe, SparseIndex, probe
from shards.codec.strings import END

# An identifier has at most 64 characters (FORMAT.md §10).
_LINE: Final = 4 * 64 + 1
_LISTING: Final = 5.0  # nanoseconds a row


@dataclass(frozen=True, slots=True)
class IdLookup:
    """The folded identifiers, sorted, and rows[i], the row of place i; ties by row.

    `heavy` looks up what the build has united: the rows of a prefix that many identifiers have;
    none has so many that are at most `light`. `first` and `last` are the ends of the list.
    """

    folded: SparseIndex[NDArray[np.uint32]] | SparseIndex[EvenPlaces]
    rows: Rows
    light: int
    heavy: Callable[[bytes], Packed | None]
    first: bytes
    last: bytes

    def may_begin_with(self, prefix: Probe) -> bool:
        """False where no identifier does: most `q` are letters, most identifiers digits."""
        text = prefix.text
        return self.first[: len(text)] <= text <= self.last


def rows_beginning_with(index: IdLookup, prefix: Probe) -> Lookup:
    """The rows whose folded identifier begins with `prefix`, which is folded."""
    if not index.may_begin_with(prefix):
        return NO_LOOKUP
    first, end = index.folded.beginning_with(prefix)
    if first == end:
        return NO_LOOKUP
    if end - first > index.light and (united := index.heavy(prefix.text)) is not None:
        return lazy_lookup(united)
    cost = _LISTING * (end - first)
    return Lookup(cost, lambda: Listed(distinct(index.rows[first:end].copy())))


def rows_equal_to(index: IdLookup, whole: str) -> Rows:
    """The rows whose folded identifier is `whole`, which is folded; ascending."""
    first, end = index.folded.beginning_with(probe(whole.encode() + END))
    return index.rows[first:end]


def first_and_last(folded: memoryview) -> tuple[bytes, bytes]:
    """The first and the last of these texts; nothing twice where there is none."""
    first = bytes(folded[:_LINE]).split(END, 1)[0]
    return first, bytes(folded[-_LINE:]).rstrip(END).split(END)[-1]
