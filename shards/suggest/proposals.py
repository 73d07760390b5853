"""Other texts (extension X4) and searches by activity and town (X13), where a `q` finds nothing.

There are at most three of each. Each finds companies with the other filters of the search, and has their number.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from heapq import nsmallest
from itertools import combinations, product
from typing import Final, NamedTuple

import numpy as np

from shards.codec.folding import fold, fold_id
from shards.codec.strings import END
from shards.errors import translate_errors
from shards.query import Query
from shards.reader.lookups import words_with_rows
from shards.search import company_numbers
from shards.search.distribution import towns_of
from shards.search.search import ShardSet, search
from shards.search.written_numbers import NumberNotation
from shards.suggest import near_words

MOST: Final = 3
_MOST_WORDS: Final = 8  # of a text that is taken apart


# -- texts: nearest words, fewer words, respelt identifiers (X4) --------------------------------

# Texts of one distance whose companies are counted: those with the most frequent words.
TRIED: Final = 24
# Errors in all words together; and in one of so many letters.
FARTHEST: Final = 2
_LEAST_LETTERS: Final = 3
_TWO_ERRORS: Final = 5
_MOST_LETTERS: Final = 30


class NearestText(NamedTuple):
    """A text that finds something, and how many companies, with the other filters of the search."""

    q: str
    total: int


class _NearWord(NamedTuple):
    """A word of names, its distance from the one asked for, and the companies that have it."""

    word: str
    distance: int
    n: int


@translate_errors()
def nearest_texts(base: ShardSet, query: Query, notation: NumberNotation) -> list[NearestText]:
    """At most three texts that find something where `query` finds nothing: by distance, then by their totals.

    Each word of `q` is kept or replaced by a word of names (in the countries of the search) at a Damerau-Levenshtein
    distance of at most 1 where it has 3 or 4 letters, 2 from 5 to 30 letters; in all, at most 2. Identifiers of
    companies whose number is written otherwise (other zeros, a label, a VAT number) come first.

    Raises:
        CorruptError: a shard refers to what it does not have.
    """
    words = fold(query.q or "").split()
    unknown = [
        not search(base, Query(pays=query.pays, q=word), offset=0, limit=0).total for word in words
    ]
    nearest = [_count_meant(base, query, q) for q in _identifiers(base, query, notation)]
    farthest = FARTHEST - sum(unknown)

    # Mostly too few texts are found at the first distance: near words are looked up once, up to the last one.
    @cache
    def words_near(word: str, must: bool) -> list[_NearWord]:
        return _near_words(base, query, word, farthest + must)

    for distance in range(1, FARTHEST + 1):
        # A word that no name holds must be replaced, which leaves the others fewer errors.
        left = distance - sum(unknown)
        if sum(candidate.total > 0 for candidate in nearest) >= MOST or left < 0:
            continue
        near = []
        for word, must in zip(words, unknown, strict=True):
            known = words_near(word, must) if left + must else []
            near.append([other for other in known if other.distance <= left + must])
        given = _texts(words, near, unknown, distance)
        texts = nsmallest(TRIED, given, key=lambda text: (-text[1], text[0]))
        counted = [_count_meant(base, query, text) for text, _ in texts]
        nearest += sorted(counted, key=lambda candidate: (-candidate.total, candidate.q))
    nearest = [candidate for candidate in nearest if candidate.total]
    return nearest[:MOST]


@translate_errors()
def longest_parts(base: ShardSet, query: Query, silent: Collection[str]) -> list[NearestText]:
    """At most three parts of `q` that find something: those of the most words first, then of the most letters.

    A part is neighbouring words, or all words but one. It begins and ends with a word that tells something: no silent
    one (an article, a preposition), and none that half the companies of the search's countries have in their names.

    Raises:
        CorruptError: a shard refers to what it does not have.
    """
    words = fold(query.q or "").split()
    if not 2 <= len(words) <= _MOST_WORDS:
        return []
    half = search(base, Query(pays=query.pays), offset=0, limit=0).total / 2
    telling = [
        word not in silent
        and 0 < search(base, Query(pays=query.pays, q=word), offset=0, limit=0).total < half
        for word in words
    ]
    parts: list[NearestText] = []
    for size in range(len(words) - 1, 0, -1):
        texts = {
            " ".join(words[place] for place in places)
            for places in _neighbouring_places(len(words), size)
            if telling[places[0]] and telling[places[-1]]
        }
        counted = [
            _count_meant(base, query, text) for text in sorted(texts, key=lambda t: (-len(t), t))
        ]
        parts += [part for part in counted if part.total]
        if len(parts) >= MOST:
            break
    return parts[:MOST]


def errors_allowed(word: str) -> int:
    """The errors that a word may have.

    >>> [errors_allowed(word) for word in ("ab", "abc", "abcde")]
    [0, 1, 2]
    """
    if not _LEAST_LETTERS <= len(word) <= _MOST_LETTERS:
        return 0
    return 1 if len(word) < _TWO_ERRORS else 2


def _count_meant(base: ShardSet, query: Query, q: str) -> NearestText:
    return NearestText(q, search(base, replace(query, q=q), offset=0, limit=0).total)


def _near_words(base: ShardSet, query: Query, word: str, errors: int) -> list[_NearWord]:
    """The words of names within `errors` of a word, itself left out; as far as it may have errors."""
    most = min(errors_allowed(word), errors)
    if not most:
        return []
    session = base.own_session()
    count = session.ask(near_words.run, replace(query, q=word), most, tail=END)
    if not count:
        return []
    shards, words, distances = session.listed(count)
    found: dict[str, _NearWord] = {}
    for shard in np.unique(shards).tolist():
        own = shards == shard
        texts = words_with_rows(session.arrays.shards[shard].words, words[own])
        for (text, n), distance in zip(texts, distances[own].tolist(), strict=True):
            if distance:
                known = found[text].n if text in found else 0
                found[text] = _NearWord(text, distance, n + known)
    return sorted(found.values(), key=lambda one: (-one.n, one.word))


def _texts(
    words: Sequence[str],
    near: Sequence[Sequence[_NearWord]],
    unknown: Sequence[bool],
    distance: int,
) -> Iterator[tuple[str, int]]:
    """The texts at a distance that have no unknown word, each with the companies of its rarest new word."""
    for count in range(1, distance + 1):
        for places in combinations(range(len(words)), count):
            if any(must and place not in places for place, must in enumerate(unknown)):
                continue
            most = TRIED if count > 1 else None
            for chosen in product(*(near[place][:most] for place in places)):
                if sum(one.distance for one in chosen) == distance:
                    new = dict(zip(places, chosen, strict=True))
                    text = [new[i].word if i in new else word for i, word in enumerate(words)]
                    yield " ".join(text), min(one.n for one in chosen)


def _neighbouring_places(words: int, size: int) -> Iterator[Sequence[int]]:
    """The places of `size` neighbouring words, and of all words but one."""
    if size == words - 1:
        yield from combinations(range(words), size)
    else:
        for first in range(words - size + 1):
            yield range(first, first + size)


def _identifiers(base: ShardSet, query: Query, notation: NumberNotation) -> list[str]:
    """The identifiers of the companies whose number `q` is, where they are written otherwise."""
    given = fold_id(query.q or "")
    if not any(map(str.isdigit, given)):
        return []
    shards = {iso2: base[iso2] for iso2 in query.pays or tuple(base)}
    places = company_numbers.in_any_spelling(shards, query.q or "", notation)
    known = {fold_id(str(shards[iso2].company(row)["id"])) for iso2, row in set(places)}
    return sorted(known - {given}, key=lambda one: (abs(len(one) - len(given)), one))[:MOST]


# -- searches by activity and town (X13) --------------------------------------------------------

Classes = Callable[[str], tuple[str, ...]]
_Split = tuple[str, str, str]  # the first three values of a proposal


class Vocabulary(NamedTuple):
    """The meaning of words (serve/contract/activities.py).

    Attributes:
        classes: the classes of NACE of which a label or a term holds every word of a text.
        named: the same classes, if the text names an activity by itself.
        silent: folded words that mean nothing alone: articles, prepositions.
    """

    classes: Classes
    named: Classes
    silent: Collection[str]


class ProposedSearch(NamedTuple):
    """Filters that find something instead of a `q`, with what is left of it; "" for those that are none."""

    activite: str
    ville: str
    q: str
    total: int

    def filters(self) -> dict[str, str | int]:
        """Those that it has, and the total."""
        return {name: value for name, value in self._asdict().items() if value}


class _Neighbours(NamedTuple):
    """Neighbours among the words of a text: the first, the end, and the activity or town that they name."""

    first: int
    end: int
    name: str


@translate_errors()
def proposals(base: ShardSet, query: Query, vocabulary: Vocabulary) -> list[ProposedSearch]:
    """At most three searches that find something where `query` finds nothing, with its other filters.

    If all words together are an activity (two words that tell something, or one that names it by itself), or else a
    town, that search is the only proposal. Otherwise the words are an activity, a town and a piece of a name, each of
    neighbours, and two of the three at most. Those of an activity and a town come first, then an activity, a town, an
    activity with a piece of a name, a town with one; then by total, then as texts. Where these find nothing, other
    words are left out: the longest neighbours that are an activity, those that are a town, or both. A filter that the
    search has is not proposed again.

    Raises:
        CorruptError: a shard refers to what it does not have.
    """
    words = (query.q or "").split()
    if not words or len(words) > _MOST_WORDS:
        return []
    whole = " ".join(words)
    activities = [] if query.activites else _activities(words, vocabulary)
    towns = [] if query.villes else _towns(base, query.pays, words)
    readings: tuple[Iterable[_Split], ...] = (
        [(whole, "", "")] if not query.activites and _is_activity(words, vocabulary) else [],
        [("", town.name, "") for town in towns if town.end - town.first == len(words)],
        _all_words(words, activities, towns, vocabulary),
        _some_words(activities, towns),
    )
    for splits in readings:
        counted = {_count(base, query, vocabulary, *split) for split in splits}
        if ranked := sorted((proposal for proposal in counted if proposal.total), key=_rank):
            return ranked[:MOST]
    return []


def _rank(proposal: ProposedSearch) -> tuple[bool, bool, bool, int, ProposedSearch]:
    whole = bool(proposal.activite and proposal.ville)
    return bool(proposal.q), not whole, not proposal.activite, -proposal.total, proposal


def _count(
    base: ShardSet, query: Query, vocabulary: Vocabulary, activite: str, ville: str, q: str
) -> ProposedSearch:
    wanted = replace(query, q=q or None)
    if activite:
        wanted = replace(wanted, activites=vocabulary.classes(activite))
    if ville:
        wanted = replace(wanted, villes=(ville,))
    return ProposedSearch(activite, ville, q, search(base, wanted, offset=0, limit=0).total)


def _all_words(
    words: list[str],
    activities: list[_Neighbours],
    towns: list[_Neighbours],
    vocabulary: Vocabulary,
) -> Iterator[_Split]:
    """Each way to read all words: an activity at an end, or a town, and the rest."""
    names = {activity.name for activity in activities}
    for activity in activities:
        if activity.first == 0 or activity.end == len(words):
            yield activity.name, "", _rest(words, activity, vocabulary.silent)
    for town in towns:
        rest = _rest(words, town, vocabulary.silent)
        yield (rest, town.name, "") if rest in names else ("", town.name, rest)


def _some_words(activities: list[_Neighbours], towns: list[_Neighbours]) -> Iterator[_Split]:
    """The longest activities, the longest towns, and those that are apart."""
    chosen, places = _longest_neighbours(activities), _longest_neighbours(towns)
    for activity in chosen:
        yield activity.name, "", ""
    for town in places:
        yield "", town.name, ""
    for activity, town in product(chosen, places):
        if activity.end <= town.first or town.end <= activity.first:
            yield activity.name, town.name, ""


def _longest_neighbours(neighbours: list[_Neighbours]) -> list[_Neighbours]:
    most = max((one.end - one.first for one in neighbours), default=0)
    return [one for one in neighbours if one.end - one.first == most]


def _is_activity(words: list[str], vocabulary: Vocabulary) -> bool:
    """Whether all words are an activity; a label may hold a single word by chance ("royal")."""
    telling = [word for word in words if fold(word) not in vocabulary.silent]
    classes = vocabulary.classes if len(telling) > 1 else vocabulary.named
    return bool(classes(" ".join(words)))


def _rest(words: list[str], taken: _Neighbours, silent: Collection[str]) -> str:
    """The other words, without silent ones at their ends."""
    rest = words[: taken.first] + words[taken.end :]
    while rest and fold(rest[0]) in silent:
        rest = rest[1:]
    while rest and fold(rest[-1]) in silent:
        rest = rest[:-1]
    return " ".join(rest)


def _activities(words: list[str], vocabulary: Vocabulary) -> list[_Neighbours]:
    """The neighbouring words that name an activity, with no silent word at an end."""
    silent = [fold(word) in vocabulary.silent for word in words]
    return [
        _Neighbours(first, end, name)
        for first, end in combinations(range(len(words) + 1), 2)
        if not silent[first] and not silent[end - 1]
        for name in [" ".join(words[first:end])]
        if vocabulary.named(name)
    ]


def _towns(base: ShardSet, pays: tuple[str, ...], words: list[str]) -> list[_Neighbours]:
    """The neighbouring words that name a town with companies in these countries, as it is spelt there."""
    known = towns_of(base)
    found = []
    for first, end in combinations(range(len(words) + 1), 2):
        name = fold(" ".join(words[first:end]))
        number = bisect_left(known.names, name)
        if name not in known.names[number : number + 1]:
            continue
        if known.counts(pays, number, number + 1)[0]:
            found.append(_Neighbours(first, end, known.spelling(number, pays)))
    return found
