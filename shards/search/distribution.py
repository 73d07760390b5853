"""Distributions: the exact number of matches of a search for each value of a dimension (extension X3).

The compiled search counts by slot: a cell, a code or a band of a country. The first distribution of a dimension reads
the value of each slot of all countries, and the memo of the generation keeps these values. Towns have several
spellings, so their companies are also counted by country.
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
from shards.reader.shard import CompanyRow, Shard
from shards.search.row_bitmap import RowBitmap
from shards.search.search import UNLIMITED, ShardSet

# Dimensions with bands, and the order whose bands they are.
_BANDS: Final = {"tranche_ca": "ca_desc", "annee_creation": "recent"}
# Dimensions whose values are gathered in a millisecond or two, so that a search within a budget may gather them.
_QUICKLY_READ: Final = {"pays", "secteur", "sous_secteur", "etat", "tranche_effectif"}
# Each dimension, and the kind of slot in which its values are counted.
DIMENSIONS: Final[Mapping[str, int]] = {
    "pays": types.BY_CELL, "secteur": types.BY_CELL, "sous_secteur": types.BY_CELL,
    "nace": types.NACE, "forme": types.FORME, "etat": types.ETAT, "ville": types.VILLE,
    "tranche_ca": types.COLUMNS + ORDERS.index(_BANDS["tranche_ca"]),
    "tranche_effectif": types.TRANCHE,
    "annee_creation": types.COLUMNS + ORDERS.index(_BANDS["annee_creation"]),
}  # fmt: skip


# The message of CorruptError for a dimension.
_DAMAGED: Final = "a shard has other codes than values of {}; build or fetch it again"


@dataclass(frozen=True, slots=True, eq=False)
class DimensionValues:
    """The values of a dimension in a generation, numbered 0 … `count` - 1 in order; `count` stands for null.

    Attributes:
        text: gives the text of a value by its number.
        numbers: the number of the value of each slot.
    """

    count: int
    text: Callable[[int], str]
    numbers: NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """The number of matches by value; `null` is the number of matches without a value."""

    values: DimensionValues
    counts: NDArray[np.int64]
    null: int

    def top_values(self, limit: int | None = None) -> list[tuple[str, int]]:
        """The most frequent values with their counts, descending; ties are in the order of the values."""
        counts = self.counts
        # With a limit, the count at this place in descending order: lower counts are not among the first.
        least_count = 1
        if limit is not None and 0 < limit < len(counts):
            least_count = max(1, int(np.partition(counts, -limit)[-limit]))
        numbers = np.flatnonzero(counts >= least_count)
        ranked = numbers[np.argsort(-counts[numbers], kind="stable")][:limit]
        return [(self.values.text(int(number)), int(counts[number])) for number in ranked]


@translate_errors()
def distributions(
    base: ShardSet, query: Query, dimensions: Collection[str], budget: float
) -> tuple[int, Mapping[str, Distribution]] | None:
    """The total and the distributions by name; None if the estimated cost exceeds `budget` microseconds.

    The first call for a dimension outside _QUICKLY_READ gathers its values, which only the budget UNLIMITED allows.

    Raises:
        CorruptError: a shard refers to a row, a word or a place that it does not have.
        MissingCountryError: a country of the search is left out.
    """
    base.require(query.pays)
    if budget < UNLIMITED and not base.memo.keys() >= set(dimensions) - _QUICKLY_READ:
        return None
    kinds = {DIMENSIONS[name] for name in dimensions}
    session = base.own_session()
    if budget == UNLIMITED:
        total, slots = RowBitmap(session.arrays).mark(session, query, kinds, needed=False)
    else:
        # A session counts its budget in nanoseconds.
        page = session.page(query, 1e3 * budget, offset=0, limit=0, census=kinds)
        if page is None:
            return None
        total, slots = page.total, page.counts
    return total, {
        name: distribution_by_value(base, name, slots[DIMENSIONS[name]]) for name in dimensions
    }


def split_search(base: ShardSet, query: Query) -> list[Query]:
    """A search split into two searches of countries with about half of the companies each; not split for one country.

    Raises:
        MissingCountryError: a country of the search is left out.
    """
    base.require(query.pays)
    rows = {iso2: base[iso2].rows for iso2 in (query.pays or base)}
    first: list[str] = []
    second: list[str] = []
    for iso2 in sorted(rows, key=lambda country: (-rows[country], country)):
        smaller = min(first, second, key=lambda half: sum(rows[country] for country in half))
        smaller.append(iso2)
    return [replace(query, pays=tuple(half)) for half in (first, second) if half] or [query]


def join_distributions(distributions: Sequence[Distribution]) -> Distribution:
    """The joint distribution, by one dimension, of several searches without common matches."""
    counts = np.sum([part.counts for part in distributions], axis=0)
    return Distribution(distributions[0].values, counts, sum(part.null for part in distributions))


def distribution_by_value(base: ShardSet, dimension: str, slots: NDArray[np.int64]) -> Distribution:
    """The matches in each slot of a dimension, by value.

    Raises:
        CorruptError: a shard has other slots than values.
    """
    values = values_of(base, dimension)
    if len(slots) != len(values.numbers):
        raise CorruptError(_DAMAGED.format(dimension))
    counts = np.bincount(values.numbers, slots, values.count + 1).astype(np.int64)
    return Distribution(values, counts[:-1], int(counts[-1]))


@translate_errors()
def values_of(base: ShardSet, dimension: str) -> DimensionValues:
    """The values of a dimension; the first call for a dimension reads the values of all countries.

    Raises:
        CorruptError: a shard has codes without texts, or texts without codes.
    """
    values: DimensionValues | None = base.memo.get(dimension)
    if values is None:
        values = base.memo[dimension] = _read_values(base, dimension)
    return values


def _read_values(base: ShardSet, dimension: str) -> DimensionValues:
    """Gather the values of all slots of a dimension, and number the distinct values in order; null is numbered last."""
    if dimension == "ville":  # by folded name, each with its most frequent spelling
        towns = towns_of(base)
        return DimensionValues(len(towns.names), towns.spelling, towns.numbers)
    slots = _SLOT_VALUES[dimension]([shard for _, shard in sorted(base.items())])
    texts = sorted({text for text in slots if text is not None})
    numbers: dict[str | None, int] = {text: number for number, text in enumerate(texts)}
    numbers[None] = len(texts)
    return DimensionValues(
        len(texts), texts.__getitem__, np.array([numbers[text] for text in slots], np.int32)
    )


def _code_texts(shard: Shard, name: str) -> list[str]:
    """The texts of the codes 1, 2, … of a column of a shard."""
    texts = shard.code_texts(name)
    data = bytes(texts.data).decode()
    return data.split("\n")[: len(texts)]


def _slot_activities(shards: Sequence[Shard]) -> list[str | None]:
    """The activity of each slot of `nace`: the activities of each cell."""
    slots: list[str | None] = []
    for shard in shards:
        texts = [None, *_code_texts(shard, "nace")]
        slots += [texts[code] for code in shard.code_array("nace.codes").tolist()]
    return slots


def _band_names_function(dimension: str) -> Callable[[Sequence[Shard]], list[str | None]]:
    """The function that gives the name of the band of each slot of a dimension with bands."""
    tri = _BANDS[dimension]
    return lambda shards: [
        name for shard in shards for name in bands.names(tri, shard.steps(tri).keys)
    ]


# The function of each dimension that gives the value of each slot, as text; None for null.
_SLOT_VALUES: Final[Mapping[str, Callable[[Sequence[Shard]], Sequence[str | None]]]] = {
    "pays": lambda shards: [shard.iso2 for shard in shards for _ in shard.layout.cells],
    "secteur": lambda shards: [cell.secteur for shard in shards for cell in shard.layout.cells],
    "sous_secteur": lambda shards: [
        cell.sous_secteur for shard in shards for cell in shard.layout.cells
    ],
    "nace": _slot_activities,
    "forme": lambda shards: [
        text for shard in shards for text in (None, *_code_texts(shard, "forme"))
    ],
    "etat": lambda shards: [state for _ in shards for state in STATES],
    "tranche_effectif": lambda shards: [
        name for _ in shards for name in (None, *bands.headcount_names())
    ],
    **{name: _band_names_function(name) for name in _BANDS},
}


# -- towns, also searched by name ----------------------------------------------------------------

_TOWNS: Final = "towns"  # the key in the memo of a generation


class Towns:
    """The towns of a generation, numbered in the order of their folded names.

    Attributes:
        names: the folded names, sorted.
        numbers: the number of the town of each slot. The slots are the codes of the column `ville`, country by country
            in alphabetical order. Code 0 means no town; its number is `len(names)`.
    """

    def __init__(self, shards: Mapping[str, Shard]) -> None:
        """Number the towns of all countries: a folded name is one town, even if several countries have it."""
        self._shards = {iso2: shards[iso2] for iso2 in sorted(shards)}
        # By country: the folded names of its towns, in the order of their codes 1, 2, …
        texts = {iso2: _code_texts(shard, "ville") for iso2, shard in self._shards.items()}
        self.names = sorted({name for names in texts.values() for name in names})
        number_of = {name: number for number, name in enumerate(self.names)}
        self._numbers_by_country = {
            iso2: np.array([number_of[name] for name in names], np.int32)
            for iso2, names in texts.items()
        }
        no_town = np.array([len(number_of)], np.int32)
        slots = [
            part for numbers in self._numbers_by_country.values() for part in (no_town, numbers)
        ]
        self.numbers = np.concatenate(slots or [no_town[:0]])

    def counts(self, pays: tuple[str, ...], first: int, end: int) -> NDArray[np.int64]:
        """The number of companies in each of the towns [first, end), in these countries or, if empty, in all."""
        counts = np.zeros(end - first, np.int64)
        for iso2 in pays or self._shards:
            numbers = self._numbers_by_country[iso2]
            low, high = numbers.searchsorted([first, end]).tolist()
            counts[numbers[low:high] - first] += self._rows_by_country[iso2][low:high]
        return counts

    @translate_errors()
    def spelling(self, number: int, pays: tuple[str, ...] = ()) -> str:
        """The most frequent spelling of a town in these countries or, if empty, in all; of equals, the first by bytes.

        Raises:
            CorruptError: a shard has other spellings than it counts.
        """
        counts: Counter[bytes] = Counter()
        for iso2 in pays or self._shards:
            numbers, shard = self._numbers_by_country[iso2], self._shards[iso2]
            town_place = int(numbers.searchsorted(number))
            if town_place < len(numbers) and numbers[town_place] == number:
                rows = shard.code_array("ville.spelling_rows")
                first, end = shard.code_array("ville.spelling_ends")[
                    town_place : town_place + 2
                ].tolist()
                for index in range(first, end):
                    counts[shard.spellings[index]] += int(rows[index])
        return min(counts, key=lambda text: (-counts[text], text), default=b"").decode()

    @cached_property
    def _rows_by_country(self) -> Mapping[str, NDArray[np.int64]]:
        """The number of companies of each town, by country."""
        return {
            iso2: _rows_by_code(shard.code_array("ville.ends"))
            for iso2, shard in self._shards.items()
        }


def _rows_by_code(ends: NDArray[np.uint32]) -> NDArray[np.int64]:
    """The number of rows of each code from 1 on, from where the rows of each code end (FORMAT.md §7)."""
    rows = ends.astype(np.int64)
    sizes: NDArray[np.int64] = rows[2:] - rows[1:-1]
    return sizes


def towns_of(base: ShardSet) -> Towns:
    """The towns of a generation; the first call reads the towns of all countries."""
    towns: Towns | None = base.memo.get(_TOWNS)
    if towns is None:
        towns = base.memo[_TOWNS] = Towns(base)
    return towns


# -- a complete search by country and sector, with more rows than a page -----------------------


class FacetRow(NamedTuple):
    """A country and a sector there (NACE division; None: companies without a sector)."""

    iso2: str
    secteur: str | None


@dataclass(frozen=True, slots=True)
class FacetCount:
    """The result of a complete search.

    Attributes:
        counts: the number of matches by country and sector, without zeros.
        rows: the first matches, in order.
    """

    counts: Mapping[FacetRow, int]
    rows: tuple[CompanyRow, ...]

    @property
    def total(self) -> int:
        """The number of matches in all countries of the search (§8.2 rule 3)."""
        return sum(self.counts.values())


@translate_errors()
def count_facets(base: ShardSet, query: Query, *, limit: int) -> FacetCount:
    """Count all matches of `query` by country and sector, and find the first `limit` matches, of any number.

    Without filters a count is a sum over cells. With filters every matching row is counted, which takes up to some
    tenths of a second: too long for a page, acceptable for an export.

    Args:
        base: all countries of the generation; it must have the countries of `query.pays`.

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
