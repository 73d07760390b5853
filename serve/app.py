"""The application: what happens to a request, in the order in which it happens (contract D5).

    route 404 → method 405 → preflight → key → burst 429 → data 503 → parameters 400 → 304 →
    daily 429 → work → charge

Here, and in serve/connection.py below HTTP itself, is all that knows aiohttp. The routes are plain
functions of an Ask and an Edition, so this is a low-level `web.Server` with one handler instead of
an Application: nine paths need no framework, and the order above stays visible.

A search is made on the event loop where it takes a millisecond or two, for a hop to a thread takes
a tenth of one; a dear one is made aside (serve/edition.py), and the loop answers others meanwhile.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from aiohttp import web

from quota.errors import StoreUnavailable
from quota.plans import Plan
from serve import (
    addresses,
    errors,
    export,
    exporting,
    metered,
    meters,
    pages,
    params,
    refusal,
    target,
)
from serve.answer import NO_STORE, Answer, Ask, of_error
from serve.caller import Caller, identify
from serve.config import Debit, Network
from serve.counters import Counters
from serve.download import Download
from serve.errors import ApiError
from serve.export import Exporter
from serve.gate import Gate, Limiter
from serve.headers import ALLOWED, PREFLIGHT, request_id
from serve.makers import Makers
from serve.metered import Counting, UnchargedError
from serve.meters import Headers, Left
from serve.metrics import CONTENT_TYPE, REFUSALS, Metrics
from serve.offer import offers
from serve.openapi import document
from serve.pages import Page
from serve.published import Published
from serve.reply import Reply
from serve.rights import VISITOR
from serve.routes import Path
from serve.target import Target
from serve.trace import Trace
from serve.viewer import viewer

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
Clock = Callable[[], datetime]

_log: Final = logging.getLogger("serve.app")
_DEFAULT_DEBIT: Final = Debit()


@dataclass(frozen=True, slots=True)
class Site:
    """What every request is answered with. `offers`: JSON of `offre_suivante` by plan."""

    published: Published
    counters: Counters
    gate: Gate
    plans: Mapping[str, Plan]
    offers: Mapping[str, bytes]
    base_url: str
    trusted: Sequence[Network]
    metrics: Metrics
    now: Clock
    exporter: Exporter | None
    pages: Mapping[str, Page]


def make_site(
    published: Published,
    counters: Counters,
    limiter: Limiter,
    plans: Mapping[str, Plan],
    *,
    debit: Debit = _DEFAULT_DEBIT,
    base_url: str = "",
    trusted: Sequence[Network] = (),
    metrics: Metrics | None = None,
    now: Clock = lambda: datetime.now(UTC),
    makers: Makers | None = None,
) -> Site:
    """A site of these parts; the clock is one of them, so that midnight can be tested."""
    terms = {slug: meters.terms(plan, debit) for slug, plan in plans.items()}
    gate = Gate(limiter, terms, debit.listes)
    return Site(
        published,
        counters,
        gate,
        plans,
        offers(plans),
        base_url,
        trusted,
        metrics or Metrics(),
        now,
        Exporter(makers, debit.exports, now) if makers else None,
        {"openapi.json": document.page(base_url), **viewer(base_url)},
    )


def make_handler(site: Site) -> Handler:
    """The handler of every request that could be read."""

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        raw = request.raw_path
        # A proxy may send a whole URL, of which only the end is ours (RFC 9112 §3.2.2).
        asked = target.read(raw if raw.startswith("/") else str(request.rel_url))
        trace = Trace(request_id(request.headers.get("X-Request-Id")), asked.path)
        trace.address = request.remote
        try:
            answer = await _answer(site, request, asked, trace)
        except Exception:  # noqa: BLE001 - the one place: the caller gets an id to report
            _log.exception("request failed", extra={"fields": {"request_id": trace.request_id}})
            answer = of_error(errors.erreur_interne(trace.request_id))
        reply = Reply if answer.file is None else Download
        return reply(answer, trace, opened=asked.opened)

    return handle


async def _answer(site: Site, request: web.BaseRequest, asked: Target, trace: Trace) -> Answer:
    try:
        answer = await _of_path(site, request, asked, trace)
        trace.quota = answer.outcome
        return answer
    except ApiError as error:
        trace.quota = error.code if error.code in REFUSALS else ""
        return of_error(error)
    except StoreUnavailable as error:
        site.metrics.store_error()
        fields = {"request_id": trace.request_id}
        _log.error("the counters cannot be kept: %s", error, extra={"fields": fields})
        if isinstance(error, UnchargedError):
            return error.answer
        return of_error(errors.indisponible(errors.NO_COUNTERS))


async def _of_path(site: Site, request: web.BaseRequest, asked: Target, trace: Trace) -> Answer:
    """The answer of whatever the path leads to; ApiError if it leads to none."""
    path = asked.route
    if path is None:
        raise errors.route_inconnue()
    trace.route = path.name
    if request.method == "OPTIONS":
        return Answer(204, b"", {"Allow": path.allow, **PREFLIGHT, ALLOWED: path.allow})
    if request.method not in path.methods:
        raise errors.methode_non_autorisee(request.method, path.allow)
    if site.trusted:
        forwarded = request.headers.getall("X-Forwarded-For", [])
        trace.address = addresses.caller(request.remote, forwarded, site.trusted)
    if path.keyed:
        return await _keyed(site, request, path, asked, trace)
    if path.export:
        return await _exported(site, request, asked, trace)
    if path.route:
        return _list(site, request, path, asked, trace)
    if path.page:
        page = "/".join(part or asked.segments[0] for part in path.segments)
        given = params.pairs(asked.query)
        return pages.answer(site.pages, page, given, _if_none_match(request))
    if path.check:
        return path.check(site.published.standing)
    text = site.metrics.text(site.published.standing, site.now())
    return Answer(200, text, {**NO_STORE, "Content-Type": CONTENT_TYPE})


def _list(site: Site, request: web.BaseRequest, path: Path, asked: Target, trace: Trace) -> Answer:
    assert path.route
    site.gate.lists(trace.address, site.now())
    # A list is public: a key, good or bad, changes nothing there (A2).
    visitor = Caller(site.plans[VISITOR])
    trace.plan = visitor.plan.slug
    with site.published.lease() as edition:
        trace.generation = edition.id
        return path.route(_ask(site, request, asked, visitor, trace), edition)


async def _keyed(
    site: Site, request: web.BaseRequest, path: Path, asked: Target, trace: Trace
) -> Answer:
    """A search, a record or the account: what depends on who calls."""
    now = site.now()
    caller = await _caller(site, request, trace)
    left = await _passed(site, caller, trace, now)
    if path.account:
        counting = _counting(site, caller, left, now)
        if counting is None:
            raise errors.compte_requis(refused=caller.refused)
        return await path.account(_ask(site, request, asked, caller, trace), counting)
    assert path.work
    with site.published.lease() as edition:
        trace.generation = edition.id
        try:
            ask = _ask(site, request, asked, caller, trace)
            work = path.work(ask, edition)
            counting = _counting(site, caller, left, now)
            if counting is not None:
                return await metered.identified(work, ask, counting)
            told = meters.visitor(site.gate.terms[caller.plan.slug], left, now)
            answer = await metered.unmetered(work, ask, told)
        except ApiError as error:
            if caller.refused:
                raise refusal.instead_of(error) from error
            raise
    return refusal.around(answer) if caller.refused else answer


async def _exported(site: Site, request: web.BaseRequest, asked: Target, trace: Trace) -> Answer:
    """A workbook, for who has an account (A3)."""
    now = site.now()
    caller = await _caller(site, request, trace)
    left = await _passed(site, caller, trace, now, standing=export.standing)
    counting = _counting(site, caller, left, now)
    if counting is None:
        raise errors.compte_requis(refused=caller.refused)
    if site.exporter is None:
        raise errors.config("les exports")
    return await exporting.answer(
        request, asked, caller, counting, site.published, site.exporter, trace
    )


async def _caller(site: Site, request: web.BaseRequest, trace: Trace) -> Caller:
    headers = request.headers.getall("Authorization", [])
    caller = await identify(headers, site.plans, site.counters.find)
    trace.plan = caller.plan.slug
    trace.account = caller.account.id if caller.account else None
    return caller


async def _passed(
    site: Site,
    caller: Caller,
    trace: Trace,
    now: datetime,
    standing: Callable[[Plan, Counting], Awaitable[Headers]] = metered.standing,
) -> Left:
    """What is left of the burst limits, for a caller that may pass; `standing` tells its meter."""
    try:
        return site.gate.identified(caller, trace.address, now)
    except ApiError as error:
        counting = _counting(site, caller, Left(0), now)
        if counting is not None:
            # The meter of the route is told on every 429 (§7 rule 1).
            error.headers |= await standing(caller.plan, counting) | error.headers
        raise


def _counting(site: Site, caller: Caller, left: Left, now: datetime) -> Counting | None:
    if caller.account is None:
        return None
    terms = site.gate.terms[caller.plan.slug]
    return Counting(site.counters.store, caller.account, terms, left, site.plans, now)


def _ask(
    site: Site,
    request: web.BaseRequest,
    asked: Target,
    caller: Caller,
    trace: Trace,
) -> Ask:
    trace.pairs = params.pairs(asked.query)
    return Ask(
        path=asked.path,
        segments=asked.segments,
        pairs=trace.pairs,
        caller=caller,
        offer=site.offers[caller.plan.slug],
        base_url=site.base_url,
        if_none_match=None if caller.refused else _if_none_match(request),
        head=request.method == "HEAD",
    )


def _if_none_match(request: web.BaseRequest) -> str | None:
    # A header that was sent twice means both lines (RFC 9110 §5.3).
    return ", ".join(request.headers.getall("If-None-Match", [])) or None
