"""The operation of the tools for language models: the HTTP side of /api/mcp, and its allowed origins.

A page of another site can make its own host name resolve to this machine, and then read answers that only the network
of this machine should see (DNS rebinding; MCP, "Streamable HTTP, Security"). Such a request has the name of that site
as its Host, not an address, and the Origin of the page. So Host must be an address, `localhost` or the name of
`--base-url`. Origin, which only browsers send, must be the origin of this server or an origin that the operator allows.
Origins on this machine are allowed unless `--base-url` is public.
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

_ANY: Final = "*"  # in the allowed origins: every origin
# The headers that the protocol reads.
_PROTOCOL_HEADERS: Final = (protocol.VERSION, protocol.METHOD, protocol.NAME)


async def respond(request: Request) -> Response:
    """The response to a POST; an error is a JSON-RPC message too."""
    headers, config = request.message.headers, request.context.config
    try:
        origin = request.header("Origin")
        check_origin(origin, headers.get("Host"), config.base_url, config.mcp_origins)
        if request.query:
            # A key in the URL would be logged by proxies (A5), so it is refused here as elsewhere.
            raise protocol.invalid_request("it has a query string; send the body alone")
        json_body.check_kind(headers.get("Content-Type"), headers.get("Content-Encoding"))
        # The values of a header that was sent twice are joined, so they differ from the body, and the call is refused.
        protocol_headers = {
            name: value for name in _PROTOCOL_HEADERS if (value := request.header(name)) is not None
        }
        request.body = await body_reader.body(request)
        request.size = len(request.body)
        return await endpoint.respond(request, protocol_headers)
    except RpcError as error:
        return endpoint.rpc_error_response(error)
    except ApiError as error:
        return endpoint.error_response(error)


def check_origin(
    origin: str | None, host: str | None, base_url: str, allowed: Sequence[str]
) -> None:
    """Refuse a request of another origin or with a foreign host name, as a page of another site could send it.

    Args:
        origin: the header Origin; None if the client is not a browser.
        host: the header Host.
        allowed: origins that the operator allows, such as `https://app.example`; `*` allows any.

    Raises:
        RpcError: 403.
    """
    if host is not None and not _is_own_name(_host_of(f"//{host}"), base_url):
        raise protocol.forbidden_header("Host", host)
    if origin is None or _ANY in allowed or origin in allowed:
        return
    base = urlsplit(base_url)
    if base_url and origin == f"{base.scheme}://{base.netloc}":
        return
    # On a public server, an origin such as `http://localhost` is on the machine of the visitor, so it is refused.
    public = base_url and not _is_local(base.hostname)
    if not public and origin.startswith(("http://", "https://")) and _is_local(_host_of(origin)):
        return
    raise protocol.forbidden_header("Origin", origin)


def _is_own_name(name: str | None, base_url: str) -> bool:
    """Whether a host is an address, which no foreign name can stand for, `localhost` or the host of `--base-url`."""
    if name is None:
        return False
    return _is_local(name) or _is_address(name) or (name == _host_of(base_url) and bool(base_url))


def _is_local(name: str | None) -> bool:
    """Whether `name` is `localhost` or a loopback address."""
    if name is None or not _is_address(name):
        return name == "localhost"
    return ipaddress.ip_address(name).is_loopback


def _is_address(name: str) -> bool:
    """Whether a host is an IP address and not a name."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _host_of(url: str) -> str | None:
    """The host of a URL in lower case, without its port; None if the URL has no host."""
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


# `accepts` has the headers of the protocol too, so that browsers may send them.
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
