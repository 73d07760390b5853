"""A tool that is an operation of the API: its rights and its price are those of the route.

What differs is the shape of the result, which a model reads as a whole: without nulls, and as much as fits.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from serve.access import admission
from serve.access.call import CallResult, PreparedCall, Request
from serve.contract.declaration import plain_value
from serve.contract.operation import Operation
from serve.generation.open_generation import OpenGeneration
from serve.surfaces.mcp import arguments, results, sizes
from serve.surfaces.mcp.results import ToolCall, ToolResult

# The document of a tool from the content of a result.
Shape = Callable[[ToolCall, CallResult[Any]], Mapping[str, Any]]


def whole_answer(_call: ToolCall, result: CallResult[Any]) -> Mapping[str, Any]:
    """The answer without nulls, its lists and texts cut until it fits."""
    room = sizes.LARGEST - sizes.AROUND
    shown: dict[str, Any] = sizes.shorten_to_fit(
        sizes.known_values(plain_value(result.content)), room
    )
    return shown


def of_operation(operation: Operation, shape: Shape) -> Callable[[ToolCall], Awaitable[ToolResult]]:
    """What runs an operation for a model."""
    return partial(_run, operation, shape)


async def _run(operation: Operation, shape: Shape, call: ToolCall) -> ToolResult:
    result = await _result(operation, call)
    # An invalid key is a refusal that shows something; a 401 for accounts alone shows nothing.
    shown = None if result.content is None else shape(call, result)
    return results.of_result(result, shown)


async def _result(operation: Operation, call: ToolCall) -> CallResult[Any]:
    context, trace, run = call.context, call.trace, operation.run
    assert run is not None
    if operation.kind == "list":
        return admission.public_list(context, run, call.call, trace)
    if operation.kind == "free":
        return await admission.free_list(context, call.authorization, run, call.call, trace)
    admitted = await admission.admit(context, call.authorization, trace)
    if operation.account:
        admission.require_account(admitted)

    def prepare(request: Request, generation: OpenGeneration) -> PreparedCall[Any]:
        given = (context.plans,) if operation.kind == "analysis" else ()
        ready: PreparedCall[Any] = run(_with_segments(operation, request), generation, *given)
        return ready

    return await admission.perform(context, admitted, prepare, call.call, trace)


def _with_segments(operation: Operation, request: Request) -> Request:
    """The request with the arguments that stand in the path of the operation taken from the others."""
    names = arguments.path_names(operation)
    segments = tuple(results.argument_value(request.pairs, name) for name in names)
    return request._replace(
        segments=segments, pairs=[pair for pair in request.pairs if pair[0] not in names]
    )
