"""Facts, orders, ranks, runs of keys and top lists, computed from the columns of a country (FORMAT.md §7).

Pure functions from arrays to table entries; `writer` appends them to the file. The entries of a table are in ascending
order of their keys.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shards import format
from shards.codec import cells, sort_keys
from shards.codec.arrays import Rows
from shards.codec.cells import Layout
from shards.codec.sort_keys import KeyRuns, Keys
from shards.query import ORDERS

# A list of more than so many times TOP_ROWS ranks is partitioned before it is sorted.
_CUT: Final = 4


class IndexEntry(NamedTuple):
    """An entry of a table."""

    table: bytes
    key: bytes
    value: bytes


class FactColumns(NamedTuple):
    """The column `facts`: a code of the headcount and a bit for the website, one value per row.

    Attributes:
        headcounts: the distinct headcounts, ascending; code 0 is null, code i + 1 is headcounts[i].
    """

    values: NDArray[Any]
    headcounts: NDArray[np.int32]


def facts(effectif: NDArray[np.int32], site_web: NDArray[np.bool_]) -> FactColumns:
    """The facts of rows with these headcounts (null: format.EFFECTIF_NULL) and websites."""
    known = effectif != format.EFFECTIF_NULL
    ordered = np.sort(effectif[known])
    distinct = ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))[: len(ordered)]]
    dtype = format.facts_type(len(distinct))
    codes = np.where(known, np.searchsorted(distinct, effectif) + 1, 0)
    values = codes | np.where(site_web, format.website_bit(dtype), 0)
    return FactColumns(values.astype(dtype), distinct)


def permutations(keys: Mapping[str, Keys], by_name: Rows, by_id: Rows) -> dict[str, Rows]:
    """The rows in each order, ties in the order of `by_id`."""
    found: dict[str, Rows] = {"nom": by_name}
    for tri, (stored, sign) in sort_keys.KEY_OF.items():
        key = keys[stored]
        found[tri] = sort_keys.sort_by_key(key if sign > 0 else -key, by_id)
    return found


def key_runs(keys: Mapping[str, Keys], orders: Mapping[str, Rows]) -> dict[str, KeyRuns]:
    """The distinct keys of each order that has some, with the places where they begin."""
    return {
        tri: sort_keys.key_runs(keys[tri][orders[tri][: _count_known(keys[tri])]])
        for tri in sorted(keys)
    }


def orders_and_ranks(
    keys: Mapping[str, Keys],
    orders: Mapping[str, Rows],
    ranks: Mapping[str, Rows],
    by_order: Mapping[str, KeyRuns],
) -> Iterator[IndexEntry]:
    """The tables `order`, `rank`, `key` and `step`.

    `ca_asc` is `ca_desc` backwards except for its ties: it has an order, but no ranks and no keys of its own.
    """
    for tri in sorted(ORDERS):
        yield IndexEntry(
            format.ORDER, tri.encode(), array_bytes(stored_order(tri, keys, orders[tri]), format.U4)
        )
        if tri in sort_keys.RANKED:
            yield IndexEntry(format.RANK, tri.encode(), array_bytes(ranks[tri], format.U4))
    for tri, runs in by_order.items():
        yield IndexEntry(format.KEY, tri.encode(), array_bytes(runs.keys, format.KEYS[tri]))
        yield IndexEntry(format.STEP, tri.encode(), array_bytes(runs.places, format.U4))


def stored_order(tri: str, keys: Mapping[str, Keys], order: Rows) -> Rows:
    """The part of an order that is stored: all rows that are not null in it, and TOP_ROWS of the others."""
    if tri not in sort_keys.KEY_OF:
        return order
    stored, _ = sort_keys.KEY_OF[tri]
    return order[: _count_known(keys[stored]) + format.TOP_ROWS]


def longest_step(turnovers: KeyRuns) -> bytes:
    """The value `longest` of the table `meta`: the rows of the most frequent turnover."""
    return array_bytes(np.diff(turnovers.places).max(initial=0), format.U4)


def bounds(
    keys: Mapping[str, Keys], known: FactColumns, orders: Mapping[str, Rows]
) -> Iterator[IndexEntry]:
    """The tables `sorted` and `website`: facts and websites along the two orders that have bounds."""
    bit = format.website_bit(known.values.dtype.str)
    by_ca = orders["ca_desc"][: _count_known(keys["ca_desc"])]
    yield IndexEntry(format.SORTED, format.FACTS, known.values[by_ca].tobytes())
    for name in ("ca_desc", "effectif_desc"):
        rows = orders[name][: _count_known(keys[name])]
        with_site = np.flatnonzero(known.values[rows] & bit)
        yield IndexEntry(format.WEBSITE, name.encode(), array_bytes(with_site, format.U4))


def top_lists(
    orders: Mapping[str, Rows], ranks: Mapping[str, Rows], layout: Layout
) -> Iterator[IndexEntry]:
    """The table `top`: the first rows of each order in each sector and cell of TOP_LEAST rows or more."""
    heads = [
        orders[tri][_least_ranks(ranks[tri][part.start : part.stop])]
        for part in cells.listed_parts(layout)
        for tri in ORDERS
    ]
    rows = np.concatenate(heads) if heads else np.empty(0, np.uint32)
    yield IndexEntry(format.TOP, format.ROWS, array_bytes(rows, format.U4))


def array_bytes(values: NDArray[Any], dtype: str) -> bytes:
    """The bytes of `values` as an array of type `dtype`."""
    return np.ascontiguousarray(values, dtype=dtype).tobytes()


def _least_ranks(ranks: Rows) -> Rows:
    """The least TOP_ROWS of these ranks, ascending."""
    if len(ranks) > _CUT * format.TOP_ROWS:
        ranks = np.partition(ranks, format.TOP_ROWS)[: format.TOP_ROWS]
    return np.sort(ranks)[: format.TOP_ROWS]


def _count_known(keys: Keys) -> int:
    """The number of keys that are not null; they come first in their order."""
    return len(keys) - int(np.count_nonzero(sort_keys.is_null(keys)))
