"""What a shard computes from its columns: steps, facts, orders, ranks, and lists of all of them.

Pure functions from arrays to entries of tables; shards/build/writer.py puts them into the file. Entries
of a table come in ascending order of their keys.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shards import format
from shards.codec import sort_keys
from shards.codec.arrays import Rows
from shards.codec.cells import Cell
from shards.codec.sort_keys import Keys
from shards.query import ORDERS

# A list is cut out of a longer one by partition where that saves sorting most of it.
_CUT: Final = 4


class IndexEntry(NamedTuple):
    """A value of a table, under its key."""

    table: bytes
    key: bytes
    value: bytes


class FactColumns(NamedTuple):
    """What conditions test: a code of the headcount and a bit for a website, a row each.

    `headcounts` are the distinct ones, ascending; code 0 is null, code i + 1 is headcounts[i].
    """

    values: NDArray[Any]
    headcounts: NDArray[np.int32]


def facts(effectif: NDArray[np.int32], site_web: NDArray[np.bool_]) -> FactColumns:
    """The facts of rows with these headcounts (format.EFFECTIF_NULL is null) and websites."""
    known = effectif != format.EFFECTIF_NULL
    ordered = np.sort(effectif[known])
    distinct = ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))[: len(ordered)]]
    dtype = format.facts_type(len(distinct))
    codes = np.where(known, np.searchsorted(distinct, effectif) + 1, 0)
    values = codes | np.where(site_web, format.website_bit(dtype), 0)
    return FactColumns(values.astype(dtype), distinct)


def columns(found: FactColumns, layout: Sequence[Cell]) -> Iterator[IndexEntry]:
    """Tables that are read by row."""
    cell = np.repeat(np.arange(len(layout)), [cell.stop - cell.start for cell in layout])
    yield IndexEntry(format.COLUMN, format.CELL, packed(cell, format.CELL_TYPE))
    yield IndexEntry(format.COLUMN, format.FACTS, found.values.tobytes())


def permutations(keys: Mapping[str, Keys], by_name: Rows, by_id: Rows) -> dict[str, Rows]:
    """The rows in each order, ties in the order of `by_id`."""
    found: dict[str, Rows] = {"nom": by_name}
    for tri, (stored, sign) in sort_keys.KEY_OF.items():
        key = keys[stored]
        found[tri] = sort_keys.by_number(key if sign > 0 else -key, by_id)
    return found


def orders_and_ranks(
    keys: Mapping[str, Keys], found: Mapping[str, Rows], ranks: Mapping[str, Rows]
) -> Iterator[IndexEntry]:
    """Each order as far as anybody looks, its inverse, and the steps of its key.

    `ca_asc` is `ca_desc` backwards but for its ties: it has no rank and no steps of its own.
    """
    for tri in sorted(ORDERS):
        yield IndexEntry(format.ORDER, tri.encode(), packed(kept(tri, keys, found[tri]), format.U4))
        if tri in sort_keys.RANKED:
            yield IndexEntry(format.RANK, tri.encode(), packed(ranks[tri], format.U4))
    for tri in sorted(keys):
        held = sort_keys.of_order(keys[tri][found[tri][: _known(keys[tri])]])
        yield IndexEntry(format.KEY, tri.encode(), packed(held.keys, format.KEYS[tri]))
        yield IndexEntry(format.STEP, tri.encode(), packed(held.places, format.U4))


def kept(tri: str, keys: Mapping[str, Keys], order: Rows) -> Rows:
    """What a shard keeps of an order: of the rows that are null in it, a page at the most."""
    if tri not in sort_keys.KEY_OF:
        return order
    stored, _ = sort_keys.KEY_OF[tri]
    return order[: _known(keys[stored]) + format.TOP_ROWS]


def bounds(
    keys: Mapping[str, Keys], known: FactColumns, found: Mapping[str, Rows]
) -> Iterator[IndexEntry]:
    """What lies along the two orders that have bounds: facts, and the rows with a website."""
    bit = format.website_bit(known.values.dtype.str)
    by_ca = found["ca_desc"][: _known(keys["ca_desc"])]
    yield IndexEntry(format.SORTED, format.FACTS, known.values[by_ca].tobytes())
    for name in ("ca_desc", "effectif_desc"):
        rows = found[name][: _known(keys[name])]
        with_site = np.flatnonzero(known.values[rows] & bit)
        yield IndexEntry(format.WEBSITE, name.encode(), packed(with_site, format.U4))


def tops(
    found: Mapping[str, Rows], ranks: Mapping[str, Rows], layout: Sequence[Cell]
) -> list[IndexEntry]:
    """The first rows of each order in each large cell and in each large sector."""
    spans = {cell.place: (cell.start, cell.stop) for cell in layout}
    for cell in layout:
        sector = cell.secteur or "-"
        start, _ = spans.get(sector, (cell.start, 0))
        spans[sector] = start, cell.stop
    heads = [
        IndexEntry(
            format.TOP,
            format.top_key(place, tri),
            packed(found[tri][_least(ranks[tri][start:stop])], format.U4),
        )
        for place, (start, stop) in spans.items()
        if stop - start >= format.TOP_LEAST
        for tri in ORDERS
    ]
    return sorted(heads)


def packed(values: NDArray[Any], dtype: str) -> bytes:
    """The bytes of an array of this type."""
    return np.ascontiguousarray(values, dtype=dtype).tobytes()


def _least(ranks: Rows) -> Rows:
    """The least TOP_ROWS of these ranks, ascending."""
    if len(ranks) > _CUT * format.TOP_ROWS:
        ranks = np.partition(ranks, format.TOP_ROWS)[: format.TOP_ROWS]
    return np.sort(ranks)[: format.TOP_ROWS]


def _known(keys: Keys) -> int:
    """How many keys are not null: they come first in their order."""
    return len(keys) - int(np.count_nonzero(sort_keys.is_null(keys)))
