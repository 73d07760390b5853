"""How a request gets in, whichever way it came: who calls, whether they may, what it costs.

The routes and the tools (serve/mcp) come through here, so that both have the same rights, the same
meters and the same order of checks (contract D5):

    key → burst 429 → data 503 → parameters 400 → 304 → daily 429 → work → charge
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from quota.errors import StoreUnavailable
from quota.plans import Plan
from serve.access import billing, envelope, quota_headers
from serve.access.billing import Counting, UnchargedError
from serve.access.caller import Caller, identify
from serve.access.context import ServerContext
from serve.access.quota_headers import Headers, Left
from serve.access.result import NO_STORE, Prepare, PublicList, Request, Response, of_error
from serve.access.rights import VISITOR
from serve.contract import errors
from serve.contract.errors import ApiError
from serve.observe.request_trace import RequestTrace
from serve.request.params import Pairs

# MERGED serve/refusal.py
# The answer to a key that is not valid: status 401 around what a visitor gets (contract A1).
#
# The key is checked before the parameters (D5), so the status is 401 whatever else is wrong; what
# else is wrong is told in the same body, for nothing is ignored silently.

# Of the visitor's answer these stay; a tag or a place to find it again would not be true of a 401.
_KEPT: Final = (
    "X-Plafond-Resultats", "X-Quota-Limit", "X-Quota-Used", "X-Quota-Reset", "RateLimit",
    "RateLimit-Policy",
)  # fmt: skip


def around(answer: Response) -> Response:
    """The visitor's complete answer, refused."""
    refusal = errors.cle_invalide()
    body = envelope.with_erreur(answer.body, refusal.erreur)
    return Response(refusal.status, body, NO_STORE | _kept(answer.headers) | refusal.headers)


def instead_of(error: ApiError) -> ApiError:
    """The refusal where a visitor would have got `error`, which it tells as well."""
    refusal = errors.cle_invalide()
    message = f"{refusal.message}. De plus : {error.message}"
    headers = _kept(error.headers) | refusal.headers
    return ApiError(refusal.code, message, headers=headers, **error.extra)


def _kept(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: headers[name] for name in _KEPT if name in headers}


_log: Final = logging.getLogger("serve.access.admission")


class Call(NamedTuple):
    """A request whose parameters nobody has looked at: `read` is asked for them in their turn.

    `segments` are the variable parts of its path, decoded. Raises of `read`: ApiError 400.
    """

    path: str
    segments: tuple[str, ...]
    read: Callable[[], Pairs]
    if_none_match: str | None = None
    head: bool = False


async def caller(site: ServerContext, authorization: Sequence[str], trace: RequestTrace) -> Caller:
    """Who calls with these Authorization headers. Raises StoreUnavailable."""
    known = await identify(authorization, site.plans, site.counters.find)
    trace.plan = known.plan.slug
    if known.account:
        trace.account = known.account.id
        site.uses.note(site.counters.store, authorization[0], site.now().date())
    return known


def listed(site: ServerContext, route: PublicList, call: Call, trace: RequestTrace) -> Response:
    """A public list: a key, good or bad, changes nothing there (A2)."""
    site.gate.lists(trace.address, site.now())
    visitor = Caller(site.plans[VISITOR])
    trace.plan = visitor.plan.slug
    with site.published.lease() as edition:
        trace.generation = edition.id
        return route(ask(site, call, visitor), edition)


async def worked(
    site: ServerContext, prepare: Prepare, call: Call, known: Caller, trace: RequestTrace
) -> Response:
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
                return await billing.identified(work, asked, counted)
            told = quota_headers.visitor(site.gate.terms[known.plan.slug], left, now)
            answer = await billing.unmetered(work, asked, told)
        except ApiError as error:
            if known.refused:
                raise instead_of(error) from error
            raise
    return around(answer) if known.refused else answer


async def passed(
    site: ServerContext,
    known: Caller,
    trace: RequestTrace,
    now: datetime,
    standing: Callable[[Plan, Counting], Awaitable[Headers]] = billing.standing,
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


def counting(site: ServerContext, known: Caller, left: Left, now: datetime) -> Counting | None:
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


def ask(site: ServerContext, call: Call, known: Caller) -> Request:
    """The request, understood as far as its text. Raises ApiError 400."""
    return Request(
        path=call.path,
        segments=call.segments,
        pairs=call.read(),
        caller=known,
        offer=site.offers[known.plan.slug],
        base_url=site.base_url,
        if_none_match=None if known.refused else call.if_none_match,
        head=call.head,
    )


def unavailable(site: ServerContext, error: StoreUnavailable, trace: RequestTrace) -> Response:
    """503 where the counters cannot be kept, which the operator is told (G9)."""
    site.metrics.store_error()
    fields = {"request_id": trace.request_id}
    _log.error("the counters cannot be kept: %s", error, extra={"fields": fields})
    if isinstance(error, UnchargedError):
        return error.answer
    return of_error(errors.indisponible(errors.NO_COUNTERS))
