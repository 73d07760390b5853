"""/sources: where the companies of each country come from, how old that is, and which fields are known (X9).

A card a country, then a table of the fields by country. Fields that the same companies have everywhere (an amount, its
year, its currency) share a row; fields of all companies are named in a sentence.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from serve.access.call import Response
from serve.generation.country_sources import CountrySources
from serve.guests.site.page_request import PageRequest
from serve.guests.site.render import page
from serve.guests.site.search import facet_bars

# The fields of a card, and their short names: what a buyer asks for first.
_CARD: Final[Mapping[str, tuple[str, str]]] = {
    "ville": ("Ville", "City"),
    "nace_code": ("Activité", "Activity"),
    "tranche_effectif": ("Effectif", "Staff"),
    "ca_eur": ("CA", "Turnover"),
    "comptes": ("Comptes", "Accounts"),
    "email": ("E-mail", "E-mail"),
}
_SHADES: Final = 5
# Files of the last two calendar years are `new`, of the two before `older`, and then `old`.
_AGES: Final = ((1, "new"), (3, "older"))


class FieldShare(NamedTuple):
    """The companies of a country that have a field, of all; `shade` from 0, none, to 5; None where nobody counted."""

    part: int | None
    whole: int
    shade: int


class FieldRow(NamedTuple):
    """Fields that the same number of companies have in every country."""

    titles: Sequence[str]
    shares: Sequence[FieldShare]


async def sources(request: PageRequest) -> Response:
    """The sources by country, the countries with the most companies first.

    Raises:
        ApiError: 429, 503.
    """
    with request.server.published.lease() as generation:
        request.trace.generation = generation.id
        known = sorted(generation.sources.values(), key=lambda country: -country.n_societes)
        countries = [country for country in known if country.n_societes]
        days = sorted({one.importe[:10] for country in countries for one in country.imports})
        titles = {
            **facet_bars.field_names(request),
            "comptes": request.t("États financiers", "Financial statements"),
        }
        everywhere, rows = _field_rows(countries, titles)
        return page(
            request, "sources.html",
            names=facet_bars.labels(request, generation.reference),
            countries=countries,
            ages={country.iso2: _age(country.date, request.now.year) for country in countries},
            cards={
                country.iso2: {
                    request.t(*label): _share(country, champ)
                    for champ, label in _CARD.items()
                    if champ in country.filled
                }
                for country in countries
            },
            imported=(days[0], days[-1]) if days else None,
            everywhere=everywhere,
            rows=rows,
            without=[country.iso2 for country in known if not country.n_societes],
        )  # fmt: skip


def _field_rows(
    countries: Sequence[CountrySources], titles: Mapping[str, str]
) -> tuple[Sequence[str], Sequence[FieldRow]]:
    """The fields that every company has, and the rows of the others, in the order of the record."""
    grouped: dict[tuple[FieldShare, ...], list[str]] = {}
    for champ in dict.fromkeys(champ for country in countries for champ in country.filled):
        shares = tuple(_share(country, champ) for country in countries)
        grouped.setdefault(shares, []).append(titles[champ])
    full = tuple(FieldShare(one.n_societes, one.n_societes, _SHADES) for one in countries)
    everywhere = grouped.pop(full, [])
    return everywhere, [FieldRow(own, shares) for shares, own in grouped.items()]


def _share(country: CountrySources, champ: str) -> FieldShare:
    part, whole = country.filled.get(champ), country.n_societes
    return FieldShare(part, whole, -(-_SHADES * part // whole) if part else 0)


def _age(date: str | None, year: int) -> str:
    """The class of an age; "" where no date is known."""
    if date is None:
        return ""
    years = year - int(date[:4])
    return next((name for most, name in _AGES if years <= most), "old")
