"""Completion of a text that somebody types: companies, and words of names and towns with their counts (X4).

Each letter typed is a request, and many words begin with one letter. So companies are one call of the kernel. The
lengths of postings limit the counts of words, so only words that can be among the first are counted by a search. The
counts of towns are memorised.
"""

from bisect import bisect_left
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shards.codec.folding import fold
from shards.errors import translate_errors
from shards.kernel import types
from shards.query import Query
from shards.reader.shard import CompanyRow, Shard
from shards.search.distribution import towns_of
from shards.search.kernel_session import KernelSession
from shards.search.search import ShardSet
from shards.suggest import completion

_BOUND_DIVISOR: Final = 4  # a bound that too few words reach is divided by this number
# The number of countries whose most frequent words give the first bound.
_COUNTRIES_FOR_BOUND: Final = 3
# In the second pass, the bound of a country is also divided by this number: more words pass, but the greatest possible
# total of each word is closer to its total, so fewer words are counted.
_TIGHTER_DIVISOR: Final = 2
_LAST_CHARACTER: Final = "\U0010ffff"  # sorts after every character of a folded text


class WordCount(NamedTuple):
    """A folded word, and the number of companies that have it in a name."""

    mot: str
    n: int


class TownCount(NamedTuple):
    """A town in its most frequent spelling, and the number of its companies."""

    ville: str
    n: int


class _Words(NamedTuple):
    """The words of a shard from number `first` on: the number of the companies of each word."""

    shard: Shard
    first: int
    counts: NDArray[np.int64]


def companies(base: ShardSet, q: str, pays: tuple[str, ...], limit: int) -> list[CompanyRow]:
    """The companies with a name that has the words of `q`; of the last word, the beginning is enough.

    Companies whose present name begins with `q` come first, then by score, then by country and identifier (B28).

    Raises:
        CorruptError: a shard refers to a word, row or text that it does not have.
    """
    session = base.own_session()
    count = session.ask(completion.run, Query(pays=pays, q=q), types.COMPANIES, limit=limit)
    shards, rows, _ = session.result_rows(count)
    isos = map(session.arrays.isos.__getitem__, shards.tolist())
    return list(map(CompanyRow, isos, rows.tolist()))


@translate_errors()
def words(base: ShardSet, q: str, pays: tuple[str, ...], limit: int) -> list[WordCount]:
    """The `limit` most frequent words that begin with the last word of `q`; equal counts in alphabetical order.

    A word that is rare in every country cannot be among them, since its total is at most the sum of its counts by
    country. So few words are counted, however many begin with a letter.
    """
    session = base.own_session()
    if not fold(q):
        return []
    ranges = [
        _Words(
            shard, first, _counts_from_starts(shard.words.starts[first : end + 1].astype(np.int64))
        )
        for shard, first, end in _word_ranges(session, Query(pays=pays, q=q))
        if first < end
    ]
    if not ranges:
        return []
    largest_ranges = sorted(ranges, key=lambda word_range: int(word_range.counts.sum()))[
        -_COUNTRIES_FOR_BOUND:
    ]
    totals: dict[bytes, int] = {}
    bound = max(_nth_greatest(word_range.counts, limit) for word_range in largest_ranges)
    # First the words that are frequent in one country: their totals raise the bound. Then all words whose counts can
    # still add up to the bound. Each pass ends at the first word whose greatest possible total is too small.
    for first_pass in (True, False):
        greatest_totals = _most_by_word(
            ranges, bound if first_pass else max(1, -(-bound // (_TIGHTER_DIVISOR * len(ranges))))
        )
        for word in sorted(greatest_totals, key=greatest_totals.__getitem__, reverse=True):
            best_totals = sorted(totals.values())[-limit:]
            if len(best_totals) == limit:
                bound = max(bound, best_totals[0])
                if greatest_totals[word] < bound or (first_pass and len(totals) >= 2 * limit):
                    break
            if word not in totals:
                exact_query = Query(pays=pays, q=word.decode())
                totals[word] = session.ask(completion.run, exact_query, types.WORD_TOTAL)
    word_counts = [WordCount(word.decode(), n) for word, n in totals.items()]
    return sorted(word_counts, key=lambda count: (-count.n, count.mot))[:limit]


@translate_errors()
def towns(base: ShardSet, q: str, pays: tuple[str, ...], limit: int) -> list[TownCount]:
    """The `limit` largest towns that begin with `q`, both folded; equal counts in alphabetical order.

    A town of several countries is spelt as in the country with most of its companies.
    """
    folded = fold(q)
    all_towns = towns_of(base)
    first, end = (
        bisect_left(all_towns.names, bound) for bound in (folded, folded + _LAST_CHARACTER)
    )
    if not folded or first == end:
        return []
    counts = all_towns.counts(pays, first, end)
    frequent = np.flatnonzero(counts >= _nth_greatest(counts, limit))
    indexes = frequent[np.argsort(-counts[frequent], kind="stable")][:limit].tolist()
    return [TownCount(all_towns.spelling(first + n, pays), int(counts[n])) for n in indexes]


def _word_ranges(session: KernelSession, query: Query) -> list[tuple[Shard, int, int]]:
    """The numbers of the words that begin with the last word of `q`, by chosen country: the first, and the end."""
    count = session.ask(completion.run, query, types.WORD_RANGES)
    if not count:
        return []
    ranges = (array.tolist() for array in session.result_rows(count))
    return [
        (session.arrays.shards[number], first, end)
        for number, first, end in zip(*ranges, strict=True)
    ]


def _counts_from_starts(starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of companies of each word, from the starts of the lists of companies."""
    counts: NDArray[np.int64] = starts[1:] - starts[:-1]
    return counts


def _nth_greatest(counts: NDArray[np.int64], number: int) -> int:
    """The count at place `number` (from 1 on) in descending order; 1 if there are fewer counts."""
    bound = int(counts.max())
    while bound > 1 and np.count_nonzero(counts >= bound) < number:
        bound //= _BOUND_DIVISOR
    above_bound = np.sort(counts[counts >= max(1, bound)])
    return int(above_bound[-number]) if len(above_bound) >= number else 1


def _most_by_word(ranges: list[_Words], bound: int) -> dict[bytes, int]:
    """The words that `bound` or more companies of a country have, with the greatest possible total over all countries.

    In a country where the word is rarer, at most `bound` - 1 companies can have it, so the exact count is not needed.
    """
    most_unseen = bound - 1  # the most companies in a country where the word has fewer than `bound`
    greatest_totals: dict[bytes, int] = {}
    for shard, first, counts in ranges:
        for number in np.flatnonzero(counts >= bound).tolist():
            word = shard.words.words[first + number]
            greatest_totals[word] = (
                greatest_totals.get(word, most_unseen * len(ranges))
                + int(counts[number])
                - most_unseen
            )
    return greatest_totals
