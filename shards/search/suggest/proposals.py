"""Searches by activity and town that a `q` may have meant which finds nothing (extension X13)."""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations, product
from typing import Final, NamedTuple

from shards.codec.folding import fold
from shards.errors import translate_errors
from shards.query import Query
from shards.search.counts.towns import towns_of
from shards.search.search import ShardSet, search

MOST: Final = 3
_MOST_WORDS: Final = 8  # of a text that is taken apart

# The classes of NACE that words name, if they name some (serve/contract/activities.py).
Classes = Callable[[str], tuple[str, ...]]
_Split = tuple[str, str, str]  # the first three values of a proposal


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
def proposals(base: ShardSet, query: Query, classes: Classes) -> list[ProposedSearch]:
    """At most three searches that find something where `query` finds nothing, with its other filters.

    Its words are an activity, a town and a piece of a name, each of neighbours, and two of the three at most. Those of
    an activity and a town come first, then an activity, a town, an activity with a piece of a name, a town with one;
    then by total, then as texts. Where these find nothing, other words are left out: the longest neighbours that are an
    activity, those that are a town, or both. A filter that the search has is not proposed again.

    Raises:
        CorruptError: a shard refers to what it does not have.
    """
    words = (query.q or "").split()
    if len(words) > _MOST_WORDS:
        return []
    activities = [] if query.activites else _activities(words, classes)
    towns = [] if query.villes else _towns(base, query.pays, words)
    for splits in (_all_words(words, activities, towns), _some_words(activities, towns)):
        found = {_count(base, query, classes, *split) for split in splits}
        if ranked := sorted((one for one in found if one.total), key=_rank):
            return ranked[:MOST]
    return []


def _rank(proposal: ProposedSearch) -> tuple[bool, bool, bool, int, ProposedSearch]:
    whole = bool(proposal.activite and proposal.ville)
    return bool(proposal.q), not whole, not proposal.activite, -proposal.total, proposal


def _count(
    base: ShardSet, query: Query, classes: Classes, activite: str, ville: str, q: str
) -> ProposedSearch:
    wanted = replace(query, q=q or None)
    if activite:
        wanted = replace(wanted, activites=classes(activite))
    if ville:
        wanted = replace(wanted, villes=(ville,))
    return ProposedSearch(activite, ville, q, search(base, wanted, offset=0, limit=0).total)


def _all_words(
    words: list[str], activities: list[_Neighbours], towns: list[_Neighbours]
) -> Iterator[_Split]:
    """Each way to read all words: an activity at an end, or a town, and the rest."""
    known = {one.name for one in activities}
    for one in activities:
        if one.first == 0 or one.end == len(words):
            yield one.name, "", _rest(words, one)
    for one in towns:
        rest = _rest(words, one)
        yield (rest, one.name, "") if rest in known else ("", one.name, rest)


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


def _rest(words: list[str], taken: _Neighbours) -> str:
    return " ".join(words[: taken.first] + words[taken.end :])


def _activities(words: list[str], classes: Classes) -> list[_Neighbours]:
    """The neighbouring words that name an activity."""
    found = []
    for first, end in combinations(range(len(words) + 1), 2):
        name = " ".join(words[first:end])
        if classes(name):
            found.append(_Neighbours(first, end, name))
    return found


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
