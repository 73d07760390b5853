"""/sources: where the companies of each country come from, how old that is, and which fields are known (X9).

A card a country, then a table of the fields by country. Fields that the same companies have everywhere (an amount, its
year, its currency) share a row; fields of all companies are named in a sentence.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from serve.access.call import Response
from serve.contract.text import Text
from serve.generation.country_sources import CountrySources
from serve.surfaces.site import formatting
from serve.surfaces.site.page_request import PageRequest, WebRoute
from serve.surfaces.site.render import page

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
_RARE: Final = 10  # a field of less than one country in so many


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
            **formatting.field_names(request),
            "comptes": request.t("États financiers", "Financial statements"),
        }
        everywhere, rows = _field_rows(countries, titles)
        return page(
            request, "sources.html",
            names=formatting.labels(request, generation.reference),
            countries=countries,
            ages={country.iso2: formatting.age_class(country.date, request.now.year) for country in countries},
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
    """The fields that every company has, and the rows of the others in the order of the record, rare ones last."""
    grouped: dict[tuple[FieldShare, ...], list[str]] = {}
    for champ in dict.fromkeys(champ for country in countries for champ in country.filled):
        shares = tuple(_share(country, champ) for country in countries)
        grouped.setdefault(shares, []).append(titles[champ])
    full = tuple(FieldShare(one.n_societes, one.n_societes, _SHADES) for one in countries)
    everywhere = grouped.pop(full, [])
    rows = [FieldRow(own, shares) for shares, own in grouped.items()]
    return everywhere, sorted(rows, key=_is_rare)


def _is_rare(row: FieldRow) -> bool:
    """Whether nearly no country has the fields, which stand last then."""
    return _RARE * sum(bool(one.part) for one in row.shares) < len(row.shares)


def _share(country: CountrySources, champ: str) -> FieldShare:
    part, whole = country.filled.get(champ), country.n_societes
    return FieldShare(part, whole, -(-_SHADES * part // whole) if part else 0)


PAGES: Final = (
    WebRoute("/sources", "sources", sources, kept=True, menu=Text("Sources", "Sources"), place=30),
)
