"""The routes of the server, from its operations, and the matching of paths.

A path is matched segment by segment. Each segment is percent-decoded separately: an identifier may contain `%2F`, and
`/api/v1/p%61ys` is `/api/v1/pays` (RFC 3986 §6.2.2). One trailing slash is accepted (G3). A path has no other
alternative spelling.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from serve.contract.feature import Operation

# The header Allow for a path that does not exist, and for CONNECT (RFC 9110 §9.3.6): only reading methods (G2).
ALLOW: Final = "GET, HEAD, OPTIONS"
# The order of the methods in the header Allow.
_METHOD_ORDER: Final = ("GET", "HEAD", "POST", "OPTIONS")
# A browser of any origin may read responses below this path, including errors (§1, G2).
_API: Final = "/api/v1"


@dataclass(frozen=True, slots=True)
class Route:
    """A path and its operations by method; `""` in `segments` is a variable part."""

    name: str
    segments: tuple[str, ...]
    operations: Mapping[str, Operation]

    @property
    def allow(self) -> str:
        """The value of the header Allow: the methods of the path, with OPTIONS, in a fixed order."""
        return ", ".join(
            method for method in _METHOD_ORDER if method in (*self.operations, "OPTIONS")
        )

    @property
    def accepts(self) -> str:
        """The header Access-Control-Allow-Headers; "" for the default of the API."""
        return ", ".join(next(iter(self.operations.values())).accepts)

    @property
    def holds_files(self) -> bool:
        """Whether the variable part is a file name: then `/docs/` is the page `/docs`, not a file without a name."""
        return any(operation.kind == "document" for operation in self.operations.values())


class Router:
    """Finds the route (the operations of one path) that a path of a request matches."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        """Group the operations by path; paths with variable parts are found by their number of segments."""
        all_operations = tuple(operations)
        paths = dict.fromkeys(operation.path for operation in all_operations)
        self.routes: Final = tuple(
            _make_route([operation for operation in all_operations if operation.path == path])
            for path in paths
        )
        # The routes without variable parts, by the usual spelling of the path.
        self._fixed_routes: Final = {
            "/" + "/".join(route.segments): route
            for route in self.routes
            if "" not in route.segments
        }
        self._by_length: Final[dict[int, list[Route]]] = {}
        for route in self.routes:
            self._by_length.setdefault(len(route.segments), []).append(route)
        # Browsers of any origin may read responses at these paths and below them (G2).
        opened = (_API, *(operation.path for operation in all_operations if operation.opened))
        self._opened_paths: Final = frozenset(opened)
        self._opened_beginnings: Final = tuple(f"{path}/" for path in opened)

    def resolve(self, raw: str) -> tuple[Route, tuple[str, ...]] | None:
        """The route of a path, and its decoded variable parts; None if there is no route.

        `/api/v1/societes/AT/FN%2F1` is the route `societe` with `("AT", "FN/1")`.
        """
        if raw in self._fixed_routes:
            return self._fixed_routes[raw], ()
        segments = raw.split("/")[1:]
        # A trailing slash is dropped if the path without it is a route. `/societes/FR` is not a route, so
        # `/societes/FR/` is a record with an empty identifier (E1).
        if len(segments) > 1 and not segments[-1] and (route_match := self._match(segments[:-1])):
            return route_match
        return self._match(segments)

    def open_to_all(self, raw: str) -> bool:
        """Whether a browser of any origin may read responses at this path (G2)."""
        plain = unquote(raw, errors="replace") if "%" in raw else raw
        return plain in self._opened_paths or plain.startswith(self._opened_beginnings)

    def _match(self, segments: list[str]) -> tuple[Route, tuple[str, ...]] | None:
        """The route that the percent-encoded segments of a path match, and its decoded variable parts; None if none."""
        # Bytes that are not UTF-8 become U+FFFD, which is in no path and in no identifier.
        decoded = [unquote(segment.encode("utf-8", "surrogateescape")) for segment in segments]
        for route in self._by_length.get(len(segments), ()):
            pairs = list(zip(route.segments, decoded, strict=True))
            if route.holds_files and not decoded[-1]:
                continue
            if all(fixed in ("", part) for fixed, part in pairs):
                return route, tuple(part for fixed, part in pairs if not fixed)
        return None


def _make_route(operations: list[Operation]) -> Route:
    """The route of the operations of one path."""
    first_operation = operations[0]
    segments = tuple(
        "" if part.startswith("{") else part for part in first_operation.path.split("/")[1:]
    )
    methods: dict[str, Operation] = {operation.method: operation for operation in operations}
    if "GET" in methods and methods["GET"].head:
        methods = {**methods, "HEAD": methods["GET"]}
    return Route(first_operation.route, segments, methods)
