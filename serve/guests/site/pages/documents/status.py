"""/statut: the generation served, the age of its data, its build, and the uptime of this process."""

from collections.abc import Mapping
from typing import Any

import orjson

from serve.access.call import Response
from serve.generation.open_generation import OpenGeneration
from serve.guests.site.page_request import PageRequest
from serve.guests.site.render import page
from serve.guests.site.search import facet_bars
from shards.generations import generation_files


async def status(request: PageRequest) -> Response:
    """The state of the service.

    Raises:
        ApiError: 503: there is no generation.
    """
    published = request.server.published
    with published.lease() as generation:
        request.trace.generation = generation.id
        since = published.status.since
        assert since  # something is published, for it is leased
        reference = generation.reference
        counts = {one.iso2: reference.societes(one.iso2) for one in reference.pays}
        return page(
            request, "status.html",
            generation=generation.id,
            since=since,
            sources=generation.sources,
            uptime=int((request.now - request.context.started).total_seconds()),
            total=reference.total,
            pays=sorted(reference.pays, key=lambda one: -counts[one.iso2]),
            counts=counts,
            names=facet_bars.labels(request, reference),
            quality=generation.get_or_make("quality", lambda: _quality(request, generation)),
        )  # fmt: skip


def _quality(request: PageRequest, generation: OpenGeneration) -> Mapping[str, Any]:
    """The quality report of the build, by country; empty if there is none."""
    path = request.server.published.data / generation.id / generation_files.QUALITY
    report = orjson.loads(path.read_bytes()) if path.exists() else {}
    by_country = report.get("pays", report)
    return by_country if isinstance(by_country, dict) else {}
