"""One message to /api/mcp and its answer, without HTTP and without memory of earlier ones.

Answers are single JSON objects; nothing is streamed, subscribed to or sent by the server, and none
of it is offered. What a tool may do and costs is that of its route (serve/access/admission.py).
"""

from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any, Final, NamedTuple

import orjson

from quota.errors import StoreUnavailable
from serve.access import admission
from serve.access.admission import Call
from serve.access.context import ServerContext
from serve.access.result import NO_STORE, Response
from serve.contract import errors
from serve.contract.errors import ApiError
from serve.mcp import arguments, messages, results, versions
from serve.mcp.messages import Id, Message, RpcError
from serve.mcp.results import Result, Use
from serve.mcp.tools import Tool, tools
from serve.observe.request_trace import RequestTrace
from serve.request.params import Pairs

# A list of tools changes with the program only; who keeps it may keep it for so long.
_TTL_MS: Final = 300_000
_CACHEABLE: Final = {"ttlMs": _TTL_MS, "cacheScope": "public"}

_SERVER: Final = {
    "name": "societes",
    "title": "Companies of Europe (sociétés)",
    "version": metadata.version("societes"),
}
_CAPABILITIES: Final[Mapping[str, Any]] = {"tools": {}}
_INSTRUCTIONS: Final = (
    "Companies of 25 European countries from their business registers, read-only. Begin with "
    "search_companies or count_companies; take codes of countries from list_countries and slugs "
    "of sectors from list_sectors. Names of fields and labels are French: nom is the name, ca_eur "
    "the turnover in euros, effectif the headcount. Totals are exact; how many companies are "
    "shown depends on the plan of the key (explain_plan)."
)


class RpcPost(NamedTuple):
    """The body of a POST and the headers that count, by names in lower case."""

    headers: Mapping[str, str]
    authorization: Sequence[str]
    raw: bytes


async def answer(site: ServerContext, post: RpcPost, trace: RequestTrace) -> Response:
    """The answer to a message, be it an error."""
    found: Id | None = None
    try:
        value = messages.document(post.raw)
        found = messages.legible_id(value)
        asked = messages.message(value)
        modern = versions.is_modern(asked, post.headers)
        if asked.id is None:
            versions.check_legacy({} if modern else post.headers)
            return Response(202, b"", NO_STORE)
        if modern:
            versions.check_modern(asked, post.headers)
            return await _modern(site, post, asked, trace)
        versions.check_legacy(post.headers)
        return await _legacy(site, post, asked, trace)
    except RpcError as error:
        return of_rpc_error(error, found)
    except ApiError as error:
        return of_error(error, found)
    except StoreUnavailable as error:
        admission.unavailable(site, error, trace)
        return of_error(errors.indisponible(errors.NO_COUNTERS), found)


def of_error(error: ApiError, found: Id | None = None) -> Response:
    """The same for what is not about the message: its transport, or the service."""
    answer = of_rpc_error(messages.of_api(error), found)
    return answer._replace(headers={**answer.headers, **error.headers})


def of_rpc_error(error: RpcError, found: Id | None = None) -> Response:
    """The answer that an error is; it repeats the id of the request, if there was a legible one."""
    repeated = {} if found is None else {"id": found}
    body = orjson.dumps({"jsonrpc": "2.0", **repeated, "error": error.error})
    return Response(error.status, body, NO_STORE)


async def _modern(
    site: ServerContext, post: RpcPost, asked: Message, trace: RequestTrace
) -> Response:
    """A request of 2026-07-28, which is complete."""
    around = {"resultType": "complete", "_meta": {versions.SERVER_INFO: _SERVER}}
    if asked.method == "server/discover":
        told = {
            "supportedVersions": versions.SUPPORTED,
            "capabilities": _CAPABILITIES,
            "instructions": _INSTRUCTIONS,
        }
        return _answer(asked, {**told, **_CACHEABLE, **around})
    if asked.method == "tools/list":
        return _answer(asked, {**_listed(asked), **_CACHEABLE, **around})
    if asked.method == "tools/call":
        return await _called(site, post, asked, trace, around)
    known = ("server/discover", "tools/list", "tools/call")
    raise messages.method_not_found(asked.method, known)


async def _legacy(
    site: ServerContext, post: RpcPost, asked: Message, trace: RequestTrace
) -> Response:
    """A request of an earlier revision: what is wrong with one is told under status 200."""
    try:
        if asked.method == "initialize":
            version = versions.negotiated(asked.params.get("protocolVersion"))
            told = {
                "protocolVersion": version,
                "capabilities": _CAPABILITIES,
                "serverInfo": _SERVER,
                "instructions": _INSTRUCTIONS,
            }
            return _answer(asked, told)
        if asked.method == "ping":
            return _answer(asked, {})
        if asked.method == "tools/list":
            return _answer(asked, _listed(asked))
        if asked.method == "tools/call":
            return await _called(site, post, asked, trace, {})
        known = ("initialize", "ping", "tools/list", "tools/call")
        raise messages.method_not_found(asked.method, known)
    except RpcError as error:
        return of_rpc_error(error, asked.id)._replace(status=200)


def _listed(asked: Message) -> dict[str, Any]:
    if asked.params.get("cursor") is not None:
        raise messages.invalid_params("there is one page of tools, and so no cursor")
    return {"tools": [tool.told for tool in tools().values()]}


async def _called(
    site: ServerContext,
    post: RpcPost,
    asked: Message,
    trace: RequestTrace,
    around: Mapping[str, Any],
) -> Response:
    """What a tool gives, or the text of why not: a model can mend its arguments, or wait."""
    tool, given = _tool(asked)
    trace.tool = tool.name

    def read() -> Pairs:
        return arguments.pairs(given, tool.arguments, tool.required)

    use = Use(site, post.authorization, trace, Call("/api/mcp", (), read))
    try:
        result = await tool.run(use)
    except ApiError as error:
        if error.status >= 500:
            raise
        result = results.of_error(error)
    told = _answer(asked, {**_content(result), **around})
    return told._replace(headers={**NO_STORE, **result.headers}, outcome=result.outcome)


def _tool(asked: Message) -> tuple[Tool, Mapping[str, Any]]:
    name, given = asked.params.get("name"), asked.params.get("arguments")
    if not isinstance(name, str):
        raise messages.invalid_params("params.name is not a text")
    if name not in tools():
        raise messages.unknown_tool(name, list(tools()))
    if not isinstance(given, dict | None):
        raise messages.invalid_params("params.arguments is not an object")
    return tools()[name], given or {}


def _content(result: Result) -> dict[str, Any]:
    """A result as JSON and as its text; a refusal as text, with what is shown all the same."""
    shown = None if result.document is None else orjson.dumps(result.document)
    texts = [result.refused] if result.refused else []
    texts += [] if shown is None else [shown.decode()]
    content = {"content": [{"type": "text", "text": text} for text in texts]}
    if result.refused:
        return {**content, "isError": True}
    return {**content, "structuredContent": orjson.Fragment(shown or b"{}"), "isError": False}


def _answer(asked: Message, result: Mapping[str, Any]) -> Response:
    body = orjson.dumps({"jsonrpc": "2.0", "id": asked.id, "result": result})
    return Response(200, body, NO_STORE)
