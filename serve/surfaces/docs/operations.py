"""The operations of the documents, by path: the description of the API for programs, browsers and language models.

All are made once as bytes, when a server starts: they are the same for every caller. They have no parameters, no meter
and no key; a tag of their bytes turns a repeated request into a 304.
"""

from collections.abc import Mapping
from functools import cache, lru_cache
from hashlib import sha256
from typing import Any, Final

from serve.access.burst_gate import Limiter
from serve.access.call import Request, Response, respond_by_tag
from serve.access.context import ServerContext
from serve.config import BurstLimits
from serve.contract.feature import Feature, OpenFeature, Operation, Product
from serve.request import reader
from serve.surfaces.docs import document, llms
from serve.surfaces.docs.manual import manual
from serve.surfaces.docs.viewer import FILE, viewer

_VIEWER: Final = "docs-file"
_OPENAPI: Final = "openapi.json"
# A document may change when a server starts.
_SHORT: Final = "public, max-age=300"


@cache
def documents(product: Product, base_url: str, debit: BurstLimits) -> Mapping[str, Response]:
    """The documents of a server by path ("docs/start.js"), made once.

    Args:
        base_url: the address of the service as callers write it.
        debit: the burst limits of the server.
    """
    described = {_OPENAPI: document.page(product, base_url, debit)}
    pages = {**described, **viewer(base_url), **llms.make_pages(product, base_url, debit)}
    return {path: _tagged(page) for path, page in pages.items()}


@lru_cache(maxsize=2)
def _description(described: bytes, generation: str) -> Response:
    """The description of the API whose examples can be sent while this generation is served."""
    return _tagged(document.with_generation(described, generation))


def _tagged(page: Response) -> Response:
    tag = f'"{sha256(page.body).hexdigest()[:32]}"'
    first = {"ETag": tag, "Content-Type": page.headers["Content-Type"], "Cache-Control": _SHORT}
    return page._replace(headers=first | dict(page.headers))


async def respond(request: Request) -> Response:
    """The document that a request asks for, or 304.

    Raises:
        ApiError: 404: there is no such file; 400: a query string; 429.
    """
    operation, context = request.operation, request.context
    context.gate.files(request.trace.address, context.now())
    config = context.config
    assert operation
    path = operation.path.removeprefix("/")
    if operation.route == _VIEWER:
        path = f"docs/{request.segments[0]}"
    page = documents(context.product, config.base_url, config.debit).get(path)
    if page is None:
        raise context.product.unknown_path(f"/{path}")
    if path == _OPENAPI and (generation := context.published.generation):
        page = _description(page.body, generation)
    pairs = reader.query_pairs(request.query)
    if operation.route == _VIEWER:  # it has one language; every other page takes `lang`
        pairs = tuple(pair for pair in pairs if pair[0] != "lang")
    reader.refuse_parameters(pairs)
    return respond_by_tag(request, page)


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
    guides={"demarrage": 10, "pagination": 20, "erreurs": 30, "credits": 40, "http": 80},
)  # fmt: skip
