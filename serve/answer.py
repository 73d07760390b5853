"""What a route gives back, before anything knows of sockets: status, bytes, its own headers.

And what a route gets: a request that has been taken apart, and the generation it is answered from.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from serve.caller import Caller
from serve.edition import Edition
from serve.errors import ApiError
from serve.params import Pairs

NO_STORE: Final = {"Cache-Control": "no-store"}


@dataclass(frozen=True, slots=True)
class Ask:
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


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


# A route reads a generation; a check gets the name of the one being served, if there is one.
Route = Callable[[Ask, Edition], Answer]
Check = Callable[[str | None], Answer]


def of_error(error: ApiError) -> Answer:
    """The answer that an error is; none is kept by a cache."""
    return Answer(error.status, error.body, NO_STORE | error.headers)


def not_modified(headers: Mapping[str, str]) -> Answer:
    """The client has the answer whose headers these would be (RFC 9110 §15.4.5)."""
    return Answer(304, b"", headers)
