"""The options of the explorer's form: countries, sectors, sub-sectors, with their counts.

They are the public lists of the API (§2.5): sectors count the chosen countries, sub-sectors the
chosen countries and sectors.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from serve.access import admission
from serve.access.admission import Call
from serve.access.result import PublicList
from serve.api import lists
from serve.api.lists import ListContent
from serve.data.open_generation import OpenGeneration
from serve.request.params import Pairs
from serve.website import facet_bars
from serve.website.page_request import PageRequest
from serve.website.search_form import SearchForm
from shards.codec.folding import fold

# More sub-sectors would make a page long; with fewer sectors chosen, all of them fit.
_SUB_SECTORS: Final = 40


@dataclass(frozen=True, slots=True)
class Option:
    """One value of a parameter, and its number of companies."""

    value: str
    label: str
    number: int
    chosen: bool


@dataclass(frozen=True, slots=True)
class Picker:
    """The options of a parameter; without any the page hides it."""

    name: str
    title: str
    options: Sequence[Option]


def of_search(
    request: PageRequest, generation: OpenGeneration, form: SearchForm
) -> Sequence[Picker]:
    """The three pickers: the largest countries first, sectors by name, the largest sub-sectors."""
    names = facet_bars.labels(request, generation.reference)
    scope = [pair for pair in form.pairs() if pair[0] == "pays"]
    pays = [
        Option(one["iso2"], names[one["iso2"]], one["n_societes"], one["iso2"] in form.pays)
        for one in _list(request, generation, lists.pays, [])["pays"]
    ]
    secteurs = [
        Option(one["slug"], names[one["secteur"]], one["n_societes"], one["slug"] in form.secteurs)
        for one in _list(request, generation, lists.secteurs, scope)["secteurs"]
    ]
    sous_secteurs = _sub_sectors(request, generation, form)
    t = request.t
    return (
        Picker("pays", t("Pays", "Country"), sorted(pays, key=_largest)),
        Picker("secteur", t("Secteur", "Sector"), sorted(secteurs, key=_by_name)),
        Picker("sous_secteur", t("Sous-secteur", "Sub-sector"), sous_secteurs),
    )


def _sub_sectors(
    request: PageRequest, generation: OpenGeneration, form: SearchForm
) -> Sequence[Option]:
    """The sub-sectors of the chosen sectors; those already chosen are always among them."""
    if not form.secteurs:
        return ()
    scope = [pair for pair in form.pairs() if pair[0] in ("pays", "secteur")]
    found = [
        Option(label, label, one["n_societes"], label in form.sous_secteurs)
        for one in _list(request, generation, lists.sous_secteurs, scope)["sous_secteurs"]
        for label in [one["sous_secteur"]]
    ]
    found.sort(key=lambda one: (not one.chosen, _largest(one)))
    return sorted(found[: max(_SUB_SECTORS, len(form.sous_secteurs))], key=_largest)


def _by_name(option: Option) -> str:
    return _folded(option.label)


# A few hundred labels, the same for every visitor: folding them takes longer than sorting them.
_folded: Final = lru_cache(1_024)(fold)


def _largest(option: Option) -> tuple[int, str]:
    return -option.number, _by_name(option)


def _list(
    request: PageRequest, generation: OpenGeneration, route: PublicList[ListContent], pairs: Pairs
) -> Mapping[str, Any]:
    """The document of a public list."""
    call = Call("", (), lambda: pairs)
    content = route(admission.read(request.server, call, request.caller), generation).content
    assert content is not None  # without If-None-Match there is no 304
    return content.document
