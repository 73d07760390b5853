"""The pages of several countries, merged into one.

Each shard gives its first rows in order; what is left is to interleave them by sort key and, where
keys are equal, by country (contract B28). Within a shard the order is already total. Numbers are
compared all at once; names one by one, and a raw name is read only where folded names are equal.
"""

from collections.abc import Iterator, Sequence
from functools import total_ordering
from heapq import merge
from itertools import islice
from typing import NamedTuple

import numpy as np

from shards.orders import Rows
from shards.reader import Shard


class Row(NamedTuple):
    """A company: its country and its row number there."""

    iso2: str
    row: int


class Head(NamedTuple):
    """The first matching rows of one shard, in order."""

    shard: Shard
    rows: Rows


def page(heads: Sequence[Head], tri: str, *, offset: int, limit: int) -> tuple[Row, ...]:
    """Rows [offset, offset + limit) of all heads together, in the order `tri`.

    `heads` are in the order of their countries; each holds the first offset + limit rows of its
    shard, or all of them.
    """
    if len(heads) == 1:
        head = heads[0]
        return tuple(
            Row(head.shard.iso2, row) for row in head.rows[offset : offset + limit].tolist()
        )
    merged = _by_name(heads) if tri == "nom" else _by_number(heads, tri, offset + limit)
    return tuple(islice(merged, offset, offset + limit))


def _by_number(heads: Sequence[Head], tri: str, count: int) -> Iterator[Row]:
    if not heads:
        return
    keys = np.concatenate([head.shard.keys(tri, head.rows) for head in heads])
    rows = np.concatenate([head.rows for head in heads])
    owner = np.repeat(np.arange(len(heads)), [len(head.rows) for head in heads])
    # Stable: equal keys stay in the order of countries, and within one as the shard gave them.
    for place in np.argsort(keys, kind="stable")[:count].tolist():
        yield Row(heads[owner[place]].shard.iso2, int(rows[place]))


def _by_name(heads: Sequence[Head]) -> Iterator[Row]:
    for name in merge(*(_names(head) for head in heads)):
        yield Row(name.shard.iso2, name.row)


def _names(head: Head) -> Iterator["_Name"]:
    return (_Name(head.shard, row) for row in head.rows.tolist())


@total_ordering
class _Name:
    """A name to be compared: folded, then raw, then by country."""

    __slots__ = ("folded", "row", "shard")

    def __init__(self, shard: Shard, row: int) -> None:
        self.shard = shard
        self.row = row
        self.folded = shard.names[row]

    def __lt__(self, other: "_Name") -> bool:
        if self.folded != other.folded:
            return self.folded < other.folded
        return self._raw() < other._raw()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Name) and (self.folded, self._raw()) == (
            other.folded,
            other._raw(),
        )

    def __hash__(self) -> int:
        return hash(self.folded)

    def _raw(self) -> tuple[str, str]:
        return self.shard.company(self.row)["nom"], self.shard.iso2
