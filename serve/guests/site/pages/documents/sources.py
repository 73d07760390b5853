"""/sources: where the companies of each country come from, how old that is, and which fields are known (X9)."""

from serve.access.call import Response
from serve.contract import company_fields
from serve.guests.site.page_request import PageRequest
from serve.guests.site.render import page
from serve.guests.site.search import facet_bars


async def sources(request: PageRequest) -> Response:
    """The sources by country, the countries with the most companies first.

    Raises:
        ApiError: 429, 503.
    """
    with request.server.published.lease() as generation:
        request.trace.generation = generation.id
        known = sorted(generation.sources.values(), key=lambda country: -country.n_societes)
        countries = [country for country in known if country.n_societes]
        return page(
            request, "sources.html",
            names=facet_bars.labels(request, generation.reference),
            countries=countries,
            champs=dict.fromkeys(champ for country in countries for champ in country.filled),
            without=[country.iso2 for country in known if not country.n_societes],
            fields={
                field.champ: facet_bars.set_in_type(field.title[request.lang])
                for field in company_fields.fields()
            },
        )  # fmt: skip
