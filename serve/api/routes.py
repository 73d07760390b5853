"""Which path is which route. A table, so that the paths of the API can be read at a glance.

A path is matched segment by segment, each percent-decoded on its own: so an identifier may hold
`%2F`, and `/api/v1/p%61ys` is `/api/v1/pays`, as RFC 3986 §6.2.2 has it. One trailing slash is
accepted (G3). There is one spelling of everything else.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from serve.access.billing import Counting
from serve.access.result import Check, Prepare, PublicList, Request, Response
from serve.api import health, lists
from serve.api.compte import compte
from serve.api.modifications import modifications
from serve.api.societe import societe
from serve.api.societes import societes
from serve.request.memo import remembering

# Every route is read-only; a preflight asks for these too (G2).
METHODS: Final = ("GET", "HEAD", "OPTIONS")
ALLOW: Final = ", ".join(METHODS)
# An export may be asked for in a body (F3), and its file is made or not: there is no HEAD (G1).
EXPORT_METHODS: Final = ("GET", "POST", "OPTIONS")
# A message is a POST and nothing else; older clients try a GET or DELETE first (MCP).
MCP_METHODS: Final = ("POST", "OPTIONS")

# Under these a browser of any origin may read what is answered, errors included (§1, G2).
_OPEN: Final = ("/api/v1", "/api/mcp", "/openapi.json", "/llms.txt", "/llms-full.txt", "/docs.md")


@dataclass(frozen=True, slots=True)
class Route:
    """A path of the API and what it leads to, one of eight. `""` in `segments` is a variable part.

    - `work`: a search or a record, which depends on the caller and is counted;
    - `account`: what an account has; without one there is nothing to serve;
    - `export`: a workbook, which is made aside and counted by the month;
    - `route`: a public list, the same for everybody: a key is not looked at there (A2);
    - `mcp`: the tools, which go to the routes' own work;
    - `page`: the same bytes for everybody (serve/api/static_pages.py);
    - `check`: of the process itself, of its data;
    - none: the metrics, which serve/http/app.py has.
    """

    name: str
    segments: tuple[str, ...]
    work: Prepare | None = None
    account: Callable[[Request, Counting], Awaitable[Response]] | None = None
    export: bool = False
    route: PublicList | None = None
    page: bool = False
    check: Check | None = None
    mcp: bool = False
    methods: tuple[str, ...] = METHODS

    @property
    def allow(self) -> str:
        """The header of this name."""
        return ", ".join(self.methods)

    @property
    def keyed(self) -> bool:
        return self.work is not None or self.account is not None


PATHS: Final = (
    Route("pays", ("api", "v1", "pays"), route=lists.pays),
    Route("secteurs", ("api", "v1", "secteurs"), route=lists.secteurs),
    Route("sous-secteurs", ("api", "v1", "sous-secteurs"), route=lists.sous_secteurs),
    Route("societes", ("api", "v1", "societes"), work=societes),
    Route("modifications", ("api", "v1", "modifications"), work=modifications),
    Route("societe", ("api", "v1", "societes", "", ""), work=societe),
    Route("export", ("api", "v1", "export"), export=True, methods=EXPORT_METHODS),
    Route("compte", ("api", "v1", "compte"), account=compte),
    Route("mcp", ("api", "mcp"), mcp=True, methods=MCP_METHODS),
    Route("openapi", ("openapi.json",), page=True),
    Route("docs", ("docs",), page=True),
    Route("docs-markdown", ("docs.md",), page=True),
    Route("llms", ("llms.txt",), page=True),
    Route("llms-full", ("llms-full.txt",), page=True),
    Route("docs-file", ("docs", ""), page=True),
    Route("healthz", ("healthz",), check=health.healthz),
    Route("readyz", ("readyz",), check=health.readyz),
    Route("metrics", ("metrics",)),
)
# Nearly every request is spelt like this.
_PLAIN: Final = {"/" + "/".join(path.segments): path for path in PATHS if "" not in path.segments}
_BY_LENGTH: Final[Mapping[int, tuple[Route, ...]]] = {
    length: tuple(path for path in PATHS if len(path.segments) == length) for length in (1, 2, 3, 5)
}


def resolve(raw: str) -> tuple[Route, tuple[str, ...]] | None:
    """The path that `raw` is, with its variable parts decoded; None if there is no such path.

    >>> path, parts = resolve("/api/v1/societes/AT/FN%2F1")
    >>> path.name, parts
    ('societe', ('AT', 'FN/1'))
    """
    if raw in _PLAIN:
        return _PLAIN[raw], ()
    segments = raw.split("/")[1:]
    # A slash at the end is none where a path is there without it; nothing is at `/societes/FR`, so
    # `/societes/FR/` is a record with an empty identifier (E1).
    if len(segments) > 1 and not segments[-1] and (found := _match(segments[:-1])):
        return found
    return _match(segments)


def open_to_all(raw: str) -> bool:
    """Does the path lie where any origin may read (G2)?"""
    return any(raw == place or raw.startswith(f"{place}/") for place in _OPEN)


def _match(segments: list[str]) -> tuple[Route, tuple[str, ...]] | None:
    # What is not UTF-8 becomes U+FFFD, which no path and no identifier has.
    decoded = [unquote(segment.encode("utf-8", "surrogateescape")) for segment in segments]
    for path in _BY_LENGTH.get(len(segments), ()):
        pairs = list(zip(path.segments, decoded, strict=True))
        if all(fixed in ("", part) for fixed, part in pairs):
            return path, tuple(part for fixed, part in pairs if not fixed)
    return None


# MERGED serve/target.py
# What the first line of a request asks for: the path, where it leads to, its parameters as text.
#
# A value of that line and nothing else, so that the short ones are remembered: a client that asks
# again with a tag, or for the next page, costs no more parsing.


@dataclass(frozen=True, slots=True)
class RequestTarget:
    """A request target (RFC 9112 §3.2), taken apart; `route` is None where there is no such path.

    `opened`: a browser of any origin may read what is answered.
    """

    path: str
    query: str
    route: Route | None
    segments: tuple[str, ...]
    opened: bool


@remembering
def read(raw: str) -> RequestTarget:
    """What `raw` asks for: a path, and maybe a query; a fragment is nobody's."""
    path, _, query = raw.partition("#")[0].partition("?")
    route, segments = resolve(path) or (None, ())
    return RequestTarget(path, query, route, segments, open_to_all(path))
