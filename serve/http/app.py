"""The application: what happens to a request, in the order in which it happens (contract D5).

    route 404 → method 405 → preflight → key → burst 429 → data 503 → parameters 400 → 304 →
    daily 429 → work → charge

Here, and in serve/http/connection.py below HTTP itself, is all that knows aiohttp. The routes are plain
functions of an Ask and an Edition, so this is a low-level `web.Server` with one handler instead of
an Application: so few paths need no framework, and the order above stays visible.

A search is made on the event loop where it takes a millisecond or two, for a hop to a thread takes
a tenth of one; a dear one is made aside (serve/data/open_generation.py), and the loop answers others meanwhile.
"""

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from aiohttp import web

from quota.errors import StoreUnavailable
from serve.access import admission
from serve.access.admission import Call
from serve.access.context import ServerContext
from serve.access.result import NO_STORE, Response, of_error
from serve.api import export, routes, static_pages
from serve.api.routes import RequestTarget, Route
from serve.contract import errors
from serve.contract.errors import ApiError
from serve.docs.documents import documents
from serve.http import export_route, mcp_route, website_route
from serve.http.headers import ALLOWED, MCP_PREFLIGHT, PREFLIGHT, request_id
from serve.http.reply import Download, Reply
from serve.observe.metrics import CONTENT_TYPE, REFUSALS
from serve.observe.request_trace import RequestTrace
from serve.request import client_address, params
from serve.request.params import Pairs
from serve.website import render
from serve.website.page_request import PageContext

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

_log: Final = logging.getLogger("serve.http.app")


def make_handler(site: ServerContext, desk: PageContext | None = None) -> Handler:
    """The handler of every request that could be read; without a desk there are no pages."""
    documents(site.base_url, site.debit)  # made now, not while somebody waits
    if desk:
        render.prepare()

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        raw = request.raw_path
        # A proxy may send a whole URL, of which only the end is ours (RFC 9112 §3.2.2).
        asked = routes.read(raw if raw.startswith("/") else str(request.rel_url))
        trace = RequestTrace(request_id(request.headers.get("X-Request-Id")), asked.path)
        trace.address = request.remote
        try:
            answer = await _answer(site, desk, request, asked, trace)
        except Exception:  # noqa: BLE001 - the one place: the caller gets an id to report
            _log.exception("request failed", extra={"fields": {"request_id": trace.request_id}})
            answer = _refused(desk, request, asked, errors.erreur_interne(trace.request_id), trace)
        reply = Reply if answer.file is None else Download
        return reply(answer, trace, opened=asked.opened)

    return handle


async def _answer(
    site: ServerContext,
    desk: PageContext | None,
    request: web.BaseRequest,
    asked: RequestTarget,
    trace: RequestTrace,
) -> Response:
    try:
        answer = await _of_path(site, desk, request, asked, trace)
        trace.quota = answer.outcome
        return answer
    except ApiError as error:
        trace.quota = error.code if error.code in REFUSALS else ""
        return _refused(desk, request, asked, error, trace)
    except StoreUnavailable as error:
        answer = admission.unavailable(site, error, trace)
        if asked.route:
            return answer
        return _refused(desk, request, asked, errors.indisponible(errors.NO_COUNTERS), trace)


def _refused(
    desk: PageContext | None,
    request: web.BaseRequest,
    asked: RequestTarget,
    error: ApiError,
    trace: RequestTrace,
) -> Response:
    """JSON, but outside the API a page for who would rather read one."""
    if desk is None or asked.route or asked.opened:
        return of_error(error)
    return website_route.error_answer(desk, request, asked, error, trace)


async def _of_path(
    site: ServerContext,
    desk: PageContext | None,
    request: web.BaseRequest,
    asked: RequestTarget,
    trace: RequestTrace,
) -> Response:
    """The answer of whatever the path leads to; ApiError if it leads to none."""
    if site.trusted:
        forwarded = request.headers.getall("X-Forwarded-For", [])
        trace.address = client_address.caller(request.remote, forwarded, site.trusted)
    path = asked.route
    if path is None:
        if desk is None or asked.opened:
            raise errors.route_inconnue()
        return await website_route.answer(desk, request, asked, trace)
    trace.route = path.name
    if request.method == "OPTIONS":
        told = MCP_PREFLIGHT if path.mcp else PREFLIGHT
        return Response(204, b"", {"Allow": path.allow, **told, ALLOWED: path.allow})
    if request.method not in path.methods:
        raise errors.methode_non_autorisee(request.method, path.allow)
    if path.keyed:
        return await _keyed(site, request, path, asked, trace)
    if path.export:
        return await _exported(site, request, asked, trace)
    if path.route:
        return admission.listed(site, path.route, _call(request, asked, trace), trace)
    if path.mcp:
        return await mcp_route.answer(site, request, asked, trace)
    if path.page:
        return _page(site, request, path, asked)
    if path.check:
        return path.check(site.published.standing)
    text = site.metrics.text(site.published.standing, site.now())
    return Response(200, text, {**NO_STORE, "Content-Type": CONTENT_TYPE})


def _page(
    site: ServerContext, request: web.BaseRequest, path: Route, asked: RequestTarget
) -> Response:
    page = "/".join(part or asked.segments[0] for part in path.segments)
    known = documents(site.base_url, site.debit)
    if static_pages.wants_markdown(request.headers.get("Accept", "")) and f"{page}.md" in known:
        page = f"{page}.md"
    return static_pages.answer(known, page, params.pairs(asked.query), _if_none_match(request))


async def _keyed(
    site: ServerContext,
    request: web.BaseRequest,
    path: Route,
    asked: RequestTarget,
    trace: RequestTrace,
) -> Response:
    """A search, a record or the account: what depends on who calls."""
    known = await admission.caller(site, request.headers.getall("Authorization", []), trace)
    call = _call(request, asked, trace)
    if path.work:
        return await admission.worked(site, path.work, call, known, trace)
    assert path.account
    now = site.now()
    left = await admission.passed(site, known, trace, now)
    counted = admission.needed(admission.counting(site, known, left, now), known)
    return await path.account(admission.ask(site, call, known), counted)


async def _exported(
    site: ServerContext, request: web.BaseRequest, asked: RequestTarget, trace: RequestTrace
) -> Response:
    """A workbook, for who has an account (A3)."""
    now = site.now()
    known = await admission.caller(site, request.headers.getall("Authorization", []), trace)
    left = await admission.passed(site, known, trace, now, standing=export.standing)
    counted = admission.needed(admission.counting(site, known, left, now), known)
    if site.exporter is None:
        raise errors.config("les exports")
    return await export_route.answer(
        request, asked, known, counted, site.published, site.exporter, trace
    )


def _call(request: web.BaseRequest, asked: RequestTarget, trace: RequestTrace) -> Call:
    return Call(
        asked.path,
        asked.segments,
        partial(_pairs, asked, trace),
        _if_none_match(request),
        request.method == "HEAD",
    )


def _pairs(asked: RequestTarget, trace: RequestTrace) -> Pairs:
    trace.pairs = params.pairs(asked.query)
    return trace.pairs


def _if_none_match(request: web.BaseRequest) -> str | None:
    # A header that was sent twice means both lines (RFC 9110 §5.3).
    return ", ".join(request.headers.getall("If-None-Match", [])) or None
