"""The product: its features, the surfaces that show them, and the process that serves both.

To take a feature out of the service, take its line out. Nothing else imports one.
"""

from collections.abc import Coroutine, Sequence
from typing import Any, Final

from serve.access.burst_gate import Limiter
from serve.access.context import ServerContext
from serve.contract.feature import OpenFeature, Product
from serve.features.account.operations import FEATURE as ACCOUNT
from serve.features.analyses.operations import FEATURE as ANALYSES
from serve.features.changes.operations import FEATURE as CHANGES
from serve.features.export.operations import FEATURE as EXPORT
from serve.features.matching.operations import FEATURE as MATCHING
from serve.features.record.operations import FEATURE as RECORD
from serve.features.reference.operations import FEATURE as REFERENCE
from serve.features.search.operations import FEATURE as SEARCH
from serve.features.service.operations import FEATURE as SERVICE
from serve.http.app import Handler, NoSite, make_handler
from serve.surfaces.docs.operations import SURFACE as DOCS
from serve.surfaces.mcp.operations import SURFACE as MCP
from serve.surfaces.site.adapter import SURFACE as SITE

PRODUCT: Final = Product(
    # Documents have the objects of answers in this order.
    features=(
        REFERENCE,
        SERVICE,
        ACCOUNT,
        CHANGES,
        MATCHING,
        RECORD,
        ANALYSES,
        SEARCH,
        EXPORT,
    ),
    surfaces=(DOCS, MCP, SITE),
)


class App:
    """The product of a context, open in one process."""

    def __init__(self, context: ServerContext, limiter: Limiter) -> None:
        """
        Raises:
            NotAllowedError, OSError: a service of the settings cannot be used.
        """
        product = context.product
        self._open: Sequence[OpenFeature] = [
            part.open(context, limiter)
            for part in (*product.features, *product.surfaces)
            if part.open
        ]
        site = next((part.site for part in self._open if part.site), NoSite())
        self.handler: Final[Handler] = make_handler(context, site)

    def background(self) -> Sequence[Coroutine[Any, Any, None]]:
        """The work beside requests, until it is cancelled."""
        return [part.background() for part in self._open if part.background]

    async def begin(self) -> None:
        """Do the work that waits until requests are taken."""
        for part in self._open:
            if part.begin:
                await part.begin()

    async def close(self) -> None:
        """End the processes of features."""
        for part in self._open:
            if part.close:
                await part.close()
