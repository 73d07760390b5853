"""What the form of the explorer offers: countries, sectors, sub-sectors, with their counts.

They are the public lists of the API (§2.5): sectors count the chosen countries, sub-sectors the
chosen countries and sectors.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import orjson

from serve.access import admission
from serve.access.admission import Call
from serve.access.result import PublicList
from serve.api import lists
from serve.data.open_generation import OpenGeneration
from serve.request.params import Pairs
from serve.website import facet_bars
from serve.website.page_request import PageContext, PageRequest
from serve.website.search_form import SearchForm
from shards.codec.folding import fold

# More sub-sectors than these make a page long: fewer sectors show them all.
_SUB_SECTORS: Final = 40


@dataclass(frozen=True, slots=True)
class Option:
    """One value of a parameter, and how many companies it has."""

    value: str
    label: str
    number: int
    chosen: bool


@dataclass(frozen=True, slots=True)
class Picker:
    """All values of a parameter that can be chosen; none hides it."""

    name: str
    title: str
    options: Sequence[Option]


def of_search(
    desk: PageContext, visit: PageRequest, edition: OpenGeneration, asked: SearchForm
) -> Sequence[Picker]:
    """The three pickers: the largest countries first, sectors by name, the largest sub-sectors."""
    names = facet_bars.labels(visit, edition.reference)
    scope = [pair for pair in asked.pairs() if pair[0] == "pays"]
    pays = [
        Option(one["iso2"], names[one["iso2"]], one["n_societes"], one["iso2"] in asked.pays)
        for one in _listed(desk, visit, edition, lists.pays, [])["pays"]
    ]
    secteurs = [
        Option(one["slug"], names[one["secteur"]], one["n_societes"], one["slug"] in asked.secteurs)
        for one in _listed(desk, visit, edition, lists.secteurs, scope)["secteurs"]
    ]
    t = visit.t
    return (
        Picker("pays", t("Pays", "Country"), sorted(pays, key=_largest)),
        Picker("secteur", t("Secteur", "Sector"), sorted(secteurs, key=_by_name)),
        Picker(
            "sous_secteur",
            t("Sous-secteur", "Sub-sector"),
            _sub_sectors(desk, visit, edition, asked),
        ),
    )


def _sub_sectors(
    desk: PageContext, visit: PageRequest, edition: OpenGeneration, asked: SearchForm
) -> Sequence[Option]:
    """Those of the chosen sectors; chosen ones are always among them."""
    if not asked.secteurs:
        return ()
    scope = [pair for pair in asked.pairs() if pair[0] in ("pays", "secteur")]
    found = [
        Option(label, label, one["n_societes"], label in asked.sous_secteurs)
        for one in _listed(desk, visit, edition, lists.sous_secteurs, scope)["sous_secteurs"]
        for label in [one["sous_secteur"]]
    ]
    found.sort(key=lambda one: (not one.chosen, _largest(one)))
    return sorted(found[: max(_SUB_SECTORS, len(asked.sous_secteurs))], key=_largest)


def _by_name(option: Option) -> str:
    return _folded(option.label)


# A few hundred labels, the same for every visitor: to fold them takes longer than to sort them.
_folded: Final = lru_cache(1_024)(fold)


def _largest(option: Option) -> tuple[int, str]:
    return -option.number, _by_name(option)


def _listed(
    desk: PageContext, visit: PageRequest, edition: OpenGeneration, route: PublicList, pairs: Pairs
) -> dict[str, Any]:
    """A public list of the API."""
    ask = admission.ask(desk.site, Call("", (), lambda: pairs), visit.caller)
    body: dict[str, Any] = orjson.loads(route(ask, edition).body)
    return body
