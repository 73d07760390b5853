"""The first rows of several countries, merged into one page.

Each shard gives its first rows in order; they are interleaved by sort key and, where keys are equal, by country
(contract B28). Within a shard the order is already total. Each shard is first asked for little more than its share of
the matches; a shard whose rows are all on the page is asked again for twice as many. Raw names are read only where
folded names are equal.
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

# A shard is first asked for this many rows, plus this many times its share of the page.
SPARE: Final = 4
SHARES: Final = 2


class MergeSource(NamedTuple):
    """The matching rows of one shard: their number, at least one, and the first of them in order."""

    shard: Shard
    total: int
    first: Callable[[int], Rows]


class _Place(NamedTuple):
    """A row by its source and its place in the head of that source."""

    source: int
    at: int


class _Merged(NamedTuple):
    """Places in order, as two parallel arrays: the source, and the place in the head of that source."""

    sources: NDArray[np.intp]
    at: NDArray[np.intp]


def merge_page(
    sources: Sequence[MergeSource], tri: str, *, offset: int, limit: int
) -> tuple[MergedRow, ...]:
    """Rows [offset, offset + limit) of all sources together, in the order `tri`.

    Args:
        sources: in the order of their countries.
    """
    if len(sources) == 1:
        shard, _, first = sources[0]
        return tuple(MergedRow(shard.iso2, row) for row in first(offset + limit)[offset:].tolist())
    total = sum(source.total for source in sources)
    count = min(offset + limit, total)
    sizes = [
        min(count, source.total, SPARE + SHARES * count * source.total // total)
        for source in sources
    ]
    heads = [source.first(size) for source, size in zip(sources, sizes, strict=True)]
    shards = [source.shard for source in sources]
    keys = [_merge_keys(shard, tri, rows) for shard, rows in zip(shards, heads, strict=True)]
    while True:
        merged = _by_name(shards, heads, keys, count) if tri == "nom" else _by_key(keys, count)
        used = np.bincount(merged.sources, minlength=len(sources)).tolist()
        short = [source for source, number in enumerate(used)
                 if number == sizes[source] < min(count, sources[source].total)]  # fmt: skip
        if not short:
            break
        for source in short:
            sizes[source] = min(2 * sizes[source], count, sources[source].total)
            heads[source] = sources[source].first(sizes[source])
            keys[source] = _merge_keys(shards[source], tri, heads[source])
    on_page = zip(merged.sources[offset:].tolist(), merged.at[offset:].tolist(), strict=True)
    return tuple(MergedRow(shards[source].iso2, int(heads[source][at])) for source, at in on_page)


def _merge_keys(shard: Shard, tri: str, rows: Rows) -> Any:
    """The values that `tri` compares across countries: folded names, or keys."""
    if tri != "nom":
        return shard.keys(tri, rows)
    return [present for present, *_ in name_lookup.folded_names(shard.words, rows)]


def _by_key(keys: Sequence[Keys], count: int) -> _Merged:
    """The first `count` places of all heads together, by key."""
    starts = np.cumsum([0, *map(len, keys)])
    # The sort is stable: equal keys stay in the order of countries, and within one in that of the shard.
    chosen = np.argsort(np.concatenate(keys), kind="stable")[:count]
    owners = starts.searchsorted(chosen, side="right") - 1
    return _Merged(owners, chosen - starts[owners])


def _by_name(
    shards: Sequence[Shard], heads: Sequence[Rows], keys: Sequence[Sequence[bytes]], count: int
) -> _Merged:
    """The first `count` places of all heads together, by name."""
    names = sorted(
        (folded, source, index)
        for source, head in enumerate(keys)
        for index, folded in enumerate(head)
    )
    places: list[_Place] = []
    for _, alike in groupby(names, key=lambda name: name[0]):
        group = [_Place(source, index) for _, source, index in alike]
        if group[0].source != group[-1].source:
            runs = [list(run) for _, run in groupby(group, key=lambda place: place.source)]
            # Each run is in order already, so only the raw names that reach its front are read.
            in_order = merge(*runs, key=lambda place: _tie(shards, heads, place))
            group = list(islice(in_order, count - len(places)))
        places += group
        if len(places) >= count:
            break
    first = np.array(places[:count], dtype=np.intp)
    return _Merged(first[:, 0], first[:, 1])


def _tie(shards: Sequence[Shard], heads: Sequence[Rows], place: _Place) -> tuple[str, int, int]:
    """The key of rows with equal folded names: raw name, country, place in the country's order."""
    row = int(heads[place.source][place.at])
    return (shards[place.source].names([row])[0], *place)
