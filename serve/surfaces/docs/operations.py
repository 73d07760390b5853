"""The operations of the documents, by path: the description of the API for programs, browsers and language models.

The documents are made as bytes when a server starts, the same for every caller. They have no parameters except `lang`,
no meter and no key. Their `ETag` is a digest of the bytes, so a repeated request gets a 304.
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

_VIEWER: Final = "docs-file"  # the route of the files of the viewer (/docs/essai)
_OPENAPI: Final = "openapi.json"  # the path of the description of the API, without the first slash
# A document can change when a server starts, so it is cached for five minutes only.
_FIVE_MINUTES: Final = "public, max-age=300"


@cache
def documents(product: Product, base_url: str, debit: BurstLimits) -> Mapping[str, Response]:
    """The documents of a server by path ("docs/start.js"), made once.

    Args:
        base_url: the address of the service for callers.
        debit: the burst limits of the server.
    """
    openapi = {_OPENAPI: document.page(product, base_url, debit)}
    pages = {**openapi, **viewer(base_url), **llms.make_pages(product, base_url, debit)}
    return {path: _add_etag(page) for path, page in pages.items()}


@lru_cache(maxsize=2)
def _description(document_json: bytes, generation: str) -> Response:
    """The description of the API with examples that work while this generation is served."""
    return _add_etag(document.set_generation(document_json, generation))


def _add_etag(page: Response) -> Response:
    """The document with a digest of its bytes as its ETag."""
    tag = f'"{sha256(page.body).hexdigest()[:32]}"'
    document_headers = {
        "ETag": tag,
        "Content-Type": page.headers["Content-Type"],
        "Cache-Control": _FIVE_MINUTES,
    }
    return page._replace(headers=document_headers | dict(page.headers))


async def respond(request: Request) -> Response:
    """The document for a request, or a 304 if the client already has it; counted in the limits of files.

    Raises:
        ApiError: 404: no such file; 400: an unknown parameter; 429.
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
    if operation.route == _VIEWER:  # `lang` is allowed, but the viewer has a single language
        pairs = tuple(pair for pair in pairs if pair[0] != "lang")
    reader.refuse_parameters(pairs)
    return respond_by_tag(request, page)


def _document(
    name: str, path: str, route: str, place: int, *media: str, **options: Any
) -> Operation:
    """The declaration of an operation that returns a document; `options` are other fields of `Operation`."""
    return Operation(
        name, path, route, "document", "Documents", respond,
        place=place, media=media, **{"opened": True, **options},
    )  # fmt: skip


def open_documents(context: ServerContext, _limiter: Limiter) -> OpenFeature:
    """Make all documents at the start, because no client should wait while they are made."""
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
        # The files below /docs; its pages belong to the website.
        _document(
            "readDocumentationFile", "/docs/{file}", "docs-file", 330,
            "text/javascript", "text/css", "image/png", "text/html", opened=False, path_parameters=(FILE,),
        ),
    ),
    open_documents,
    guides={"demarrage": 10, "pagination": 20, "erreurs": 30, "credits": 40, "http": 80},
)  # fmt: skip
