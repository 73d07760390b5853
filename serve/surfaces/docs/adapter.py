"""The HTTP side of the documents: a request for one of them, by the path of its route."""

from typing import Final

from serve.access.call import Response
from serve.http import static_pages
from serve.http.http_request import HttpRequest
from serve.request import query_string
from serve.surfaces.docs import document
from serve.surfaces.docs.documents import documents

_VIEWER: Final = "docs-file"
_OPENAPI: Final = "openapi.json"


async def respond(request: HttpRequest) -> Response:
    """The document that a request asks for, or 304.

    Raises:
        ApiError: 404: there is no such file; 400: a query string; 429.
    """
    target, context = request.target, request.context
    context.gate.files(request.trace.address, context.now())
    config = context.config
    assert target.route
    path = "/".join(part or target.segments[0] for part in target.route.segments)
    pages = documents(context.product, config.base_url, config.debit)
    if path == _OPENAPI and (generation := context.published.generation):
        pages = {path: document.with_generation(pages[path].body, generation)}
    if path not in pages:
        raise context.product.unknown_path(f"/{path}")
    pairs = query_string.pairs(target.query)
    if (
        target.route.name == _VIEWER
    ):  # a page that speaks one language; every other page takes `lang`
        pairs = tuple(pair for pair in pairs if pair[0] != "lang")
    return static_pages.response(pages, path, pairs, request.if_none_match)
