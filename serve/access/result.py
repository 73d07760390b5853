"""What a route gives back, before anything knows of sockets, and what it gets to make that from.

A public list is an Answer at once. A search or a record is first a Work: a request that has been
understood, whose parameters are right, and which may now cost something (D5); `billing.py` runs it.

These are tuples: a frozen dataclass takes four times as long to make, and a request makes several.
"""

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import BinaryIO, Final, NamedTuple

from serve.access.caller import Caller
from serve.access.etag import matches
from serve.contract.errors import ApiError
from serve.data.generation_status import GenerationStatus
from serve.data.open_generation import OpenGeneration
from serve.request.params import Pairs

# Which generation an answer is from (G10).
DATA_VERSION: Final = "X-Donnees-Version"
NO_STORE: Final = {"Cache-Control": "no-store"}

_NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})


class Request(NamedTuple):
    """A request. `segments` are the variable parts of its path, decoded.

    `if_none_match` is None for a caller whose key was refused: a 401 has no tag.
    """

    path: str
    segments: tuple[str, ...]
    pairs: Pairs
    caller: Caller
    offer: bytes  # JSON of `offre_suivante`
    base_url: str  # what links begin with; "" makes them relative to the host
    if_none_match: str | None
    head: bool = False  # only the headers are wanted: as GET, but never credits (G1, D1)


class Response(NamedTuple):
    """`outcome`: what became of the counters, for the log; "" where none was asked.

    A `file` is sent instead of the body, and closed; the headers tell its length and kind.
    """

    status: int
    body: bytes
    headers: Mapping[str, str] = _NO_HEADERS
    outcome: str = ""
    file: BinaryIO | None = None


class PreparedCall(NamedTuple):
    """A search or a record that may be done.

    `tag` is None where there is nothing to have a tag. `company` ("EE/10000018") is charged for
    before `run` may be sent; where it cannot be charged, `preview` makes the body from the error.
    """

    run: Callable[[], Awaitable[Response]]
    tag: str | None = None
    headers: Mapping[str, str] = _NO_HEADERS
    company: str | None = None
    preview: Callable[[ApiError], bytes] | None = None

    def is_known(self, ask: Request) -> bool:
        """Has the client this very answer already (RFC 9110 §13.1.2)?"""
        return self.tag is not None and matches(ask.if_none_match, self.tag)


# A list reads a generation; a check gets what is known of those that are served and refused.
PublicList = Callable[[Request, OpenGeneration], Response]
Prepare = Callable[[Request, OpenGeneration], PreparedCall]
Check = Callable[[GenerationStatus], Response]


def of_error(error: ApiError) -> Response:
    """The answer that an error is; none is kept by a cache."""
    return Response(error.status, error.body, NO_STORE | error.headers)


def not_modified(headers: Mapping[str, str]) -> Response:
    """The client has the answer whose headers these would be (RFC 9110 §15.4.5)."""
    return Response(304, b"", headers)
