"""The operations of the documents, by path: the description of the API for programs, browsers and language models.

All are made once, when a server starts.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from serve.access.burst_gate import Limiter
from serve.access.call import Response
from serve.access.context import ServerContext
from serve.config import BurstLimits
from serve.contract.feature import Feature, OpenFeature, Product
from serve.contract.operation import Operation
from serve.http import static_pages
from serve.http.http_request import HttpRequest
from serve.http.static_pages import StaticPage
from serve.request import query_string
from serve.surfaces.docs import document, llms
from serve.surfaces.docs.manual import manual
from serve.surfaces.docs.viewer import FILE, viewer

_VIEWER: Final = "docs-file"
_OPENAPI: Final = "openapi.json"


@cache
def documents(product: Product, base_url: str, debit: BurstLimits) -> Mapping[str, StaticPage]:
    """The documents of a server, made once.

    Args:
        base_url: the address of the service as callers write it.
        debit: the burst limits of the server.
    """
    described = {"openapi.json": document.page(product, base_url, debit)}
    return {**described, **viewer(base_url), **llms.make_pages(product, base_url, debit)}


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
    if target.route.name == _VIEWER:  # it has one language; every other page takes `lang`
        pairs = tuple(pair for pair in pairs if pair[0] != "lang")
    return static_pages.response(pages, path, pairs, request.if_none_match)


def _document(name: str, path: str, route: str, place: int, *media: str, **more: Any) -> Operation:
    return Operation(
        name, path, route, "document", "Documents", respond,
        place=place, media=media, **{"opened": True, **more},
    )  # fmt: skip


def open_documents(context: ServerContext, _limiter: Limiter) -> OpenFeature:
    """Make all documents: that takes a while, and no client should wait for them."""
    documents(context.product, context.config.base_url, context.config.debit)
    manual(context.product)
    return OpenFeature()


SURFACE: Final = Feature(
    __package__,
    (
        _document("readDescription", "/openapi.json", "openapi", 290, "application/json"),
        _document("readDocumentationText", "/docs.md", "docs-markdown", 300, "text/markdown"),
        _document("readSummary", "/llms.txt", "llms", 310, "text/plain"),
        _document("readWhole", "/llms-full.txt", "llms-full", 320, "text/plain"),
        # The files beside the pages of the documentation, which are those of the website.
        _document(
            "readDocumentationFile", "/docs/{file}", "docs-file", 330,
            "text/javascript", "text/css", "image/png", "text/html", opened=False, path_parameters=(FILE,),
        ),
    ),
    open_documents,
    guides={"demarrage": 10, "pagination": 20, "erreurs": 30, "credits": 40, "http": 80, "modeles": 90},
)  # fmt: skip
