"""The first of some rows in an order, by looking at the rank of each."""

import numpy as np
from numpy.typing import NDArray

from shards.reader import Shard
from shards.sets import Rows
from shards.steps import Steps


def least_ranked(shard: Shard, tri: str, rows: Rows, count: int) -> Rows:
    """The first `count` of `rows` in the order `tri`, or all if there are fewer.

    Cost: a rank and a part in finding the least ones for each row.
    """
    if tri == "ca_asc":
        return _ascending(shard, rows, count)
    return _least(rows, shard.rank(tri).take(rows), count)


def _least(rows: Rows, places: NDArray[np.unsignedinteger], count: int) -> Rows:
    """The `count` rows of the least places, in the order of these."""
    if len(rows) > count:
        cut = np.partition(places, count - 1)[count - 1]
        kept = np.flatnonzero(places <= cut)
        rows, places = rows.take(kept), places.take(kept)
    return rows.take(np.argsort(places))


def _ascending(shard: Shard, rows: Rows, count: int) -> Rows:
    """In `ca_asc`, whose ranks are those of `ca_desc` backwards but for ties and nulls.

    Backwards a tie may be cut in the wrong place, so the whole group of the last one is kept.
    """
    steps = shard.steps("ca_desc")
    places = shard.rank("ca_desc").take(rows)
    if not steps.known:
        return _least(rows, places, count)
    known = places < np.uint32(steps.known)
    backwards = np.where(known, np.uint32(steps.known - 1) - places, places)
    if len(rows) > count:
        cut = int(np.partition(backwards, count - 1)[count - 1])
        if cut < steps.known:
            group = int(steps.step_at(np.array([steps.known - 1 - cut], dtype=np.uint32))[0])
            cut = steps.known - 1 - int(steps.places[group])
        kept = np.flatnonzero(backwards <= np.uint32(cut))
        rows, places = rows.take(kept), places.take(kept)
    return _least(rows, _ascending_places(steps, places), count)


def _ascending_places(steps: Steps, places: Rows) -> Rows:
    """The places in `ca_asc` of the rows at these places of `ca_desc`.

    The rows of a key stand in the same sequence in both, and nulls at the same places.
    """
    held = steps.places
    step = steps.step_at(places)
    first = held.take(step, mode="clip")
    stop = held.take(step + 1, mode="clip")
    found = np.uint32(steps.known) - stop + (places - first)
    return np.where(places < np.uint32(steps.known), found, places)
