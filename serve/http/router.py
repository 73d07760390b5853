"""The paths of the server: from its operations, and the parsing of a request target.

A path is matched segment by segment, each percent-decoded on its own: an identifier may contain
`%2F`, and `/api/v1/p%61ys` is `/api/v1/pays` (RFC 3986 §6.2.2). One trailing slash is accepted (G3).
Everything else has one spelling.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from serve.contract.feature import Operation

# Of a path that there is not, and of a host (RFC 9110 §9.3.6): nothing is changed by a request (G2).
ALLOW: Final = "GET, HEAD, OPTIONS"
_ORDER: Final = ("GET", "HEAD", "POST", "OPTIONS")
# Below it a browser of any origin may read the responses, errors included (§1, G2).
_API: Final = "/api/v1"


@dataclass(frozen=True, slots=True)
class Route:
    """A path and its operations by method; `""` in `segments` is a variable part."""

    name: str
    segments: tuple[str, ...]
    operations: Mapping[str, Operation]

    @property
    def allow(self) -> str:
        """The header Allow."""
        return ", ".join(method for method in _ORDER if method in (*self.operations, "OPTIONS"))

    @property
    def accepts(self) -> str:
        """The header Access-Control-Allow-Headers; "" for that of the API."""
        return ", ".join(next(iter(self.operations.values())).accepts)

    @property
    def holds_files(self) -> bool:
        """Whether its variable part is the name of a file: `/docs/` is the page `/docs`, not a file without a name."""
        return any(one.kind == "document" for one in self.operations.values())


class Router:
    """The routes of some operations."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        known = tuple(operations)
        paths = dict.fromkeys(one.path for one in known)
        self.routes: Final = tuple(
            _route([one for one in known if one.path == path]) for path in paths
        )
        # Nearly every request spells its path like this.
        self._plain: Final = {
            "/" + "/".join(route.segments): route
            for route in self.routes
            if "" not in route.segments
        }
        self._by_length: Final[dict[int, list[Route]]] = {}
        for route in self.routes:
            self._by_length.setdefault(len(route.segments), []).append(route)
        opened = (_API, *(one.path for one in known if one.opened))
        self._opened: Final = frozenset(opened)
        self._below: Final = tuple(f"{path}/" for path in opened)

    def resolve(self, raw: str) -> tuple[Route, tuple[str, ...]] | None:
        """The route of a path, with its variable parts decoded; None if there is none.

        `/api/v1/societes/AT/FN%2F1` is the route `societe` with `("AT", "FN/1")`.
        """
        if raw in self._plain:
            return self._plain[raw], ()
        segments = raw.split("/")[1:]
        # A trailing slash is dropped where the path without it is a route. `/societes/FR` is none, so
        # `/societes/FR/` is a record with an empty identifier (E1).
        if len(segments) > 1 and not segments[-1] and (route_match := self._match(segments[:-1])):
            return route_match
        return self._match(segments)

    def open_to_all(self, raw: str) -> bool:
        """May a browser of any origin read responses at this path (G2)?"""
        plain = unquote(raw, errors="replace") if "%" in raw else raw
        return plain in self._opened or plain.startswith(self._below)

    def _match(self, segments: list[str]) -> tuple[Route, tuple[str, ...]] | None:
        # Bytes that are not UTF-8 become U+FFFD, which is in no path and in no identifier.
        decoded = [unquote(segment.encode("utf-8", "surrogateescape")) for segment in segments]
        for route in self._by_length.get(len(segments), ()):
            pairs = list(zip(route.segments, decoded, strict=True))
            if route.holds_files and not decoded[-1]:
                continue
            if all(fixed in ("", part) for fixed, part in pairs):
                return route, tuple(part for fixed, part in pairs if not fixed)
        return None


def _route(operations: list[Operation]) -> Route:
    """The route of the operations of one path."""
    first = operations[0]
    segments = tuple("" if part.startswith("{") else part for part in first.path.split("/")[1:])
    methods: dict[str, Operation] = {one.method: one for one in operations}
    if "GET" in methods and methods["GET"].head:
        methods = {**methods, "HEAD": methods["GET"]}
    return Route(first.route, segments, methods)
