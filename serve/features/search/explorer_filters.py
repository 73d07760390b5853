"""The filters of a search as the explorer shows them: its chips, the options of its form, and its bars.

A chip is a restriction in words, with the address of the search without it. A search without results shows how many
companies it has without each of them.

The options are countries, sectors, sub-sectors and states, each with its companies: those of the search with this one
option instead of those chosen of its kind, so the count says what a choice would find. Chosen options come first, then
the largest. Sectors stand in the sections of NACE.

The bars are the companies by country and by sector, each a link to that part of the search.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from serve.contract import parameters, seed_tables
from serve.contract.parameters import Parameter, Q
from serve.features.search.facet_counts import (
    PLACES,
    STATES,
    Counts,
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

_LONGEST: Final = 120  # characters, those of `q`
_NAMED: Final = 4  # restrictions in the title of a page
_MOST: Final = 8  # restrictions that are tried

# Every parameter that restricts a search and is no list of places, in the order of the form.
_RESTRICTIONS: Final = (Q, *parameters.FILTERS)
# The parameters with options.
PICKED: Final = (*PLACES, *STATES)
# More sub-sectors would make a page long; with fewer sectors chosen, all of them fit.
_SUB_SECTORS: Final = 40
# The number of bars; the rest is one more bar, so that they add up to the total.
DRAWN: Final = 6


@dataclass(frozen=True, slots=True)
class SearchView:
    """A search as its page shows it.

    Attributes:
        names: countries by code and sectors by their French label, in the language of the visitor.
        sub_sectors: sub-sectors by their French label, in that language.
    """

    request: PageRequest
    generation: OpenGeneration
    form: SearchForm
    names: Mapping[str, str]
    sub_sectors: Mapping[str, str]

    @property
    def reference(self) -> Reference:
        return self.generation.reference


def view(request: PageRequest, generation: OpenGeneration) -> SearchView:
    """The search of a page, valid or not."""
    reference = generation.reference
    return SearchView(
        request,
        generation,
        search_form.read(request.pairs, generation.names, reference),
        formatting.labels(request, reference),
        formatting.sub_sector_names(request, reference),
    )


class Chip(NamedTuple):
    """A restriction: its words, and the search without it."""

    label: str
    pairs: Pairs

    @property
    def href(self) -> str:
        """The address of the search without it."""
        return search_form.address(self.pairs)


class RelaxedSearch(NamedTuple):
    """A restriction, the address of the search without it, and its total."""

    label: str
    href: str
    total: int


def chips(shown: SearchView) -> Sequence[Chip]:
    """Each restriction of the search."""
    form = shown.form
    sectors = {one.slug: shown.names[one.secteur] for one in shown.reference.secteurs}
    restrictions = [Chip(shown.names[code], form.pairs_without("pays", code)) for code in form.pays]
    restrictions += [
        Chip(sectors[slug], form.pairs_without("secteur", slug)) for slug in form.secteurs
    ]
    restrictions += [
        Chip(shown.sub_sectors.get(one, one), form.pairs_without("sous_secteur", one))
        for one in form.sous_secteurs
    ]
    for parameter in _RESTRICTIONS:
        if value := form.value(parameter.name):
            words = _list_words(shown.request, value) if parameter is parameters.IDS else ""
            words = words or shown.request.t(*parameter.chip).format(
                _readable_value(shown.request, parameter, value)
            )
            restrictions.append(Chip(words, form.pairs(**{parameter.name: ""})))
    return restrictions


def search_title(shown: SearchView, restrictions: Sequence[Chip]) -> str:
    """The search in a few words, for the title of its page."""
    named = [one.label for one in restrictions[:_NAMED]]
    if len(restrictions) > _NAMED:
        named.append("…")
    return " · ".join(named) or shown.request.t("Toutes les sociétés", "All companies")


async def relaxed_searches(
    generation: OpenGeneration, restrictions: Sequence[Chip]
) -> Sequence[RelaxedSearch]:
    """The restrictions without which something is found, the most companies first.

    A search with a single restriction has nothing to be left of it.
    """
    if len(restrictions) < 2:
        return ()
    tried = restrictions[:_MOST]
    searches = [generation.search(one.pairs) for one in tried]
    queries = [(await company_ids.resolved_query(generation.shards, one))[0] for one in searches]
    totals = await generation.in_thread(
        EXPENSIVE_MICROSECONDS,
        lambda: [search(generation.shards, one, offset=0, limit=0).total for one in queries],
    )
    relaxed = [
        RelaxedSearch(chip.label, chip.href, total)
        for chip, total in zip(tried, totals, strict=True)
        if total
    ]
    return sorted(relaxed, key=lambda one: -one.total)


def _list_words(request: PageRequest, value: str) -> str:
    """A list of companies by their number; "" for one company, which is named."""
    count = sum(1 for one in value.split(",") if one.strip())
    number = formatting.formats_of(request.lang).number(count)
    return request.t(f"Ma liste · {number}", f"My list · {number}") if count > 1 else ""


def _readable_value(request: PageRequest, parameter: Parameter, value: str) -> str:
    """A bound with separated thousands, states in words; any other text as it is, if it is not long."""
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
    return value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…"


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


def pickers(shown: SearchView, counts: OptionCounts) -> Sequence[Picker]:
    """The pickers, in the order of the form."""
    form, t = shown.form, shown.request.t
    pays = [
        Option(one.iso2, shown.names[one.iso2], _number(counts["pays"], one.iso2),
               one.iso2 in form.pays)
        for one in shown.reference.pays
    ]  # fmt: skip
    own = _sub_sectors(shown, counts["sous_secteur"])
    in_state = form.value("etat").split(LISTS["etat"])
    states = [
        Option(one, seed_tables.label("etat", "", one, shown.request.lang) or one,
               _number(counts["etat"], one), one in in_state)
        for one in KNOWN_STATES
    ]  # fmt: skip
    return (
        Picker("pays", t("Pays", "Country"), [OptionGroup("", _rank(pays))]),
        Picker("secteur", t("Secteur", "Sector"), _sections(shown, counts["secteur"])),
        Picker("sous_secteur", t("Sous-secteur", "Sub-sector"),
               [OptionGroup("", own)] if own else ()),
        Picker("etat", t("État", "State"), [OptionGroup("", _rank(states))]),
    )  # fmt: skip


def _sections(shown: SearchView, counts: Counts | None) -> Sequence[OptionGroup]:
    """The sectors in the sections of NACE: those with a choice first, then the largest."""
    english = seed_tables.sections_in_english()
    sections: dict[str, list[Option]] = {}
    for sector in shown.reference.secteurs:
        option = Option(sector.slug, shown.names[sector.secteur],
                        _number(counts, sector.code), sector.slug in shown.form.secteurs)  # fmt: skip
        sections.setdefault(sector.grand_secteur, []).append(option)
    groups = [
        OptionGroup(
            formatting.set_in_type(shown.request.t(section, english.get(section, section))),
            _rank(options),
        )
        for section, options in sections.items()
    ]
    return sorted(
        groups, key=lambda one: (not one.chosen_count, -(one.number or 0), fold(one.label))
    )


def _sub_sectors(shown: SearchView, counts: Counts | None) -> Sequence[Option]:
    """The sub-sectors of the chosen sectors; those already chosen are always among them."""
    form, reference = shown.form, shown.reference
    divisions = {one.code for one in reference.secteurs if one.slug in form.secteurs}
    numbers: dict[str, int | None] = {}
    for sub_sector in reference.sous_secteurs:
        if sub_sector.secteur in divisions:  # two sectors may share a label (contract B10)
            number = _number(counts, sub_sector.code)
            before = numbers.get(sub_sector.sous_secteur)
            numbers[sub_sector.sous_secteur] = number if number is None else number + (before or 0)
    options = [
        Option(label, shown.sub_sectors[label], number, label in form.sous_secteurs)
        for label, number in numbers.items()
    ]
    return _rank(options)[: max(_SUB_SECTORS, len(form.sous_secteurs))]


def _number(counts: Counts | None, code: str) -> int | None:
    return None if counts is None else counts.get(code, 0)


def _rank(options: Iterable[Option]) -> Sequence[Option]:
    """The chosen ones first, then by number, then by label."""
    return sorted(options, key=lambda one: (not one.chosen, -(one.number or 0), fold(one.label)))


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar.

    Attributes:
        width: percent of the longest bar; None for the sum of what has no bar of its own, which is no bar.
        href: None for a bar without a link.
    """

    label: str
    number: int
    width: float | None
    href: str | None = None


@dataclass(frozen=True, slots=True)
class Bars:
    """Both drawings; the bars of each add up to `total`.

    Attributes:
        secteurs: of a search in one sector its sub-sectors.
    """

    total: int
    pays: Sequence[Bar]
    secteurs: Sequence[Bar]
    in_one_sector: bool = False


def facet_bars(shown: SearchView, counts: FacetTotals, drawn: int = DRAWN) -> Bars:
    """The bars of `counts`: at most `drawn`, and one for the rest.

    Companies without a sector have the last bar, since they are in no sector.
    """
    form, t = shown.form, shown.request.t
    pays = [
        (shown.names[code], number, form.href(pays=code))
        for code, number in counts.by["pays"].items()
        if code is not None
    ]
    by_country = _bars(pays, drawn, t("autres pays", "other countries"))
    if len(form.secteurs) == 1:
        others = t("autres sous-secteurs", "other sub-sectors")
        sans = t("Sans sous-secteur", "Without a sub-sector")
        values = _sub_sector_numbers(shown, counts.by["sous_secteur"])
        without = counts.by["sous_secteur"].get(None, 0)
    else:
        others = t("autres secteurs", "other sectors")
        sans = t("Sans secteur", "Without a sector")
        sectors = {one.code: one for one in shown.reference.secteurs}
        values = [
            (shown.names[sectors[code].secteur], number, _in_sector(form, sectors[code]))
            for code, number in counts.by["secteur"].items()
            if code is not None
        ]
        without = counts.by["secteur"].get(None, 0)
    by_sector = _bars(values, drawn, others, (sans, without))
    return Bars(counts.total, by_country, by_sector, in_one_sector=len(form.secteurs) == 1)


def _sub_sector_numbers(shown: SearchView, counts: Counts) -> Sequence[tuple[str, int, str]]:
    """The sub-sectors; two groups may share a label (contract B10), and so a bar."""
    labels = {one.code: one.sous_secteur for one in shown.reference.sous_secteurs}
    numbers: Counter[str] = Counter()
    for code, number in counts.items():
        if code is not None:
            numbers[labels[code]] += number
    return [
        (shown.sub_sectors[label], number, shown.form.href(sous_secteur=label))
        for label, number in numbers.items()
    ]


def _in_sector(form: SearchForm, secteur: Secteur) -> str:
    # With sub-sectors of other sectors, the search would find nothing in this one.
    kept = "|".join(form.sous_secteurs) if secteur.slug in form.secteurs else ""
    return form.href(secteur=secteur.slug, sous_secteur=kept)


def _bars(
    values: Iterable[tuple[str, int, str | None]],
    drawn: int,
    others: str,
    without: tuple[str, int] = ("", 0),
) -> Sequence[Bar]:
    """The bars of the largest values, then one for the others, then one for `without`."""
    ranked = sorted(values, key=lambda one: (-one[1], one[0]))
    drawn += len(ranked) == drawn + 1  # a single other value is shown by its name
    left = ranked[drawn:]
    rest = (f"{len(left)} {others}", sum(number for _, number, _ in left))
    longest = max([1, without[1], *(number for _, number, _ in ranked[:1])])
    bars = [Bar(label, n, _width(n, longest), href) for label, n, href in ranked[:drawn]]
    bars += [Bar(*rest, width=None)] if rest[1] else []
    return bars + ([Bar(*without, _width(without[1], longest))] if without[1] else [])


def _width(number: int, longest: int) -> float:
    return round(max(0.6, 100 * number / longest), 1)  # at least a visible line
