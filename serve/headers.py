"""Headers that stand on answers whatever the route: cross-origin access, safety, request ids."""

import random
import re
from typing import Final

from serve.routes import ALLOW, open_to_all

JSON: Final = "application/json; charset=utf-8"

# The answers are data: nothing in them may be run, framed or guessed to be something else.
SAFE: Final = {
    "Server": "societes",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}

# Fetch: `*` in Expose-Headers is not understood by every browser, so each is named (G2).
EXPOSED: Final = (
    "Content-Disposition", "Content-Location", "ETag", "Link", "RateLimit", "RateLimit-Policy",
    "Retry-After", "WWW-Authenticate", "X-Credits-Debites", "X-Credits-Restants",
    "X-Donnees-Version", "X-Export-Comptes", "X-Export-Comptes-Plafond", "X-Export-Coordonnees",
    "X-Export-Lignes", "X-Export-Plafond", "X-Export-Total", "X-Plafond-Resultats",
    "X-Quota-Limit", "X-Quota-Reset", "X-Quota-Used", "X-Request-Id",
)  # fmt: skip

CORS: Final = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": ", ".join(EXPOSED),
}
# `*` would not cover Authorization (Fetch §3.3.3), so the request headers are named as well.
PREFLIGHT: Final = {
    "Access-Control-Allow-Methods": ALLOW,
    "Access-Control-Allow-Headers": "Authorization, Content-Type, If-None-Match",
    "Access-Control-Max-Age": "86400",
}

_CLOSED: Final = {"Content-Type": JSON, **SAFE}
_OPEN: Final = {**_CLOSED, **CORS}

_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._:+/=-]{1,128}")


def common(path: str, request_id: str) -> dict[str, str]:
    """The headers of every answer to `path`, to which a route adds its own."""
    always = _OPEN if open_to_all(path) else _CLOSED
    return {**always, "X-Request-Id": request_id}


def request_id(given: str | None) -> str:
    """The caller's own id for a request if it is fit to be logged and echoed, else a new one."""
    if given is not None and _REQUEST_ID.fullmatch(given):
        return given
    return f"{random.getrandbits(64):016x}"  # no secret: it need only be another each time
