"""The pages of the service.

/statut: the data served now, since when, how old they are, and the last publications. /mentions-legales: who operates
the service, how to reach them, how personal data are used; /confidentialite leads there.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from itertools import islice
from typing import Final, NamedTuple

from quota.ledger import activity, lists, tickets
from serve.access.call import Response
from serve.contract.text import Text
from serve.surfaces.site import cookies, formatting, sessions
from serve.surfaces.site.page_request import PageRequest, WebRoute
from serve.surfaces.site.render import page, see_other
from shards.generations import change_steps
from shards.generations.change_steps import ChangeCounts, ChangeStep

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
            names=formatting.labels(request, reference),
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


async def legal_notice(request: PageRequest) -> Response:
    """The legal notice from the section `[editeur]` of the settings.

    Cookies, and how long data are kept, are those of the program.
    """
    config, secure = request.server.config, request.context.is_secure
    days = {
        cookies.VISIT: timedelta(seconds=cookies.VISIT_SECONDS).days,
        cookies.SESSION: sessions.LASTS.days,
        cookies.DEVICE: sessions.DEVICE_LASTS.days,
    }
    return page(
        request, "legal.html",
        editor=config.editeur,
        contact=config.operator_address,
        cookies={kind: (cookies.name(kind, secure=secure), last) for kind, last in days.items()},
        links={kind: seconds // 86_400 for kind, seconds in tickets.LASTS_S.items()},
        key_days=activity.KEPT_DAYS,
        list_days=lists.LASTS_S // 86_400,
    )  # fmt: skip


async def privacy(_request: PageRequest) -> Response:
    """A redirect to what the legal notice says of personal data: people type this address, and others print it."""
    return see_other("/mentions-legales#confidentialite")


PAGES: Final = (
    WebRoute("/statut", "statut", status, menu=Text("Statut", "Status"), place=60),
    WebRoute("/mentions-legales", "mentions-legales", legal_notice, kept=True),
    WebRoute("/confidentialite", "confidentialite", privacy),
)
