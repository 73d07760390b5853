"""/societes/{iso}/{id}/analyse: the ratios of a company and of its sector (X11), bought by a form.

The analysis and its price are those of the API: a company is charged once a month.
"""

from typing import Final

from serve.access import admission, billing
from serve.access.call import Request, Response
from serve.features.analyses.entreprise import entreprise
from serve.surfaces.site import formatting
from serve.surfaces.site.page_request import PageRequest, WebRoute
from serve.surfaces.site.render import page, see_other


async def show(request: PageRequest) -> Response:
    """Show the analysis of a company that was paid for this month; else redirect to the record, which has the form.

    Raises:
        ApiError: 400, 403, 404, 429, 503.
        StoreUnavailable: not counted, or `maybe_done`.
    """
    call = await _admit(request)
    with request.server.published.lease() as generation:
        request.trace.generation = generation.id
        prepared = entreprise(call, generation)
        subject = prepared.company
        price = prepared.cost
        if prepared.is_charged and subject:
            if not await call.store.is_charged(call.account.id, subject, call.now):
                return see_other(request.context.pages.company_path(*request.segments))
            # The analysis was paid for this month, so nothing is counted or charged.
            prepared = prepared._replace(cost=0, trials=None, calls=0)
        result = await billing.run(prepared, call)
        if result.error is not None:
            raise result.error
        assert result.content is not None  # without If-None-Match there is no 304
        return page(
            request,
            "analysis.html",
            outcome=result.outcome,
            analysis=result.content,
            paid=price,
            names=formatting.labels(request, generation.reference),
            fields=formatting.field_names(request),
            most_points=max(part.maximum for part in result.content.score.parts),
        )


async def buy(request: PageRequest) -> Response:
    """Charge the analysis of a company, and redirect to its page, which can be loaded again at no cost.

    Raises:
        ApiError: 400, 402, 403, 404, 429, 503.
        StoreUnavailable: not counted, or `maybe_done`.
    """
    call = await _admit(request)
    with request.server.published.lease() as generation:
        request.trace.generation = generation.id
        result = await billing.run(entreprise(call, generation), call)
        if result.error is not None:
            raise result.error
    return see_other(request.path)._replace(outcome=result.outcome)


async def _admit(request: PageRequest) -> Request:
    """Admit the request for the analysis; only an account may make it."""
    call = request.ask("/api/v1/societes")
    await admission.admit_caller(call)
    admission.require_account(call)
    return call


PAGES: Final = (
    WebRoute(
        "/societes/{iso}/{id}/analyse", "analyse", show, buy,
        personal=True, example="/societes/FR/552100554/analyse",
    ),
)  # fmt: skip
