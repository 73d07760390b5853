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
    request.server.gate.lists(request.trace.address, request.now)
    with request.server.published.lease() as generation:
        request.trace.generation = generation.id
        known = sorted(generation.sources.values(), key=lambda one: -one.n_societes)
        countries = [one for one in known if one.n_societes]
        return page(
            request, "sources.html",
            names=facet_bars.labels(request, generation.reference),
            countries=countries,
            champs=dict.fromkeys(champ for one in countries for champ in one.filled),
            without=[one.iso2 for one in known if not one.n_societes],
            fields={
                one.champ: facet_bars.set_in_type(one.title[request.lang])
                for one in company_fields.fields()
            },
        )  # fmt: skip
