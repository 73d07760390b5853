"""The options of the explorer's form: countries, sectors, sub-sectors, with their companies in this search.

A count is that of the search with this one option instead of those chosen of its kind, so it says what a choice would
find. Chosen options come first, then the largest. Sectors stand in the sections of NACE.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from serve.contract import seed_tables
from serve.data.open_generation import OpenGeneration
from serve.website.facet_counts import Counts, FacetCounter, FacetTotals
from serve.website.page_request import PageRequest
from serve.website.search import facet_bars
from serve.website.search.search_form import SearchForm
from shards.codec.folding import fold
from shards.query import Query

# The parameters with options.
PICKED: Final = ("pays", "secteur", "sous_secteur")
# More sub-sectors would make a page long; with fewer sectors chosen, all of them fit.
_SUB_SECTORS: Final = 40


@dataclass(frozen=True, slots=True)
class Option:
    """One value of a parameter; `number` is None while its companies are not counted."""

    value: str
    label: str
    number: int | None
    chosen: bool


@dataclass(frozen=True, slots=True)
class OptionGroup:
    """Options under a common label; "" for none."""

    label: str
    options: Sequence[Option]

    @property
    def number(self) -> int | None:
        """The companies of all options, each of which is in one."""
        numbers = [one.number for one in self.options if one.number is not None]
        return sum(numbers) if numbers else None

    @property
    def chosen(self) -> int:
        return sum(one.chosen for one in self.options)


@dataclass(frozen=True, slots=True)
class Picker:
    """The options of a parameter; without any the page hides it."""

    name: str
    title: str
    groups: Sequence[OptionGroup]


@dataclass(frozen=True, slots=True)
class OptionCounts:
    """The counts of a search without its own choice of countries, of sectors, of sub-sectors; None: not counted."""

    pays: FacetTotals | None
    secteurs: FacetTotals | None
    sous_secteurs: FacetTotals | None


NOT_COUNTED: Final = OptionCounts(None, None, None)


def known(facets: FacetCounter, generation: OpenGeneration, query: Query) -> OptionCounts:
    """The counts of the options where they cost little."""
    return OptionCounts(*(facets.known(generation, one) for one in _scopes(query)))


async def counted(facets: FacetCounter, generation: OpenGeneration, query: Query) -> OptionCounts:
    """The counts of the options, whatever they cost.

    Raises:
        ApiError: 503: too many requests wait.
    """
    return OptionCounts(*[await facets.of(generation, one) for one in _scopes(query)])


def _scopes(query: Query) -> tuple[Query, Query, Query]:
    return (
        replace(query, pays=()),
        replace(query, secteurs=(), sous_secteurs=None),
        replace(query, sous_secteurs=None),
    )


def of_search(
    request: PageRequest, generation: OpenGeneration, form: SearchForm, counts: OptionCounts
) -> Sequence[Picker]:
    """The three pickers."""
    reference, t = generation.reference, request.t
    in_pays = counts.pays.pays if counts.pays else None
    in_secteurs = counts.secteurs.secteurs if counts.secteurs else None
    pays = [
        Option(one.iso2, facet_bars.country_name(request, one), _number(in_pays, one.iso2),
               one.iso2 in form.pays)
        for one in reference.pays
    ]  # fmt: skip
    sections: dict[str, list[Option]] = {}
    for one in reference.secteurs:
        option = Option(one.slug, facet_bars.sector_name(request, one),
                        _number(in_secteurs, one.code), one.slug in form.secteurs)  # fmt: skip
        in_english = seed_tables.sections_in_english().get(one.grand_secteur, one.grand_secteur)
        section = t(one.grand_secteur, in_english)
        sections.setdefault(section, []).append(option)
    groups = [OptionGroup(label, _ranked(options)) for label, options in sections.items()]
    groups.sort(key=lambda one: (not one.chosen, -(one.number or 0), fold(one.label)))
    own = _sub_sectors(request, generation, form, counts.sous_secteurs)
    return (
        Picker("pays", t("Pays", "Country"), [OptionGroup("", _ranked(pays))]),
        Picker("secteur", t("Secteur", "Sector"), groups),
        Picker("sous_secteur", t("Sous-secteur", "Sub-sector"),
               [OptionGroup("", own)] if own else ()),
    )  # fmt: skip


def _sub_sectors(
    request: PageRequest,
    generation: OpenGeneration,
    form: SearchForm,
    counts: FacetTotals | None,
) -> Sequence[Option]:
    """The sub-sectors of the chosen sectors; those already chosen are always among them."""
    divisions = {one.code for one in generation.reference.secteurs if one.slug in form.secteurs}
    names = facet_bars.sub_sector_names(request, generation.reference)
    numbers: dict[str, int | None] = {}
    for one in generation.reference.sous_secteurs:
        if one.secteur in divisions:  # two sectors may share a label (contract B10)
            number = _number(counts.sous_secteurs if counts else None, one.code)
            before = numbers.get(one.sous_secteur)
            numbers[one.sous_secteur] = number if number is None else number + (before or 0)
    options = [
        Option(label, names[label], number, label in form.sous_secteurs)
        for label, number in numbers.items()
    ]
    return _ranked(options)[: max(_SUB_SECTORS, len(form.sous_secteurs))]


def _number(counts: Counts | None, code: str) -> int | None:
    return None if counts is None else counts.get(code, 0)


def _ranked(options: Iterable[Option]) -> Sequence[Option]:
    """The chosen ones first, then by number, then by label."""
    return sorted(options, key=lambda one: (not one.chosen, -(one.number or 0), fold(one.label)))
