"""/statut: the data served now, since when, how old they are, and the last publications."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final, NamedTuple

from serve.access.call import Response
from serve.surfaces.site import formatting
from serve.surfaces.site.page_request import PageRequest
from serve.surfaces.site.render import page
from serve.surfaces.site.search import facet_bars
from shards.changes import change_steps
from shards.changes.change_file import ChangeCounts
from shards.changes.change_steps import ChangeStep

_PUBLICATIONS: Final = 5


class Publication(NamedTuple):
    """A generation that took the place of another: its changes, and the countries whose files became newer."""

    counts: ChangeCounts
    dates: Sequence[tuple[str, str | None, str]]


async def status(request: PageRequest) -> Response:
    """The state of the service.

    Raises:
        ApiError: 503: there is no generation.
    """
    published = request.server.published
    with published.lease() as generation:
        request.trace.generation = generation.id
        now = published.status
        assert now.since  # something is published, for it is leased
        reference = generation.reference
        counts = {one.iso2: reference.societes(one.iso2) for one in reference.pays}
        steps = change_steps.history(generation.steps, generation.id)
        return page(
            request, "status.html",
            since=now.since,
            started=request.context.started,
            missing=now.missing,
            sources=generation.sources,
            total=reference.total,
            pays=sorted(reference.pays, key=lambda one: -counts[one.iso2]),
            counts=counts,
            ages={
                iso2: formatting.age_class(one.date, request.now.year)
                for iso2, one in generation.sources.items()
                if counts.get(iso2)
            },
            publications=list(map(_publication, islice(steps, _PUBLICATIONS))),
            names=facet_bars.labels(request, reference),
        )  # fmt: skip


def _publication(step: ChangeStep) -> Publication:
    dates = [
        (iso2, before, after)
        for iso2, (before, after) in step.dates.items()
        if after and after != before
    ]
    return Publication(_sum(step.counts.values()), dates)


def _sum(counts: Iterable[ChangeCounts]) -> ChangeCounts:
    return ChangeCounts(*map(sum, zip(*counts, strict=True)))
