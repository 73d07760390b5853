"""/statut: what is served, how old it is, how it was built, how long this process has run."""

from collections.abc import Mapping
from typing import Any

import orjson

from serve.access.result import Response
from serve.data.open_generation import OpenGeneration
from serve.website import facet_bars
from serve.website.page_request import PageContext, PageRequest
from serve.website.render import page
from shards.generations import generation_files


async def status(desk: PageContext, visit: PageRequest) -> Response:
    """The state of the service.

    Raises:
        ApiError: 503: there is no generation.
    """
    published = desk.site.published
    with published.lease() as edition:
        visit.trace.generation = edition.id
        since = published.standing.since
        assert since  # something is published, for it is leased
        reference = edition.reference
        counts = {one.iso2: reference.societes(one.iso2) for one in reference.pays}
        report = orjson.loads(edition.document("quality", lambda: _report(desk, edition)) or b"{}")
        return page(
            desk, visit, "status.html",
            generation=edition.id,
            since=since,
            age=int((visit.now - since).total_seconds()),
            uptime=int((visit.now - desk.started).total_seconds()),
            total=reference.total,
            pays=sorted(reference.pays, key=lambda one: -counts[one.iso2]),
            counts=counts,
            names=facet_bars.labels(visit, reference),
            quality=_by_country(report),
        )  # fmt: skip


def _report(desk: PageContext, edition: OpenGeneration) -> bytes:
    path = desk.site.published.data / edition.id / generation_files.QUALITY
    return path.read_bytes() if path.exists() else b""


def _by_country(report: Mapping[str, Any]) -> Mapping[str, Any]:
    found = report.get("pays", report)
    return found if isinstance(found, dict) else {}
