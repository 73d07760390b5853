"""The response that is sent: aiohttp's, with the headers of all responses of its kind."""

import random
import re
from http import HTTPStatus
from typing import Final

from aiohttp import web

from serve.access.call import DATA_VERSION, Response
from serve.http.router import ALLOW, Route
from serve.observe.log import RequestTrace

# Responses are data: a browser must not run, frame or reinterpret them.
_ALWAYS: Final = {
    "Content-Type": "application/json; charset=utf-8",
    "Server": "societes",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}

# The headers of a page. With `no-referrer`, browsers would send forms without their origin.
_PAGE: Final = {
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}

# Not every browser understands `*` in Access-Control-Expose-Headers, so each is named (G2).
EXPOSED: Final = (
    "Content-Disposition", "Content-Location", "ETag", "Link", "RateLimit", "RateLimit-Policy",
    "Retry-After", "WWW-Authenticate", "X-Credits-Debites", "X-Credits-Restants",
    "X-Donnees-Version", "X-Export-Activites", "X-Export-Activites-Total", "X-Export-Comptes",
    "X-Export-Comptes-Plafond", "X-Export-Coordonnees",
    "X-Export-Ids-Inconnus", "X-Export-Ids-Inconnus-Total", "X-Export-Lignes", "X-Export-Plafond",
    "X-Export-Total", "X-Plafond-Resultats", "X-Quota-Limit", "X-Quota-Reset", "X-Quota-Used",
    "X-Request-Id",
)  # fmt: skip

CORS: Final = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": ", ".join(EXPOSED),
}
# `*` would not cover Authorization (Fetch §3.3.3), so request headers are named as well.
_ALLOWED_METHODS: Final = "Access-Control-Allow-Methods"
_PREFLIGHT: Final = {
    _ALLOWED_METHODS: ALLOW,
    "Access-Control-Allow-Headers": "Authorization, Content-Type, If-None-Match",
    "Access-Control-Max-Age": "86400",
}
# The place of the facts for the log among the values of a message.
TRACE: Final = web.RequestKey("trace", RequestTrace)

_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._:+/=-]{1,128}")


def make_reply(response: Response, trace: RequestTrace, *, opened: bool) -> web.Response:
    """The response as aiohttp sends it.

    A file is sent in pieces as fast as the client takes them: a piece and an open file wait in memory, whatever the
    client's speed (F6). The file has no name: it is gone with its last piece, or with the connection.

    Args:
        opened: a browser of any origin may read the response (G2).
    """
    own = response.headers
    has_body = response.file is not None or len(response.body) > 0
    is_page = has_body and own.get("Content-Type", "").startswith("text/html")
    headers = {
        **_ALWAYS,
        **(_PAGE if is_page else {}),
        **(CORS if opened else {}),
        **own,
        "X-Request-Id": trace.request_id,
    }
    if not has_body and "Content-Type" not in own:
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
    headers = {"Allow": allow, **_PREFLIGHT, _ALLOWED_METHODS: allow}
    if route and route.accepts:
        headers["Access-Control-Allow-Headers"] = route.accepts
    return headers


def request_id(given: str | None) -> str:
    """The caller's id for a request if it is safe to log and echo, else a new one."""
    if given is not None and _REQUEST_ID.fullmatch(given):
        return given
    return f"{random.getrandbits(64):016x}"  # not a secret, so not from `secrets`
