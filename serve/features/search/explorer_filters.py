"""The filters of a search in the explorer: chips, options of the form, bars.

A chip states one restriction in words and links to the search without this restriction. If a search has no results, the
page shows the total without each restriction.

The options are countries, sectors, sub-sectors and states. The count of an option is the number of companies that the
search would match if this option were the only choice for its parameter. Chosen options come first, then the options
with the highest counts. Sectors are grouped by sections of NACE.

The bars are the companies by country and by sector. Each bar links to the search for its country or sector.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from serve.contract import parameters, seed_tables
from serve.contract.parameters import Parameter, Q
from serve.features.search.facet_counts import (
    COUNTRY_AND_SECTOR,
    STATE_ONLY,
    CountsByValue,
    Dimensions,
    FacetCounter,
    FacetTotals,
)
from serve.generation import company_ids
from serve.generation.open_generation import EXPENSIVE_MICROSECONDS, OpenGeneration
from serve.request.reader import Pairs
from serve.request.scalars import parse_decimal
from serve.surfaces.site import formatting, search_form
from serve.surfaces.site.page_request import PageRequest
from serve.surfaces.site.search_form import LISTS, SearchForm
from shards.codec.folding import fold
from shards.generations.reference import Reference, Secteur
from shards.query import STATES as KNOWN_STATES
from shards.query import Query
from shards.search.search import search

_LONGEST_VALUE: Final = 120  # characters of a value in a chip, as for `q`; a longer value is cut
# The most restrictions in the title of the page; an ellipsis replaces further restrictions.
_MOST_IN_TITLE: Final = 4
# If a search has no results, the search without one restriction is counted, for each of its first 8 restrictions.
_MOST_RELAXED: Final = 8

# The parameters that restrict a search, except country, sector and sub-sector, in the order of the form.
_RESTRICTIONS: Final = (Q, *parameters.FILTERS)
# The parameters whose values the form offers as options.
PICKER_PARAMETERS: Final = (*COUNTRY_AND_SECTOR, *STATE_ONLY)
# The most sub-sectors that the form offers, unless more are chosen; a longer list would make the page too long.
_MOST_SUB_SECTORS: Final = 40
# The most bars of single values; a further line sums up the other values, so that the numbers add up to the total.
MOST_BARS: Final = 6


@dataclass(frozen=True, slots=True)
class SearchView:
    """A search and the names that its page shows.

    Attributes:
        names: the names of countries by code, and of sectors by French label, in the visitor's language.
        sub_sectors: the names of sub-sectors by French label, in the visitor's language.
    """

    request: PageRequest
    generation: OpenGeneration
    form: SearchForm
    names: Mapping[str, str]
    sub_sectors: Mapping[str, str]

    @property
    def reference(self) -> Reference:
        """The countries, sectors and sub-sectors of the generation."""
        return self.generation.reference


def search_view(request: PageRequest, generation: OpenGeneration) -> SearchView:
    """The search in the address of a page; the search can be invalid."""
    reference = generation.reference
    return SearchView(
        request,
        generation,
        search_form.read(request.pairs, generation.names, reference),
        formatting.labels(request, reference),
        formatting.sub_sector_names(request, reference),
    )


class Chip(NamedTuple):
    """A restriction in words, and the parameters of the search without this restriction."""

    label: str
    pairs: Pairs

    @property
    def href(self) -> str:
        """The address of the search without the restriction."""
        return search_form.address(self.pairs)


class RelaxedSearch(NamedTuple):
    """A search without one restriction: the restriction in words, the address and the total of the search."""

    label: str
    href: str
    total: int


def chips(view: SearchView) -> Sequence[Chip]:
    """A chip for each restriction of the search."""
    form = view.form
    sectors = {sector.slug: view.names[sector.secteur] for sector in view.reference.secteurs}
    restrictions = [Chip(view.names[code], form.pairs_without("pays", code)) for code in form.pays]
    restrictions += [
        Chip(sectors[slug], form.pairs_without("secteur", slug)) for slug in form.secteurs
    ]
    restrictions += [
        Chip(view.sub_sectors.get(label, label), form.pairs_without("sous_secteur", label))
        for label in form.sous_secteurs
    ]
    for parameter in _RESTRICTIONS:
        if value := form.value(parameter.name):
            words = _list_words(view.request, value) if parameter is parameters.IDS else ""
            words = words or view.request.t(*parameter.chip).format(
                _readable_value(view.request, parameter, value)
            )
            restrictions.append(Chip(words, form.pairs(**{parameter.name: ""})))
    return restrictions


def search_title(view: SearchView, restrictions: Sequence[Chip]) -> str:
    """The search in a few words, for the title of its page."""
    labels = [chip.label for chip in restrictions[:_MOST_IN_TITLE]]
    if len(restrictions) > _MOST_IN_TITLE:
        labels.append("…")
    return " · ".join(labels) or view.request.t("Toutes les sociétés", "All companies")


async def relaxed_searches(
    generation: OpenGeneration, restrictions: Sequence[Chip]
) -> Sequence[RelaxedSearch]:
    """The searches without one restriction that match companies, the largest total first.

    The result is empty for a search with a single restriction, because no restriction would remain.
    """
    if len(restrictions) < 2:
        return ()
    removable = restrictions[:_MOST_RELAXED]
    searches = [generation.search(chip.pairs) for chip in removable]
    queries = [
        (await company_ids.resolve_query(generation.shards, parsed))[0] for parsed in searches
    ]
    totals = await generation.run(
        EXPENSIVE_MICROSECONDS,
        lambda: [search(generation.shards, query, offset=0, limit=0).total for query in queries],
    )
    relaxed = [
        RelaxedSearch(chip.label, chip.href, total)
        for chip, total in zip(removable, totals, strict=True)
        if total
    ]
    return sorted(relaxed, key=lambda search: -search.total)


def _list_words(request: PageRequest, value: str) -> str:
    """The words of the chip for `ids`: "My list" and its length; "" for a single company."""
    count = sum(1 for item in value.split(",") if item.strip())
    number = formatting.formats_of(request.lang).number(count)
    return request.t(f"Ma liste · {number}", f"My list · {number}") if count > 1 else ""


def _readable_value(request: PageRequest, parameter: Parameter, value: str) -> str:
    """The value in words: numbers with separated thousands, choices by label, other texts cut if long."""
    if parameter.kind == "choices":
        words = (
            seed_tables.label(parameter.name, "", word, request.lang) or word
            for word in value.split(parameter.separator)
        )
        return ", ".join(words)
    if parameter.kind in ("number", "integer"):
        try:
            return formatting.formats_of(request.lang).number(parse_decimal(value))
        except ValueError:
            return value
    return value if len(value) <= _LONGEST_VALUE else f"{value[:_LONGEST_VALUE]}…"


@dataclass(frozen=True, slots=True)
class Option:
    """A value of a parameter; `number` is the count of its companies, None if they are not counted."""

    value: str
    label: str
    number: int | None
    chosen: bool


@dataclass(frozen=True, slots=True)
class OptionGroup:
    """Options under a common label, which can be ""."""

    label: str
    options: Sequence[Option]

    @property
    def number(self) -> int | None:
        """The sum of the counts of all options; each company is counted in only one option."""
        numbers = [option.number for option in self.options if option.number is not None]
        return sum(numbers) if numbers else None

    @property
    def empty_options(self) -> Sequence[Option]:
        """The options without companies that are not chosen; empty if no option has companies."""
        return (
            [option for option in self.options if option.number == 0 and not option.chosen]
            if self.number
            else ()
        )

    @property
    def chosen_count(self) -> int:
        """The number of chosen options."""
        return sum(option.chosen for option in self.options)


@dataclass(frozen=True, slots=True)
class Picker:
    """The options of a parameter; the page hides a picker without groups."""

    name: str
    title: str
    groups: Sequence[OptionGroup]


# For each parameter: the counts of the search without this parameter; None if its companies are not counted.
OptionCounts = Mapping[str, CountsByValue | None]

# Shown with the error of an invalid search, which has no counts.
NOT_COUNTED: Final[OptionCounts] = dict.fromkeys(PICKER_PARAMETERS)


def cheap_counts(facets: FacetCounter, generation: OpenGeneration, query: Query) -> OptionCounts:
    """The counts of the options of each parameter if they are cheap to compute, else None."""
    totals = {
        name: facets.cheap_counts(generation, scope, dimensions)
        for name, scope, dimensions in _scopes(query)
    }
    return {name: counted.by[name] if counted else None for name, counted in totals.items()}


async def option_counts(
    facets: FacetCounter, generation: OpenGeneration, query: Query
) -> OptionCounts:
    """The counts of the options, even if they are expensive.

    Raises:
        ApiError: 503: too many requests wait.
    """
    return {
        name: (await facets.counts_of(generation, scope, dimensions)).by[name]
        for name, scope, dimensions in _scopes(query)
    }


def _scopes(query: Query) -> Sequence[tuple[str, Query, Dimensions]]:
    """For each parameter with options: its name, the search without it, and the dimensions to count."""
    return (
        ("pays", replace(query, pays=()), COUNTRY_AND_SECTOR),
        ("secteur", replace(query, secteurs=(), sous_secteurs=None), COUNTRY_AND_SECTOR),
        ("sous_secteur", replace(query, sous_secteurs=None), COUNTRY_AND_SECTOR),
        ("etat", replace(query, etats=()), STATE_ONLY),
    )


def pickers(view: SearchView, counts: OptionCounts) -> Sequence[Picker]:
    """The options of country, sector, sub-sector and state, in the order of the form."""
    form, translate = view.form, view.request.t
    pays = [
        Option(country.iso2, view.names[country.iso2], _count_of(counts["pays"], country.iso2),
               country.iso2 in form.pays)
        for country in view.reference.pays
    ]  # fmt: skip
    sub_sectors = _sub_sectors(view, counts["sous_secteur"])
    chosen_states = form.value("etat").split(LISTS["etat"])
    states = [
        Option(state, seed_tables.label("etat", "", state, view.request.lang) or state,
               _count_of(counts["etat"], state), state in chosen_states)
        for state in KNOWN_STATES
    ]  # fmt: skip
    return (
        Picker("pays", translate("Pays", "Country"), [OptionGroup("", _rank(pays))]),
        Picker("secteur", translate("Secteur", "Sector"), _sections(view, counts["secteur"])),
        Picker("sous_secteur", translate("Sous-secteur", "Sub-sector"),
               [OptionGroup("", sub_sectors)] if sub_sectors else ()),
        Picker("etat", translate("État", "State"), [OptionGroup("", _rank(states))]),
    )  # fmt: skip


def _sections(view: SearchView, counts: CountsByValue | None) -> Sequence[OptionGroup]:
    """The sectors by section of NACE: sections with a chosen sector first, then the sections with most companies."""
    english = seed_tables.sections_in_english()
    sections: dict[str, list[Option]] = {}
    for sector in view.reference.secteurs:
        option = Option(sector.slug, view.names[sector.secteur],
                        _count_of(counts, sector.code), sector.slug in view.form.secteurs)  # fmt: skip
        sections.setdefault(sector.grand_secteur, []).append(option)
    groups = [
        OptionGroup(
            formatting.set_in_type(view.request.t(section, english.get(section, section))),
            _rank(options),
        )
        for section, options in sections.items()
    ]
    return sorted(
        groups, key=lambda group: (not group.chosen_count, -(group.number or 0), fold(group.label))
    )


def _sub_sectors(view: SearchView, counts: CountsByValue | None) -> Sequence[Option]:
    """The sub-sectors of the chosen sectors: at most 40, or as many as are chosen if this number is higher."""
    form, reference = view.form, view.reference
    divisions = {sector.code for sector in reference.secteurs if sector.slug in form.secteurs}
    numbers: dict[str, int | None] = {}
    for sub_sector in reference.sous_secteurs:
        if sub_sector.secteur in divisions:
            # Two sub-sectors can share a label (contract B10), so their numbers are added.
            number = _count_of(counts, sub_sector.code)
            previous = numbers.get(sub_sector.sous_secteur)
            numbers[sub_sector.sous_secteur] = (
                number if number is None else number + (previous or 0)
            )
    options = [
        Option(label, view.sub_sectors[label], number, label in form.sous_secteurs)
        for label, number in numbers.items()
    ]
    return _rank(options)[: max(_MOST_SUB_SECTORS, len(form.sous_secteurs))]


def _count_of(counts: CountsByValue | None, code: str) -> int | None:
    """The number of companies with `code`; None if companies are not counted."""
    return None if counts is None else counts.get(code, 0)


def _rank(options: Iterable[Option]) -> Sequence[Option]:
    """Sort options: chosen options first, then by number, then by label."""
    return sorted(
        options, key=lambda option: (not option.chosen, -(option.number or 0), fold(option.label))
    )


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar, or the line with the sum of the other values.

    Attributes:
        width: percent of the longest bar; None for the sum, which is drawn without a bar.
        href: the search for this value; None if the bar has no link.
    """

    label: str
    number: int
    width: float | None
    href: str | None = None


@dataclass(frozen=True, slots=True)
class Bars:
    """The bars by country and by sector; the numbers of each list add up to `total`.

    Attributes:
        secteurs: the bars by sector, or by sub-sector if the search has exactly one sector.
    """

    total: int
    pays: Sequence[Bar]
    secteurs: Sequence[Bar]
    in_one_sector: bool = False


def facet_bars(view: SearchView, counts: FacetTotals, most: int = MOST_BARS) -> Bars:
    """The bars of `counts`: the `most` largest values, then the sum of the other values.

    The last bar by sector is for the companies without a sector.
    """
    form, translate = view.form, view.request.t
    pays = [
        (view.names[code], number, form.href(pays=code))
        for code, number in counts.by["pays"].items()
        if code is not None
    ]
    by_country = _bars(pays, most, translate("autres pays", "other countries"))
    if len(form.secteurs) == 1:
        others = translate("autres sous-secteurs", "other sub-sectors")
        without_label = translate("Sans sous-secteur", "Without a sub-sector")
        values = _sub_sector_numbers(view, counts.by["sous_secteur"])
        without_count = counts.by["sous_secteur"].get(None, 0)
    else:
        others = translate("autres secteurs", "other sectors")
        without_label = translate("Sans secteur", "Without a sector")
        sectors = {sector.code: sector for sector in view.reference.secteurs}
        values = [
            (view.names[sectors[code].secteur], number, _sector_query(form, sectors[code]))
            for code, number in counts.by["secteur"].items()
            if code is not None
        ]
        without_count = counts.by["secteur"].get(None, 0)
    by_sector = _bars(values, most, others, (without_label, without_count))
    return Bars(counts.total, by_country, by_sector, in_one_sector=len(form.secteurs) == 1)


def _sub_sector_numbers(view: SearchView, counts: CountsByValue) -> Sequence[tuple[str, int, str]]:
    """The sub-sectors by label; groups with the same label (contract B10) share a bar."""
    labels = {
        sub_sector.code: sub_sector.sous_secteur for sub_sector in view.reference.sous_secteurs
    }
    numbers: Counter[str] = Counter()
    for code, number in counts.items():
        if code is not None:
            numbers[labels[code]] += number
    return [
        (view.sub_sectors[label], number, view.form.href(sous_secteur=label))
        for label, number in numbers.items()
    ]


def _sector_query(form: SearchForm, secteur: Secteur) -> str:
    """The address of the search with `secteur` as its only sector."""
    # Sub-sectors of other sectors would match nothing in this sector.
    sub_sectors = "|".join(form.sous_secteurs) if secteur.slug in form.secteurs else ""
    return form.href(secteur=secteur.slug, sous_secteur=sub_sectors)


def _bars(
    values: Iterable[tuple[str, int, str | None]],
    most: int,
    others: str,
    without: tuple[str, int] = ("", 0),
) -> Sequence[Bar]:
    """The bars of the largest values, then the sum of the other values, then a bar for `without`.

    Args:
        values: the label, the number of companies and the address of each value.
        most: the number of values with a bar of their own.
        others: the words after the number of the other values, in the label of their sum.
        without: the label and the number of the companies without a value.
    """
    ranked = sorted(values, key=lambda value: (-value[1], value[0]))
    most += len(ranked) == most + 1  # a single remaining value is shown instead of a sum
    remaining = ranked[most:]
    # The label of the sum, and the sum.
    sum_of_others = (f"{len(remaining)} {others}", sum(number for _, number, _ in remaining))
    longest = max([1, without[1], *(number for _, number, _ in ranked[:1])])
    bars = [
        Bar(label, number, _width(number, longest), href) for label, number, href in ranked[:most]
    ]
    bars += [Bar(*sum_of_others, width=None)] if sum_of_others[1] else []
    return bars + ([Bar(*without, _width(without[1], longest))] if without[1] else [])


def _width(number: int, longest: int) -> float:
    """The width of a bar in percent of the longest bar; a bar below 0.6 would be invisible."""
    return round(max(0.6, 100 * number / longest), 1)
