"""Pages about the service and its operator.

/statut: the served data, since when they are served, how old they are, and the last publications. /mentions-legales:
who operates the service, how to reach the operator, how personal data are used. /confidentialite redirects there.
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

_SHOWN_PUBLICATIONS: Final = 5  # on /statut


class Publication(NamedTuple):
    """A generation that replaced another generation.

    Attributes:
        counts: the changes of all countries.
        dates: each country whose files have a new date: its code, the old date and the new date.
    """

    counts: ChangeCounts
    dates: Sequence[tuple[str, str | None, str]]


async def status(request: PageRequest) -> Response:
    """The page of the state of the service: the served data, their dates, and the last publications.

    Raises:
        ApiError: 503: there is no generation.
    """
    published = request.server.published
    with published.lease() as generation:
        request.trace.generation = generation.id
        current = published.status
        assert current.since  # set, because only a published generation can be leased
        reference = generation.reference
        counts = {country.iso2: reference.societes(country.iso2) for country in reference.pays}
        steps = change_steps.history(generation.steps, generation.id)
        return page(
            request, "status.html",
            since=current.since,
            started=request.context.started,
            missing=current.missing,
            sources=generation.sources,
            total=reference.total,
            pays=sorted(reference.pays, key=lambda country: -counts[country.iso2]),
            counts=counts,
            ages={
                iso2: formatting.age_class(source.date, request.now.year)
                for iso2, source in generation.sources.items()
                if counts.get(iso2)
            },
            publications=list(map(_publication, islice(steps, _SHOWN_PUBLICATIONS))),
            names=formatting.labels(request, reference),
        )  # fmt: skip


def _publication(step: ChangeStep) -> Publication:
    """A step from one generation to the next, with the countries whose files have a new date."""
    dates = [
        (iso2, old_date, new_date)
        for iso2, (old_date, new_date) in step.dates.items()
        if new_date and new_date != old_date
    ]
    return Publication(_sum_counts(step.counts.values()), dates)


def _sum_counts(counts: Iterable[ChangeCounts]) -> ChangeCounts:
    """The changes of several countries together."""
    return ChangeCounts(*map(sum, zip(*counts, strict=True)))


async def legal_notice(request: PageRequest) -> Response:
    """The legal notice, with the section `[editeur]` of the settings.

    The cookies and storage times come from the constants of the program, so the text stays true.
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
        cookies={kind: (cookies.name(kind, secure=secure), lifetime) for kind, lifetime in days.items()},
        links={kind: seconds // 86_400 for kind, seconds in tickets.LASTS_S.items()},
        key_days=activity.KEPT_DAYS,
        list_days=lists.LASTS_S // 86_400,
    )  # fmt: skip


async def privacy(_request: PageRequest) -> Response:
    """Redirect to the legal notice on personal data: people type this address, and other sites print it."""
    return see_other("/mentions-legales#confidentialite")


PAGES: Final = (
    WebRoute("/statut", "statut", status, menu=Text("Statut", "Status"), place=60),
    WebRoute("/mentions-legales", "mentions-legales", legal_notice, cached=True),
    WebRoute("/confidentialite", "confidentialite", privacy),
)
