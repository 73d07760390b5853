"""Completion of a text that somebody types: companies, words of names, and towns, the last two counted (X4).

A call comes with each letter, and one letter begins many words. So companies are one call of the kernel. The lengths
of postings bound the counts of words, and a search counts only those that can be among the first. Towns are kept.
"""

from bisect import bisect_left
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shards.codec.folding import fold
from shards.errors import translate_errors
from shards.kernel import types
from shards.query import Query
from shards.reader.shard import Shard
from shards.search.distribution import towns_of
from shards.search.kernel_session import KernelSession
from shards.search.result_page import MergedRow
from shards.search.search import ShardSet
from shards.suggest import completion

_NARROWED: Final = 4  # a bound that too few words reach is divided by this
_RICHEST: Final = 3  # countries whose most frequent words are the first bound
_TIGHTER: Final = 2  # less is unseen of a word, so fewer words are summed
_LAST: Final = "\U0010ffff"  # sorts after every character of a folded text


class WordCount(NamedTuple):
    """A folded word, and the number of companies that have it in a name."""

    mot: str
    n: int


class TownCount(NamedTuple):
    """A town in its most frequent spelling, and the number of its companies."""

    ville: str
    n: int


class _Words(NamedTuple):
    """The words of a shard from number `first` on, by the number of their companies."""

    shard: Shard
    first: int
    counts: NDArray[np.int64]


def companies(base: ShardSet, q: str, pays: tuple[str, ...], limit: int) -> list[MergedRow]:
    """The companies with a name that has the words of `q`, and of the last one at least the beginning.

    Those whose present name begins with `q` come first, then by score, then by country and identifier (B28).

    Raises:
        CorruptError: a shard refers to what it does not have.
    """
    session = base.own_session()
    count = session.ask(completion.run, Query(pays=pays, q=q), types.COMPANIES, limit=limit)
    shards, rows, _ = session.listed(count)
    isos = map(session.arrays.isos.__getitem__, shards.tolist())
    return list(map(MergedRow, isos, rows.tolist()))


@translate_errors()
def words(base: ShardSet, q: str, pays: tuple[str, ...], limit: int) -> list[WordCount]:
    """The `limit` most frequent words that begin with the last word of `q`; equal ones in alphabetical order.

    No word can be among them that no country has often enough: the companies of the last of them are at most the sum
    over countries. So few words are summed, however many begin with a letter.
    """
    session = base.own_session()
    if not fold(q):
        return []
    found = [
        _Words(shard, first, _counts(shard.words.starts[first : end + 1].astype(np.int64)))
        for shard, first, end in _word_ranges(session, Query(pays=pays, q=q))
        if first < end
    ]
    if not found:
        return []
    richest = sorted(found, key=lambda one: int(one.counts.sum()))[-_RICHEST:]
    exact: dict[bytes, int] = {}
    least = max(_nth_greatest(one.counts, limit) for one in richest)
    # First the words that are frequent in one country: what they reach is the bound of the others.
    for single in (True, False):
        most = _most_by_word(
            found, least if single else max(1, -(-least // (_TIGHTER * len(found))))
        )
        for word in sorted(most, key=most.__getitem__, reverse=True):
            reached = sorted(exact.values())[-limit:]
            if len(reached) == limit:
                least = max(least, reached[0])
                if most[word] < least or (single and len(exact) >= 2 * limit):
                    break
            if word not in exact:
                asked = Query(pays=pays, q=word.decode())
                exact[word] = session.ask(completion.run, asked, types.WORD_TOTAL)
    found_words = [WordCount(word.decode(), n) for word, n in exact.items()]
    return sorted(found_words, key=lambda one: (-one.n, one.mot))[:limit]


@translate_errors()
def towns(base: ShardSet, q: str, pays: tuple[str, ...], limit: int) -> list[TownCount]:
    """The `limit` largest towns that begin with `q`, both folded; equal ones in alphabetical order.

    A town of several countries is spelt as in the one where most of its companies are.
    """
    text = fold(q)
    known = towns_of(base)
    first, end = (bisect_left(known.names, one) for one in (text, text + _LAST))
    if not text or first == end:
        return []
    counts = known.counts(pays, first, end)
    found = np.flatnonzero(counts >= _nth_greatest(counts, limit))
    chosen = found[np.argsort(-counts[found], kind="stable")][:limit].tolist()
    return [TownCount(known.spelling(first + n, pays), int(counts[n])) for n in chosen]


def _word_ranges(session: KernelSession, query: Query) -> list[tuple[Shard, int, int]]:
    """Of each chosen country the words that begin with the last word of `q`: the first number, and the end."""
    count = session.ask(completion.run, query, types.WORD_RANGES)
    if not count:
        return []
    ranges = (array.tolist() for array in session.listed(count))
    return [
        (session.arrays.shards[number], first, end)
        for number, first, end in zip(*ranges, strict=True)
    ]


def _counts(starts: NDArray[np.int64]) -> NDArray[np.int64]:
    counts: NDArray[np.int64] = starts[1:] - starts[:-1]
    return counts


def _nth_greatest(counts: NDArray[np.int64], number: int) -> int:
    """The count of this number from the greatest down; 1 if there are fewer."""
    bound = int(counts.max())
    while bound > 1 and np.count_nonzero(counts >= bound) < number:
        bound //= _NARROWED
    chosen = np.sort(counts[counts >= max(1, bound)])
    return int(chosen[-number]) if len(chosen) >= number else 1


def _most_by_word(ranges: list[_Words], bound: int) -> dict[bytes, int]:
    """The words that have `bound` companies or more in a country, with the most that they can have in all."""
    unseen = bound - 1  # at most so many in a country where a word has fewer than `bound`
    most: dict[bytes, int] = {}
    for shard, first, counts in ranges:
        for number in np.flatnonzero(counts >= bound).tolist():
            word = shard.words.words[first + number]
            most[word] = most.get(word, unseen * len(ranges)) + int(counts[number]) - unseen
    return most
