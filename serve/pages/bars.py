"""The bars of a search: companies by country and by sector, each a link to its part of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from serve.pages.asked import Asked
from serve.pages.figures import Counts
from serve.pages.visit import Visit
from shards.reference import Pays, Reference, Secteur

# So many bars are drawn; what is left is one more, so that they add up to the total.
_DRAWN: Final = 6


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


def of_counts(visit: Visit, asked: Asked, reference: Reference, counts: Counts) -> Bars:
    countries = {one.iso2: one for one in reference.pays}
    sectors = {one.code: one for one in reference.secteurs}
    pays = [
        (country_name(visit, countries[code]), number, asked.href(pays=code))
        for code, number in counts.pays.items()
    ]
    secteurs = [
        (sector_name(visit, sectors[code]), number, _in_sector(asked, sectors[code]))
        if code is not None
        else (visit.t("Sans secteur", "Without a sector"), number, None)
        for code, number in counts.secteurs.items()
    ]
    return Bars(
        sum(counts.pays.values()),
        _drawn(visit, pays, "autres pays", "other countries"),
        _drawn(visit, secteurs, "autres secteurs", "other sectors"),
    )


def country_name(visit: Visit, pays: Pays) -> str:
    return visit.t(pays.nom_fr, pays.nom_en)


def sector_name(visit: Visit, secteur: Secteur) -> str:
    return visit.t(secteur.secteur, secteur.secteur_en)


def labels(visit: Visit, reference: Reference) -> Mapping[str, str]:
    """The names of countries by code and of sectors by French label, for tables of companies."""
    return {one.iso2: country_name(visit, one) for one in reference.pays} | {
        one.secteur: sector_name(visit, one) for one in reference.secteurs
    }


def _in_sector(asked: Asked, secteur: Secteur) -> str:
    # Sub-sectors of other sectors would leave nothing of it.
    kept = "|".join(asked.sous_secteurs) if secteur.slug in asked.secteurs else ""
    return asked.href(secteur=secteur.slug, sous_secteur=kept)


def _drawn(
    visit: Visit, found: Iterable[tuple[str, int, str | None]], fr: str, en: str
) -> Sequence[Bar]:
    """The highest, and the others together."""
    ranked = sorted(found, key=lambda one: (-one[1], one[0]))
    shown, others = ranked[:_DRAWN], ranked[_DRAWN:]
    longest = max([number for _, number, _ in shown], default=1)
    bars = [Bar(label, n, _width(n, longest), href) for label, n, href in shown]
    if others:
        rest = sum(number for _, number, _ in others)
        label = f"{len(others)} {visit.t(fr, en)}"
        bars.append(Bar(label, rest, _width(min(rest, longest), longest), rest=True))
    return bars


def _width(number: int, longest: int) -> float:
    # What exists is seen: at least a hair.
    return round(max(0.6, 100 * number / longest), 1)
