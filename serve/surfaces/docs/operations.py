"""The operations of the documents."""

from typing import Any, Final

from serve.access.burst_gate import Limiter
from serve.access.context import ServerContext
from serve.contract.feature import Feature, OpenFeature
from serve.contract.operation import Operation
from serve.surfaces.docs import adapter
from serve.surfaces.docs.documents import documents
from serve.surfaces.docs.manual import manual
from serve.surfaces.docs.viewer import FILE


def _document(name: str, path: str, route: str, place: int, *media: str, **more: Any) -> Operation:
    return Operation(
        name, path, route, "document", "Documents", adapter.respond,
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
)  # fmt: skip
