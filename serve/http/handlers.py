"""The handler of each kind of operation.

A handler serves its operations in one way: as a list or a call without a body, a body, an account's own data. It
encodes the result as JSON. Checks, files, documents, tools and the protocol of reconciliation make their own responses.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from serve.access import admission
from serve.access.call import NO_STORE, Content, Request, Response, Result
from serve.contract.feature import Kind, Operation
from serve.generation import country_sources
from serve.http import body_reader
from serve.observe.metrics import CONTENT_TYPE
from shards.generations import pointer

# Serves a request for its operation.
RouteHandler = Callable[[Request, Operation], Awaitable[Response]]


async def _answer(request: Request, operation: Operation) -> Response:
    """A list, or a call that is counted: a search, a record or an analysis."""
    result = await admission.answer(request, operation, _run_of(operation))
    return result.response(request.lang)


async def _body(request: Request, operation: Operation) -> Response:
    """A call whose question is a JSON body, and which therefore has no tag."""
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


async def _account(request: Request, operation: Operation) -> Response:
    """What an account reads of itself."""
    await admission.admit(request)
    admission.require_account(request)
    result: Result[Content] = await _run_of(operation)(request)
    return result.response(request.lang)


async def _metrics(request: Request, _operation: Operation) -> Response:
    context = request.context
    context.gate.files(request.trace.address, context.now())
    dates = country_sources.edition_dates(context.published.sources.values())
    mirrored = pointer.mirrored_at(context.published.data) if context.config.mirror else None
    text = context.metrics.text(context.published.status, context.now(), dates, mirrored)
    return Response(200, text, {**NO_STORE, "Content-Type": CONTENT_TYPE})


async def _own(request: Request, operation: Operation) -> Response:
    """A response that the operation makes itself."""
    response: Response = await _run_of(operation)(request)
    return response


def _run_of(operation: Operation) -> Callable[..., Any]:
    assert operation.run is not None
    return operation.run


HANDLERS: Final[Mapping[Kind, RouteHandler]] = {
    "list": _answer,
    "free": _answer,
    "call": _answer,
    "analysis": _answer,
    "body": _body,
    "account": _account,
    "check": _own,
    "metrics": _metrics,
    "reconciliation": _own,
    "file": _own,
    "document": _own,
    "tools": _own,
}
