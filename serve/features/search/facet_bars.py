"""The bars of a search: companies by country and by sector, each a link to that part of the search."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from serve.features.search.facet_counts import FacetTotals
from serve.surfaces.site import formatting
from serve.surfaces.site.page_request import PageRequest
from serve.surfaces.site.search_form import SearchForm
from shards.generations.reference import Reference, Secteur

# The number of bars; the rest is one more bar, so that they add up to the total.
DRAWN: Final = 6


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


def of_counts(
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
        values = _sub_sectors(request, form, reference, counts)
        without = counts.by["sous_secteur"].get(None, 0)
    else:
        others = request.t("autres secteurs", "other sectors")
        sans = request.t("Sans secteur", "Without a sector")
        values = _sectors(request, form, reference, counts)
        without = counts.by["secteur"].get(None, 0)
    by_sector = _bars(values, drawn, others, (sans, without))
    return Bars(counts.total, by_country, by_sector, in_one_sector=len(form.secteurs) == 1)


def _sectors(
    request: PageRequest, form: SearchForm, reference: Reference, counts: FacetTotals
) -> Sequence[tuple[str, int, str]]:
    sectors = {one.code: one for one in reference.secteurs}
    return [
        (formatting.sector_name(request, sectors[code]), number, _in_sector(form, sectors[code]))
        for code, number in counts.by["secteur"].items()
        if code is not None
    ]


def _sub_sectors(
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
