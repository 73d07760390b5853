"""Which companies of one shard match a query, and the first of them in an order.

A query is a conjunction. Each of its conditions is an *access path* if the shard can list the rows
that meet it without looking at others: the sectors are ranges of rows, a bound of turnover or
headcount is a stretch of an order, `q` is a lookup. The shortest path gives candidates, the other
conditions are tests on them. The number of matches is exact whichever path is taken; where one
condition is all there is, it is known without listing anything.
"""

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shards import cells, idents, orders, words
from shards.cells import Cell
from shards.format import TOP_ROWS
from shards.orders import Rows
from shards.query import Query
from shards.reader import Shard
from shards.text import fold, fold_id

Mask = NDArray[np.bool_]

# A page is found by ranking the matches, or by walking the order until enough match. Walking costs
# this many times more a row than ranking (measured: tests/bench/RESULTS.md).
WALK_COST: Final = 4
WALK_ROWS: Final = 4_096

_NO_ROWS: Final[Rows] = np.empty(0, dtype=np.uint32)


@dataclass(frozen=True, slots=True)
class _Condition:
    """One condition: how many rows meet it, a list of them, and a test for any rows."""

    size: int
    rows: Callable[[], Rows]
    test: Callable[[Rows], Mask]


@dataclass(frozen=True, slots=True)
class Matches:
    """The rows of a shard that match: how many, and the first of them in the order of the query."""

    total: int
    first: Callable[[int], Rows]  # at most that many rows, in order


def select(shard: Shard, query: Query) -> Matches:
    """The companies of `shard` that match `query`, whose countries are not looked at."""
    chosen = cells.chosen(shard.cells, query)
    size = cells.size(chosen) if len(chosen) < len(shard.cells) else shard.rows
    conditions = _filters(shard, query)
    if not conditions:
        return Matches(size, lambda count: _first(shard, query.tri, chosen, count))
    if len(chosen) < len(shard.cells):
        conditions.append(_scope(shard, chosen, size))
    conditions.sort(key=lambda condition: condition.size)
    path, *others = conditions
    if not path.size:
        return Matches(0, lambda count: _NO_ROWS)
    rows = path.rows()
    for condition in others:
        rows = rows[condition.test(rows)]
    return Matches(len(rows), lambda count: _page(shard, query.tri, rows, conditions, count))


# -- conditions ----------------------------------------------------------------------


def _filters(shard: Shard, query: Query) -> list[_Condition]:
    found = []
    if query.q is not None:
        found.append(_named(shard, query.q))
    if query.avec_ca or query.ca_min is not None or query.ca_max is not None:
        found.append(_between(shard, "ca_desc", query.ca_min, query.ca_max))
    if query.effectif_min is not None or query.effectif_max is not None:
        found.append(_between(shard, "effectif_desc", query.effectif_min, query.effectif_max))
    if query.site_web:
        found.append(_with_website(shard))
    return found


def _named(shard: Shard, q: str) -> _Condition:
    """Names that contain `q`, identifiers that begin with it (contract B15, B16)."""
    folded = fold(q)
    if not folded:
        found: Rows = np.empty(0, dtype=np.uint32)
    else:
        by_name = words.find(shard.words, shard.names, shard.heavy, folded)
        prefix = fold_id(q)
        by_id = idents.beginning_with(shard.idents, prefix) if prefix else by_name[:0]
        found = np.union1d(by_name, by_id) if len(by_id) else by_name

    def test(rows: Rows) -> Mask:
        places = np.searchsorted(found, rows)
        places[places == len(found)] = 0
        return found[places] == rows if len(found) else np.zeros(len(rows), dtype=bool)

    return _Condition(len(found), lambda: found, test)


def _between(shard: Shard, tri: str, least: float | None, most: float | None) -> _Condition:
    """Values within inclusive bounds; nulls are never within (contract B22, B24, B33)."""
    name, _ = orders.COLUMN_OF[tri]
    column, order = shard.column(name), shard.order(tri)
    low = -np.inf if least is None else float(least)
    high = np.inf if most is None else float(most)

    def key(place: int) -> float:
        return float(shard.keys(tri, order[place : place + 1])[0])

    # Keys ascend as values descend, and a null is +inf: past the greatest number there is.
    places = range(shard.rows)
    start = bisect_left(places, -high, key=key)
    stop = bisect_right(places, min(-low, sys.float_info.max), key=key)

    def test(rows: Rows) -> Mask:
        values = column[rows]
        return (values >= low) & (values <= high) & ~orders.is_null(name, values)

    return _Condition(max(0, stop - start), lambda: order[start:stop], test)


def _with_website(shard: Shard) -> _Condition:
    column = shard.column("site_web")

    def rows() -> Rows:
        return np.flatnonzero(column).astype(np.uint32)

    return _Condition(int(np.count_nonzero(column)), rows, lambda rows: column[rows] != 0)


def _scope(shard: Shard, chosen: Sequence[Cell], size: int) -> _Condition:
    """Rows of the chosen cells, which have `size` of them."""
    inside = np.zeros(len(shard.cells), dtype=bool)
    inside[[shard.cells.index(cell) for cell in chosen]] = True
    column = shard.column("cell")
    return _Condition(size, lambda: _listed(chosen), lambda rows: inside[column[rows]])


def _listed(chosen: Sequence[Cell]) -> Rows:
    parts = [np.arange(*span, dtype=np.uint32) for span in cells.spans(chosen)]
    return np.concatenate(parts) if parts else _NO_ROWS


# -- pages -----------------------------------------------------------------------------


def _first(shard: Shard, tri: str, chosen: Sequence[Cell], count: int) -> Rows:
    """The first rows of whole cells: the build has listed them for each place."""
    if len(chosen) == len(shard.cells):
        return shard.order(tri)[:count]
    assert count <= TOP_ROWS, f"a page of {count} rows is deeper than the lists of the shard"
    heads = [shard.top(place, tri)[:count] for place in _places(shard, chosen)]
    return _ranked(shard, tri, np.concatenate(heads), count) if heads else _NO_ROWS


def _places(shard: Shard, chosen: Sequence[Cell]) -> list[str]:
    """The fewest places of `top` that make up `chosen`: whole sectors, else single cells."""
    by_sector: dict[str, list[Cell]] = {}
    for cell in chosen:
        by_sector.setdefault(cell.secteur or "-", []).append(cell)
    found = []
    for sector, part in by_sector.items():
        whole = sum(1 for cell in shard.cells if (cell.secteur or "-") == sector)
        found += [sector] if len(part) == whole else [cell.place for cell in part]
    return found


def _page(shard: Shard, tri: str, rows: Rows, conditions: list[_Condition], count: int) -> Rows:
    """The first `count` of the matching `rows` in the order `tri`."""
    walked = count * shard.rows // max(1, len(rows))
    if walked * WALK_COST < len(rows):
        return _walk(shard.order(tri), conditions, count)
    return _ranked(shard, tri, rows, count)


def _ranked(shard: Shard, tri: str, rows: Rows, count: int) -> Rows:
    rank = shard.rank(tri)[rows]
    if len(rows) > 4 * count:
        nearest = np.argpartition(rank, count)[:count]
        rows, rank = rows[nearest], rank[nearest]
    return rows[np.argsort(rank)][:count]


def _walk(order: Rows, conditions: list[_Condition], count: int) -> Rows:
    """The first `count` rows of `order` that meet all conditions."""
    found: list[Rows] = []
    missing = count
    for start in range(0, len(order), WALK_ROWS):
        rows = order[start : start + WALK_ROWS]
        rows = reduce(lambda rows, condition: rows[condition.test(rows)], conditions, rows)
        found.append(rows[:missing])
        missing -= len(found[-1])
        if not missing:
            break
    return np.concatenate(found) if found else _NO_ROWS
