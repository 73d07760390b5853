"""Distributions: how many matches of a search have each value of a dimension, exactly (extension X3).

The compiled search counts by slot: the cells, codes and bands of each country. What a slot stands for in all countries
together is found at the first question and kept with the generation. Of towns, which have several spellings, the
companies of each country are counted, too.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shards.codec import bands
from shards.errors import CorruptError, translate_errors
from shards.kernel import types
from shards.query import ORDERS, STATES, Query
from shards.reader.shard import Shard
from shards.search.result_page import MergedRow
from shards.search.row_bitmap import RowBitmap
from shards.search.search import UNLIMITED, ShardSet

_BANDS: Final = {"tranche_ca": "ca_desc", "annee_creation": "recent"}
# Dimensions whose values are gathered in a millisecond or two.
_SHORT: Final = {"pays", "secteur", "sous_secteur", "etat", "tranche_effectif"}
# Each dimension, and the kind of slot in which its values are counted.
DIMENSIONS: Final[Mapping[str, int]] = {
    "pays": types.BY_CELL, "secteur": types.BY_CELL, "sous_secteur": types.BY_CELL,
    "nace": types.NACE, "forme": types.FORME, "etat": types.ETAT, "ville": types.VILLE,
    "tranche_ca": types.COLUMNS + ORDERS.index(_BANDS["tranche_ca"]),
    "tranche_effectif": types.TRANCHE,
    "annee_creation": types.COLUMNS + ORDERS.index(_BANDS["annee_creation"]),
}  # fmt: skip


_DAMAGED: Final = "a shard has other codes than values of {}; build or fetch it again"


@dataclass(frozen=True, slots=True, eq=False)
class DimensionValues:
    """The values of a dimension in a generation: 0 … `known` - 1 in order, and `known` for null.

    Attributes:
        text: what is shown for a value.
        numbers: the value that each slot stands for.
    """

    known: int
    text: Callable[[int], str]
    numbers: NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """The matches of a search by value; those without one are `null`."""

    values: DimensionValues
    counts: NDArray[np.int64]
    null: int

    def top_values(self, limit: int | None = None) -> list[tuple[str, int]]:
        """The most frequent values with their counts, descending, equal ones in the order of the values."""
        counts = self.counts
        least = 1
        if limit is not None and 0 < limit < len(counts):
            least = max(1, int(np.partition(counts, -limit)[-limit]))
        found = np.flatnonzero(counts >= least)
        ranked = found[np.argsort(-counts[found], kind="stable")][:limit]
        return [(self.values.text(int(n)), int(counts[n])) for n in ranked]


@translate_errors()
def distributions(
    base: ShardSet, query: Query, dimensions: Collection[str], budget: float
) -> tuple[int, Mapping[str, Distribution]] | None:
    """The total and the distributions by name; None where they cost over `budget` microseconds, by estimate.

    The values of a long dimension, too, have to be gathered once: no budget but UNLIMITED allows for that.

    Raises:
        CorruptError: a shard refers to a row, a word or a place that it does not have.
        MissingCountryError: a country of the search is left out.
    """
    base.require(query.pays)
    if budget < UNLIMITED and not base.memo.keys() >= set(dimensions) - _SHORT:
        return None
    kinds = {DIMENSIONS[name] for name in dimensions}
    session = base.own_session()
    if budget == UNLIMITED:
        total, slots = RowBitmap(session.arrays).mark(session, query, kinds, needed=False)
    else:
        page = session.page(query, 1e3 * budget, offset=0, limit=0, census=kinds)
        if page is None:
            return None
        total, slots = page.total, page.counts
    return total, {name: distribution(base, name, slots[DIMENSIONS[name]]) for name in dimensions}


def parts(base: ShardSet, query: Query) -> list[Query]:
    """A search as two, of countries with about as many companies; as one where that is enough.

    Raises:
        MissingCountryError: a country of the search is left out.
    """
    base.require(query.pays)
    rows = {iso2: base[iso2].rows for iso2 in (query.pays or base)}
    first: list[str] = []
    second: list[str] = []
    for iso2 in sorted(rows, key=lambda one: (-rows[one], one)):
        lesser = min(first, second, key=lambda part: sum(rows[one] for one in part))
        lesser.append(iso2)
    return [replace(query, pays=tuple(one)) for one in (first, second) if one] or [query]


def join_distributions(distributions: Sequence[Distribution]) -> Distribution:
    """The distribution of several searches that find nothing in common, by one dimension."""
    counts = np.sum([one.counts for one in distributions], axis=0)
    return Distribution(distributions[0].values, counts, sum(one.null for one in distributions))


def distribution(base: ShardSet, dimension: str, slots: NDArray[np.int64]) -> Distribution:
    """The matches in each slot of a dimension, by value.

    Raises:
        CorruptError: a shard has other slots than values.
    """
    values = values_of(base, dimension)
    if len(slots) != len(values.numbers):
        raise CorruptError(_DAMAGED.format(dimension))
    counts = np.bincount(values.numbers, slots, values.known + 1).astype(np.int64)
    return Distribution(values, counts[:-1], int(counts[-1]))


@translate_errors()
def values_of(base: ShardSet, dimension: str) -> DimensionValues:
    """The values of a dimension; the first question about towns reads those of all countries.

    Raises:
        CorruptError: a shard has other codes than texts for them.
    """
    found: DimensionValues | None = base.memo.get(dimension)
    if found is None:
        found = base.memo[dimension] = _read_values(base, dimension)
    return found


def _read_values(base: ShardSet, dimension: str) -> DimensionValues:
    if dimension == "ville":  # by folded name, each in its most frequent spelling
        towns = towns_of(base)
        return DimensionValues(len(towns.names), towns.spelling, towns.numbers)
    slots = _SLOTS[dimension]([shard for _, shard in sorted(base.items())])
    texts = sorted({text for text in slots if text is not None})
    numbers: dict[str | None, int] = {text: number for number, text in enumerate(texts)}
    numbers[None] = len(texts)
    return DimensionValues(
        len(texts), texts.__getitem__, np.array([numbers[text] for text in slots], np.int32)
    )


def _texts(shard: Shard, name: str) -> list[str]:
    texts = shard.code_texts(name)
    data = bytes(texts.data).decode()
    return data.split("\n")[: len(texts)]


def _activities(shards: Sequence[Shard]) -> list[str | None]:
    slots: list[str | None] = []
    for shard in shards:
        texts = [None, *_texts(shard, "nace")]
        slots += [texts[code] for code in shard.code_array("nace.codes").tolist()]
    return slots


def _bands_of(dimension: str) -> Callable[[Sequence[Shard]], list[str | None]]:
    tri = _BANDS[dimension]
    return lambda shards: [
        name for shard in shards for name in bands.names(tri, shard.steps(tri).keys)
    ]


_SLOTS: Final[Mapping[str, Callable[[Sequence[Shard]], Sequence[str | None]]]] = {
    "pays": lambda shards: [shard.iso2 for shard in shards for _ in shard.layout.cells],
    "secteur": lambda shards: [cell.secteur for shard in shards for cell in shard.layout.cells],
    "sous_secteur": lambda shards: [
        cell.sous_secteur for shard in shards for cell in shard.layout.cells
    ],
    "nace": _activities,
    "forme": lambda shards: [text for shard in shards for text in (None, *_texts(shard, "forme"))],
    "etat": lambda shards: [state for _ in shards for state in STATES],
    "tranche_effectif": lambda shards: [
        name for _ in shards for name in (None, *bands.headcount_names())
    ],
    **{name: _bands_of(name) for name in _BANDS},
}


# -- towns, which are asked for by name, too -----------------------------------------------------

_TOWNS: Final = "towns"  # the memo of a generation


class Towns:
    """The towns of a generation, numbered in the order of their folded names.

    Attributes:
        names: the folded names, sorted.
        numbers: the town of each slot. Slots are the codes of the towns of the countries in alphabetical order; code 0,
            which is no town, has the number `len(names)`.
    """

    def __init__(self, shards: Mapping[str, Shard]) -> None:
        self._shards = {iso2: shards[iso2] for iso2 in sorted(shards)}
        texts = {iso2: _texts(shard, "ville") for iso2, shard in self._shards.items()}
        self.names = sorted({name for names in texts.values() for name in names})
        known = {name: number for number, name in enumerate(self.names)}
        self._of_country = {
            iso2: np.array([known[name] for name in names], np.int32)
            for iso2, names in texts.items()
        }
        none = np.array([len(known)], np.int32)
        slots = [part for numbers in self._of_country.values() for part in (none, numbers)]
        self.numbers = np.concatenate(slots or [none[:0]])

    def counts(self, pays: tuple[str, ...], first: int, end: int) -> NDArray[np.int64]:
        """The companies of countries (all, if there is none) in each of the towns [first, end)."""
        counts = np.zeros(end - first, np.int64)
        for iso2 in pays or self._shards:
            numbers = self._of_country[iso2]
            low, high = numbers.searchsorted([first, end]).tolist()
            counts[numbers[low:high] - first] += self._rows[iso2][low:high]
        return counts

    @translate_errors()
    def spelling(self, number: int, pays: tuple[str, ...] = ()) -> str:
        """The most frequent spelling of a town in these countries, or in all; of equally frequent ones the first.

        Raises:
            CorruptError: a shard has other spellings than it counts.
        """
        counts: Counter[bytes] = Counter()
        for iso2 in pays or self._shards:
            numbers, shard = self._of_country[iso2], self._shards[iso2]
            place = int(numbers.searchsorted(number))
            if place < len(numbers) and numbers[place] == number:
                rows = shard.code_array("ville.spelling_rows")
                first, end = shard.code_array("ville.spelling_ends")[place : place + 2].tolist()
                for n in range(first, end):
                    counts[shard.spellings[n]] += int(rows[n])
        return min(counts, key=lambda text: (-counts[text], text), default=b"").decode()

    @cached_property
    def _rows(self) -> Mapping[str, NDArray[np.int64]]:
        """The companies of each town, by country."""
        return {
            iso2: _sizes(shard.code_array("ville.ends")) for iso2, shard in self._shards.items()
        }


def _sizes(ends: NDArray[np.uint32]) -> NDArray[np.int64]:
    """The rows of each code, without those of code 0."""
    rows = ends.astype(np.int64)
    sizes: NDArray[np.int64] = rows[2:] - rows[1:-1]
    return sizes


def towns_of(base: ShardSet) -> Towns:
    """The towns of a generation; the first question reads those of all countries."""
    found: Towns | None = base.memo.get(_TOWNS)
    if found is None:
        found = base.memo[_TOWNS] = Towns(base)
    return found


# -- a whole search by country and sector, with rows deeper than any page ----------------------


class FacetRow(NamedTuple):
    """A country and one of its sectors (NACE division; None: companies without a sector)."""

    iso2: str
    secteur: str | None


@dataclass(frozen=True, slots=True)
class FacetCount:
    """A whole search.

    Attributes:
        counts: the number of matches by country and sector, where there are any.
        rows: the first matches, in order.
    """

    counts: Mapping[FacetRow, int]
    rows: tuple[MergedRow, ...]

    @property
    def total(self) -> int:
        """The number of matches in the whole base (§8.2 rule 3)."""
        return sum(self.counts.values())


@translate_errors()
def count_facets(base: ShardSet, query: Query, *, limit: int) -> FacetCount:
    """Count all that match `query`, and find the first `limit` of them, as deep as the caller wants.

    Without filters a count is a sum over cells. With filters every matching row is counted, which takes up to tenths of
    a second: too long for a page, right for an export.

    Args:
        base: all countries of the generation; those of `query.pays` must be among them.

    Raises:
        CorruptError: a shard refers to a row, a word or a place that it does not have.
        MissingCountryError: a country of the search is left out.
    """
    base.require(query.pays)
    page = base.own_session().page(query, UNLIMITED, offset=0, limit=limit, census=(types.BY_CELL,))
    assert page is not None
    cells = ((iso2, cell) for iso2, shard in sorted(base.items()) for cell in shard.layout.cells)
    counts: Counter[FacetRow] = Counter()
    for (iso2, cell), number in zip(cells, page.counts[types.BY_CELL].tolist(), strict=True):
        if number:
            counts[FacetRow(iso2, cell.secteur)] += number
    return FacetCount(counts, page.rows)
