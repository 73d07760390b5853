"""Headers that do not depend on the route: cross-origin access, safety, request ids.

Most of a head is the same for every response of a kind, so it is formatted once (`first_lines`); only
a few lines are formatted for each response.
"""

import random
import re
from collections.abc import Mapping
from functools import lru_cache
from http import HTTPStatus
from typing import Final

from serve.http.router import ALLOW, Route

JSON: Final = "application/json; charset=utf-8"

SAFE: Final = {
    "Server": "societes",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
# Responses are data: a browser must not run, frame or reinterpret them.
POLICY: Final = "default-src 'none'; frame-ancestors 'none'"

# The headers of a page. With `no-referrer`, browsers would send forms without their origin.
HTML: Final = {
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_HTML: Final = "text/html"

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
_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._:+/=-]{1,128}")


def preflight(route: Route | None) -> dict[str, str]:
    """The headers of the response to OPTIONS (G2); None is a path of the API that there is not."""
    allow = route.allow if route else ALLOW
    headers = {"Allow": allow, **_PREFLIGHT, _ALLOWED_METHODS: allow}
    if route and route.accepts:
        headers["Access-Control-Allow-Headers"] = route.accepts
    return headers


@lru_cache(maxsize=256)
def first_lines(status: int, kind: str, policy: str, *, opened: bool) -> str:
    """The status line and the headers of every response of a kind, each with its line end.

    Args:
        kind: the Content-Type, or "" where there is no body.
        policy: the Content-Security-Policy.
        opened: a browser of any origin may read the response (G2).
    """
    given = {"Content-Type": kind} if kind else {}
    page = dict(HTML) if kind.startswith(_HTML) else {}
    if "frame-ancestors 'none'" not in policy:
        page.pop("X-Frame-Options", None)
    safe = {**SAFE, **page, "Content-Security-Policy": policy}
    always = {**given, **safe, **(CORS if opened else {})}
    return f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n{lines(always)}"


def lines(headers: Mapping[str, str]) -> str:
    """The header lines, each with its line end.

    Raises:
        ValueError: a value would begin a line of its own.
    """
    text = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    if text.count("\n") != len(headers) or text.count("\r") != len(headers):
        raise ValueError(f"a header holds a line end: {headers!r}")
    return text


def request_id(given: str | None) -> str:
    """The caller's id for a request if it is safe to log and echo, else a new one."""
    if given is not None and _REQUEST_ID.fullmatch(given):
        return given
    return f"{random.getrandbits(64):016x}"  # not a secret, so not from `secrets`
