"""The site: what answers the paths that are no operation. `NoSite` stands in where no pages are served."""

from typing import Protocol

from serve.access.call import Response, of_error
from serve.contract.errors import ApiError
from serve.http.http_request import HttpRequest


class Site(Protocol):
    """The pages at all paths that are no operation."""

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


class NoSite:
    """The site of a service without pages: every path is unknown, and every error is JSON."""

    async def respond(self, request: HttpRequest) -> Response:
        """Raises ApiError: 404, 429."""
        request.context.gate.files(request.trace.address, request.context.now())
        raise request.context.product.unknown_path(request.target.path)

    def error_response(self, request: HttpRequest, error: ApiError) -> Response:
        """The error as JSON."""
        return of_error(error, request.lang)

    async def error_for_person(self, request: HttpRequest, error: ApiError) -> Response:
        """The error as JSON."""
        return of_error(error, request.lang)
