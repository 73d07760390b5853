"""A message to /api/mcp below HTTP: who may send one, its headers and its body.

What it says and what it is answered: serve/mcp.
"""

from typing import Final

from aiohttp import web

from serve.access.context import ServerContext
from serve.access.result import Response
from serve.api.routes import RequestTarget
from serve.contract.errors import ApiError
from serve.http import body_reader
from serve.mcp import endpoint, messages, origins, versions
from serve.mcp.endpoint import RpcPost
from serve.mcp.messages import RpcError
from serve.observe.request_trace import RequestTrace
from serve.request import json_body

_HEADERS: Final = (versions.VERSION, versions.METHOD, versions.NAME)


async def answer(
    site: ServerContext, request: web.BaseRequest, target: RequestTarget, trace: RequestTrace
) -> Response:
    """The answer to a POST; an error, too, is a JSON-RPC message."""
    try:
        headers = request.headers
        origins.check(
            _header(request, "Origin"), headers.get("Host"), site.base_url, site.mcp_origins
        )
        if target.query:
            # Here too a key in the URL would be in every log on the way (A5).
            raise messages.invalid_request("it is a body alone, without a query string")
        json_body.check_kind(headers.get("Content-Type"), headers.get("Content-Encoding"))
        sent = {name: value for name in _HEADERS if (value := _header(request, name)) is not None}
        post = RpcPost(sent, headers.getall("Authorization", []), await body_reader.body(request))
        return await endpoint.answer(site, post, trace)
    except RpcError as error:
        return endpoint.of_rpc_error(error)
    except ApiError as error:
        return endpoint.of_error(error)


def _header(request: web.BaseRequest, name: str) -> str | None:
    # A header that was sent twice means both lines (RFC 9110 §5.3), and is then like no body.
    return ", ".join(request.headers.getall(name, [])) or None
