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
from shards.codec.sort_keys import KeyRuns, SortKeys
from shards.codec.strings import END
from shards.errors import OutOfOrderError
from shards.query import ORDERS

# If a list has more ranks than this many times TOP_ROWS, a partition before the sort makes the sort faster.
_PARTITION_FACTOR: Final = 4


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
    """The facts of rows: a number per row that combines headcount and website, so that one test serves both filters.

    A fact is the headcount's place among the distinct headcounts, from 1 on (0: no headcount), plus a bit for a
    website.
    """
    has_headcount = effectif != format.EFFECTIF_NULL
    ordered = np.sort(effectif[has_headcount])
    distinct = ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))[: len(ordered)]]
    dtype = format.facts_type(len(distinct))
    numbers = np.where(has_headcount, np.searchsorted(distinct, effectif) + 1, 0)
    values = numbers | np.where(site_web, format.website_bit(dtype), 0)
    return FactColumns(values.astype(dtype), distinct)


def row_orders(keys: Mapping[str, SortKeys], by_name: Rows, by_id: Rows) -> dict[str, Rows]:
    """The rows in each order, ties in the order of `by_id`."""
    orders: dict[str, Rows] = {"nom": by_name}
    for tri, (stored, sign) in sort_keys.KEY_OF.items():
        orders[tri] = by_id[np.argsort(sign * keys[stored][by_id], kind="stable")]
    return orders


def key_runs(keys: Mapping[str, SortKeys], orders: Mapping[str, Rows]) -> dict[str, KeyRuns]:
    """The distinct keys of each order with stored keys, with the places where they begin."""
    return {
        tri: sort_keys.key_runs(keys[tri][orders[tri][: _count_not_null(keys[tri])]])
        for tri in sorted(keys)
    }


def orders_and_ranks(
    keys: Mapping[str, SortKeys],
    orders: Mapping[str, Rows],
    ranks: Mapping[str, Rows],
    runs_by_order: Mapping[str, KeyRuns],
) -> Iterator[IndexEntry]:
    """The tables `order`, `rank`, `key` and `step`.

    `ca_asc` is `ca_desc` backwards except for ties: it has an order, but no ranks and no keys of its own.
    """
    for tri in sorted(ORDERS):
        yield IndexEntry(
            format.ORDER, tri.encode(), array_bytes(stored_order(tri, keys, orders[tri]), format.U4)
        )
        if tri in sort_keys.RANKED:
            yield IndexEntry(format.RANK, tri.encode(), array_bytes(ranks[tri], format.U4))
    for tri, runs in runs_by_order.items():
        yield IndexEntry(format.KEY, tri.encode(), array_bytes(runs.keys, format.KEYS[tri]))
        yield IndexEntry(format.STEP, tri.encode(), array_bytes(runs.places, format.U4))


def stored_order(tri: str, keys: Mapping[str, SortKeys], order: Rows) -> Rows:
    """The stored part of an order: all rows that are not null in it, and TOP_ROWS of the null rows."""
    if tri not in sort_keys.KEY_OF:
        return order
    stored, _ = sort_keys.KEY_OF[tri]
    return order[: _count_not_null(keys[stored]) + format.TOP_ROWS]


def longest_step(turnovers: KeyRuns) -> bytes:
    """The value `longest` of the table `meta`: the number of rows with the most frequent turnover."""
    return array_bytes(np.diff(turnovers.places).max(initial=0), format.U4)


def facts_along_orders(
    keys: Mapping[str, SortKeys], fact_columns: FactColumns, orders: Mapping[str, Rows]
) -> Iterator[IndexEntry]:
    """The tables `sorted` and `website`, for searches with bounds of turnover or headcount.

    `sorted` has the facts in the order `ca_desc`; `website` has the places of the rows with a website in both orders.
    """
    website_bit = format.website_bit(fact_columns.values.dtype.str)
    by_ca = orders["ca_desc"][: _count_not_null(keys["ca_desc"])]
    yield IndexEntry(format.SORTED, format.FACTS, fact_columns.values[by_ca].tobytes())
    for name in ("ca_desc", "effectif_desc"):
        rows = orders[name][: _count_not_null(keys[name])]
        website_places = np.flatnonzero(fact_columns.values[rows] & website_bit)
        yield IndexEntry(format.WEBSITE, name.encode(), array_bytes(website_places, format.U4))


def top_lists(
    orders: Mapping[str, Rows], ranks: Mapping[str, Rows], layout: Layout
) -> Iterator[IndexEntry]:
    """The table `top`: the first rows of each order in each sector and cell of TOP_LEAST rows or more."""
    lists = [
        orders[tri][_least_ranks(ranks[tri][part.start : part.stop])]
        for part in cells.listed_parts(layout)
        for tri in ORDERS
    ]
    rows = np.concatenate(lists) if lists else np.empty(0, np.uint32)
    yield IndexEntry(format.TOP, format.ROWS, array_bytes(rows, format.U4))


def array_bytes(values: NDArray[Any], dtype: str) -> bytes:
    """The bytes of `values` as an array of type `dtype`."""
    return np.ascontiguousarray(values, dtype=dtype).tobytes()


def _least_ranks(ranks: Rows) -> Rows:
    """The TOP_ROWS least ranks, ascending."""
    if len(ranks) > _PARTITION_FACTOR * format.TOP_ROWS:
        ranks = np.partition(ranks, format.TOP_ROWS)[: format.TOP_ROWS]
    return np.sort(ranks)[: format.TOP_ROWS]


def _count_not_null(keys: SortKeys) -> int:
    """The number of keys that are not null; they come first in their order."""
    return len(keys) - int(np.count_nonzero(sort_keys.is_null(keys)))


# -- columns of codes, and the lists of their values -------------------------------------------

Arrays = dict[str, Any]


class CodeTables(NamedTuple):
    """The arrays of the tables `column` and `code`, by key."""

    column: Arrays
    code: Arrays


class _CodeColumn(NamedTuple):
    """The codes of the rows, and the text of each code except 0."""

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
        etat: the index in `query.STATES`, by row.
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
    amounts_by_code = codes.listed_amounts(actif_eur)
    amounts = codes.amount_codes(actif_eur, amounts_by_code)
    column: Arrays = {"etat": states, "actif": amounts.astype(format.U4), "tranche": tranche}
    code: Arrays = {
        "etat.ends": _code_ends(states, codes.STATE_CODES),
        "tranche.ends": _code_ends(tranche, bands.HEADCOUNT_CODES),
        "actif.amounts": amounts_by_code.astype("<f8"),
        "actif.known": np.array([np.count_nonzero(amounts)], format.U4),
        "actif.quantiles": quantiles(amounts),
        **{f"{tri}.ends": bands.ends(tri, runs[tri], len(etat)) for tri in bands.BANDED},
    }
    for name, values in texts.items():
        code_column = _code_column(name, values)
        packed_texts = strings.pack(code_column.texts)
        code |= {f"{name}.data": packed_texts.data, f"{name}.starts": packed_texts.starts}
        code[f"{name}.ends"] = _code_ends(code_column.codes, len(code_column.texts) + 1)
        if name == "nace":
            column[name], pairs = _number_in_cells(code_column, layout)
            code |= pairs
        else:
            column[name] = code_column.codes.astype(codes.code_type(len(code_column.texts) + 1))
        if name == "ville":
            code |= _spelling_arrays(values, code_column)
    return CodeTables(column, code)


def quantiles(amounts: NDArray[np.uint32]) -> Rows:
    """The codes at evenly spaced places of the sorted codes without null, for estimates of the rows within bounds."""
    ordered = np.sort(amounts[amounts > 0])
    if not len(ordered):
        return ordered
    places = np.linspace(0, len(ordered) - 1, format.QUANTILES).astype(np.int64)
    return ordered[places]


def _code_column(name: str, values: DistinctValues) -> _CodeColumn:
    """The code of each row: the place of its compared text in sorted order, from 1; 0 for an empty text."""
    compared = COMPARED[name]
    keys = ["" if value is None else compared(value) for value in values.values]
    if broken := [key for key in keys if END.decode() in key]:
        raise OutOfOrderError(f"{name}: {broken[0]!r} has a line break inside; give it on one line")
    texts = sorted({key for key in keys if key}, key=lambda text: text.encode() + END)
    code_of_text = {text: place + 1 for place, text in enumerate(texts)} | {"": 0}
    code_of_value = np.array([code_of_text[key] for key in keys], np.int64)
    return _CodeColumn(code_of_value[values.numbers] if keys else np.zeros(0, np.int64), texts)


def _code_ends(codes: NDArray[Any], count: int) -> Rows:
    """The number of rows with a code below each of 0 … count."""
    return np.append(0, np.bincount(codes, minlength=count).cumsum()).astype(format.U4)


def _spelling_arrays(values: DistinctValues, column: _CodeColumn) -> Arrays:
    """The spellings of each town with their numbers of rows, the most frequent first, ties in order of the texts.

    A spelling is the name of the town as registers write it; spellings of the same folded text are one town.
    """
    rows = np.bincount(values.numbers, minlength=len(values.values)).tolist()
    by_town: dict[str, list[tuple[int, str]]] = {text: [] for text in column.texts}
    for value, count in zip(values.values, rows, strict=True):
        if value and count and (town := COMPARED["ville"](value)):
            # The count is negated, so that `sorted` puts the most frequent spelling first.
            by_town[town].append((-count, value.replace(END.decode(), " ")))
    counts_and_spellings = [sorted(by_town[town]) for town in column.texts]
    spellings = strings.pack(text for of_town in counts_and_spellings for _, text in of_town)
    return {
        "ville.spellings": spellings.data,
        "ville.spelling_starts": spellings.starts,
        "ville.spelling_rows": np.array(
            [-count for of_town in counts_and_spellings for count, _ in of_town], format.U4
        ),
        "ville.spelling_ends": np.cumsum([0, *map(len, counts_and_spellings)]).astype(format.U4),
    }


def _number_in_cells(column: _CodeColumn, layout: Sequence[Cell]) -> tuple[NDArray[Any], Arrays]:
    """The codes of activities, numbered anew within each cell so that they need fewer bits, and arrays to decode them.

    `nace.cells` has the first entry of each cell in `nace.codes`, which has the code of each number; `nace.code_ends`
    has where the rows of each entry end.
    """
    # A number encodes a cell and a code: the index of the cell times `width`, plus the code.
    width: Final = len(column.texts) + 1
    cell = np.repeat(np.arange(len(layout)), [cell.stop - cell.start for cell in layout])
    keys = cell * width + column.codes
    counts = np.bincount(keys, minlength=len(layout) * width)
    pairs = np.flatnonzero(counts)
    firsts = np.searchsorted(pairs, np.arange(len(layout) + 1) * width)
    code_in_cell = np.zeros(len(counts), np.int64)
    code_in_cell[pairs] = np.arange(len(pairs)) - firsts[pairs // width]
    most = int(np.diff(firsts).max(initial=0))
    return code_in_cell[keys].astype(codes.code_type(most)), {
        "nace.cells": firsts.astype(format.U4),
        "nace.codes": (pairs % width).astype(format.U4),
        "nace.code_ends": np.append(0, counts[pairs].cumsum()).astype(format.U4),
    }
