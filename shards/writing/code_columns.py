"""The columns of codes, and the lists of what they stand for (FORMAT.md §7).

Pure functions from the columns of a country to arrays by key; `writer` appends them to the file.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shards import format
from shards.codec import bands, codes, strings
from shards.codec.arrays import Rows
from shards.codec.cells import Cell
from shards.codec.codes import COMPARED, DistinctValues
from shards.codec.sort_keys import KeyRuns
from shards.codec.strings import END
from shards.errors import OutOfOrderError

Arrays = dict[str, Any]


class CodeTables(NamedTuple):
    """The arrays of the tables `column` and `code`, by key."""

    column: Arrays
    code: Arrays


class _CodeColumn(NamedTuple):
    """The codes of the rows, and the text of each code but 0."""

    codes: NDArray[np.int64]
    texts: list[str]


def tables(
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
