"""What the first line of a request asks for: the path, where it leads to, its parameters as text.

A value of that line and nothing else, so that the short ones are remembered: a client that asks
again with a tag, or for the next page, costs no more parsing.
"""

from dataclasses import dataclass

from serve import routes
from serve.remembering import remembering
from serve.routes import Path


@dataclass(frozen=True, slots=True)
class Target:
    """A request target (RFC 9112 §3.2), taken apart; `route` is None where there is no such path.

    `opened`: a browser of any origin may read what is answered.
    """

    path: str
    query: str
    route: Path | None
    segments: tuple[str, ...]
    opened: bool


@remembering
def read(raw: str) -> Target:
    """What `raw` asks for: a path, and maybe a query; a fragment is nobody's."""
    path, _, query = raw.partition("#")[0].partition("?")
    route, segments = routes.resolve(path) or (None, ())
    return Target(path, query, route, segments, routes.open_to_all(path))
