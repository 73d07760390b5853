"""Searches by activity and town that a `q` may have meant which finds nothing (extension X13)."""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from itertools import combinations, product
from typing import Final, NamedTuple

from shards.codec.folding import fold
from shards.errors import translate_errors
from shards.query import Query
from shards.search.distribution import towns_of
from shards.search.search import ShardSet, search

MOST: Final = 3
_MOST_WORDS: Final = 8  # of a text that is taken apart

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

    def changes(self) -> dict[str, str]:
        """The parameters of the search that it changes."""
        filters = {"activite": self.activite, "ville": self.ville}
        return {"q": self.q} | {name: value for name, value in filters.items() if value}


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
