"""The server with its guests: who answers each route and each page.

The tiny server is what lies below `serve/http`. Files, documents, tools and pages stand on it, and any of
them could be left out here.
"""

import logging
import os
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from quota.errors import StoreUnavailable
from serve.access import billing
from serve.access.burst_gate import Limiter
from serve.access.context import ServerContext
from serve.contract.operation import Kind
from serve.guests.docs import adapter as documents_adapter
from serve.guests.docs.documents import documents
from serve.guests.docs.manual.manual import manual
from serve.guests.files import adapter as files_adapter
from serve.guests.files.worker_pool import Exporter, WorkerPool
from serve.guests.mcp import adapter as mcp_adapter
from serve.guests.operations import OPERATIONS
from serve.guests.site import render, signing
from serve.guests.site.adapter import Website
from serve.guests.site.page_request import PageContext, make_page_context
from serve.http.app import Handler, make_handler
from serve.http.guests import Guests, RouteHandler

_log: Final = logging.getLogger("serve.app")


@dataclass(frozen=True, slots=True)
class App:
    """The server with its guests, as one process runs it."""

    handler: Handler
    pages: PageContext
    pool: WorkerPool

    def background(self) -> Sequence[Coroutine[Any, Any, None]]:
        """The work of guests beside requests, until it is cancelled."""
        return [self.pages.outbox.run()] if self.pages.outbox else []

    async def release(self) -> None:
        """Give back the places of the exports that killed processes of this host were at (F5)."""
        for account, reservation in self.pool.abandoned:
            try:
                await billing.release_export(self.pages.store, account, reservation)
            except StoreUnavailable as error:
                _log.warning(
                    "an export of a killed process keeps its place until it expires: %s", error
                )

    async def close(self) -> None:
        """End the processes that make files."""
        await self.pool.close()


def open_app(server: ServerContext, limiter: Limiter) -> App:
    """The guests of a process, opened.

    Raises:
        NotAllowedError, OSError: the mail server or the payments of the settings cannot be used.
    """
    config = server.config
    assert config.state
    makers = config.makers or _default_makers(config.workers)
    pool = WorkerPool(config.spool or config.state / "exports", makers)
    pool.start()
    pages = make_page_context(server, signing.load(config.state), limiter, pool)
    return App(make_app(pages), pages, pool)


def _default_makers(workers: int) -> int:
    """Two processes that make exports, or one where all together are more than the processors (decision 210)."""
    return 2 if 2 * workers <= (os.cpu_count() or 1) else 1


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
