"""/sources: the sources of the companies of each country, their dates, and the fields that have values (X9).

A card per country, then a table of the fields by country. Fields that the same number of companies have in each country
(an amount, its year, its currency) share a row. Fields that all companies have are named in a sentence.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from serve.access.call import Response
from serve.contract.text import Text
from serve.generation.country_sources import CountrySources
from serve.surfaces.site import formatting
from serve.surfaces.site.page_request import PageRequest, WebRoute
from serve.surfaces.site.render import page

# The fields that the card of a country shows, with short names. Buyers ask about these fields first.
_CARD_FIELDS: Final[Mapping[str, tuple[str, str]]] = {
    "ville": ("Ville", "City"),
    "nace_code": ("Activité", "Activity"),
    "tranche_effectif": ("Effectif", "Staff"),
    "ca_eur": ("CA", "Turnover"),
    "comptes": ("Comptes", "Accounts"),
    "email": ("E-mail", "E-mail"),
}
_SHADES: Final = 5  # the darkest shade, for a field that all companies have
_RARE: Final = 10  # a field is rare if fewer than one country in ten has it


class FieldShare(NamedTuple):
    """How many companies of a country have a field.

    Attributes:
        part: the companies that have the field; None if not counted.
        whole: all companies of the country.
        shade: 0 if no company has the field, to 5 if all have it.
    """

    part: int | None
    whole: int
    shade: int


class FieldRow(NamedTuple):
    """Fields that the same number of companies have in each country."""

    titles: Sequence[str]
    shares: Sequence[FieldShare]


async def sources(request: PageRequest) -> Response:
    """The sources by country, the countries with the most companies first.

    Raises:
        ApiError: 429, 503.
    """
    with request.server.published.lease() as generation:
        request.trace.generation = generation.id
        all_countries = sorted(generation.sources.values(), key=lambda country: -country.n_societes)
        countries = [country for country in all_countries if country.n_societes]
        days = sorted(
            {
                register_import.importe[:10]
                for country in countries
                for register_import in country.imports
            }
        )
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
                    for champ, label in _CARD_FIELDS.items()
                    if champ in country.filled
                }
                for country in countries
            },
            imported=(days[0], days[-1]) if days else None,
            everywhere=everywhere,
            rows=rows,
            without=[country.iso2 for country in all_countries if not country.n_societes],
        )  # fmt: skip


def _field_rows(
    countries: Sequence[CountrySources], titles: Mapping[str, str]
) -> tuple[Sequence[str], Sequence[FieldRow]]:
    """The fields that all companies have, and rows of the other fields in the order of a record, rare fields last."""
    grouped: dict[tuple[FieldShare, ...], list[str]] = {}
    for champ in dict.fromkeys(champ for country in countries for champ in country.filled):
        shares = tuple(_share(country, champ) for country in countries)
        grouped.setdefault(shares, []).append(titles[champ])
    shares_of_all = tuple(
        FieldShare(country.n_societes, country.n_societes, _SHADES) for country in countries
    )
    everywhere = grouped.pop(shares_of_all, [])
    rows = [FieldRow(names, shares) for shares, names in grouped.items()]
    return everywhere, sorted(rows, key=_is_rare)


def _is_rare(row: FieldRow) -> bool:
    """Whether fewer than one country in ten has the fields of a row."""
    return _RARE * sum(bool(share.part) for share in row.shares) < len(row.shares)


def _share(country: CountrySources, champ: str) -> FieldShare:
    """The number of companies of a country that have a field; the shade is rounded up, so that few are visible."""
    part, whole = country.filled.get(champ), country.n_societes
    return FieldShare(part, whole, -(-_SHADES * part // whole) if part else 0)


PAGES: Final = (
    WebRoute(
        "/sources", "sources", sources, cached=True, menu=Text("Sources", "Sources"), place=30
    ),
)
