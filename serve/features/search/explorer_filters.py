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
from urllib.parse import parse_qsl, urlsplit

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
from serve.request.scalars import parse_decimal
from serve.surfaces.site import formatting
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


class Chip(NamedTuple):
    """A restriction: its words, and the address of the search without it."""

    label: str
    href: str


class RelaxedSearch(NamedTuple):
    """A restriction, the address of the search without it, and what that finds."""

    label: str
    href: str
    total: int


def chips(request: PageRequest, reference: Reference, form: SearchForm) -> Sequence[Chip]:
    """Each restriction of the search."""
    countries = {one.iso2: formatting.country_name(request, one) for one in reference.pays}
    sectors = {one.slug: formatting.sector_name(request, one) for one in reference.secteurs}
    groups = formatting.sub_sector_names(request, reference)
    restrictions = [Chip(countries[code], form.href_without("pays", code)) for code in form.pays]
    restrictions += [
        Chip(sectors[slug], form.href_without("secteur", slug)) for slug in form.secteurs
    ]
    restrictions += [
        Chip(groups.get(one, one), form.href_without("sous_secteur", one))
        for one in form.sous_secteurs
    ]
    for parameter in _RESTRICTIONS:
        if value := form.value(parameter.name):
            words = _list_words(request, value) if parameter is parameters.IDS else ""
            words = words or request.t(*parameter.chip).format(
                _readable_value(request, parameter, value)
            )
            restrictions.append(Chip(words, form.href(**{parameter.name: ""})))
    return restrictions


def search_title(request: PageRequest, restrictions: Sequence[Chip]) -> str:
    """The search in a few words, for the title of its page."""
    named = [one.label for one in restrictions[:_NAMED]]
    if len(restrictions) > _NAMED:
        named.append("…")
    return " · ".join(named) or request.t("Toutes les sociétés", "All companies")


async def relaxed_searches(
    generation: OpenGeneration, restrictions: Sequence[Chip]
) -> Sequence[RelaxedSearch]:
    """The restrictions without which something is found, the most companies first.

    A search with a single restriction has nothing to be left of it.
    """
    if len(restrictions) < 2:
        return ()
    tried = restrictions[:_MOST]
    queries = [await _query(generation, one.href) for one in tried]
    totals = await generation.in_thread(
        EXPENSIVE_MICROSECONDS,
        lambda: [search(generation.shards, one, offset=0, limit=0).total for one in queries],
    )
    searches = [
        RelaxedSearch(chip.label, chip.href, total)
        for chip, total in zip(tried, totals, strict=True)
        if total
    ]
    return sorted(searches, key=lambda one: -one.total)


async def _query(generation: OpenGeneration, href: str) -> Query:
    asked = generation.search(tuple(parse_qsl(urlsplit(href).query)))
    query, _ = await company_ids.resolved_query(generation.shards, asked)
    return query


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


def pickers(
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


def facet_bars(
    request: PageRequest,
    form: SearchForm,
    reference: Reference,
    counts: FacetTotals,
    drawn: int = DRAWN,
) -> Bars:
    """The bars of `counts`: at most `drawn`, and one for the rest.

    Companies without a sector have the last bar, since they are in no sector.
    """
    countries = {one.iso2: one for one in reference.pays}
    pays = [
        (formatting.country_name(request, countries[code]), number, form.href(pays=code))
        for code, number in counts.by["pays"].items()
        if code is not None
    ]
    by_country = _bars(pays, drawn, request.t("autres pays", "other countries"))
    if len(form.secteurs) == 1:
        others = request.t("autres sous-secteurs", "other sub-sectors")
        sans = request.t("Sans sous-secteur", "Without a sub-sector")
        values = _sub_sector_numbers(request, form, reference, counts)
        without = counts.by["sous_secteur"].get(None, 0)
    else:
        others = request.t("autres secteurs", "other sectors")
        sans = request.t("Sans secteur", "Without a sector")
        values = _sector_numbers(request, form, reference, counts)
        without = counts.by["secteur"].get(None, 0)
    by_sector = _bars(values, drawn, others, (sans, without))
    return Bars(counts.total, by_country, by_sector, in_one_sector=len(form.secteurs) == 1)


def _sector_numbers(
    request: PageRequest, form: SearchForm, reference: Reference, counts: FacetTotals
) -> Sequence[tuple[str, int, str]]:
    sectors = {one.code: one for one in reference.secteurs}
    return [
        (formatting.sector_name(request, sectors[code]), number, _in_sector(form, sectors[code]))
        for code, number in counts.by["secteur"].items()
        if code is not None
    ]


def _sub_sector_numbers(
    request: PageRequest, form: SearchForm, reference: Reference, counts: FacetTotals
) -> Sequence[tuple[str, int, str]]:
    """The sub-sectors; two groups may share a label (contract B10), and so a bar."""
    labels = {one.code: one.sous_secteur for one in reference.sous_secteurs}
    numbers: Counter[str] = Counter()
    for code, number in counts.by["sous_secteur"].items():
        if code is not None:
            numbers[labels[code]] += number
    names = formatting.sub_sector_names(request, reference)
    return [
        (names[label], number, form.href(sous_secteur=label)) for label, number in numbers.items()
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
