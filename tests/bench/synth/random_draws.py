"""Repeatable random draws: seeded generators, weighted choices, texts by pattern.

A generator belongs to one (seed, country, chunk, subject), so a change in the drawing of names
changes no date, and chunks are independent. Functions work on whole columns, and on Series instead
of expressions: names consist of many short columns, and a query costs half a millisecond.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Final

import numpy as np
import polars as pl
from numpy.random import PCG64, Generator, SeedSequence
from numpy.typing import ArrayLike, NDArray

Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]
Numbers = NDArray[np.float64]

# The position of a subject is part of its seed: append new subjects.
SUBJECTS: Final = (
    "identifiers",
    "names",
    "activities",
    "places",
    "figures",
    "contacts",
    "statements",
    "further identifiers",
)
LETTERS: Final = pl.Series(list(ascii_uppercase))
_PLACEHOLDERS: Final = re.compile(r"(#+|@)")


def generator(seed: int, country: int, chunk: int, subject: str, part: int = 0) -> Generator:
    """The generator of a subject in a chunk of a country, or in a part of a chunk."""
    seed_key = (country, chunk, SUBJECTS.index(subject), part)
    return Generator(PCG64(SeedSequence(seed, spawn_key=seed_key)))


@dataclass(frozen=True, slots=True)
class Choice:
    """Weighted values; `bounds` are the cumulative shares, the last is 1."""

    values: pl.Series
    bounds: Numbers

    def places(self, rng: Generator, count: int) -> Indices:
        """Draw `count` positions in `values`."""
        return np.searchsorted(self.bounds, rng.random(count), side="right")

    def draw(self, rng: Generator, count: int) -> pl.Series:
        """Draw `count` values."""
        return self.values[self.places(rng, count)]


def choice(values: Sequence[str] | pl.Series, weights: ArrayLike) -> Choice:
    """A choice in proportion to `weights`."""
    total = np.cumsum(np.asarray(weights, dtype=np.float64))
    bounds = total / total[-1]
    bounds[-1] = 1.0
    return Choice(pl.Series(values), bounds)


def zipf(values: Sequence[str], slope: float = 1.0) -> Choice:
    """A choice by rank: the n-th value is n^slope times rarer than the first."""
    return choice(values, 1.0 / np.arange(1, len(values) + 1) ** slope)


def random_mask(rng: Generator, count: int, share: float) -> Mask:
    """True for about `share` of `count` rows."""
    return rng.random(count) < share


def null_unless(mask: Mask, values: pl.Series | ArrayLike) -> pl.Series:
    """`values` where `mask` holds, else null."""
    column = values if isinstance(values, pl.Series) else pl.Series(np.asarray(values))
    return column.zip_with(pl.Series(mask), pl.Series([None], dtype=column.dtype))


def concat(parts: Sequence[str | pl.Series]) -> pl.Series:
    """Concatenate texts row by row; a plain text is the same in every row."""
    texts = pl.Series([""])
    for text in parts:
        texts = texts + text
    return texts


def make_by_group(groups: Indices, make: Callable[[int, Indices], pl.Series]) -> pl.Series:
    """Make a column group by group; `make(group, rows)` gives the values of these rows."""
    order = np.argsort(groups, kind="stable")
    place_of_row = np.empty_like(order)
    place_of_row[order] = np.arange(len(order))
    counts = np.bincount(groups)
    rows = np.split(order, np.cumsum(counts)[:-1])
    columns = [make(group, rows[group]) for group in np.flatnonzero(counts).tolist()]
    return pl.concat(columns)[place_of_row]


def zero_padded(numbers: ArrayLike, width: int) -> pl.Series:
    """Whole numbers as text of at least `width` digits."""
    return pl.Series(np.asarray(numbers)).cast(pl.String).str.zfill(width)


def fill_pattern(pattern: str, rng: Generator, count: int) -> pl.Series:
    """Draw texts of a pattern: `#` is a digit, `@` a capital letter, the rest literal."""
    # `count` empty texts come first, so that a pattern without a placeholder also gives `count` texts.
    parts: list[str | pl.Series] = [pl.Series([""])[np.zeros(count, dtype=np.int64)]]
    for section in filter(None, _PLACEHOLDERS.split(pattern)):
        if section.startswith("#"):
            parts.append(zero_padded(rng.integers(0, 10 ** len(section), count), len(section)))
        elif section == "@":
            parts.append(LETTERS[rng.integers(0, len(LETTERS), count)])
        else:
            parts.append(section)
    return concat(parts)
