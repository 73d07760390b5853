"""Guests of the server: operations with their handlers, and the site of pages.

The server gets its guests at its start (serve/app.py) and imports none of them.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from serve.access.call import Response
from serve.contract.errors import ApiError
from serve.contract.operation import Kind, Operation
from serve.http.http_request import HttpRequest

RouteHandler = Callable[[HttpRequest], Awaitable[Response]]


class Site(Protocol):
    """The pages at all paths that are no route of the API."""

    async def respond(self, request: HttpRequest) -> Response:
        """The page that a request asks for.

        Raises:
            ApiError: 404, 405, and those of the page.
            StoreUnavailable: not counted, or `maybe_done`.
        """

    def error_response(self, request: HttpRequest, error: ApiError) -> Response:
        """An error as a page, or as JSON for a client that does not prefer HTML."""

    async def error_for_person(self, request: HttpRequest, error: ApiError) -> Response:
        """`error_response`, whose page shows a person who is logged in as such."""


@dataclass(frozen=True, slots=True)
class Guests:
    """The guests of a server.

    Attributes:
        operations: those of the server and of its guests, which are its route table.
        handlers: those of the kinds that the server does not serve itself.
    """

    operations: Sequence[Operation]
    handlers: Mapping[Kind, RouteHandler]
    site: Site
