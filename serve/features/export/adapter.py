"""The HTTP side of an export: its parameters, from a query string or a body, and the client's presence.

The export itself and its price are in serve/features/export/export.py.
"""

from functools import partial

from serve.access import admission, billing, loop_guard, rights
from serve.access.call import Response
from serve.features.export import export
from serve.features.export.export import ExportCall
from serve.http import body_reader
from serve.http.http_request import HttpRequest
from serve.request import json_body, query_string
from serve.request.query_string import Pairs


async def respond(request: HttpRequest) -> Response:
    """The file that a request asks for, for a caller with an account (A3).

    Raises:
        ApiError: 400, 406, 413, 415: the request is invalid; 401, 429, 503: see `export.make_export`.
        StoreUnavailable: not counted, or `maybe_done`.
    """
    message = request.message
    admitted = await admission.admit(
        request.context, request.authorization, request.trace, billing.current_exports
    )
    return await export.make_export(
        request.context,
        admitted,
        ExportCall(
            lambda: _pairs(request),
            message.headers.get("Accept"),
            request.is_gone,
            # An account was found, so there is one header with a key.
            (rights.token(request.authorization[0]) or "")[-4:] if admitted.counting else "",
        ),
        request.trace,
    )


async def _pairs(request: HttpRequest) -> Pairs:
    message, target = request.message, request.target
    if message.method != "POST":
        return query_string.pairs(target.query)
    raw = await body_reader.json_body(message, target.query)
    return await loop_guard.parse(len(raw), partial(json_body.pairs, raw))
