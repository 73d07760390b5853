"""/societes/{iso}/{id}: one company, as far as the visitor may see it (§4.5).

A person who is logged in first sees the public preview, for nothing, with the price of the rest: a
full record costs 5 credits, so only a form requests it, never a link. If the record was paid for this
month, it comes at once (D9), and costs a call like any other.
"""

from typing import Any

from serve.access import admission, billing, next_plan
from serve.access.admission import Call
from serve.access.caller import Caller
from serve.access.envelope import Record
from serve.access.result import CallResult, PreparedCall, Request, Response
from serve.access.rights import VISITOR
from serve.api.societe import path_of, societe
from serve.data.open_generation import OpenGeneration
from serve.data.statement_table import arranged, currencies_of
from serve.website.charts import history
from serve.website.page_request import PageRequest
from serve.website.render import page
from serve.website.search import facet_bars


async def record(request: PageRequest) -> Response:
    """The company; in full if it was paid for this month.

    Raises:
        ApiError: 400, 404, 429, 503.
        StoreUnavailable: nothing was counted.
    """
    return await _record(request, paid=False)


async def full_record(request: PageRequest) -> Response:
    """The company in full, charged: what the form of the preview requests."""
    return await _record(request, paid=True)


async def _record(request: PageRequest, *, paid: bool) -> Response:
    server = request.server
    counting = (await admission.admit_caller(server, request.caller, request.trace)).counting
    with server.published.lease() as generation:
        request.trace.generation = generation.id
        prepared, call = _prepared(request, generation, Caller(server.plans[VISITOR]))
        company = prepared.company
        full = counting and company and (paid or await _is_charged(request, company))
        if full:
            prepared, call = _prepared(request, generation, request.caller)
        result = await billing.run(prepared, call, counting if full else None, {})
        assert company  # a visitor's call to an absent company raises 404
        return page(
            request, "record.html",
            status=result.status,
            outcome=result.outcome,
            cost=billing.RECORD_CREDITS,
            call=path_of(company),
            credits=result.headers.get("X-Credits-Restants"),
            debited=result.headers.get("X-Credits-Debites"),
            **_shown(request, generation, result),
        )  # fmt: skip


def _prepared(
    request: PageRequest, generation: OpenGeneration, caller: Caller
) -> tuple[PreparedCall[Record], Request]:
    """The record for `caller`, and the request of the API that it answers."""
    call = Call("/api/v1/societes", request.segments, lambda: request.pairs, head=request.head)
    api_request = admission.read(request.server, call, caller)
    return societe(api_request, generation), api_request


async def _is_charged(request: PageRequest, company: str) -> bool:
    assert request.session
    return await request.store.is_charged(request.session.account.id, company, request.now)


def _shown(
    request: PageRequest, generation: OpenGeneration, result: CallResult[Record]
) -> dict[str, Any]:
    """The values of the template for a record: full, preview or refused (402)."""
    found = result.content
    assert found is not None  # without If-None-Match there is no 304
    lines = found.comptes()
    sections = arranged(lines)
    return {
        "societe": found.societe(),
        "contacts": found.contacts,
        "offre": next_plan.offer(found.caller.plan, request.server.plans),
        "refused": result.error,
        "full": found.statements is not None,
        "names": facet_bars.labels(request, generation.reference),
        "sections": {name: rows for name, rows in sections.items() if rows},
        "years": sorted({line["exercice"] for line in lines}, reverse=True),
        "currencies": currencies_of(lines),
        "chart": history.history([line for rows in sections.values() for line in rows]),
    }
