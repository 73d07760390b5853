"""/societes/{iso}/{id}: one company, as far as the visitor may see it (§4.5).

Somebody who is logged in sees first what everybody sees, for nothing, with the price of the rest: a
full record costs 5 credits, so it is asked for by a form and never by a link. In the month in which
it was paid for it comes at once (D9), and costs a call like any other.
"""

from typing import Any, Final
from urllib.parse import unquote

import orjson

from serve import doors, metered
from serve.answer import Answer, Work
from serve.caller import Caller
from serve.doors import Call
from serve.edition import Edition
from serve.params import Pairs
from serve.rights import VISITOR
from serve.societe import societe
from serve.website import bars, history
from serve.website.desk import Desk
from serve.website.render import page
from serve.website.visit import Visit
from serve.workbook.arranged import arranged, currencies_of

_RECORD: Final = "/api/v1/societes"


async def record(desk: Desk, visit: Visit) -> Answer:
    """The company; in full where nothing is charged for it any more.

    Raises:
        ApiError: 400, 404, 429, 503.
        StoreUnavailable: nothing was counted.
    """
    return await _record(desk, visit, paid=False)


async def full_record(desk: Desk, visit: Visit) -> Answer:
    """The company in full, charged: what the form of the preview asks for."""
    return await _record(desk, visit, paid=True)


async def _record(desk: Desk, visit: Visit, *, paid: bool) -> Answer:
    site = desk.site
    left = await doors.passed(site, visit.caller, visit.trace, visit.now)
    visitor = Caller(site.plans[VISITOR])
    with site.published.lease() as edition:
        visit.trace.generation = edition.id
        preview = _work(desk, visit, edition, visitor)
        company = _company(preview)
        counted = doors.counting(site, visit.caller, left, visit.now)
        if counted and company and (paid or await _is_charged(desk, visit, company)):
            work = _work(desk, visit, edition, visit.caller)
            ask = doors.ask(site, _call(visit), visit.caller)
            answer = await metered.identified(work, ask, counted)
        else:
            ask = doors.ask(site, _call(visit), visitor)
            answer = await metered.unmetered(preview, ask, {})
        body = orjson.loads(answer.body)
        return page(
            desk, visit, "record.html",
            status=answer.status,
            outcome=answer.outcome,
            cost=metered.RECORD_CREDITS,
            call=preview.headers["Content-Location"],
            credits=answer.headers.get("X-Credits-Restants"),
            debited=answer.headers.get("X-Credits-Debites"),
            **_shown(visit, edition, body),
        )  # fmt: skip


def _work(desk: Desk, visit: Visit, edition: Edition, caller: Caller) -> Work:
    return societe(doors.ask(desk.site, _call(visit), caller), edition)


def _call(visit: Visit) -> Call:
    given: Pairs = visit.pairs
    return Call(_RECORD, visit.segments, lambda: given, head=visit.head)


def _company(work: Work) -> str | None:
    """`EE/10000018`, as it is charged; None where there is no company."""
    located = work.headers.get("Content-Location")
    return unquote(located.removeprefix(f"{_RECORD}/")) if located else None


async def _is_charged(desk: Desk, visit: Visit, company: str) -> bool:
    assert visit.session
    return await desk.store.is_charged(visit.session.account.id, company, visit.now)


def _shown(visit: Visit, edition: Edition, body: dict[str, Any]) -> dict[str, Any]:
    """What the template draws of an answer of the API, full, preview or refused (402)."""
    lines = body.get("comptes") or []
    sections = arranged(lines)
    return {
        "societe": body["societe"],
        "droits": body["droits"],
        "offre": body["offre_suivante"],
        "refused": body.get("erreur"),
        "full": "comptes" in body,
        "names": bars.labels(visit, edition.reference),
        "sections": {name: rows for name, rows in sections.items() if rows},
        "years": sorted({line["exercice"] for line in lines}, reverse=True),
        "currencies": currencies_of(lines),
        "chart": history.history([line for rows in sections.values() for line in rows]),
    }
