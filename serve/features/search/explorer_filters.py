"""The options of the explorer's form: countries, sectors, sub-sectors, states, with their companies in this search.

A count is that of the search with this one option instead of those chosen of its kind, so it says what a choice would
find. Chosen options come first, then the largest. Sectors stand in the sections of NACE.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from serve.contract import seed_tables
from serve.features.search.facet_counts import PLACES, STATES, Counts, Dimensions, FacetCounter
from serve.generation.open_generation import OpenGeneration
from serve.surfaces.site import formatting
from serve.surfaces.site.page_request import PageRequest
from serve.surfaces.site.search_form import LISTS, SearchForm
from shards.codec.folding import fold
from shards.generations.reference import Reference
from shards.query import STATES as KNOWN_STATES
from shards.query import Query

# The parameters with options.
PICKED: Final = (*PLACES, *STATES)
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
    def empty_options(self) -> Sequence[Option]:
        """The options without a company that nobody chose; none where no option has any."""
        return (
            [one for one in self.options if one.number == 0 and not one.chosen]
            if self.number
            else ()
        )

    @property
    def chosen_count(self) -> int:
        return sum(one.chosen for one in self.options)


@dataclass(frozen=True, slots=True)
class Picker:
    """The options of a parameter; without any the page hides it."""

    name: str
    title: str
    groups: Sequence[OptionGroup]


# By parameter, the counts of a search without its own choice of this parameter; None: not counted.
OptionCounts = Mapping[str, Counts | None]

NOT_COUNTED: Final[OptionCounts] = dict.fromkeys(PICKED)


def cheap_counts(facets: FacetCounter, generation: OpenGeneration, query: Query) -> OptionCounts:
    """The counts of the options where they cost little."""
    found = {
        name: facets.cheap_counts(generation, scope, dimensions)
        for name, scope, dimensions in _scopes(query)
    }
    return {name: one.by[name] if one else None for name, one in found.items()}


async def all_counts(
    facets: FacetCounter, generation: OpenGeneration, query: Query
) -> OptionCounts:
    """The counts of the options, whatever they cost.

    Raises:
        ApiError: 503: too many requests wait.
    """
    return {
        name: (await facets.counts_of(generation, scope, dimensions)).by[name]
        for name, scope, dimensions in _scopes(query)
    }


def _scopes(query: Query) -> Sequence[tuple[str, Query, Dimensions]]:
    """Each parameter, the search without its choice, and what is counted together with it."""
    return (
        ("pays", replace(query, pays=()), PLACES),
        ("secteur", replace(query, secteurs=(), sous_secteurs=None), PLACES),
        ("sous_secteur", replace(query, sous_secteurs=None), PLACES),
        ("etat", replace(query, etats=()), STATES),
    )


def of_search(
    request: PageRequest, generation: OpenGeneration, form: SearchForm, counts: OptionCounts
) -> Sequence[Picker]:
    """The pickers, in the order of the form."""
    reference, t = generation.reference, request.t
    pays = [
        Option(one.iso2, formatting.country_name(request, one), _number(counts["pays"], one.iso2),
               one.iso2 in form.pays)
        for one in reference.pays
    ]  # fmt: skip
    own = _sub_sectors(request, generation, form, counts["sous_secteur"])
    in_state = form.value("etat").split(LISTS["etat"])
    states = [
        Option(one, seed_tables.label("etat", "", one, request.lang) or one,
               _number(counts["etat"], one), one in in_state)
        for one in KNOWN_STATES
    ]  # fmt: skip
    return (
        Picker("pays", t("Pays", "Country"), [OptionGroup("", _rank(pays))]),
        Picker("secteur", t("Secteur", "Sector"), _sections(request, reference, form, counts["secteur"])),
        Picker("sous_secteur", t("Sous-secteur", "Sub-sector"),
               [OptionGroup("", own)] if own else ()),
        Picker("etat", t("État", "State"), [OptionGroup("", _rank(states))]),
    )  # fmt: skip


def _sections(
    request: PageRequest, reference: Reference, form: SearchForm, counts: Counts | None
) -> Sequence[OptionGroup]:
    """The sectors in the sections of NACE: those with a choice first, then the largest."""
    english = seed_tables.sections_in_english()
    sections: dict[str, list[Option]] = {}
    for sector in reference.secteurs:
        option = Option(sector.slug, formatting.sector_name(request, sector),
                        _number(counts, sector.code), sector.slug in form.secteurs)  # fmt: skip
        section = formatting.set_in_type(
            request.t(sector.grand_secteur, english.get(sector.grand_secteur, sector.grand_secteur))
        )
        sections.setdefault(section, []).append(option)
    groups = [OptionGroup(label, _rank(options)) for label, options in sections.items()]
    return sorted(
        groups, key=lambda one: (not one.chosen_count, -(one.number or 0), fold(one.label))
    )


def _sub_sectors(
    request: PageRequest,
    generation: OpenGeneration,
    form: SearchForm,
    counts: Counts | None,
) -> Sequence[Option]:
    """The sub-sectors of the chosen sectors; those already chosen are always among them."""
    divisions = {one.code for one in generation.reference.secteurs if one.slug in form.secteurs}
    names = formatting.sub_sector_names(request, generation.reference)
    numbers: dict[str, int | None] = {}
    for sub_sector in generation.reference.sous_secteurs:
        if sub_sector.secteur in divisions:  # two sectors may share a label (contract B10)
            number = _number(counts, sub_sector.code)
            before = numbers.get(sub_sector.sous_secteur)
            numbers[sub_sector.sous_secteur] = number if number is None else number + (before or 0)
    options = [
        Option(label, names[label], number, label in form.sous_secteurs)
        for label, number in numbers.items()
    ]
    return _rank(options)[: max(_SUB_SECTORS, len(form.sous_secteurs))]


def _number(counts: Counts | None, code: str) -> int | None:
    return None if counts is None else counts.get(code, 0)


def _rank(options: Iterable[Option]) -> Sequence[Option]:
    """The chosen ones first, then by number, then by label."""
    return sorted(options, key=lambda one: (not one.chosen, -(one.number or 0), fold(one.label)))
