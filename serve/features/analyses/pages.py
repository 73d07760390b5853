"""/societes/{iso}/{id}/analyse: the ratios of a company beside those of its sector (X11), which a form buys.

It is the analysis of the API, with its price: once a month for the same company.
"""

from typing import Final

from serve.access import admission, billing
from serve.access.call import Request, Response
from serve.features.analyses.entreprise import entreprise
from serve.surfaces.site import formatting
from serve.surfaces.site.page_request import PageRequest, WebRoute
from serve.surfaces.site.render import page, see_other


async def show(request: PageRequest) -> Response:
    """The analysis that was paid for this month, at no price; else the record, whose form asks for it.

    Raises:
        ApiError: 400, 403, 404, 429, 503.
        StoreUnavailable: not counted, or `maybe_done`.
    """
    asked = await _admit(request)
    with request.server.published.lease() as generation:
        request.trace.generation = generation.id
        prepared = entreprise(asked, generation)
        subject = prepared.company
        paid = prepared.cost
        if prepared.is_charged and subject:
            if not await asked.store.is_charged(asked.account.id, subject, asked.now):
                return see_other(request.context.pages.company_path(*request.segments))
            prepared = prepared._replace(cost=0, trials=None, calls=0)
        result = await billing.run(prepared, asked)
        if result.error is not None:
            raise result.error
        assert result.content is not None  # without If-None-Match there is no 304
        return page(
            request,
            "analysis.html",
            outcome=result.outcome,
            found=result.content,
            paid=paid,
            names=formatting.labels(request, generation.reference),
            fields=formatting.field_names(request),
            most_points=max(one.maximum for one in result.content.score.parts),
        )


async def buy(request: PageRequest) -> Response:
    """Charge the analysis, and lead to its address, which may be kept and loaded again.

    Raises:
        ApiError: 400, 402, 403, 404, 429, 503.
        StoreUnavailable: not counted, or `maybe_done`.
    """
    asked = await _admit(request)
    with request.server.published.lease() as generation:
        request.trace.generation = generation.id
        result = await billing.run(entreprise(asked, generation), asked)
        if result.error is not None:
            raise result.error
    return see_other(request.path)._replace(outcome=result.outcome)


async def _admit(request: PageRequest) -> Request:
    """The request for the analysis, of a person who is logged in."""
    asked = request.ask("/api/v1/societes")
    await admission.admit_caller(asked)
    admission.require_account(asked)
    return asked


PAGES: Final = (
    WebRoute(
        "/societes/{iso}/{id}/analyse", "analyse", show, buy,
        personal=True, example="/societes/FR/552100554/analyse",
    ),
)  # fmt: skip
