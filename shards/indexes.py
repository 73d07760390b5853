"""What a shard computes from its columns: keys, facts, orders, ranks, and lists of all of them.

Pure functions from arrays to entries of tables; shards/writer.py puts them into the file. Entries
of a table come in ascending order of their keys.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shards import format, orders
from shards.cells import Cell
from shards.orders import Keys, Rows
from shards.query import ORDERS

# A list is cut out of a longer one by partition where that saves sorting most of it.
_CUT: Final = 4


class Entry(NamedTuple):
    """A value of a table, under its key."""

    table: bytes
    key: bytes
    value: bytes


class Facts(NamedTuple):
    """What conditions test: a code of the headcount and a bit for a website, a row each.

    `headcounts` are the distinct ones, ascending; code 0 is null, code i + 1 is headcounts[i].
    """

    values: NDArray[Any]
    headcounts: NDArray[np.int32]


def facts(effectif: NDArray[np.int32], site_web: NDArray[np.bool_]) -> Facts:
    """The facts of rows with these headcounts (format.EFFECTIF_NULL is null) and websites."""
    known = effectif != format.EFFECTIF_NULL
    ordered = np.sort(effectif[known])
    distinct = ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))[: len(ordered)]]
    dtype = format.facts_type(len(distinct))
    codes = np.where(known, np.searchsorted(distinct, effectif) + 1, 0)
    values = codes | np.where(site_web, format.website_bit(dtype), 0)
    return Facts(values.astype(dtype), distinct)


def columns(found: Facts, layout: Sequence[Cell]) -> Iterator[Entry]:
    """Tables that are read by row."""
    cell = np.repeat(np.arange(len(layout)), [cell.stop - cell.start for cell in layout])
    yield Entry(format.COLUMN, format.CELL, packed(cell, format.CELL_TYPE))
    yield Entry(format.COLUMN, format.FACTS, found.values.tobytes())


def permutations(keys: Mapping[str, Keys], by_name: Rows, by_id: Rows) -> dict[str, Rows]:
    """The rows in each order, ties in the order of `by_id`."""
    found: dict[str, Rows] = {"nom": by_name}
    for tri, (stored, sign) in orders.KEY_OF.items():
        key = keys[stored]
        found[tri] = orders.by_number(key if sign > 0 else -key, by_id)
    return found


def orders_and_ranks(found: Mapping[str, Rows], ranks: Mapping[str, Rows]) -> Iterator[Entry]:
    """Each order and its inverse."""
    for tri in sorted(ORDERS):
        yield Entry(format.ORDER, tri.encode(), packed(found[tri], format.U4))
        yield Entry(format.RANK, tri.encode(), packed(ranks[tri], format.U4))


def bounds(keys: Mapping[str, Keys], known: Facts, found: Mapping[str, Rows]) -> Iterator[Entry]:
    """What a bound of turnover or headcount is looked up in, and the websites along both orders."""
    by_ca = found["ca_desc"][: _known(keys["ca_desc"])]
    by_effectif = found["effectif_desc"][: _known(keys["effectif_desc"])]
    bit = format.website_bit(known.values.dtype.str)
    codes = known.values & ~np.array(bit, dtype=known.values.dtype)
    counts = np.bincount(codes, minlength=len(known.headcounts) + 1)[1:]
    places = len(by_effectif) - np.concatenate(([0], np.cumsum(counts)))
    yield Entry(format.SORTED, b"ca_desc", packed(keys["ca_desc"][by_ca], format.KEYS["ca_desc"]))
    yield Entry(format.SORTED, format.FACTS, known.values[by_ca].tobytes())
    yield Entry(format.SORTED, format.HEADCOUNT_PLACES, packed(places, format.U4))
    yield Entry(format.SORTED, format.HEADCOUNTS, packed(known.headcounts, format.HEADCOUNT_TYPE))
    for name, rows in ((b"ca_desc", by_ca), (b"effectif_desc", by_effectif)):
        with_site = np.flatnonzero(known.values[rows] & bit)
        yield Entry(format.WEBSITE, name, packed(with_site, format.U4))


def tops(
    found: Mapping[str, Rows], ranks: Mapping[str, Rows], layout: Sequence[Cell]
) -> list[Entry]:
    """The first rows of each order in each cell and in each sector."""
    spans = {cell.place: (cell.start, cell.stop) for cell in layout}
    for cell in layout:
        sector = cell.secteur or "-"
        start, _ = spans.get(sector, (cell.start, 0))
        spans[sector] = start, cell.stop
    heads = [
        Entry(
            format.TOP,
            format.top_key(place, tri),
            packed(found[tri][_least(ranks[tri][start:stop])], format.U4),
        )
        for place, (start, stop) in spans.items()
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
    return len(keys) - int(np.count_nonzero(orders.is_null(keys)))
