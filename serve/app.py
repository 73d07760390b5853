"""The server with its guests: who answers each route and each page.

The tiny server is what lies below `serve/http`. Files, documents, tools and pages stand on it, and any of
them could be left out here.
"""

from collections.abc import Mapping
from functools import partial

from serve.contract.operation import Kind
from serve.guests.docs import adapter as documents_adapter
from serve.guests.docs.documents import documents
from serve.guests.docs.manual.manual import manual
from serve.guests.files import adapter as files_adapter
from serve.guests.files.worker_pool import Exporter
from serve.guests.mcp import adapter as mcp_adapter
from serve.guests.operations import OPERATIONS
from serve.guests.site import render
from serve.guests.site.adapter import Website
from serve.guests.site.page_request import PageContext
from serve.http.app import Handler, make_handler
from serve.http.guests import Guests, RouteHandler


def make_app(pages: PageContext) -> Handler:
    """The handler of every request that could be parsed."""
    config = pages.server.config
    # All take a while, and no client should wait for them.
    documents(config.base_url, config.debit)
    manual()
    render.prepare()
    handlers = guest_handlers(pages.exporter)
    return make_handler(pages.server, Guests(OPERATIONS, handlers, Website(pages)))


def guest_handlers(exporter: Exporter | None) -> Mapping[Kind, RouteHandler]:
    """The handlers of the kinds of guests; `exporter` is None where no files are made."""
    return {
        "file": partial(files_adapter.respond, exporter),
        "tools": mcp_adapter.respond,
        "document": documents_adapter.respond,
    }
