"""The index of identifiers: rows by prefix (contract B15) and by whole identifier (contract E2).

It is the folded identifiers, sorted, and the row of each. Row sets of frequent prefixes are stored by the build.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shards.codec.arrays import Rows, distinct
from shards.codec.row_sets import NO_LOOKUP, Listed, Lookup, Packed, lazy_lookup
from shards.codec.sparse_index import EvenPlaces, Probe, SparseIndex, probe
from shards.codec.strings import END

# The most bytes of an identifier with its END: at most 64 characters (FORMAT.md §10), 4 bytes each in UTF-8.
_LINE: Final = 4 * 64 + 1
_LISTING: Final = 5.0  # nanoseconds per row


@dataclass(frozen=True, slots=True)
class IdLookup:
    """The index of one shard (FORMAT.md §3, table `ident`).

    Attributes:
        folded: the folded identifiers, sorted, ties by row.
        rows: the row of each of them.
        light: a prefix of at most so many identifiers has no stored row set.
        heavy: the stored row set of a prefix, None if there is none.
        first, last: the first and the last folded identifier.
    """

    folded: SparseIndex[NDArray[np.uint32]] | SparseIndex[EvenPlaces]
    rows: Rows
    light: int
    heavy: Callable[[bytes], Packed | None]
    first: bytes
    last: bytes

    def may_begin_with(self, prefix: Probe) -> bool:
        """Whether the prefix is between the first and the last identifier.

        Most `q` are letters and most identifiers digits, so this rules most lookups out.
        """
        text = prefix.text
        return self.first[: len(text)] <= text <= self.last


def rows_beginning_with(index: IdLookup, prefix: Probe) -> Lookup:
    """The rows whose folded identifier begins with `prefix`, which is folded."""
    if not index.may_begin_with(prefix):
        return NO_LOOKUP
    first, end = index.folded.beginning_with(prefix)
    if first == end:
        return NO_LOOKUP
    if end - first > index.light and (stored := index.heavy(prefix.text)) is not None:
        return lazy_lookup(stored)
    cost = _LISTING * (end - first)
    return Lookup(cost, lambda: Listed(distinct(index.rows[first:end].copy())))


def rows_equal_to(index: IdLookup, whole: str) -> Rows:
    """The rows whose folded identifier is `whole`, which is folded; ascending."""
    first, end = index.folded.beginning_with(probe(whole.encode() + END))
    return index.rows[first:end]


def first_and_last(folded: memoryview) -> tuple[bytes, bytes]:
    """The first and the last of these texts; twice empty if there are none."""
    first = bytes(folded[:_LINE]).split(END, 1)[0]
    return first, bytes(folded[-_LINE:]).rstrip(END).split(END)[-1]
