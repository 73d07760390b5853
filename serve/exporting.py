"""An export below HTTP: its parameters out of a query string or a body, and whether its client is
still there. What it is and costs: serve/export.py.
"""

from aiohttp import web

from serve import body, errors, export, params, receiving
from serve.answer import Answer
from serve.caller import Caller
from serve.export import Exporter
from serve.metered import Counting
from serve.params import Pairs
from serve.published import Published
from serve.target import Target
from serve.trace import Trace
from serve.workbook.asked import Asked


async def answer(
    request: web.BaseRequest,
    target: Target,
    caller: Caller,
    counting: Counting,
    published: Published,
    exporter: Exporter,
    trace: Trace,
) -> Answer:
    """The workbook that a request asks for.

    Raises:
        ApiError: 400, 413, 415: it is not understood; 429, 503: see `export.export`.
        StoreUnavailable: nothing was counted.
    """
    with published.lease() as edition:
        trace.generation = edition.id
        trace.pairs = await _pairs(request, target)
        wanted = params.export(trace.pairs, edition.names)
        cap = caller.plan.lignes_par_export
        assert published.standing.since  # something is published, for it is leased
        asked = Asked(
            folder=published.data / edition.id,
            published=published.standing.since,
            query=wanted.query,
            limit=min(wanted.limit or cap, cap),
            lang=wanted.lang,
            plan=caller.plan,
            given=tuple(trace.pairs),
            request_id=trace.request_id,
            now=counting.now,
        )
        # Lent until the file is made: nobody removes the generation meanwhile.
        return await export.export(exporter, asked, caller, counting, lambda: _is_gone(request))


async def _pairs(request: web.BaseRequest, target: Target) -> Pairs:
    if request.method != "POST":
        return params.pairs(target.query)
    if target.query:
        why = "les paramètres d'un POST sont dans son corps, en JSON"
        raise errors.parametre_invalide("chaîne de requête", why)
    body.check_kind(request.headers.get("Content-Type"), request.headers.get("Content-Encoding"))
    return body.pairs(await receiving.body(request))


def _is_gone(request: web.BaseRequest) -> bool:
    return request.transport is None or request.transport.is_closing()
