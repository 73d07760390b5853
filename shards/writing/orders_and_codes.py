"""Facts, orders, ranks, runs of keys, top lists and codes, computed from the columns of a country (FORMAT.md §7).

Pure functions from arrays to table entries; `writer` appends them to the file. The entries of a table are in ascending
order of their keys.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shards import format
from shards.codec import bands, cells, codes, sort_keys, strings
from shards.codec.arrays import Rows
from shards.codec.cells import Cell, Layout
from shards.codec.codes import COMPARED, DistinctValues
from shards.codec.sort_keys import KeyRuns, Keys
from shards.codec.strings import END
from shards.errors import OutOfOrderError
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
    numbers = np.where(known, np.searchsorted(distinct, effectif) + 1, 0)
    values = numbers | np.where(site_web, format.website_bit(dtype), 0)
    return FactColumns(values.astype(dtype), distinct)


def permutations(keys: Mapping[str, Keys], by_name: Rows, by_id: Rows) -> dict[str, Rows]:
    """The rows in each order, ties in the order of `by_id`."""
    found: dict[str, Rows] = {"nom": by_name}
    for tri, (stored, sign) in sort_keys.KEY_OF.items():
        found[tri] = by_id[np.argsort(sign * keys[stored][by_id], kind="stable")]
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


# -- columns of codes, and the lists of their values -------------------------------------------

Arrays = dict[str, Any]


class CodeTables(NamedTuple):
    """The arrays of the tables `column` and `code`, by key."""

    column: Arrays
    code: Arrays


class _CodeColumn(NamedTuple):
    """The codes of the rows, and the text of each code but 0."""

    codes: NDArray[np.int64]
    texts: list[str]


def code_tables(
    etat: NDArray[np.uint8],
    with_statements: Rows,
    texts: Mapping[str, DistinctValues],
    actif_eur: NDArray[np.float64],
    tranche: NDArray[np.uint8],
    runs: Mapping[str, KeyRuns],
    layout: Sequence[Cell],
) -> CodeTables:
    """All columns of codes of a country.

    Args:
        etat: the place in `query.STATES`, by row.
        with_statements: the rows with statements.
        texts: the columns of `codes.COMPARED`.
        actif_eur: total assets in euros and cents; null is NaN.
        tranche: the codes of `bands.headcount_codes`.
        runs: the keys of `bands.BANDED`.

    Raises:
        OutOfOrderError: a text has a line break inside.
    """
    states = etat.astype(np.uint8)
    states[with_statements] |= codes.STATEMENTS
    listed = codes.listed_amounts(actif_eur)
    amounts = codes.amount_codes(actif_eur, listed)
    column: Arrays = {"etat": states, "actif": amounts.astype(format.U4), "tranche": tranche}
    code: Arrays = {
        "etat.ends": _ends(states, codes.STATE_CODES),
        "tranche.ends": _ends(tranche, bands.HEADCOUNT_CODES),
        "actif.amounts": listed.astype("<f8"),
        "actif.known": np.array([np.count_nonzero(amounts)], format.U4),
        "actif.quantiles": quantiles(amounts),
        **{f"{tri}.ends": bands.ends(tri, runs[tri], len(etat)) for tri in bands.BANDED},
    }
    for name, given in texts.items():
        found = _code_column(name, given)
        packed = strings.pack(found.texts)
        code |= {f"{name}.data": packed.data, f"{name}.starts": packed.starts}
        code[f"{name}.ends"] = _ends(found.codes, len(found.texts) + 1)
        if name == "nace":
            column[name], pairs = _within_cells(found, layout)
            code |= pairs
        else:
            column[name] = found.codes.astype(codes.code_type(len(found.texts) + 1))
        if name == "ville":
            code |= _spellings(given, found)
    return CodeTables(column, code)


def quantiles(amounts: NDArray[np.uint32]) -> Rows:
    """The codes at even places of the ascending codes that are not null, from the least to the greatest."""
    known = np.sort(amounts[amounts > 0])
    if not len(known):
        return known
    places = np.linspace(0, len(known) - 1, format.QUANTILES).astype(np.int64)
    return known[places]


def _code_column(name: str, given: DistinctValues) -> _CodeColumn:
    compared = COMPARED[name]
    keys = ["" if value is None else compared(value) for value in given.values]
    if broken := [key for key in keys if END.decode() in key]:
        raise OutOfOrderError(f"{name}: {broken[0]!r} has a line break inside; give it on one line")
    texts = sorted({key for key in keys if key}, key=lambda text: text.encode() + END)
    places = {text: place + 1 for place, text in enumerate(texts)} | {"": 0}
    of_value = np.array([places[key] for key in keys], np.int64)
    return _CodeColumn(of_value[given.numbers] if keys else np.zeros(0, np.int64), texts)


def _ends(codes: NDArray[Any], count: int) -> Rows:
    """How many rows have a code below each of 0 … count."""
    return np.append(0, np.bincount(codes, minlength=count).cumsum()).astype(format.U4)


def _spellings(given: DistinctValues, column: _CodeColumn) -> Arrays:
    """The spellings of each town, the most frequent one first, of equal ones the first, with their rows."""
    rows = np.bincount(given.numbers, minlength=len(given.values)).tolist()
    by_town: dict[str, list[tuple[int, str]]] = {text: [] for text in column.texts}
    for value, count in zip(given.values, rows, strict=True):
        if value and count and (town := COMPARED["ville"](value)):
            by_town[town].append((-count, value.replace(END.decode(), " ")))
    ordered = [sorted(by_town[town]) for town in column.texts]
    shown = strings.pack(text for spelt in ordered for _, text in spelt)
    return {
        "ville.spellings": shown.data,
        "ville.spelling_starts": shown.starts,
        "ville.spelling_rows": np.array([-n for spelt in ordered for n, _ in spelt], format.U4),
        "ville.spelling_ends": np.cumsum([0, *map(len, ordered)]).astype(format.U4),
    }


def _within_cells(column: _CodeColumn, layout: Sequence[Cell]) -> tuple[NDArray[Any], Arrays]:
    """The column of codes that are numbered within each cell, and the codes of each cell."""
    width: Final = len(column.texts) + 1
    cell = np.repeat(np.arange(len(layout)), [cell.stop - cell.start for cell in layout])
    keys = cell * width + column.codes
    counts = np.bincount(keys, minlength=len(layout) * width)
    pairs = np.flatnonzero(counts)
    firsts = np.searchsorted(pairs, np.arange(len(layout) + 1) * width)
    number = np.zeros(len(counts), np.int64)
    number[pairs] = np.arange(len(pairs)) - firsts[pairs // width]
    most = int(np.diff(firsts).max(initial=0))
    return number[keys].astype(codes.code_type(most)), {
        "nace.cells": firsts.astype(format.U4),
        "nace.codes": (pairs % width).astype(format.U4),
        "nace.code_ends": np.append(0, counts[pairs].cumsum()).astype(format.U4),
    }
