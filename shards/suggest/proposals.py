"""Other texts (extension X4) and searches by activity and town (X13), if a `q` matches nothing.

There are at most three of each. Each proposal matches companies with the other filters of the search, and
contains the number of these companies.
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

# At most this many corrected texts, and at most this many searches, are proposed.
MOST: Final = 3
# A text of more words is not split into parts.
_MOST_WORDS: Final = 8


# -- texts: nearest words, fewer words, respelt identifiers (X4) --------------------------------

# For each distance from `q`, the companies of at most this many texts are counted: of the texts whose rarest new word
# has the most companies.
MOST_TRIED: Final = 24
# The most errors in all words together. A word of at least _LEAST_LETTERS letters can have one error, of at least
# _TWO_ERRORS letters two; a word of more than _MOST_LETTERS letters none.
MOST_ERRORS: Final = 2
_LEAST_LETTERS: Final = 3
_TWO_ERRORS: Final = 5
_MOST_LETTERS: Final = 30


class NearestText(NamedTuple):
    """A text that matches companies with the other filters of the search, and their number."""

    q: str
    total: int


class _NearWord(NamedTuple):
    """A word of names, its distance from a word of `q`, and the number of its companies."""

    word: str
    distance: int
    n: int


@translate_errors()
def nearest_texts(base: ShardSet, query: Query, notation: NumberNotation) -> list[NearestText]:
    """At most three texts with matches where `query` has none: by distance, then by their totals.

    Each word of `q` stays or is replaced by a word of names (in the countries of the search) at a Damerau-Levenshtein
    distance of at most 1 for 3 or 4 letters, 2 for 5 to 30 letters; in total, at most 2. Identifiers of companies whose
    number is written differently (other zeros, a label, a VAT number) come first.

    Raises:
        CorruptError: a shard refers to a word, row or text that it does not have.
    """
    words = fold(query.q or "").split()
    # Whether no name in the countries of the search has the word.
    unknown = [
        not search(base, Query(pays=query.pays, q=word), offset=0, limit=0).total for word in words
    ]
    nearest = [_count_text(base, query, q) for q in _identifiers(base, query, notation)]
    # Each unknown word must be replaced, with one error or more; the remaining errors can change further words.
    spare_errors = MOST_ERRORS - sum(unknown)

    # The first distance mostly gives too few texts, so near words are looked up once, up to the greatest distance.
    @cache
    def words_in_reach(word: str, is_unknown: bool) -> list[_NearWord]:
        """The words that can replace a word with the spare errors, and one more if no name has the word."""
        return _find_near_words(base, query, word, spare_errors + is_unknown)

    for distance in range(1, MOST_ERRORS + 1):
        # A word that no name has must be replaced, so fewer errors are left for the other words.
        errors_left = distance - sum(unknown)
        if sum(candidate.total > 0 for candidate in nearest) >= MOST or errors_left < 0:
            continue
        near_words_by_place = []
        for word, is_unknown in zip(words, unknown, strict=True):
            in_reach = words_in_reach(word, is_unknown) if errors_left + is_unknown else []
            near_words_by_place.append(
                [
                    near_word
                    for near_word in in_reach
                    if near_word.distance <= errors_left + is_unknown
                ]
            )
        proposed = _replaced_texts(words, near_words_by_place, unknown, distance)
        texts = nsmallest(MOST_TRIED, proposed, key=lambda text: (-text[1], text[0]))
        counted_texts = [_count_text(base, query, text) for text, _ in texts]
        nearest += sorted(counted_texts, key=lambda candidate: (-candidate.total, candidate.q))
    nearest = [candidate for candidate in nearest if candidate.total]
    return nearest[:MOST]


@translate_errors()
def longest_parts(base: ShardSet, query: Query, silent: Collection[str]) -> list[NearestText]:
    """At most three parts of `q` with matches: the most words first, then the most letters.

    A part is neighbouring words, or all words except one. Its first and last words are significant: not silent (an
    article, a preposition), and in the names of less than half the companies of the search's countries.

    Raises:
        CorruptError: a shard refers to a word, row or text that it does not have.
    """
    words = fold(query.q or "").split()
    if not 2 <= len(words) <= _MOST_WORDS:
        return []
    half_of_companies = search(base, Query(pays=query.pays), offset=0, limit=0).total / 2
    significant = [
        word not in silent
        and 0
        < search(base, Query(pays=query.pays, q=word), offset=0, limit=0).total
        < half_of_companies
        for word in words
    ]
    parts: list[NearestText] = []
    for size in range(len(words) - 1, 0, -1):
        texts = {
            " ".join(words[place] for place in places)
            for places in _neighbouring_places(len(words), size)
            if significant[places[0]] and significant[places[-1]]
        }
        counted_parts = [
            _count_text(base, query, text) for text in sorted(texts, key=lambda t: (-len(t), t))
        ]
        parts += [part for part in counted_parts if part.total]
        if len(parts) >= MOST:
            break
    return parts[:MOST]


def errors_allowed(word: str) -> int:
    """The number of errors that a word can have.

    >>> [errors_allowed(word) for word in ("ab", "abc", "abcde")]
    [0, 1, 2]
    """
    if not _LEAST_LETTERS <= len(word) <= _MOST_LETTERS:
        return 0
    return 1 if len(word) < _TWO_ERRORS else 2


def _count_text(base: ShardSet, query: Query, q: str) -> NearestText:
    """The text `q`, with the number of companies that match it and the other filters of `query`."""
    return NearestText(q, search(base, replace(query, q=q), offset=0, limit=0).total)


def _find_near_words(base: ShardSet, query: Query, word: str, errors: int) -> list[_NearWord]:
    """The words of names within `errors` errors of a word, and within `errors_allowed`; the word itself is left out."""
    max_errors = min(errors_allowed(word), errors)
    if not max_errors:
        return []
    session = base.own_session()
    count = session.ask(near_words.run, replace(query, q=word), max_errors, tail=END)
    if not count:
        return []
    shards, words, distances = session.result_rows(count)
    by_text: dict[str, _NearWord] = {}
    for shard in np.unique(shards).tolist():
        in_shard = shards == shard
        texts = words_with_rows(session.arrays.shards[shard].words, words[in_shard])
        for (text, company_count), distance in zip(
            texts, distances[in_shard].tolist(), strict=True
        ):
            if distance:
                count_before = by_text[text].n if text in by_text else 0
                by_text[text] = _NearWord(text, distance, company_count + count_before)
    return sorted(by_text.values(), key=lambda near: (-near.n, near.word))


def _replaced_texts(
    words: Sequence[str],
    near_by_word: Sequence[Sequence[_NearWord]],
    unknown: Sequence[bool],
    distance: int,
) -> Iterator[tuple[str, int]]:
    """The texts at `distance` from `words`, each with the number of companies of its rarest new word.

    Every unknown word (no name has it) is replaced by one of its near words; other words can be replaced, too.
    """
    for count in range(1, distance + 1):
        for places in combinations(range(len(words)), count):
            if any(is_unknown and place not in places for place, is_unknown in enumerate(unknown)):
                continue
            most_tried = MOST_TRIED if count > 1 else None
            for chosen_words in product(*(near_by_word[place][:most_tried] for place in places)):
                if sum(near_word.distance for near_word in chosen_words) == distance:
                    replacements = dict(zip(places, chosen_words, strict=True))
                    text = [
                        replacements[i].word if i in replacements else word
                        for i, word in enumerate(words)
                    ]
                    yield " ".join(text), min(near_word.n for near_word in chosen_words)


def _neighbouring_places(words: int, size: int) -> Iterator[Sequence[int]]:
    """The places of `size` neighbouring words; of any words, if `size` is all words except one."""
    if size == words - 1:
        yield from combinations(range(words), size)
    else:
        for first in range(words - size + 1):
            yield range(first, first + size)


def _identifiers(base: ShardSet, query: Query, notation: NumberNotation) -> list[str]:
    """The identifiers of the companies with the number `q`, if they are written differently."""
    folded = fold_id(query.q or "")
    if not any(map(str.isdigit, folded)):
        return []
    shards = {iso2: base[iso2] for iso2 in query.pays or tuple(base)}
    places = company_numbers.find_any_spelling(shards, query.q or "", notation)
    identifiers = {fold_id(str(shards[iso2].company(row)["id"])) for iso2, row in set(places)}
    return sorted(identifiers - {folded}, key=lambda text: (abs(len(text) - len(folded)), text))[
        :MOST
    ]


# -- searches by activity and town (X13) --------------------------------------------------------

# A function that returns the NACE classes of a text.
Classes = Callable[[str], tuple[str, ...]]
_Split = tuple[str, str, str]  # `activite`, `ville` and `q` of a proposal


class Vocabulary(NamedTuple):
    """The meaning of words (serve/contract/activities.py).

    Attributes:
        classes: the NACE classes with a label or a term that has every word of a text.
        named: the same classes, if the text names an activity by itself.
        silent: folded words that mean nothing alone: articles, prepositions.
    """

    classes: Classes
    named: Classes
    silent: Collection[str]


class ProposedSearch(NamedTuple):
    """Filters with matches in place of a `q`, and the rest of the `q`; "" for an absent filter."""

    activite: str
    ville: str
    q: str
    total: int

    def filters(self) -> dict[str, str | int]:
        """The filters that are not empty, and the total."""
        return {name: value for name, value in self._asdict().items() if value}


class _Neighbours(NamedTuple):
    """Neighbouring words of a text: the first, the end, and the activity or town that they name."""

    first: int
    end: int
    name: str


@translate_errors()
def proposals(base: ShardSet, query: Query, vocabulary: Vocabulary) -> list[ProposedSearch]:
    """At most three searches with matches where `query` has none, with its other filters.

    If all words together are an activity (two significant words, or one word that names an activity by itself), or else
    a town, that search is the only proposal. Otherwise the words are split into at most two of these: an activity, a
    town, a part of a name, each of neighbouring words. An activity and a town come first, then an activity, a town, an
    activity with a part of a name, a town with a part of a name; then by total, then as texts. If these match nothing,
    the other words are left out: the longest neighbours that are an activity, or a town, or both. A filter that the
    search already has is not proposed.

    Raises:
        CorruptError: a shard refers to a word, row or text that it does not have.
    """
    words = (query.q or "").split()
    if not words or len(words) > _MOST_WORDS:
        return []
    full_text = " ".join(words)
    activities = [] if query.activites else _activities(words, vocabulary)
    towns = [] if query.villes else _towns(base, query.pays, words)
    split_groups: tuple[Iterable[_Split], ...] = (
        [(full_text, "", "")] if not query.activites and _is_activity(words, vocabulary) else [],
        [("", town.name, "") for town in towns if town.end - town.first == len(words)],
        _split_all_words(words, activities, towns, vocabulary),
        _split_some_words(activities, towns),
    )
    for splits in split_groups:
        counted_proposals = {_count_proposal(base, query, vocabulary, *split) for split in splits}
        if ranked := sorted(
            (proposal for proposal in counted_proposals if proposal.total), key=_rank_key
        ):
            return ranked[:MOST]
    return []


def _rank_key(proposal: ProposedSearch) -> tuple[bool, bool, bool, int, ProposedSearch]:
    """The sort key of a proposal, in the order that `proposals` describes."""
    has_both = bool(proposal.activite and proposal.ville)
    return bool(proposal.q), not has_both, not proposal.activite, -proposal.total, proposal


def _count_proposal(
    base: ShardSet, query: Query, vocabulary: Vocabulary, activite: str, ville: str, q: str
) -> ProposedSearch:
    """The proposal with these filters, and the number of companies that match it."""
    proposed = replace(query, q=q or None)
    if activite:
        proposed = replace(proposed, activites=vocabulary.classes(activite))
    if ville:
        proposed = replace(proposed, villes=(ville,))
    return ProposedSearch(activite, ville, q, search(base, proposed, offset=0, limit=0).total)


def _split_all_words(
    words: list[str],
    activities: list[_Neighbours],
    towns: list[_Neighbours],
    vocabulary: Vocabulary,
) -> Iterator[_Split]:
    """The ways to split all words: an activity at the start or the end, or a town anywhere, and the other words.

    The other words become `q`, a part of a name; beside a town they become the activity if they name one.
    """
    names = {activity.name for activity in activities}
    for activity in activities:
        if activity.first == 0 or activity.end == len(words):
            yield activity.name, "", _words_except(words, activity, vocabulary.silent)
    for town in towns:
        remaining = _words_except(words, town, vocabulary.silent)
        yield (remaining, town.name, "") if remaining in names else ("", town.name, remaining)


def _split_some_words(activities: list[_Neighbours], towns: list[_Neighbours]) -> Iterator[_Split]:
    """Splits that leave words out: the longest activities, the longest towns, the pairs of both without overlap."""
    longest_activities, longest_towns = _longest_neighbours(activities), _longest_neighbours(towns)
    for activity in longest_activities:
        yield activity.name, "", ""
    for town in longest_towns:
        yield "", town.name, ""
    for activity, town in product(longest_activities, longest_towns):
        if activity.end <= town.first or town.end <= activity.first:
            yield activity.name, town.name, ""


def _longest_neighbours(neighbours: list[_Neighbours]) -> list[_Neighbours]:
    """Those of these activities or towns that have the most words."""
    most_words = max((group.end - group.first for group in neighbours), default=0)
    return [group for group in neighbours if group.end - group.first == most_words]


def _is_activity(words: list[str], vocabulary: Vocabulary) -> bool:
    """Whether all words together are an activity; a single word can be in a label by chance ("royal")."""
    significant = [word for word in words if fold(word) not in vocabulary.silent]
    classes_of = vocabulary.classes if len(significant) > 1 else vocabulary.named
    return bool(classes_of(" ".join(words)))


def _words_except(words: list[str], left_out: _Neighbours, silent: Collection[str]) -> str:
    """The words outside of the neighbours `left_out`, without silent words at the start and the end."""
    remaining = words[: left_out.first] + words[left_out.end :]
    while remaining and fold(remaining[0]) in silent:
        remaining = remaining[1:]
    while remaining and fold(remaining[-1]) in silent:
        remaining = remaining[:-1]
    return " ".join(remaining)


def _activities(words: list[str], vocabulary: Vocabulary) -> list[_Neighbours]:
    """The neighbouring words that name an activity; an article or preposition is neither the first nor the last."""
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
    all_towns = towns_of(base)
    neighbours = []
    for first, end in combinations(range(len(words) + 1), 2):
        name = fold(" ".join(words[first:end]))
        number = bisect_left(all_towns.names, name)
        if name not in all_towns.names[number : number + 1]:
            continue
        if all_towns.counts(pays, number, number + 1)[0]:
            neighbours.append(_Neighbours(first, end, all_towns.spelling(number, pays)))
    return neighbours
