"""The pages of several countries, merged into one.

Each shard gives its first rows in order; what is left is to interleave them by sort key and, where
keys are equal, by country (contract B28). Within a shard the order is already total. Of each no
more is asked than its share of the matches lets expect; one whose rows are all on the page is asked
for more. A raw name is read only where folded names are equal.
"""

from collections.abc import Callable, Sequence
from heapq import merge
from itertools import groupby, islice
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shards import words
from shards.reader import Shard
from shards.sets import Rows

# What is asked of a shard at first: this many rows, and this many times its share of the page.
SPARE: Final = 4
SHARES: Final = 2


class Row(NamedTuple):
    """A company: its country and its row number there."""

    iso2: str
    row: int


class Source(NamedTuple):
    """The matching rows of one shard: how many, at least one, and the first of them in order."""

    shard: Shard
    total: int
    first: Callable[[int], Rows]


class _Place(NamedTuple):
    """A row by its place in the head of a source."""

    source: int
    at: int


def page(sources: Sequence[Source], tri: str, *, offset: int, limit: int) -> tuple[Row, ...]:
    """Rows [offset, offset + limit) of all sources together, in the order `tri`.

    `sources` are in the order of their countries.
    """
    if len(sources) == 1:
        shard, _, first = sources[0]
        return tuple(Row(shard.iso2, row) for row in first(offset + limit)[offset:].tolist())
    total = sum(source.total for source in sources)
    count = min(offset + limit, total)
    asked = [
        min(count, source.total, SPARE + SHARES * count * source.total // total)
        for source in sources
    ]
    heads = [source.first(number) for source, number in zip(sources, asked, strict=True)]
    while True:
        places = _merged(sources, heads, tri, count)
        last = {(source, asked[source] - 1) for source in range(len(sources))}
        short = [source for source, index in last.intersection(places)
                 if asked[source] < min(count, sources[source].total)]  # fmt: skip
        if not short:
            break
        for source in short:
            asked[source] = min(2 * asked[source], count, sources[source].total)
            heads[source] = sources[source].first(asked[source])
    return tuple(
        Row(sources[source].shard.iso2, int(heads[source][index]))
        for source, index in places[offset:]
    )


def _merged(sources: Sequence[Source], heads: Sequence[Rows], tri: str, count: int) -> list[_Place]:
    """The first `count` places of all heads together."""
    shards = [source.shard for source in sources]
    if tri == "nom":
        return _by_name(shards, heads, count)
    keys = np.concatenate(
        [shard.keys(tri, rows) for shard, rows in zip(shards, heads, strict=True)]
    )
    starts = np.cumsum([0, *(len(rows) for rows in heads)])
    # Stable: equal keys stay in the order of countries, and within one as the shard gave them.
    chosen: NDArray[np.intp] = np.argsort(keys, kind="stable")[:count]
    owners = starts.searchsorted(chosen, side="right") - 1
    indexes = chosen - starts[owners]
    return list(map(_Place, owners.tolist(), indexes.tolist()))


def _by_name(shards: Sequence[Shard], heads: Sequence[Rows], count: int) -> list[_Place]:
    names = sorted(
        (folded, source, index)
        for source, (shard, rows) in enumerate(zip(shards, heads, strict=True))
        for index, folded in enumerate(words.folded_names(shard.words, rows))
    )
    places: list[_Place] = []
    for _, alike in groupby(names, key=lambda name: name[0]):
        group = [_Place(source, index) for _, source, index in alike]
        if group[0].source != group[-1].source:
            runs = [list(run) for _, run in groupby(group, key=lambda place: place.source)]
            # Each run is in order already: only those that come to its front are read.
            merged = merge(*runs, key=lambda place: _tie(shards, heads, place))
            group = list(islice(merged, count - len(places)))
        places += group
        if len(places) >= count:
            break
    return places[:count]


def _tie(shards: Sequence[Shard], heads: Sequence[Rows], place: _Place) -> tuple[str, int, int]:
    """What decides where folded names are equal: the name as it is, the country, the identifier."""
    row = int(heads[place.source][place.at])
    return (shards[place.source].names([row])[0], *place)
