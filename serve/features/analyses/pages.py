"""/societes/{iso}/{id}/analyse: the ratios of a company beside those of its sector (X11), which a form buys.

It is the analysis of the API, with its price: once a month for the same company.
"""

from typing import Final

from serve.access import admission, billing
from serve.access.admission import Call
from serve.access.billing import Counting
from serve.access.call import PreparedCall, Request, Response
from serve.features.analyses.answers import AnalyseEntreprise
from serve.features.analyses.entreprise import entreprise
from serve.generation.open_generation import OpenGeneration
from serve.surfaces.site import formatting
from serve.surfaces.site.page_request import PageRequest, WebRoute
from serve.surfaces.site.render import page, see_other


async def show(request: PageRequest) -> Response:
    """The analysis that was paid for this month, at no price; else the record, whose form asks for it.

    Raises:
        ApiError: 400, 403, 404, 429, 503.
        StoreUnavailable: not counted, or `maybe_done`.
    """
    counting = await _admit_caller(request)
    with request.server.published.lease() as generation:
        prepared, asked = _prepare(request, generation)
        subject = prepared.company
        paid = prepared.cost
        if prepared.is_charged and subject:
            if not await counting.store.is_charged(counting.account.id, subject, counting.now):
                return see_other(request.context.pages.company_path(*request.segments))
            prepared = prepared._replace(cost=0, trials=None, calls=0)
        result = await billing.run(prepared, asked, counting, {})
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
    counting = await _admit_caller(request)
    with request.server.published.lease() as generation:
        prepared, asked = _prepare(request, generation)
        result = await billing.run(prepared, asked, counting, {})
        if result.error is not None:
            raise result.error
    return see_other(request.path)._replace(outcome=result.outcome)


async def _admit_caller(request: PageRequest) -> Counting:
    admitted = await admission.admit_caller(request.server, request.caller, request.trace)
    return admission.require_account(admitted)


def _prepare(
    request: PageRequest, generation: OpenGeneration
) -> tuple[PreparedCall[AnalyseEntreprise], Request]:
    request.trace.generation = generation.id
    call = Call("/api/v1/societes", request.segments, lambda: request.pairs, lang=request.lang)
    asked = admission.read(request.server, call, request.caller)
    return entreprise(asked, generation, request.server.plans), asked


PAGES: Final = (
    WebRoute(
        "/societes/{iso}/{id}/analyse", "analyse", show, buy,
        personal=True, example="/societes/FR/552100554/analyse",
    ),
)  # fmt: skip
