"""How a request gets in, whichever way it came: who calls, whether they may, what it costs.

The routes and the tools (serve/mcp) come through here, so that both have the same rights, the same
meters and the same order of checks (contract D5):

    key → burst 429 → data 503 → parameters 400 → 304 → daily 429 → work → charge
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from quota.errors import StoreUnavailable
from quota.plans import Plan
from serve import errors, metered, meters, refusal
from serve.answer import Answer, Ask, Prepare, Route, of_error
from serve.caller import Caller, identify
from serve.errors import ApiError
from serve.metered import Counting, UnchargedError
from serve.meters import Headers, Left
from serve.params import Pairs
from serve.rights import VISITOR
from serve.site import Site
from serve.trace import Trace

_log: Final = logging.getLogger("serve.doors")


class Call(NamedTuple):
    """A request whose parameters nobody has looked at: `read` is asked for them in their turn.

    `segments` are the variable parts of its path, decoded. Raises of `read`: ApiError 400.
    """

    path: str
    segments: tuple[str, ...]
    read: Callable[[], Pairs]
    if_none_match: str | None = None
    head: bool = False


async def caller(site: Site, authorization: Sequence[str], trace: Trace) -> Caller:
    """Who calls with these Authorization headers. Raises StoreUnavailable."""
    known = await identify(authorization, site.plans, site.counters.find)
    trace.plan = known.plan.slug
    if known.account:
        trace.account = known.account.id
        site.uses.note(site.counters.store, authorization[0], site.now().date())
    return known


def listed(site: Site, route: Route, call: Call, trace: Trace) -> Answer:
    """A public list: a key, good or bad, changes nothing there (A2)."""
    site.gate.lists(trace.address, site.now())
    visitor = Caller(site.plans[VISITOR])
    trace.plan = visitor.plan.slug
    with site.published.lease() as edition:
        trace.generation = edition.id
        return route(ask(site, call, visitor), edition)


async def worked(site: Site, prepare: Prepare, call: Call, known: Caller, trace: Trace) -> Answer:
    """A search or a record, as far as `known` may go; 401 around it for a refused key (A1).

    Raises:
        ApiError: what is wrong with it, a limit that is reached, or nothing to answer from.
        StoreUnavailable: nothing was counted.
    """
    now = site.now()
    left = await passed(site, known, trace, now)
    with site.published.lease() as edition:
        trace.generation = edition.id
        try:
            asked = ask(site, call, known)
            work = prepare(asked, edition)
            counted = counting(site, known, left, now)
            if counted is not None:
                return await metered.identified(work, asked, counted)
            told = meters.visitor(site.gate.terms[known.plan.slug], left, now)
            answer = await metered.unmetered(work, asked, told)
        except ApiError as error:
            if known.refused:
                raise refusal.instead_of(error) from error
            raise
    return refusal.around(answer) if known.refused else answer


async def passed(
    site: Site,
    known: Caller,
    trace: Trace,
    now: datetime,
    standing: Callable[[Plan, Counting], Awaitable[Headers]] = metered.standing,
) -> Left:
    """What is left of the burst limits, for a caller that may pass; `standing` tells its meter."""
    try:
        return site.gate.identified(known, trace.address, now)
    except ApiError as error:
        counted = counting(site, known, Left(0), now)
        if counted is not None:
            # The meter of the route is told on every 429 (§7 rule 1).
            error.headers |= await standing(known.plan, counted) | error.headers
        raise


def counting(site: Site, known: Caller, left: Left, now: datetime) -> Counting | None:
    """What an identified call is counted in; None for a visitor."""
    if known.account is None:
        return None
    terms = site.gate.terms[known.plan.slug]
    return Counting(site.counters.store, known.account, terms, left, site.plans, now)


def needed(counted: Counting | None, known: Caller) -> Counting:
    """Where there is nothing to serve without an account. Raises ApiError 401."""
    if counted is None:
        raise errors.compte_requis(refused=known.refused)
    return counted


def ask(site: Site, call: Call, known: Caller) -> Ask:
    """The request, understood as far as its text. Raises ApiError 400."""
    return Ask(
        path=call.path,
        segments=call.segments,
        pairs=call.read(),
        caller=known,
        offer=site.offers[known.plan.slug],
        base_url=site.base_url,
        if_none_match=None if known.refused else call.if_none_match,
        head=call.head,
    )


def unavailable(site: Site, error: StoreUnavailable, trace: Trace) -> Answer:
    """503 where the counters cannot be kept, which the operator is told (G9)."""
    site.metrics.store_error()
    fields = {"request_id": trace.request_id}
    _log.error("the counters cannot be kept: %s", error, extra={"fields": fields})
    if isinstance(error, UnchargedError):
        return error.answer
    return of_error(errors.indisponible(errors.NO_COUNTERS))
