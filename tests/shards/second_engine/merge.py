"""The pages of several countries, merged into one.

Each shard gives its first rows in order; what is left is to interleave them by sort key and, where
keys are equal, by country (contract B28). Within a shard the order is already total. Of each no
more is asked than its share of the matches lets expect; one whose rows are all on the page is asked
for more. A raw name is read only where folded names are equal.
"""

from collections.abc import Callable, Sequence
from heapq import merge
from itertools import groupby, islice
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shards.codec.arrays import Rows
from shards.codec.sort_keys import Keys
from shards.search import name_lookup
from shards.search.reader import Shard
from shards.search.result_page import MergedRow

# What is asked of a shard at first: this many rows, and this many times its share of the page.
SPARE: Final = 4
SHARES: Final = 2


class MergeSource(NamedTuple):
    """The matching rows of one shard: how many, at least one, and the first of them in order."""

    shard: Shard
    total: int
    first: Callable[[int], Rows]


class _Place(NamedTuple):
    """A row by its place in the head of a source."""

    source: int
    at: int


class _Merged(NamedTuple):
    """Places, one after the other: of each its source, and where it is in the head of that."""

    sources: NDArray[np.intp]
    at: NDArray[np.intp]


def page(
    sources: Sequence[MergeSource], tri: str, *, offset: int, limit: int
) -> tuple[MergedRow, ...]:
    """Rows [offset, offset + limit) of all sources together, in the order `tri`.

    `sources` are in the order of their countries.
    """
    if len(sources) == 1:
        shard, _, first = sources[0]
        return tuple(MergedRow(shard.iso2, row) for row in first(offset + limit)[offset:].tolist())
    total = sum(source.total for source in sources)
    count = min(offset + limit, total)
    asked = [
        min(count, source.total, SPARE + SHARES * count * source.total // total)
        for source in sources
    ]
    heads = [source.first(number) for source, number in zip(sources, asked, strict=True)]
    shards = [source.shard for source in sources]
    compared = [_compared(shard, tri, rows) for shard, rows in zip(shards, heads, strict=True)]
    while True:
        merged = (
            _by_name(shards, heads, compared, count) if tri == "nom" else _by_key(compared, count)
        )
        used = np.bincount(merged.sources, minlength=len(sources)).tolist()
        short = [source for source, number in enumerate(used)
                 if number == asked[source] < min(count, sources[source].total)]  # fmt: skip
        if not short:
            break
        for source in short:
            asked[source] = min(2 * asked[source], count, sources[source].total)
            heads[source] = sources[source].first(asked[source])
            compared[source] = _compared(shards[source], tri, heads[source])
    shown = zip(merged.sources[offset:].tolist(), merged.at[offset:].tolist(), strict=True)
    return tuple(MergedRow(shards[source].iso2, int(heads[source][at])) for source, at in shown)


def _compared(shard: Shard, tri: str, rows: Rows) -> Any:
    """What rows are merged by: folded names, or keys."""
    return name_lookup.folded_names(shard.words, rows) if tri == "nom" else shard.keys(tri, rows)


def _by_key(compared: Sequence[Keys], count: int) -> _Merged:
    """The first `count` places of all heads together, by their keys."""
    starts = np.cumsum([0, *map(len, compared)])
    # Stable: equal keys stay in the order of countries, and within one as the shard gave them.
    chosen = np.argsort(np.concatenate(compared), kind="stable")[:count]
    owners = starts.searchsorted(chosen, side="right") - 1
    return _Merged(owners, chosen - starts[owners])


def _by_name(
    shards: Sequence[Shard],
    heads: Sequence[Rows],
    compared: Sequence[Sequence[bytes]],
    count: int,
) -> _Merged:
    """The first `count` places of all heads together, by their names."""
    names = sorted(
        (folded, source, index)
        for source, held in enumerate(compared)
        for index, folded in enumerate(held)
    )
    places: list[_Place] = []
    for _, alike in groupby(names, key=lambda name: name[0]):
        group = [_Place(source, index) for _, source, index in alike]
        if group[0].source != group[-1].source:
            runs = [list(run) for _, run in groupby(group, key=lambda place: place.source)]
            # Each run is in order already: only those that come to its front are read.
            in_order = merge(*runs, key=lambda place: _tie(shards, heads, place))
            group = list(islice(in_order, count - len(places)))
        places += group
        if len(places) >= count:
            break
    found = np.array(places[:count], dtype=np.intp)
    return _Merged(found[:, 0], found[:, 1])


def _tie(shards: Sequence[Shard], heads: Sequence[Rows], place: _Place) -> tuple[str, int, int]:
    """What decides where folded names are equal: the name as it is, the country, the identifier."""
    row = int(heads[place.source][place.at])
    return (shards[place.source].names([row])[0], *place)
