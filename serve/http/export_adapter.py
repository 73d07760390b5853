"""The HTTP side of an export: its parameters, from a query string or a body, and the client's presence.

The export itself and its price are in serve/api/export.py.
"""

from aiohttp import web

from serve.access import admission
from serve.access.result import Response
from serve.api import export
from serve.contract import errors
from serve.data import company_ids
from serve.export.workbook.export_request import ExportRequest
from serve.http import body_reader
from serve.http.http_request import HttpRequest
from serve.request import json_body, params
from serve.request.params import Pairs


async def respond(request: HttpRequest) -> Response:
    """The file that a request asks for, for a caller with an account (A3).

    Raises:
        ApiError: 400, 413, 415: the request is invalid; 401, 429, 503: see `export.export`.
        StoreUnavailable: nothing was counted.
    """
    context, trace, authorization = request.context, request.trace, request.authorization
    admitted = await admission.admit(context, authorization, trace, export.current_headers)
    counting = admission.require_account(admitted)
    if context.exporter is None:
        raise errors.config(("les exports", "exports"))
    plan, published = admitted.caller.plan, context.published
    # The lease lasts until the file is made: the generation is not removed meanwhile.
    with published.lease() as generation:
        trace.generation = generation.id
        trace.pairs = await _pairs(request)
        accepted = request.message.headers.get("Accept")
        found = params.export(trace.pairs, generation.names, accepted)
        generation.shards.require(found.query.pays)
        query, unknown = await company_ids.looked_up(generation.shards, found)
        cap = plan.lignes_par_export
        assert published.standing.since  # something is published, for it is leased
        wanted = ExportRequest(
            folder=published.data / generation.id,
            published=published.standing.since,
            query=query,
            ids_inconnus=None if unknown is None else tuple(unknown),
            limit=min(found.limit or cap, cap),
            lang=found.lang,
            plan=plan,
            given=tuple(trace.pairs),
            request_id=trace.request_id,
            now=counting.now,
            missing=generation.shards.missing,
            file=found.file,
        )
        return await export.export(
            context.exporter, wanted, admitted.caller, counting, lambda: _is_gone(request.message)
        )


async def _pairs(request: HttpRequest) -> Pairs:
    message, target = request.message, request.target
    if message.method != "POST":
        return params.pairs(target.query)
    return json_body.pairs(await body_reader.json_body(message, target.query))


def _is_gone(message: web.BaseRequest) -> bool:
    return message.transport is None or message.transport.is_closing()
