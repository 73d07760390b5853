"""The operation of the tools for language models: the HTTP side of /api/mcp, and the origins that it allows.

A page of another site can make its own name resolve to this machine, and then read answers that only this machine's
network should (DNS rebinding; MCP, "Streamable HTTP, Security"). Such a request has that name as its Host, never an
address, and the page's Origin. So a Host may be an address, `localhost` or the name of `--base-url`; an Origin, which
only browsers send, must be this server's own, or one that the operator allows. Pages of this machine are its own unless
`--base-url` is public.
"""

import ipaddress
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from serve.access.call import Request, Response
from serve.contract.errors import ApiError
from serve.contract.feature import Feature, Operation
from serve.http import body_reader
from serve.request import json_body
from serve.surfaces.mcp import endpoint, protocol
from serve.surfaces.mcp.protocol import RpcError

_ANY: Final = "*"
_HEADERS: Final = (protocol.VERSION, protocol.METHOD, protocol.NAME)


async def respond(request: Request) -> Response:
    """The response to a POST; an error is a JSON-RPC message too."""
    headers, config = request.message.headers, request.context.config
    try:
        origin = request.header("Origin")
        check_origin(origin, headers.get("Host"), config.base_url, config.mcp_origins)
        if request.query:
            # Here too, a key in the URL would be in every log on the way (A5).
            raise protocol.invalid_request("it has a query string; send the body alone")
        json_body.check_kind(headers.get("Content-Type"), headers.get("Content-Encoding"))
        # A header that was sent twice then differs from what the body repeats.
        sent = {name: value for name in _HEADERS if (value := request.header(name)) is not None}
        request.body = await body_reader.body(request)
        request.size = len(request.body)
        return await endpoint.respond(request, sent)
    except RpcError as error:
        return endpoint.of_rpc_error(error)
    except ApiError as error:
        return endpoint.error_response(error)


def check_origin(
    origin: str | None, host: str | None, base_url: str, allowed: Sequence[str]
) -> None:
    """Refuse a request of another origin or under a foreign name.

    Args:
        origin: the header Origin; None where the client is not a browser.
        host: the header Host.
        allowed: origins that the operator allows, such as `https://app.example`; `*` is any.

    Raises:
        RpcError: 403.
    """
    if host is not None and not _is_own_name(_name(f"//{host}"), base_url):
        raise protocol.forbidden_header("Host", host)
    if origin is None or _ANY in allowed or origin in allowed:
        return
    of_base = urlsplit(base_url)
    if base_url and origin == f"{of_base.scheme}://{of_base.netloc}":
        return
    # Behind a public name this machine's own pages are those of the visitor's machine.
    public = base_url and not _is_local(of_base.hostname)
    if not public and origin.startswith(("http://", "https://")) and _is_local(_name(origin)):
        return
    raise protocol.forbidden_header("Origin", origin)


def _is_own_name(name: str | None, base_url: str) -> bool:
    if name is None:
        return False
    return _is_local(name) or _is_address(name) or (name == _name(base_url) and bool(base_url))


def _is_local(name: str | None) -> bool:
    """Is it a name of this machine for itself?"""
    if name is None or not _is_address(name):
        return name == "localhost"
    return ipaddress.ip_address(name).is_loopback


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _name(url: str) -> str | None:
    """The host of a URL in lower case, without its port; None if there is none."""
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


# The answers are those of its tools; a browser sends headers of the protocol.
SURFACE: Final = Feature(
    __package__,
    (
        Operation(
            "callTool", "/api/mcp", "mcp", "tools", "Companies", respond,
            place=200, method="POST", opened=True,
            accepts=[
                "Authorization", "Content-Type", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Session-Id"
            ],
        ),
    ),
    guides={"modeles": 90},
)  # fmt: skip
