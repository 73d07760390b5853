"""The HTTP side of /api/mcp: allowed origins, the headers and the body of a message.

The protocol itself is in serve/surfaces/mcp.
"""

from typing import Final

from serve.access.call import Response
from serve.contract.errors import ApiError
from serve.http import body_reader
from serve.http.http_request import HttpRequest
from serve.request import json_body
from serve.surfaces.mcp import endpoint, messages, origins, versions
from serve.surfaces.mcp.endpoint import RpcPost
from serve.surfaces.mcp.messages import RpcError

_HEADERS: Final = (versions.VERSION, versions.METHOD, versions.NAME)


async def respond(request: HttpRequest) -> Response:
    """The response to a POST; an error is a JSON-RPC message too."""
    headers, config = request.message.headers, request.context.config
    try:
        origin = request.header("Origin")
        origins.check(origin, headers.get("Host"), config.base_url, config.mcp_origins)
        if request.target.query:
            # Here too, a key in the URL would be in every log on the way (A5).
            raise messages.invalid_request("it has a query string; send the body alone")
        json_body.check_kind(headers.get("Content-Type"), headers.get("Content-Encoding"))
        # A header that was sent twice then differs from what the body repeats.
        sent = {name: value for name in _HEADERS if (value := request.header(name)) is not None}
        body = await body_reader.body(request.message)
        post = RpcPost(sent, request.authorization, body)
        return await endpoint.respond(request.context, post, request.trace)
    except RpcError as error:
        return endpoint.of_rpc_error(error)
    except ApiError as error:
        return endpoint.of_error(error)
