"""A message to /api/mcp and its response, without HTTP. Nothing is remembered between messages.

Responses are plain JSON. There are no streams, no subscriptions and no messages from the server, and none are
announced. A tool has the rights and the price of its route (serve/access/admission.py).
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

# A client may cache the list of tools for this time; it changes only with the program.
_TTL_MS: Final = 300_000
_CACHEABLE: Final = {"ttlMs": _TTL_MS, "cacheScope": "public"}

# How this server names itself to clients.
_SERVER: Final = {
    "name": "societes",
    "title": "Companies of Europe (sociétés)",
    "version": VERSION,
}
# Some clients send `arguments` as a text that contains JSON; this schema has it converted to an object.
_CALL_SCHEMA: Final = {"properties": {"arguments": {"type": "object"}}}
_CAPABILITIES: Final[Mapping[str, Any]] = {"tools": {}}
_INSTRUCTIONS: Final = (
    "Companies of 25 European countries from their business registers, read-only. Begin with "
    "search_companies or count_companies; get the codes of countries from list_countries and the slugs "
    "of sectors from list_sectors. Names of fields and labels are French: nom is the name, ca_eur "
    "the turnover in euros, effectif the headcount. Totals are exact; the number of companies "
    "shown depends on the plan of the key (explain_plan). For many companies, a file is better: "
    "/api/v1/export with the same filters, format=csv, xlsx, ndjson or parquet, and the key. "
    f"{THIRD_PARTIES}"
)


async def respond(request: Request, headers: Mapping[str, str]) -> Response:
    """The response to a message or a batch of messages; errors are responses too.

    Args:
        headers: the headers of the protocol, by name in lower case.
    """
    context, trace = request.context, request.trace
    try:
        caller = await identify(request.authorization, context.plans, context.holder.find)
        if caller.account is None:
            await context.lanes.enter(trace)
            # Before the body is parsed, so that no visitor has bodies parsed without limit.
            context.gate.files(trace.address, context.now())
        value = await loop_guard.parse(request.size, partial(protocol.document, request.body))
        if isinstance(value, list) and protocol.has_batches(headers):
            return await _answer_batch(request, headers, protocol.batch(value))
    except RpcError as error:
        return rpc_error_response(error)
    except StoreUnavailable as error:
        return _unavailable_response(request, error)
    return await _answer(request, headers, value)


async def _answer_batch(
    request: Request, headers: Mapping[str, str], batch: Sequence[Any]
) -> Response:
    """One response with the responses to a batch, in order, and with the headers of the last call that was counted."""
    responses = [await _answer(request, headers, value) for value in batch]
    bodies = [response.body for response in responses if response.body]
    if not bodies:  # the batch contains only notifications, which get no response
        return responses[-1]
    last_counted = next(
        (response for response in reversed(responses) if response.outcome), responses[-1]
    )
    return last_counted._replace(status=200, body=b"[" + b",".join(bodies) + b"]")


async def _answer(request: Request, headers: Mapping[str, str], value: Any) -> Response:
    """The response to the message in a JSON value."""
    request_id = protocol.legible_id(value)
    try:
        message = protocol.message(value)
        if message.method != "tools/call":  # a call has the limits of its route
            request.context.gate.files(request.trace.address, request.context.now())
        modern = protocol.is_modern(message, headers)
        if message.id is None:
            # A notification gets no answer, so one of the newest revision (`modern`) is not checked at all.
            protocol.check_legacy({} if modern else headers)
            return Response(202, b"", NO_STORE)
        if modern:
            protocol.check_modern(message, headers)
            return await _answer_modern(request, message)
        protocol.check_legacy(headers)
        return await _answer_legacy(request, message)
    except RpcError as error:
        return rpc_error_response(error, request_id)
    except ApiError as error:
        return error_response(error, request_id)
    except MissingCountryError as error:
        return error_response(
            ApiError("indisponible", "pays_endommage", iso2=error.iso2), request_id
        )
    except StoreUnavailable as error:
        return _unavailable_response(request, error, request_id)


def _unavailable_response(
    request: Request, error: StoreUnavailable, request_id: Id | None = None
) -> Response:
    """The response if the store cannot be reached."""
    # Called only for its log line and its metric, because a response of MCP has another form.
    admission.unavailable_response(request, error)
    refusal = errors.store_unavailable(maybe_done=error.maybe_done)
    return error_response(refusal, request_id)


def error_response(error: ApiError, request_id: Id | None = None) -> Response:
    """The response to an error of the transport or the service, not of the message."""
    response = rpc_error_response(protocol.rpc_error(error), request_id)
    return response._replace(headers={**response.headers, **error.headers})


def rpc_error_response(error: RpcError, request_id: Id | None = None) -> Response:
    """The response to an error; it repeats the id of the request, if the id is readable."""
    repeated = {} if request_id is None else {"id": request_id}
    body = orjson.dumps({"jsonrpc": "2.0", **repeated, "error": error.error})
    return Response(error.status, body, NO_STORE)


async def _answer_modern(request: Request, message: Message) -> Response:
    """The response to a request of the MCP revision 2026-07-28, whose headers were checked. Raises RpcError."""
    # The members that this revision adds to every result.
    envelope = {"resultType": "complete", "_meta": {protocol.SERVER_INFO: _SERVER}}
    if message.method == "server/discover":
        discovery = {
            "supportedVersions": protocol.SUPPORTED,
            "capabilities": _CAPABILITIES,
            "instructions": _INSTRUCTIONS,
        }
        return _result_response(message, {**discovery, **_CACHEABLE, **envelope})
    if message.method == "tools/list":
        return _result_response(
            message, {**_tool_list(request.context.product, message), **_CACHEABLE, **envelope}
        )
    if message.method == "tools/call":
        return await _call_tool(request, message, envelope)
    methods = ("server/discover", "tools/list", "tools/call")
    raise protocol.method_not_found(message.method, methods)


async def _answer_legacy(request: Request, message: Message) -> Response:
    """The response to a request of an MCP revision before 2026-07-28; an error of the request has HTTP status 200."""
    try:
        if message.method == "initialize":
            version = protocol.negotiate(message.params.get("protocolVersion"))
            handshake = {
                "protocolVersion": version,
                "capabilities": _CAPABILITIES,
                "serverInfo": _SERVER,
                "instructions": _INSTRUCTIONS,
            }
            return _result_response(message, handshake)
        if message.method == "ping":
            return _result_response(message, {})
        if message.method == "tools/list":
            return _result_response(message, _tool_list(request.context.product, message))
        if message.method == "tools/call":
            return await _call_tool(request, message, {})
        methods = ("initialize", "ping", "tools/list", "tools/call")
        raise protocol.method_not_found(message.method, methods)
    except RpcError as error:
        return rpc_error_response(error, message.id)._replace(status=200)


def _tool_list(product: Product, message: Message) -> dict[str, Any]:
    """The result of tools/list. Raises RpcError -32602: there is no second page."""
    if message.params.get("cursor") is not None:
        raise protocol.invalid_params(
            "params.cursor is set, but tools/list has a single page; leave it out"
        )
    return {"tools": [tool.definition for tool in tools(product).values()]}


async def _call_tool(request: Request, message: Message, envelope: Mapping[str, Any]) -> Response:
    """Call a tool. A refusal is a result too, so that a model can correct its call, or wait.

    `envelope` has the members that a modern revision adds to every result.
    """
    tool, values = _named_tool(request.context.product, message)
    request.trace.tool = tool.name

    def read() -> Pairs:
        """The arguments as parameters of the route; none if the tool reads its arguments itself."""
        return [] if tool.input else arguments.pairs(values, tool.arguments, tool.required)

    call = request.nested_request(request.path, read, lang="en", arguments=values)
    try:
        result = await tool.run(call)
    except ApiError as error:
        # A model cannot correct an error of the server, so it becomes an error of the protocol.
        if error.status >= 500:
            raise
        result = results.refusal_result(error)
    response = _result_response(message, {**_result_content(result, tool), **envelope})
    return response._replace(headers={**NO_STORE, **result.headers}, outcome=result.outcome)


def _named_tool(product: Product, message: Message) -> tuple[Tool, Mapping[str, Any]]:
    """The tool that a call names, and its arguments. Raises RpcError -32602: the tool or the arguments are unusable."""
    name, values = message.params.get("name"), message.params.get("arguments")
    if not isinstance(name, str):
        raise protocol.invalid_params(
            f"params.name is {json_body.display_value(name).en}; send the name of a tool, as tools/list has it"
        )
    if name not in tools(product):
        raise protocol.unknown_tool(name, list(tools(product)))
    tool = tools(product)[name]
    try:
        values = arguments.coerce_arguments({"arguments": values}, _CALL_SCHEMA)["arguments"]
    except ApiError as error:
        raise protocol.invalid_params(f"params.{error.texts.en}") from error
    if not isinstance(values, dict | None):
        raise protocol.invalid_params(
            f"params.arguments is {json_body.display_value(values).en}; send an object"
        )
    return tool, values or {}


def _result_content(result: ToolResult, tool: Tool) -> dict[str, Any]:
    """A result as JSON and as text, within the limit of size; a refusal has only texts: its message, then its document.

    If the result quotes texts of third parties, a warning follows the texts, so that a model reads the warning last.
    """
    document = result.document
    encoded = (
        None if document is None else orjson.dumps(results.cut_to_fit(document, result.refusal))
    )
    texts = [result.refusal] if result.refusal else []
    texts += [] if encoded is None else [encoded.decode()]
    texts += [THIRD_PARTIES] if encoded and tool.quotes else []
    content = {"content": [{"type": "text", "text": text} for text in texts]}
    if result.refusal:
        return {**content, "isError": True}
    return {**content, "structuredContent": orjson.Fragment(encoded or b"{}"), "isError": False}


def _result_response(message: Message, result: Mapping[str, Any]) -> Response:
    """A JSON-RPC response with a result."""
    body = orjson.dumps({"jsonrpc": "2.0", "id": message.id, "result": result})
    return Response(200, body, NO_STORE)
