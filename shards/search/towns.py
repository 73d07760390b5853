"""The towns of all countries: their folded names in order, with the companies and the spellings of each country."""

from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shards.errors import translate_errors
from shards.reader.shard import Shard
from shards.search.search import ShardSet

_TOWNS: Final = "towns"


class Towns:
    """The towns of a generation, numbered in the order of their folded names.

    Attributes:
        names: the folded names, sorted.
        numbers: the town of each slot. Slots are the codes of the towns of the countries in alphabetical order; code 0,
            which is no town, has the number `len(names)`.
    """

    def __init__(self, shards: Mapping[str, Shard]) -> None:
        self._shards = {iso2: shards[iso2] for iso2 in sorted(shards)}
        texts = {iso2: _names(shard) for iso2, shard in self._shards.items()}
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


def _names(shard: Shard) -> list[str]:
    texts = shard.code_texts("ville")
    return bytes(texts.data).decode().split("\n")[: len(texts)]
