"""The response of aiohttp, with the headers that all responses of its kind have."""

import random
import re
from http import HTTPStatus
from typing import Final

from aiohttp import web

from serve.access.call import DATA_VERSION, Response
from serve.http.router import ALLOW, Route
from serve.observe.log import RequestTrace

# Responses are data: a browser must not run, frame or reinterpret them.
_COMMON_HEADERS: Final = {
    "Content-Type": "application/json; charset=utf-8",
    "Server": "societes",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}

# The headers of a page. With `no-referrer`, browsers would send forms without their origin.
_PAGE_HEADERS: Final = {
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}

# Some browsers do not understand `*` in Access-Control-Expose-Headers, so each header is listed (G2).
EXPOSED: Final = (
    "Content-Disposition", "Content-Location", "ETag", "Link", "RateLimit", "RateLimit-Policy",
    "Retry-After", "WWW-Authenticate", "X-Credits-Debites", "X-Credits-Restants",
    "X-Donnees-Version", "X-Export-Activites", "X-Export-Activites-Total", "X-Export-Comptes",
    "X-Export-Comptes-Plafond", "X-Export-Coordonnees",
    "X-Export-Ids-Inconnus", "X-Export-Ids-Inconnus-Total", "X-Export-Lignes", "X-Export-Plafond",
    "X-Export-Total", "X-Plafond-Resultats", "X-Quota-Limit", "X-Quota-Reset", "X-Quota-Used",
    "X-Request-Id",
)  # fmt: skip

# Browsers of any origin may read the response and these headers (G2).
CORS: Final = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": ", ".join(EXPOSED),
}
_METHODS_HEADER: Final = "Access-Control-Allow-Methods"
# `*` would not cover Authorization (Fetch §3.3.3), so request headers are listed too.
_PREFLIGHT: Final = {
    _METHODS_HEADER: ALLOW,
    "Access-Control-Allow-Headers": "Authorization, Content-Type, If-None-Match",
    "Access-Control-Max-Age": "86400",
}
# The key of the log fields in an aiohttp message.
TRACE: Final = web.RequestKey("trace", RequestTrace)

# A request id of a caller that is safe to log and echo.
_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._:+/=-]{1,128}")


def make_reply(response: Response, trace: RequestTrace, *, opened: bool) -> web.Response:
    """The response as aiohttp sends it, with the headers that all responses of its kind have.

    A file is sent in pieces as fast as the client takes them, so memory has one piece at a time, for slow clients too
    (F6). The file has no name: the system removes it after the last piece, or at the end of the connection.

    Args:
        opened: a browser of any origin may read the response (G2).
    """
    own_headers = response.headers
    has_body = response.file is not None or len(response.body) > 0
    is_page = has_body and own_headers.get("Content-Type", "").startswith("text/html")
    headers = {
        **_COMMON_HEADERS,
        **(_PAGE_HEADERS if is_page else {}),
        **(CORS if opened else {}),
        **own_headers,
        "X-Request-Id": trace.request_id,
    }
    if not has_body and "Content-Type" not in own_headers:
        del headers["Content-Type"]
    if is_page and "frame-ancestors 'none'" not in headers["Content-Security-Policy"]:
        del headers["X-Frame-Options"]
    if trace.generation:
        headers.setdefault(DATA_VERSION, trace.generation)
    if response.status != HTTPStatus.NOT_MODIFIED:
        headers.setdefault("Content-Length", str(len(response.body)))
    body = response.body if response.file is None else response.file
    return web.Response(status=response.status, headers=headers, body=body)


def preflight(route: Route | None) -> dict[str, str]:
    """The headers of the response to OPTIONS (G2); a `route` of None is a path of the API that does not exist."""
    allow = route.allow if route else ALLOW
    headers = {"Allow": allow, **_PREFLIGHT, _METHODS_HEADER: allow}
    if route and route.accepts:
        headers["Access-Control-Allow-Headers"] = route.accepts
    return headers


def request_id(sent: str | None) -> str:
    """The caller's id of a request, if it is safe to log and echo; else a new id."""
    if sent is not None and _REQUEST_ID.fullmatch(sent):
        return sent
    return f"{random.getrandbits(64):016x}"  # not a secret, so not from `secrets`
