"""/societes/{iso}/{id}/analyse: the ratios of a company beside those of its sector (X11), which a form requests.

It is the analysis of the API, with its price: once a month for the same company.
"""

from serve.access import admission, billing
from serve.access.admission import Call
from serve.access.result import Response
from serve.api.analyses.entreprise import entreprise
from serve.website import formatting
from serve.website.page_request import PageRequest
from serve.website.render import page, see_other
from serve.website.search import facet_bars


async def record_of(request: PageRequest) -> Response:
    """The record, from which the form leads here: an address alone charges nothing."""
    return see_other(formatting.record_path(*request.segments))


async def analysis(request: PageRequest) -> Response:
    """The analysis, charged.

    Raises:
        ApiError: 400, 402, 403, 404, 429, 503.
        StoreUnavailable: nothing was counted.
    """
    server = request.server
    admitted = await admission.admit_caller(server, request.caller, request.trace)
    counting = admission.require_account(admitted)
    with server.published.lease() as generation:
        request.trace.generation = generation.id
        call = Call("/api/v1/societes", request.segments, lambda: request.pairs, lang=request.lang)
        asked = admission.read(server, call, request.caller)
        result = await billing.run(entreprise(asked, generation, server.plans), asked, counting, {})
        if result.error is not None:
            raise result.error
        assert result.content is not None  # without If-None-Match there is no 304
        return page(
            request,
            "analysis.html",
            outcome=result.outcome,
            found=result.content,
            names=facet_bars.labels(request, generation.reference),
            credits=result.headers.get("X-Credits-Restants"),
            debited=result.headers.get("X-Credits-Debites"),
        )
