"""The request that a handler gets."""

from functools import partial
from typing import NamedTuple

from aiohttp import web

from serve.access.admission import Call
from serve.access.context import ServerContext
from serve.contract.errors import LANGUAGES
from serve.http import compression
from serve.http.compression import AcceptedCodings
from serve.http.router import RequestTarget
from serve.observe.log import RequestTrace
from serve.request import accept, reader
from serve.request.reader import Pairs


class HttpRequest(NamedTuple):
    """A request of aiohttp, with its parsed target, its trace, and the context to answer it from."""

    message: web.BaseRequest
    target: RequestTarget
    trace: RequestTrace
    context: ServerContext

    @property
    def authorization(self) -> list[str]:
        return self.message.headers.getall("Authorization", [])

    def header(self, name: str) -> str | None:
        """A header; one that was sent twice means both lines (RFC 9110 §5.3)."""
        lines = self.message.headers.getall(name, None)
        return ", ".join(lines) or None if lines else None

    @property
    def if_none_match(self) -> str | None:
        """The tags that the client has, as the routes know them."""
        tags = self.header("If-None-Match")
        return tags and compression.without_codings(tags, self.accepted_codings)

    @property
    def accepted_codings(self) -> AcceptedCodings:
        """The content codings that the client accepts."""
        return compression.read_accept_encoding(self.header("Accept-Encoding"))

    @property
    def lang(self) -> str:
        """The language of errors, and of what answers say in words."""
        return accept.language(self.message.headers.get("Accept-Language")) or LANGUAGES[0]

    def is_gone(self) -> bool:
        """Whether the client has disconnected, so that nobody waits for a file."""
        transport = self.message.transport
        return transport is None or transport.is_closing()

    def call(self) -> Call:
        """The call of a route of the API."""
        return Call(
            self.target.path,
            self.target.segments,
            partial(_pairs, self.target, self.trace),
            self.if_none_match,
            self.message.method == "HEAD",
            self.lang,
        )


def _pairs(target: RequestTarget, trace: RequestTrace) -> Pairs:
    trace.pairs = reader.query_pairs(target.query)
    return trace.pairs
