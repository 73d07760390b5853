"""The application: what happens to a request, in the order in which it happens (contract D5).

    route 404 → method 405 → preflight → key → data 503 → parameters 400 → work

Here, and in serve/connection.py below HTTP itself, is all that knows aiohttp. The routes are plain
functions of an Ask and an Edition, so this is a low-level `web.Server` with one handler instead of
an Application: seven paths need no framework, and the order above stays visible.

A search is made on the event loop, not in a thread: it takes about a millisecond, a hop to a thread
a tenth of one, and the loop of another worker is free meanwhile.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from quota.plans import Plan
from serve import errors, params, refusal
from serve.answer import Answer, Ask, of_error
from serve.caller import Caller, identify
from serve.errors import ApiError
from serve.headers import PREFLIGHT, common, request_id
from serve.offer import offers
from serve.published import Published
from serve.routes import ALLOW, METHODS, Path, resolve
from serve.trace import TRACE, Trace

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

_log: Final = logging.getLogger("serve.app")


@dataclass(frozen=True, slots=True)
class Site:
    """What every request is answered with. `offers`: JSON of `offre_suivante` by plan."""

    published: Published
    plans: Mapping[str, Plan]
    offers: Mapping[str, bytes]
    base_url: str


def make_handler(published: Published, plans: Mapping[str, Plan], base_url: str = "") -> Handler:
    """The handler of every request that could be read."""
    site = Site(published, plans, offers(plans), base_url)

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        trace = request[TRACE] = Trace(request_id(request.headers.get("X-Request-Id")))
        try:
            answer = _answer(site, request, trace)
        except Exception:  # noqa: BLE001 - the one place: the caller gets an id to report
            _log.exception("request failed", extra={"fields": {"request_id": trace.request_id}})
            answer = of_error(errors.erreur_interne(trace.request_id))
        return _response(answer, request, trace)

    return handle


def _answer(site: Site, request: web.BaseRequest, trace: Trace) -> Answer:
    try:
        return _of_path(site, request, trace)
    except ApiError as error:
        return of_error(error)


def _of_path(site: Site, request: web.BaseRequest, trace: Trace) -> Answer:
    """The answer of whatever the path leads to; ApiError if it leads to none."""
    found = resolve(request.rel_url.raw_path)
    if found is None:
        raise errors.route_inconnue()
    path, segments = found
    trace.route = path.name
    if request.method == "OPTIONS":
        return Answer(204, b"", {"Allow": ALLOW, **PREFLIGHT})
    if request.method not in METHODS:
        raise errors.methode_non_autorisee(request.method, ALLOW)
    if path.check:
        return path.check(site.published.generation)
    assert path.route
    caller = _caller(site, request, path)
    trace.plan = caller.plan.slug
    with site.published.lease() as edition:
        trace.generation = edition.id
        try:
            answer = path.route(_ask(site, request, segments, caller, trace), edition)
        except ApiError as error:
            if caller.refused:
                raise refusal.instead_of(error) from error
            raise
    return refusal.around(answer) if caller.refused else answer


def _ask(
    site: Site,
    request: web.BaseRequest,
    segments: tuple[str, ...],
    caller: Caller,
    trace: Trace,
) -> Ask:
    trace.pairs = params.pairs(request.rel_url.raw_query_string)
    return Ask(
        path=request.rel_url.raw_path,
        segments=segments,
        pairs=trace.pairs,
        caller=caller,
        offer=site.offers[caller.plan.slug],
        base_url=site.base_url,
        if_none_match=None if caller.refused else _if_none_match(request),
    )


def _caller(site: Site, request: web.BaseRequest, path: Path) -> Caller:
    # A list is public: a key, good or bad, changes nothing there (A2).
    headers = request.headers.getall("Authorization", []) if path.keyed else []
    return identify(headers, site.plans)


def _if_none_match(request: web.BaseRequest) -> str | None:
    # A header that was sent twice means both lines (RFC 9110 §5.3).
    return ", ".join(request.headers.getall("If-None-Match", [])) or None


def _response(answer: Answer, request: web.BaseRequest, trace: Trace) -> web.Response:
    headers = common(request.rel_url.raw_path, trace.request_id) | dict(answer.headers)
    if trace.generation:
        headers["X-Donnees-Version"] = trace.generation
    if not answer.body:
        del headers["Content-Type"]
    return web.Response(status=answer.status, body=answer.body or None, headers=headers)
