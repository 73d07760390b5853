"""The operations of exports, and the worker pool that makes the files."""

import logging
import os
from typing import Final

from quota.errors import StoreUnavailable
from serve.access import billing
from serve.access.burst_gate import Limiter
from serve.access.context import ServerContext
from serve.contract.declaration import body_of_parameters
from serve.contract.feature import BodyExample, Feature, OpenFeature, Operation
from serve.contract.text import Text
from serve.features.export import export, pages
from serve.features.export.export import Exporter
from serve.features.export.worker_pool import WorkerPool
from serve.request import json_body
from serve.surfaces.site.page_request import Downloads

_PATH: Final = "/api/v1/export"

# The headers of the response, for the documentation.
_HEADERS: Final = (
    "X-Export-Lignes",
    "X-Export-Total",
    "X-Export-Plafond",
    "X-Export-Comptes",
    "X-Export-Comptes-Plafond",
    "X-Export-Ids-Inconnus",
    "X-Export-Ids-Inconnus-Total",
    "X-Export-Activites",
    "X-Export-Activites-Total",
    "X-Export-Coordonnees",
)
# The body of POST, and an example of it.
DemandeExport: Final = body_of_parameters("DemandeExport", export.PARAMETERS)
BODIES: Final = (
    BodyExample(
        "export",
        Text(
            "Les sociétés britanniques dont le nom contient `steel`, en anglais",
            "British companies with `steel` in their name, in English",
        ),
        {"pays": "UK", "q": "steel", "limit": 50, "lang": "en"},
    ),
)

_log: Final = logging.getLogger("serve.features.export")


def open_export(context: ServerContext, limiter: Limiter) -> OpenFeature:
    """Open the worker pool; each process starts when it is needed.

    The result has the functions that run at the start (release the exports of killed processes) and at the end.
    """
    config = context.config
    assert config.state
    pool = WorkerPool(
        config.spool or config.state / "exports", config.makers or _default_makers(config.workers)
    )
    pool.start()
    debit = config.debit
    context.services[Exporter] = Exporter(
        pool, limiter, debit.exports, debit.exports_abandonnes, context.now
    )
    context.services[Downloads] = Downloads(pages.download)
    context.metrics.exports = pool

    async def release() -> None:
        """Release the reservations of the exports that killed processes of this host were making (F5)."""
        for account, reservation in pool.abandoned:
            try:
                await billing.release_export(context.holder.store, account, reservation)
            except StoreUnavailable as error:
                _log.warning(
                    "the export of a killed process stays reserved until it expires: %s", error
                )

    return OpenFeature(begin=release, close=pool.close)


def _default_makers(workers: int) -> int:
    """The default of `makers`: two, or one if the host has fewer than two processors per worker (decision 210)."""
    return 2 if 2 * workers <= (os.cpu_count() or 1) else 1


FEATURE: Final = Feature(
    __package__,
    (
        Operation(
            "exportCompanies", _PATH, "export", "file", "Companies", export.respond, place=180,
            account=True, head=False, parameters=export.PARAMETERS, headers=_HEADERS, refusals=[406],
        ),
        Operation(
            "exportCompaniesFromBody", _PATH, "export", "file", "Companies", export.respond, place=190,
            method="POST", account=True, body=DemandeExport, bodies=BODIES, largest=json_body.LARGEST,
            headers=_HEADERS, refusals=[406],
        ),
    ),
    open_export,
    guides={"exports": 70},
)  # fmt: skip
