"""The product: its features, its surfaces, and the process that serves them.

To remove a feature from the service, remove its line. No other module imports a feature.
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
    # The documents list the objects of answers in this order.
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
    """The features and surfaces of the product of a context, opened in this process."""

    def __init__(self, context: ServerContext, limiter: Limiter) -> None:
        """Open the features and surfaces; without a site, the paths of pages are unknown.

        Raises:
            NotAllowedError, OSError: a service in the settings cannot be used.
        """
        product = context.product
        self._open_features: Sequence[OpenFeature] = [
            feature.open(context, limiter)
            for feature in (*product.features, *product.surfaces)
            if feature.open
        ]
        site = next((feature.site for feature in self._open_features if feature.site), NoSite())
        self.handler: Final[Handler] = make_handler(context, site)

    def background(self) -> Sequence[Coroutine[Any, Any, None]]:
        """The background work of the features; it runs until it is cancelled."""
        return [feature.background() for feature in self._open_features if feature.background]

    async def begin(self) -> None:
        """Start the work that must wait until the server accepts requests."""
        for feature in self._open_features:
            if feature.begin:
                await feature.begin()

    async def close(self) -> None:
        """Close the features, which ends the processes that they started."""
        for feature in self._open_features:
            if feature.close:
                await feature.close()
