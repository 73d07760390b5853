"""The application: a request from its first line to its response.

    route 404 → method 405 → preflight → handler, or the site for a path that is no operation

The rest of contract D5, from the key to the charge, is in serve/access/admission.py. This is a
low-level `web.Server` with one handler instead of an aiohttp Application: routes are one table, and the order
of the steps stays visible.

A search that is estimated at under a millisecond is made on the event loop, since a hop to a thread takes a
tenth of that. Another one is made in a thread (serve/generation/open_generation.py), and the loop answers
others meanwhile.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from aiohttp import web

from quota.errors import StoreUnavailable
from serve.access import admission
from serve.access.call import Response, of_error
from serve.access.context import ServerContext
from serve.contract import errors
from serve.contract.errors import ApiError
from serve.http import body_reader, compression
from serve.http.handlers import MAKERS
from serve.http.http_request import HttpRequest
from serve.http.reply import Download, Reply, preflight, request_id
from serve.http.router import ALLOW, Router
from serve.observe.log import RequestTrace
from serve.observe.metrics import REFUSALS
from serve.request import client_address
from shards.errors import MissingCountryError

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

# Said once: anybody can send the header, and a proxy that is not trusted sends it with each request.
_UNTRUSTED: Final = (
    "a proxy in %s sends X-Forwarded-For and is not trusted, so all its callers share the limits of one address; "
    "if it is yours, give its address to --trusted-proxies"
)

_log: Final = logging.getLogger("serve.http.app")


class Site(Protocol):
    """The pages at all paths that are no operation."""

    async def respond(self, request: HttpRequest) -> Response:
        """The page that a request asks for.

        Raises:
            ApiError: 404, 405, and those of the page.
            StoreUnavailable: not counted, or `maybe_done`.
        """

    def error_response(self, request: HttpRequest, error: ApiError) -> Response:
        """An error as a page, or as JSON for a client that does not prefer HTML."""

    async def error_for_person(self, request: HttpRequest, error: ApiError) -> Response:
        """`error_response`, whose page shows a person who is logged in as such."""


class NoSite:
    """The site of a service without pages: every path is unknown, and every error is JSON."""

    async def respond(self, request: HttpRequest) -> Response:
        """Raises ApiError: 404, 429."""
        request.context.gate.pages(request.trace.address, request.context.now())
        raise request.context.product.unknown_path(request.target.path)

    def error_response(self, request: HttpRequest, error: ApiError) -> Response:
        """The error as JSON."""
        return of_error(error, request.lang)

    async def error_for_person(self, request: HttpRequest, error: ApiError) -> Response:
        """The error as JSON."""
        return of_error(error, request.lang)


def make_handler(context: ServerContext, site: Site) -> Handler:
    """The handler of every request that could be parsed."""
    return _App(context, site).handle


class _App:
    """The operations of the product and the site, and the order in which they are asked."""

    def __init__(self, context: ServerContext, site: Site) -> None:
        self._context = context
        self._has_warned = False
        self._site = site
        operations = context.product.operations
        self._router = Router(operations)
        self._handlers = {one.id: MAKERS[one.kind](one) for one in operations}

    async def handle(self, message: web.BaseRequest) -> web.StreamResponse:
        raw = message.raw_path
        # A proxy may send a whole URL, of which only the path and the query count (RFC 9112 §3.2.2).
        target = self._router.read(raw if raw.startswith("/") else str(message.rel_url))
        trace = RequestTrace(request_id(message.headers.get("X-Request-Id")), target.path)
        trace.address = message.remote
        message[body_reader.SENDER] = self._context.lanes, trace
        request = HttpRequest(message, target, trace, self._context)
        try:
            response = await self._respond(request)
        except Exception:  # noqa: BLE001 - the caller gets an id to report
            _log.exception("request failed", extra={"fields": {"request_id": trace.request_id}})
            response = await self._error_response(request, errors.erreur_interne(trace.request_id))
        finally:
            body_reader.give_back(message)
            self._context.lanes.leave(trace)
        response = await compression.compress_response(
            message, response, request.accepted_codings, of_api=target.opened
        )
        reply = Reply if response.file is None else Download
        return reply(response, trace, opened=target.opened)

    async def _respond(self, request: HttpRequest) -> Response:
        trace = request.trace
        try:
            response = await self._dispatch(request)
            trace.quota = response.outcome
            return response
        except ApiError as error:
            trace.quota = error.code if error.code in REFUSALS else ""
            return await self._error_response(request, error)
        except MissingCountryError as error:
            return await self._error_response(request, errors.pays_endommage(error.iso2))
        except StoreUnavailable as error:
            response = admission.unavailable_response(request.context, error, trace, request.lang)
            if request.target.route:
                return response
            refusal = errors.indisponible(errors.NO_COUNTERS, maybe_counted=error.maybe_done)
            return await self._error_response(request, refusal)

    async def _dispatch(self, request: HttpRequest) -> Response:
        """The response of the route. Raises ApiError: 404, 405, and those of the handler."""
        message, route, trace = request.message, request.target.route, request.trace
        if forwarded := message.headers.getall("X-Forwarded-For", []):
            trusted = request.context.config.trusted_proxies
            trace.address = client_address.caller(message.remote, forwarded, trusted)
            if not self._has_warned and not client_address.is_among(message.remote, trusted):
                self._has_warned = True
                _log.warning(_UNTRUSTED, client_address.network_of(message.remote))
        if not _may_be_known(request):
            await request.context.lanes.enter(trace)
        if message.method == "CONNECT":  # its target is a host (RFC 9110 §9.3.6); this is no proxy
            self._count_file(request)
            raise errors.methode_non_autorisee("CONNECT", ALLOW)
        if request.header("Expect") and not body_reader.waits(message):
            self._count_file(request)
            raise errors.attente_refusee(request.header("Expect") or "")
        if route is None and not request.target.opened:
            return await self._site.respond(request)
        trace.route = route.name if route else None
        if message.method == "OPTIONS":  # as cheap as a refusal
            return Response(204, b"", preflight(route))
        if route is None:  # its preflight was answered, so that a page may read this error (G2)
            self._count_file(request)
            raise request.context.product.unknown_path(request.target.path)
        operation = route.operations.get(message.method)
        if operation is None:
            self._count_file(request)
            raise errors.methode_non_autorisee(message.method, route.allow)
        return await self._handlers[operation.id](request)

    @staticmethod
    def _count_file(request: HttpRequest) -> None:
        context = request.context
        context.gate.files(request.trace.address, context.now())

    async def _error_response(self, request: HttpRequest, error: ApiError) -> Response:
        """`_refusal`, as a page for the person who is logged in."""
        if request.target.route or request.target.opened:
            return self._refusal(request, error)
        return await self._site.error_for_person(request, error)

    def _refusal(self, request: HttpRequest, error: ApiError) -> Response:
        """An error as JSON, or outside the API as a page if the client prefers one."""
        if request.target.route or request.target.opened:
            return of_error(error, request.lang)
        return self._site.error_response(request, error)


def _may_be_known(request: HttpRequest) -> bool:
    """Whether the caller may have an account: it sends a key, a capability or a cookie where these are read.

    Whoever turns out to have none waits in its lane from then on (serve/access/loop_guard.py).
    """
    route, fields = request.target.route, request.message.headers
    if route is None:
        return not request.target.opened and "Cookie" in fields
    operation = route.operations.get(request.message.method)
    if operation is None or not operation.key:
        return False
    return "Authorization" in fields or operation.key_in_path
