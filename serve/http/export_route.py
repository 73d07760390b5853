"""An export below HTTP: its parameters out of a query string or a body, and whether its client is
still there. What it is and costs: serve/api/export.py.
"""

from aiohttp import web

from serve.access.billing import Counting
from serve.access.caller import Caller
from serve.access.result import Response
from serve.api import export
from serve.api.routes import RequestTarget
from serve.contract import errors
from serve.data.current_generation import CurrentGeneration
from serve.export.workbook.export_request import ExportRequest
from serve.export.worker_pool import Exporter
from serve.http import body_reader
from serve.observe.request_trace import RequestTrace
from serve.request import json_body, params
from serve.request.params import Pairs


async def answer(
    request: web.BaseRequest,
    target: RequestTarget,
    caller: Caller,
    counting: Counting,
    published: CurrentGeneration,
    exporter: Exporter,
    trace: RequestTrace,
) -> Response:
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
        asked = ExportRequest(
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


async def _pairs(request: web.BaseRequest, target: RequestTarget) -> Pairs:
    if request.method != "POST":
        return params.pairs(target.query)
    if target.query:
        why = "les paramètres d'un POST sont dans son corps, en JSON"
        raise errors.parametre_invalide("chaîne de requête", why)
    json_body.check_kind(
        request.headers.get("Content-Type"), request.headers.get("Content-Encoding")
    )
    return json_body.pairs(await body_reader.body(request))


def _is_gone(request: web.BaseRequest) -> bool:
    return request.transport is None or request.transport.is_closing()
