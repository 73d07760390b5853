"""The bars of a search: companies by country and by sector, each a link to its part of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from serve.website.facet_counts import FacetTotals
from serve.website.page_request import PageRequest
from serve.website.search_form import SearchForm
from shards.generations.reference import Pays, Reference, Secteur

# So many bars are drawn; what is left is one more, so that they add up to the total.
DRAWN: Final = 6


@dataclass(frozen=True, slots=True)
class Bar:
    """`width` is a part of 100, that of the longest; without `href` it leads nowhere."""

    label: str
    number: int
    width: float
    href: str | None = None
    rest: bool = False


@dataclass(frozen=True, slots=True)
class Bars:
    """Both drawings, and what all bars of either add up to."""

    total: int
    pays: Sequence[Bar]
    secteurs: Sequence[Bar]


def of_counts(
    visit: PageRequest,
    asked: SearchForm,
    reference: Reference,
    counts: FacetTotals,
    drawn: int = DRAWN,
) -> Bars:
    """The bars of `counts`, at most `drawn` and one for what is left; companies without a sector
    come last, for they are no sector.
    """
    countries = {one.iso2: one for one in reference.pays}
    sectors = {one.code: one for one in reference.secteurs}
    pays = [
        (country_name(visit, countries[code]), number, asked.href(pays=code))
        for code, number in counts.pays.items()
    ]
    secteurs = [
        (sector_name(visit, sectors[code]), number, _in_sector(asked, sectors[code]))
        for code, number in counts.secteurs.items()
        if code is not None
    ]
    without = counts.secteurs.get(None, 0)
    sans = visit.t("Sans secteur", "Without a sector")
    return Bars(
        sum(counts.pays.values()),
        _drawn(pays, drawn, visit.t("autres pays", "other countries")),
        _drawn(secteurs, drawn, visit.t("autres secteurs", "other sectors"), (sans, without)),
    )


def country_name(visit: PageRequest, pays: Pays) -> str:
    return visit.t(pays.nom_fr, pays.nom_en)


def sector_name(visit: PageRequest, secteur: Secteur) -> str:
    return visit.t(secteur.secteur, secteur.secteur_en)


def labels(visit: PageRequest, reference: Reference) -> Mapping[str, str]:
    """The names of countries by code and of sectors by French label, for tables of companies."""
    return {one.iso2: country_name(visit, one) for one in reference.pays} | {
        one.secteur: sector_name(visit, one) for one in reference.secteurs
    }


def _in_sector(asked: SearchForm, secteur: Secteur) -> str:
    # Sub-sectors of other sectors would leave nothing of it.
    kept = "|".join(asked.sous_secteurs) if secteur.slug in asked.secteurs else ""
    return asked.href(secteur=secteur.slug, sous_secteur=kept)


def _drawn(
    found: Iterable[tuple[str, int, str | None]],
    drawn: int,
    others: str,
    without: tuple[str, int] = ("", 0),
) -> Sequence[Bar]:
    """The highest, the others together, and those that are none of them."""
    ranked = sorted(found, key=lambda one: (-one[1], one[0]))
    drawn += len(ranked) == drawn + 1  # one other is shown by its name
    left = ranked[drawn:]
    rest = (f"{len(left)} {others}", sum(number for _, number, _ in left))
    longest = max([number for _, number, _ in ranked[:1]], default=max(1, without[1]))
    bars = [Bar(label, n, _width(n, longest), href) for label, n, href in ranked[:drawn]]
    bars += [Bar(label, n, _width(n, longest), rest=True) for label, n in (rest, without) if n]
    return bars


def _width(number: int, longest: int) -> float:
    # What exists is seen: at least a hair. What is left over may be more than the longest.
    return round(min(100.0, max(0.6, 100 * number / longest)), 1)
