"""/societes/{iso}/{id}: one company, as far as the visitor may see it (§4.5).

Somebody who is logged in sees first what everybody sees, for nothing, with the price of the rest: a
full record costs 5 credits, so it is asked for by a form and never by a link. In the month in which
it was paid for it comes at once (D9), and costs a call like any other.
"""

from typing import Any, Final
from urllib.parse import unquote

import orjson

from serve.access import admission, billing
from serve.access.admission import Call
from serve.access.caller import Caller
from serve.access.result import PreparedCall, Response
from serve.access.rights import VISITOR
from serve.api.societe import societe
from serve.data.open_generation import OpenGeneration
from serve.data.statement_table import arranged, currencies_of
from serve.request.params import Pairs
from serve.website import chart, facet_bars
from serve.website.page_request import PageContext, PageRequest
from serve.website.render import page

_RECORD: Final = "/api/v1/societes"


async def record(desk: PageContext, visit: PageRequest) -> Response:
    """The company; in full where nothing is charged for it any more.

    Raises:
        ApiError: 400, 404, 429, 503.
        StoreUnavailable: nothing was counted.
    """
    return await _record(desk, visit, paid=False)


async def full_record(desk: PageContext, visit: PageRequest) -> Response:
    """The company in full, charged: what the form of the preview asks for."""
    return await _record(desk, visit, paid=True)


async def _record(desk: PageContext, visit: PageRequest, *, paid: bool) -> Response:
    site = desk.site
    left = await admission.passed(site, visit.caller, visit.trace, visit.now)
    visitor = Caller(site.plans[VISITOR])
    with site.published.lease() as edition:
        visit.trace.generation = edition.id
        preview = _work(desk, visit, edition, visitor)
        company = _company(preview)
        counted = admission.counting(site, visit.caller, left, visit.now)
        if counted and company and (paid or await _is_charged(desk, visit, company)):
            work = _work(desk, visit, edition, visit.caller)
            ask = admission.ask(site, _call(visit), visit.caller)
            answer = await billing.identified(work, ask, counted)
        else:
            ask = admission.ask(site, _call(visit), visitor)
            answer = await billing.unmetered(preview, ask, {})
        body = orjson.loads(answer.body)
        return page(
            desk, visit, "record.html",
            status=answer.status,
            outcome=answer.outcome,
            cost=billing.RECORD_CREDITS,
            call=preview.headers["Content-Location"],
            credits=answer.headers.get("X-Credits-Restants"),
            debited=answer.headers.get("X-Credits-Debites"),
            **_shown(visit, edition, body),
        )  # fmt: skip


def _work(
    desk: PageContext, visit: PageRequest, edition: OpenGeneration, caller: Caller
) -> PreparedCall:
    return societe(admission.ask(desk.site, _call(visit), caller), edition)


def _call(visit: PageRequest) -> Call:
    given: Pairs = visit.pairs
    return Call(_RECORD, visit.segments, lambda: given, head=visit.head)


def _company(work: PreparedCall) -> str | None:
    """`EE/10000018`, as it is charged; None where there is no company."""
    located = work.headers.get("Content-Location")
    return unquote(located.removeprefix(f"{_RECORD}/")) if located else None


async def _is_charged(desk: PageContext, visit: PageRequest, company: str) -> bool:
    assert visit.session
    return await desk.store.is_charged(visit.session.account.id, company, visit.now)


def _shown(visit: PageRequest, edition: OpenGeneration, body: dict[str, Any]) -> dict[str, Any]:
    """What the template draws of an answer of the API, full, preview or refused (402)."""
    lines = body.get("comptes") or []
    sections = arranged(lines)
    return {
        "societe": body["societe"],
        "droits": body["droits"],
        "offre": body["offre_suivante"],
        "refused": body.get("erreur"),
        "full": "comptes" in body,
        "names": facet_bars.labels(visit, edition.reference),
        "sections": {name: rows for name, rows in sections.items() if rows},
        "years": sorted({line["exercice"] for line in lines}, reverse=True),
        "currencies": currencies_of(lines),
        "chart": chart.history([line for rows in sections.values() for line in rows]),
    }
