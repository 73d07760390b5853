"""The response headers (§2.2, §4.6, contract D3, D11, F7, G7 to G10), as components. Pure."""

from typing import Any, Final

from serve.guests.docs.openapi.schema import Schema, ref

_COUNT: Final = {"type": "integer", "minimum": 0}
_TEXT: Final = {"type": "string"}


def _header(description: str, schema: Schema) -> Schema:
    return {"description": description, "schema": schema}


HEADERS: Final[dict[str, Schema]] = {
    "X-Request-Id": _header(
        "Name of the request, to be reported; the caller's own if sent.", _TEXT
    ),
    "X-Donnees-Version": _header("Name of the data (generation) that answered.", _TEXT),
    "ETag": _header(
        "Tag of the answer, for `If-None-Match`; each content coding has its own.", _TEXT
    ),
    "Cache-Control": _header("Who may keep the answer, and how long (RFC 9111).", _TEXT),
    "Vary": _header("The answer depends on these request headers.", _TEXT),
    "Content-Language": _header(
        "Language of the message of an error, and of reasons and formulas: `fr` or `en`.", _TEXT
    ),
    "Content-Location": _header("The one path of the company, whatever spelling was sent.", _TEXT),
    "Content-Disposition": _header("Name of the file.", _TEXT),
    "Location": _header("Where the page is (RFC 9110 §10.2.2).", _TEXT),
    "Link": _header(
        'The next page, `rel="next"`, while there is one (RFC 8288); `version` keeps it on the same data. '
        'Of an export, the attributions of the sources, `rel="license"`.',
        _TEXT,
    ),
    "WWW-Authenticate": _header("How to identify (RFC 6750).", _TEXT),
    "Retry-After": _header("Seconds after which to come again.", _COUNT),
    "RateLimit-Policy": _header(
        "Limits: calls a day (`jour`) or exports a month (`mois`), and calls a minute "
        "(draft-ietf-httpapi-ratelimit-headers).",
        _TEXT,
    ),
    "RateLimit": _header("What is left of these limits, and for how long.", _TEXT),
    "X-Plafond-Resultats": _header("Companies that the plan may show of one search.", _COUNT),
    "X-Quota-Limit": _header("Limit of this route's meter: calls a day, exports a month.", _COUNT),
    "X-Quota-Used": _header("Used of it, this request included.", _COUNT),
    "X-Quota-Reset": _header("Seconds until it begins anew.", _COUNT),
    "X-Credits-Debites": _header("Credits that this record cost.", _COUNT),
    "X-Credits-Restants": _header("Credits left, packs included.", _COUNT),
    "X-Export-Lignes": _header("Companies in the file.", _COUNT),
    "X-Export-Total": _header("Companies in the scope.", _COUNT),
    "X-Export-Plafond": _header("Companies that the plan allows in one file.", _COUNT),
    "X-Export-Comptes": _header("Companies whose statements are in the file.", _COUNT),
    "X-Export-Comptes-Plafond": _header(
        "Companies whose statements the plan allows in one file.", _COUNT
    ),
    "X-Export-Coordonnees": _header(
        "Whether contacts are in it.", {"type": "string", "enum": ["true", "false"]}
    ),
}

# Headers that go together.
METER: Final = (
    "X-Quota-Limit", "X-Quota-Used", "X-Quota-Reset", "RateLimit-Policy", "RateLimit",
)  # fmt: skip
CALLS: Final = ("X-Plafond-Resultats", *METER)
CREDITS: Final = ("X-Credits-Debites", "X-Credits-Restants")
TAGGED: Final = ("ETag", "Cache-Control", "Vary", "X-Donnees-Version")
EXPORT: Final = tuple(name for name in HEADERS if name.startswith("X-Export-"))


def references(*names: str) -> dict[str, Any]:
    """References to the headers of an answer; every answer also has `X-Request-Id`."""
    return {name: ref(name, "headers") for name in ("X-Request-Id", *names)}
