"""What completes a text that somebody types: companies, and words of names with their companies (extension X4)."""

from collections import defaultdict
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shards.codec.folding import fold
from shards.query import Query
from shards.search.reader import Shard
from shards.search.result_page import Places
from shards.search.search import Base

_NARROWED: Final = 4  # a bound that too few words reach is divided by this


class WordCount(NamedTuple):
    """A folded word, and the number of companies that have it in a name."""

    mot: str
    n: int


class _Words(NamedTuple):
    """The words of a shard from number `first` on, by the number of their companies."""

    shard: Shard
    first: int
    counts: NDArray[np.int64]


def companies(base: Base, q: str, pays: tuple[str, ...], limit: int) -> Places:
    """The companies with a name that has the words of `q`, and of the last one at least the beginning.

    Those whose present name begins with `q` come first, then by score, then by country and identifier (B28). Places of
    countries in alphabetical order, as those of a page.

    Raises:
        CorruptError: a shard refers to what it does not have.
    """
    return base.own_worker().best(Query(pays=pays, q=q), limit)


def words(base: Base, q: str, pays: tuple[str, ...], limit: int) -> list[WordCount]:
    """The `limit` most frequent words that begin with the last word of `q`; equal ones in alphabetical order.

    No word can be among them that no country has often enough: the companies of the last of them are at most the sum
    over countries. So few words are summed, however many begin with a letter.
    """
    worker = base.own_worker()
    if not fold(q):
        return []
    found = [
        _Words(shard, first, _counts(shard.words.starts[first : end + 1].astype(np.int64)))
        for shard, first, end in worker.word_ranges(Query(pays=pays, q=q))
        if first < end
    ]
    if not found:
        return []
    richest = max(found, key=lambda one: int(one.counts.sum()))
    bound = max(1, -(-_greatest(richest.counts, limit) // len(found)))
    totals = _totals(found, bound)
    known = sorted(totals.values())[-limit:]
    least = known[0] if len(known) == limit else 0
    unseen = (bound - 1) * len(found)
    candidates = [word for word, total in totals.items() if total + unseen >= least]
    exact = [
        WordCount(word.decode(), worker.word_total(Query(pays=pays, q=word.decode())))
        for word in candidates
    ]
    return sorted(exact, key=lambda one: (-one.n, one.mot))[:limit]


def _counts(starts: NDArray[np.int64]) -> NDArray[np.int64]:
    counts: NDArray[np.int64] = starts[1:] - starts[:-1]
    return counts


def _greatest(counts: NDArray[np.int64], number: int) -> int:
    """The count of this number from the greatest down; 1 if there are fewer."""
    bound = int(counts.max())
    while bound > 1 and np.count_nonzero(counts >= bound) < number:
        bound //= _NARROWED
    chosen = np.sort(counts[counts >= max(1, bound)])
    return int(chosen[-number]) if len(chosen) >= number else 1


def _totals(found: list[_Words], bound: int) -> dict[bytes, int]:
    """The words that have `bound` companies or more in a country, with those of such countries."""
    totals: dict[bytes, int] = defaultdict(int)
    for shard, first, counts in found:
        for number in np.flatnonzero(counts >= bound).tolist():
            totals[shard.words.words[first + number]] += int(counts[number])
    return totals
