"""The handler of each kind of operation.

There are handlers for a list or a call without a body, for a call with a body, and for the data of an account; they
encode the result as JSON. Checks, files, documents, tools and the protocol of reconciliation make their own responses.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from serve.access import admission
from serve.access.call import NO_STORE, Content, Request, Response, Result
from serve.contract.feature import Operation, OperationKind
from serve.generation import country_sources
from serve.http import body_reader
from serve.observe.metrics import CONTENT_TYPE
from shards.generations import pointer

# Answers a request for an operation.
RouteHandler = Callable[[Request, Operation], Awaitable[Response]]


async def _call_without_body(request: Request, operation: Operation) -> Response:
    """Serve a list, or a call without a body: a search, a record or an analysis."""
    result = await admission.answer(request, operation, _run_of(operation))
    return result.response(request.lang)


async def _call_with_body(request: Request, operation: Operation) -> Response:
    """Serve a call with a JSON body; its answer has no entity tag, so If-None-Match is ignored."""
    await admission.admit(request)
    if operation.account:
        admission.require_account(request)
    largest = operation.largest
    assert largest is not None
    request.body = await body_reader.json_body(
        request, largest, admission.largest_body(request, largest)
    )
    request.if_none_match, request.size = None, len(request.body)
    result = await admission.perform(request, _run_of(operation))
    return result.response(request.lang)


async def _account_data(request: Request, operation: Operation) -> Response:
    """Serve the data of the caller's account; no call of the day is counted, and a visitor is refused."""
    await admission.admit(request)
    admission.require_account(request)
    result: Result[Content] = await _run_of(operation)(request)
    return result.response(request.lang)


async def _metrics(request: Request, _operation: Operation) -> Response:
    """Serve /metrics, in the text format of Prometheus."""
    context = request.context
    context.gate.files(request.trace.address, context.now())
    dates = country_sources.edition_dates(context.published.sources.values())
    mirrored = pointer.last_mirror_time(context.published.data) if context.config.mirror else None
    text = context.metrics.text(context.published.status, context.now(), dates, mirrored)
    return Response(200, text, {**NO_STORE, "Content-Type": CONTENT_TYPE})


async def _own_response(request: Request, operation: Operation) -> Response:
    """Serve the response that the operation makes itself."""
    response: Response = await _run_of(operation)(request)
    return response


def _run_of(operation: Operation) -> Callable[..., Any]:
    """The function that answers an operation."""
    assert operation.run is not None
    return operation.run


HANDLERS: Final[Mapping[OperationKind, RouteHandler]] = {
    "list": _call_without_body,
    "free": _call_without_body,
    "call": _call_without_body,
    "analysis": _call_without_body,
    "body": _call_with_body,
    "account": _account_data,
    "check": _own_response,
    "metrics": _metrics,
    "reconciliation": _own_response,
    "file": _own_response,
    "document": _own_response,
    "tools": _own_response,
}
