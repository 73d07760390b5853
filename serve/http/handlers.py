"""The handler of each kind of operation.

A handler serves an operation in one of a few ways: a public list, a keyed call, a check. Each encodes a result as JSON.
Files, documents, tools and the protocol of reconciliation bring handlers of their own.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from serve.access import admission
from serve.access.call import (
    NO_STORE,
    CallResult,
    Check,
    Content,
    PreparedCall,
    Request,
    Response,
)
from serve.contract.feature import Kind, Operation
from serve.generation import country_sources
from serve.generation.open_generation import OpenGeneration
from serve.http import body_reader
from serve.http.http_request import HttpRequest
from serve.observe.metrics import CONTENT_TYPE
from shards.generations import pointer

RouteHandler = Callable[[HttpRequest], Awaitable[Response]]
# What makes the handler of an operation of a kind.
HandlerMaker = Callable[[Operation], RouteHandler]


def _public_list(operation: Operation) -> RouteHandler:
    """A list that is the same for everybody."""
    route = operation.run
    assert route is not None

    async def handle(request: HttpRequest) -> Response:
        result = admission.public_list(request.context, route, request.call(), request.trace)
        return result.response(request.lang)

    return handle


def _free_list(operation: Operation) -> RouteHandler:
    """A list that shows companies: free, as far as the caller's plan goes."""
    prepare = operation.run
    assert prepare is not None

    async def handle(request: HttpRequest) -> Response:
        context, trace = request.context, request.trace
        result = await admission.free_list(
            context, request.authorization, prepare, request.call(), trace
        )
        return result.response(request.lang)

    return handle


def _call(operation: Operation) -> RouteHandler:
    """A search, a record or an analysis, which depends on the caller and is counted.

    An analysis reads the plans as well, since they say who has its module.
    """
    run, analysis, account = operation.run, operation.kind == "analysis", operation.account
    assert run is not None

    async def handle(request: HttpRequest) -> Response:
        context, trace = request.context, request.trace
        admitted = await admission.admit(context, request.authorization, trace)
        if account:
            admission.require_account(admitted)

        def prepare(asked: Request, generation: OpenGeneration) -> PreparedCall[Content]:
            given = (context.plans,) if analysis else ()
            ready: PreparedCall[Content] = run(asked, generation, *given).encode_first()
            return ready

        result = await admission.perform(context, admitted, prepare, request.call(), trace)
        return result.response(request.lang)

    return handle


def _body(operation: Operation) -> RouteHandler:
    """A call whose question is a JSON body, and which therefore has no tag."""
    run, largest = operation.run, operation.largest
    assert run is not None and largest is not None

    async def handle(request: HttpRequest) -> Response:
        context, trace = request.context, request.trace
        admitted = await admission.admit(context, request.authorization, trace)
        if operation.account:
            admission.require_account(admitted)
        raw = await body_reader.json_body(
            request.message, request.target.query, largest, admitted.largest_body(largest)
        )
        call = request.call()._replace(read=tuple, if_none_match=None, sent=len(raw))

        def prepare(asked: Request, generation: OpenGeneration) -> PreparedCall[Content]:
            ready: PreparedCall[Content] = run(asked, generation, raw).encode_first()
            return ready

        result = await admission.perform(context, admitted, prepare, call, trace)
        return result.response(request.lang)

    return handle


def _account(operation: Operation) -> RouteHandler:
    """What an account reads of itself."""
    run = operation.run
    assert run is not None

    async def handle(request: HttpRequest) -> Response:
        context = request.context
        admitted = await admission.admit(context, request.authorization, request.trace)
        counting = admission.require_account(admitted)
        asked = admission.read(context, request.call(), admitted.caller)
        result: CallResult[Content] = await run(asked, counting)
        return result.response(request.lang)

    return handle


def _check(operation: Operation) -> RouteHandler:
    check: Check | None = operation.run
    assert check is not None

    async def handle(request: HttpRequest) -> Response:
        context = request.context
        return check(context.published.status, context.holder.is_open, request.lang)

    return handle


async def _metrics(request: HttpRequest) -> Response:
    context = request.context
    context.gate.files(request.trace.address, context.now())
    dates = country_sources.edition_dates(context.published.sources.values())
    mirrored = pointer.mirrored_at(context.published.data) if context.config.mirror else None
    text = context.metrics.text(context.published.status, context.now(), dates, mirrored)
    return Response(200, text, {**NO_STORE, "Content-Type": CONTENT_TYPE})


def _own(operation: Operation) -> RouteHandler:
    """The handler that an operation brings."""
    handler: RouteHandler | None = operation.run
    assert handler is not None
    return handler


MAKERS: Final[Mapping[Kind, HandlerMaker]] = {
    "list": _public_list,
    "free": _free_list,
    "call": _call,
    "analysis": _call,
    "body": _body,
    "account": _account,
    "check": _check,
    "metrics": lambda _: _metrics,
    "reconciliation": _own,
    "file": _own,
    "document": _own,
    "tools": _own,
}
