"""One message to /api/mcp and its response, without HTTP and without memory of earlier messages.

Responses are single JSON objects. Streams, subscriptions and messages from the server do not exist
here, and are not announced. The rights and the price of a tool are those of its route
(serve/access/admission.py).
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import orjson

from quota.errors import StoreUnavailable
from serve.access import admission, loop_guard
from serve.access.call import NO_STORE, Request, Response
from serve.access.rights import identify
from serve.contract import VERSION, errors
from serve.contract.errors import ApiError
from serve.contract.feature import Product
from serve.request import json_body
from serve.request.reader import Pairs
from serve.surfaces.mcp import arguments, protocol, results
from serve.surfaces.mcp.protocol import Id, Message, RpcError
from serve.surfaces.mcp.results import ToolResult
from serve.surfaces.mcp.tool_list import THIRD_PARTIES, Tool, tools
from shards.errors import MissingCountryError

# The tools only change with the program; a client may keep the list for this long.
_TTL_MS: Final = 300_000
_CACHEABLE: Final = {"ttlMs": _TTL_MS, "cacheScope": "public"}

_SERVER: Final = {
    "name": "societes",
    "title": "Companies of Europe (sociétés)",
    "version": VERSION,
}
# `arguments` may be a text with JSON in it, too.
_CALL_SCHEMA: Final = {"properties": {"arguments": {"type": "object"}}}
_CAPABILITIES: Final[Mapping[str, Any]] = {"tools": {}}
_INSTRUCTIONS: Final = (
    "Companies of 25 European countries from their business registers, read-only. Begin with "
    "search_companies or count_companies; take codes of countries from list_countries and slugs "
    "of sectors from list_sectors. Names of fields and labels are French: nom is the name, ca_eur "
    "the turnover in euros, effectif the headcount. Totals are exact; how many companies are "
    "shown depends on the plan of the key (explain_plan). A search of many companies is better a file: "
    "/api/v1/export with the same filters, format=csv, xlsx, ndjson or parquet, and the key. "
    f"{THIRD_PARTIES}"
)


async def respond(request: Request, headers: Mapping[str, str]) -> Response:
    """The response to a message, or to a batch of them; errors are responses too.

    Args:
        headers: those of the protocol, by names in lower case.
    """
    context, trace = request.context, request.trace
    try:
        caller = await identify(request.authorization, context.plans, context.holder.find)
        if caller.account is None:
            await context.lanes.enter(trace)
            context.gate.files(trace.address, context.now())
        value = await loop_guard.parse(request.size, partial(protocol.document, request.body))
        if isinstance(value, list) and protocol.has_batches(headers):
            return await _answer_batch(request, headers, protocol.batch(value))
    except RpcError as error:
        return of_rpc_error(error)
    except StoreUnavailable as error:
        return _unavailable_response(request, error)
    return await _answer(request, headers, value)


async def _answer_batch(
    request: Request, headers: Mapping[str, str], batch: Sequence[Any]
) -> Response:
    """The responses to the requests of a batch, in its order; the headers are those of the last call."""
    responses = [await _answer(request, headers, value) for value in batch]
    bodies = [response.body for response in responses if response.body]
    if not bodies:  # notifications alone
        return responses[-1]
    last = next((one for one in reversed(responses) if one.outcome), responses[-1])
    return last._replace(status=200, body=b"[" + b",".join(bodies) + b"]")


async def _answer(request: Request, headers: Mapping[str, str], value: Any) -> Response:
    """The response to the message in a JSON value."""
    found_id = protocol.legible_id(value)
    try:
        message = protocol.message(value)
        if message.method != "tools/call":  # a call has the limits of its route
            request.context.gate.files(request.trace.address, request.context.now())
        modern = protocol.is_modern(message, headers)
        if message.id is None:
            protocol.check_legacy({} if modern else headers)
            return Response(202, b"", NO_STORE)
        if modern:
            protocol.check_modern(message, headers)
            return await _answer_modern(request, message)
        protocol.check_legacy(headers)
        return await _answer_legacy(request, message)
    except RpcError as error:
        return of_rpc_error(error, found_id)
    except ApiError as error:
        return error_response(error, found_id)
    except MissingCountryError as error:
        return error_response(ApiError("indisponible", "pays_endommage", iso2=error.iso2), found_id)
    except StoreUnavailable as error:
        return _unavailable_response(request, error, found_id)


def _unavailable_response(
    request: Request, error: StoreUnavailable, found_id: Id | None = None
) -> Response:
    admission.unavailable_response(request, error)
    refusal = errors.uncounted(maybe_done=error.maybe_done)
    return error_response(refusal, found_id)


def error_response(error: ApiError, found_id: Id | None = None) -> Response:
    """The response to an error of the transport or the service, rather than of the message."""
    response = of_rpc_error(protocol.of_api(error), found_id)
    return response._replace(headers={**response.headers, **error.headers})


def of_rpc_error(error: RpcError, found_id: Id | None = None) -> Response:
    """The response to an error; it repeats the id of the request, if a legible one was found."""
    repeated = {} if found_id is None else {"id": found_id}
    body = orjson.dumps({"jsonrpc": "2.0", **repeated, "error": error.error})
    return Response(error.status, body, NO_STORE)


async def _answer_modern(request: Request, message: Message) -> Response:
    """A complete request of revision 2026-07-28."""
    around = {"resultType": "complete", "_meta": {protocol.SERVER_INFO: _SERVER}}
    if message.method == "server/discover":
        discovery = {
            "supportedVersions": protocol.SUPPORTED,
            "capabilities": _CAPABILITIES,
            "instructions": _INSTRUCTIONS,
        }
        return _response(message, {**discovery, **_CACHEABLE, **around})
    if message.method == "tools/list":
        return _response(
            message, {**_tool_list(request.context.product, message), **_CACHEABLE, **around}
        )
    if message.method == "tools/call":
        return await _call_tool(request, message, around)
    known = ("server/discover", "tools/list", "tools/call")
    raise protocol.method_not_found(message.method, known)


async def _answer_legacy(request: Request, message: Message) -> Response:
    """A request of an earlier revision, whose errors have status 200."""
    try:
        if message.method == "initialize":
            version = protocol.negotiate(message.params.get("protocolVersion"))
            handshake = {
                "protocolVersion": version,
                "capabilities": _CAPABILITIES,
                "serverInfo": _SERVER,
                "instructions": _INSTRUCTIONS,
            }
            return _response(message, handshake)
        if message.method == "ping":
            return _response(message, {})
        if message.method == "tools/list":
            return _response(message, _tool_list(request.context.product, message))
        if message.method == "tools/call":
            return await _call_tool(request, message, {})
        known = ("initialize", "ping", "tools/list", "tools/call")
        raise protocol.method_not_found(message.method, known)
    except RpcError as error:
        return of_rpc_error(error, message.id)._replace(status=200)


def _tool_list(product: Product, message: Message) -> dict[str, Any]:
    if message.params.get("cursor") is not None:
        raise protocol.invalid_params(
            "params.cursor is given, and there is one page of tools; leave it out"
        )
    return {"tools": [tool.definition for tool in tools(product).values()]}


async def _call_tool(request: Request, message: Message, around: Mapping[str, Any]) -> Response:
    """The result of a tool; a refusal is a result too, so that a model can correct it, or wait."""
    tool, given = _tool(request.context.product, message)
    request.trace.tool = tool.name

    def read() -> Pairs:
        return [] if tool.input else arguments.pairs(given, tool.arguments, tool.required)

    call = request.nested(request.path, read, lang="en", arguments=given)
    try:
        result = await tool.run(call)
    except ApiError as error:
        if error.status >= 500:
            raise
        result = results.refusal_result(error)
    response = _response(message, {**_content(result, tool), **around})
    return response._replace(headers={**NO_STORE, **result.headers}, outcome=result.outcome)


def _tool(product: Product, message: Message) -> tuple[Tool, Mapping[str, Any]]:
    """The tool that is called, and its arguments."""
    name, given = message.params.get("name"), message.params.get("arguments")
    if not isinstance(name, str):
        raise protocol.invalid_params(
            f"params.name is {json_body.shown_value(name).en}; send the name of a tool, as tools/list has it"
        )
    if name not in tools(product):
        raise protocol.unknown_tool(name, list(tools(product)))
    tool = tools(product)[name]
    try:
        given = arguments.typed({"arguments": given}, _CALL_SCHEMA)["arguments"]
    except ApiError as error:
        raise protocol.invalid_params(f"params.{error.texts.en}") from error
    if not isinstance(given, dict | None):
        raise protocol.invalid_params(
            f"params.arguments is {json_body.shown_value(given).en}; send an object"
        )
    return tool, given or {}


def _content(result: ToolResult, tool: Tool) -> dict[str, Any]:
    """A result as JSON and as text; a refusal as text, with the document if there is one.

    After texts of third parties stands what they are, where a model reads it last.
    """
    shown = None if result.document is None else orjson.dumps(result.document)
    texts = [result.refusal] if result.refusal else []
    texts += [] if shown is None else [shown.decode()]
    texts += [THIRD_PARTIES] if shown and tool.quotes else []
    content = {"content": [{"type": "text", "text": text} for text in texts]}
    if result.refusal:
        return {**content, "isError": True}
    return {**content, "structuredContent": orjson.Fragment(shown or b"{}"), "isError": False}


def _response(message: Message, result: Mapping[str, Any]) -> Response:
    body = orjson.dumps({"jsonrpc": "2.0", "id": message.id, "result": result})
    return Response(200, body, NO_STORE)
