"""The operations of exports, and the processes that make the files."""

import logging
import os
from typing import Final

from quota.errors import StoreUnavailable
from serve.access import billing
from serve.access.burst_gate import Limiter
from serve.access.context import ServerContext
from serve.contract import parameters
from serve.contract.feature import Feature, OpenFeature
from serve.contract.objects import bodies
from serve.contract.operation import Operation
from serve.features.export import adapter, form
from serve.features.export.worker_pool import Exporter, WorkerPool
from serve.request import json_body
from serve.surfaces.site.exports import Downloads

_PATH: Final = "/api/v1/export"

_log: Final = logging.getLogger("serve.features.export")


def open_export(context: ServerContext, limiter: Limiter) -> OpenFeature:
    """Open the pool of processes, which start when they are needed."""
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
    context.services[Downloads] = Downloads(form.download)
    context.metrics.exports = pool

    async def release() -> None:
        """Give back the places of the exports that killed processes of this host were at (F5)."""
        for account, reservation in pool.abandoned:
            try:
                await billing.release_export(context.holder.store, account, reservation)
            except StoreUnavailable as error:
                _log.warning(
                    "an export of a killed process keeps its place until it expires: %s", error
                )

    return OpenFeature(begin=release, close=pool.close)


def _default_makers(workers: int) -> int:
    """Two processes that make exports, or one where all together are more than the processors (decision 210)."""
    return 2 if 2 * workers <= (os.cpu_count() or 1) else 1


FEATURE: Final = Feature(
    __package__,
    (
        Operation(
            "exportCompanies", _PATH, "export", "file", "Companies", adapter.respond, place=180,
            account=True, head=False, parameters=parameters.EXPORT, refusals=[406],
        ),
        Operation(
            "exportCompaniesFromBody", _PATH, "export", "file", "Companies", adapter.respond, place=190,
            method="POST", account=True, body=bodies.DemandeExport, largest=json_body.LARGEST,
            refusals=[406],
        ),
    ),
    open_export,
)  # fmt: skip
