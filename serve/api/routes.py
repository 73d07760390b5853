"""The paths of the API: a table, and the parsing of a request target.

A path is matched segment by segment, each percent-decoded on its own: an identifier may contain
`%2F`, and `/api/v1/p%61ys` is `/api/v1/pays` (RFC 3986 §6.2.2). One trailing slash is accepted (G3).
Everything else has one spelling. The handler of each route is in `serve/http/handlers.py`, so that
documents and tests can read this table without HTTP.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from serve.request.memo import remembering

# Every route is read-only; a preflight asks for these too (G2).
METHODS: Final = ("GET", "HEAD", "OPTIONS")
ALLOW: Final = ", ".join(METHODS)
# An export may be requested in a body (F3). It is made or it is not, so there is no HEAD (G1).
EXPORT_METHODS: Final = ("GET", "POST", "OPTIONS")
# A list of lines to match is a body, and nothing else.
MATCH_METHODS: Final = ("POST", "OPTIONS")
RECONCILIATION_METHODS: Final = ("GET", "HEAD", "POST", "OPTIONS")
# An MCP message is a POST and nothing else; older clients try a GET or DELETE first.
MCP_METHODS: Final = ("POST", "OPTIONS")
# Changes of a search, or of a list of companies, are asked for in a body (X8).
CHANGES_METHODS: Final = ("GET", "HEAD", "POST", "OPTIONS")

# Below these paths a browser of any origin may read the responses, errors included (§1, G2).
_OPEN: Final = ("/api/v1", "/api/mcp", "/openapi.json", "/llms.txt", "/llms-full.txt", "/docs.md")


@dataclass(frozen=True, slots=True)
class Route:
    """A path of the API; `""` in `segments` is a variable part."""

    name: str
    segments: tuple[str, ...]
    methods: tuple[str, ...] = METHODS

    @property
    def allow(self) -> str:
        """The header Allow."""
        return ", ".join(self.methods)


# A protocol of its own, which describes itself (tools/list) and is not in /openapi.json.
MCP: Final = Route("mcp", ("api", "mcp"), MCP_METHODS)

# Its manifest names what lies below it; `""` first is the token of the caller.
RECONCILIATION_PATH: Final = "/api/v1/reconciliation"
_RECONCILIATION: Final = ("api", "v1", "reconciliation")
RECONCILIATION: Final = (
    Route("reconciliation", _RECONCILIATION, RECONCILIATION_METHODS),
    Route("reconciliation-adresse", (*_RECONCILIATION, ""), RECONCILIATION_METHODS),
    Route("reconciliation-champs", (*_RECONCILIATION, "", "properties")),
    Route("reconciliation-suggestions", (*_RECONCILIATION, "", "suggest", "")),
    Route("reconciliation-apercu", (*_RECONCILIATION, "", "preview", "")),
    Route("reconciliation-vue", (*_RECONCILIATION, "", "view", "")),
)

# What stands beside the pages of the documentation, which are those of the website.
DOCS_FILE: Final = Route("docs-file", ("docs", ""))

ROUTES: Final = (
    Route("pays", ("api", "v1", "pays")),
    Route("secteurs", ("api", "v1", "secteurs")),
    Route("sous-secteurs", ("api", "v1", "sous-secteurs")),
    Route("sources", ("api", "v1", "sources")),
    Route("suggestions", ("api", "v1", "suggestions")),
    Route("societes", ("api", "v1", "societes")),
    Route("repartition", ("api", "v1", "repartition")),
    Route("modifications", ("api", "v1", "modifications"), CHANGES_METHODS),
    Route("societe", ("api", "v1", "societes", "", "")),
    Route("analyse-entreprise", ("api", "v1", "societes", "", "", "analyses", "entreprise")),
    Route("comparables", ("api", "v1", "societes", "", "", "comparables")),
    Route("groupe", ("api", "v1", "societes", "", "", "groupe")),
    Route("analyse-marche", ("api", "v1", "analyses", "marche")),
    Route("rapprochement", ("api", "v1", "rapprochement"), MATCH_METHODS),
    Route("identifiants", ("api", "v1", "identifiants", "")),
    Route("export", ("api", "v1", "export"), EXPORT_METHODS),
    Route("compte", ("api", "v1", "compte")),
    MCP,
    *RECONCILIATION,
    Route("openapi", ("openapi.json",)),
    Route("docs-markdown", ("docs.md",)),
    Route("llms", ("llms.txt",)),
    Route("llms-full", ("llms-full.txt",)),
    DOCS_FILE,
    Route("healthz", ("healthz",)),
    Route("readyz", ("readyz",)),
    Route("metrics", ("metrics",)),
)
# Nearly every request spells its path like this.
_PLAIN: Final = {
    "/" + "/".join(route.segments): route for route in ROUTES if "" not in route.segments
}
_BY_LENGTH: Final[Mapping[int, tuple[Route, ...]]] = {
    length: tuple(route for route in ROUTES if len(route.segments) == length)
    for length in range(1, 8)
}


@dataclass(frozen=True, slots=True)
class RequestTarget:
    """A parsed request target (RFC 9112 §3.2).

    Attributes:
        route: None where there is no such path.
        segments: the variable parts of the path, decoded.
        opened: a browser of any origin may read the response.
    """

    path: str
    query: str
    route: Route | None
    segments: tuple[str, ...]
    opened: bool


@remembering
def read(raw: str) -> RequestTarget:
    """Parse a path and its query; a fragment is ignored.

    Short targets are remembered: a client that repeats one with a tag costs no more parsing.
    """
    path, _, query = raw.partition("#")[0].partition("?")
    route, segments = resolve(path) or (None, ())
    return RequestTarget(path, query, route, segments, open_to_all(path))


def resolve(raw: str) -> tuple[Route, tuple[str, ...]] | None:
    """The route of a path, with its variable parts decoded; None if there is none.

    >>> route, parts = resolve("/api/v1/societes/AT/FN%2F1")
    >>> route.name, parts
    ('societe', ('AT', 'FN/1'))
    """
    if raw in _PLAIN:
        return _PLAIN[raw], ()
    segments = raw.split("/")[1:]
    # A trailing slash is dropped where the path without it is a route. `/societes/FR` is none, so
    # `/societes/FR/` is a record with an empty identifier (E1).
    if len(segments) > 1 and not segments[-1] and (found := _match(segments[:-1])):
        return found
    return _match(segments)


def open_to_all(raw: str) -> bool:
    """May a browser of any origin read responses at this path (G2)?"""
    plain = unquote(raw, errors="replace") if "%" in raw else raw
    return any(plain == path or plain.startswith(f"{path}/") for path in _OPEN)


def _match(segments: list[str]) -> tuple[Route, tuple[str, ...]] | None:
    # Bytes that are not UTF-8 become U+FFFD, which is in no path and in no identifier.
    decoded = [unquote(segment.encode("utf-8", "surrogateescape")) for segment in segments]
    for route in _BY_LENGTH.get(len(segments), ()):
        pairs = list(zip(route.segments, decoded, strict=True))
        if route is DOCS_FILE and not decoded[-1]:
            continue  # `/docs/` is the page `/docs`
        if all(fixed in ("", part) for fixed, part in pairs):
            return route, tuple(part for fixed, part in pairs if not fixed)
    return None
