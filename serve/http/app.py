"""The application: a request from its first line to its response.

    address of the caller → lane of its network → `Expect` 417 → site, for a path that is not an operation
        → preflight → route 404 → method 405 → handler of the operation

The rest of contract D5, from the key to the charge, is in serve/access/admission.py. The handler is for a low-level
`web.Server`, not an aiohttp Application: routes are one table, and the order of the steps stays visible (decision 009).

A search with an estimate below a millisecond runs on the event loop, since a change of thread takes a tenth of a
millisecond. Any other search runs in a thread (serve/generation/open_generation.py).
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final, Protocol

from aiohttp import web

from quota.errors import StoreUnavailable
from serve.access import admission
from serve.access.call import Request, Response, error_response, joined_header
from serve.access.context import ServerContext
from serve.access.rights import VISITOR, Caller
from serve.contract import errors
from serve.contract.errors import LANGUAGES, ApiError
from serve.http import body_reader, compression
from serve.http.handlers import HANDLERS
from serve.http.reply import TRACE, make_reply, preflight, request_id
from serve.http.router import ALLOW, Route, Router
from serve.observe.log import RequestTrace
from serve.observe.metrics import REFUSALS
from serve.request import accept, client_address, reader
from serve.request.reader import Pairs
from shards.errors import MissingCountryError

# Answers a message of aiohttp.
Handler = Callable[[web.BaseRequest], Awaitable[web.Response]]

# Logged once: an untrusted proxy sends the header with each request, and any client can send it.
_UNTRUSTED_PROXY: Final = (
    "a proxy in %s sends X-Forwarded-For and is not trusted, so all its callers share the limits of one address; "
    "if it is yours, give its address to --trusted-proxies"
)

_log: Final = logging.getLogger("serve.http.app")


class Site(Protocol):
    """The pages, at all paths without an operation."""

    async def respond(self, request: Request) -> Response:
        """The page at the path of a request.

        Raises:
            ApiError: 404, 405, and the errors of the page.
            StoreUnavailable: the call was not counted, or with `maybe_done` perhaps counted.
        """

    async def error_for_person(self, request: Request, error: ApiError) -> Response:
        """An error as a page, also for a person who is logged in; as JSON for a client that does not prefer HTML."""


class NoSite:
    """The site of a service without pages: its paths are unknown, and its errors are JSON."""

    async def respond(self, request: Request) -> Response:
        """Refuse every path, within the burst limit of pages. Raises ApiError: 404, 429."""
        request.context.gate.pages(request.trace.address, request.context.now())
        raise request.context.product.unknown_path(request.path)

    async def error_for_person(self, request: Request, error: ApiError) -> Response:
        """The error as JSON."""
        return error_response(error, request.lang)


def make_handler(context: ServerContext, site: Site) -> Handler:
    """The handler of all requests that aiohttp could parse."""
    return _App(context, site).handle


class _App:
    """The operations of the product and its site, and the steps of every request."""

    def __init__(self, context: ServerContext, site: Site) -> None:
        self._context = context
        self._has_warned = False  # whether an untrusted proxy was logged
        self._site = site
        self._router = Router(context.product.operations)
        # The caller of each request until admission has found an account.
        self._visitor = Caller(context.plans[VISITOR])

    async def handle(self, message: web.BaseRequest) -> web.Response:
        """Answer a message of aiohttp; any error becomes a response."""
        target, headers = message.raw_path, message.headers
        # A request may have a complete URL, of which only the path and the query count (RFC 9112 §3.2.2).
        target = target if target.startswith("/") else str(message.rel_url)
        path, _, query = target.partition("#")[0].partition("?")
        route, segments = self._router.resolve(path) or (None, ())
        is_open_to_all = self._router.open_to_all(path)
        trace = RequestTrace(request_id(headers.get("X-Request-Id")), path)
        trace.address = message.remote
        message[TRACE] = trace
        accepted = compression.read_accept_encoding(joined_header(headers, "Accept-Encoding"))
        if_none_match = joined_header(headers, "If-None-Match")
        request = Request(
            context=self._context,
            trace=trace,
            caller=self._visitor,
            path=path,
            now=self._context.now(),
            read=partial(_read_query, query, trace),
            message=message,
            method=message.method,
            query=query,
            authorization=headers.getall("Authorization", ()),
            lang=accept.language(headers.get("Accept-Language")) or LANGUAGES[0],
            if_none_match=if_none_match and compression.strip_codings(if_none_match, accepted),
            operation=route.operations.get(message.method) if route else None,
            segments=segments,
            is_page=route is None and not is_open_to_all,
        )
        try:
            response = await self._respond(request, route)
        except Exception:  # noqa: BLE001 - the caller gets an id to report
            _log.exception("request failed", extra={"fields": {"request_id": trace.request_id}})
            response = await self._error_response(
                request, ApiError("erreur_interne", request_id=trace.request_id)
            )
        finally:
            body_reader.give_back(message)
            self._context.lanes.leave(trace)
        response = await compression.compress_response(
            message, response, accepted, of_api=is_open_to_all
        )
        return make_reply(response, trace, opened=is_open_to_all)

    async def _respond(self, request: Request, route: Route | None) -> Response:
        """The response of the route, or of an expected error: a refusal, a damaged country, a store out of reach."""
        trace = request.trace
        try:
            response = await self._dispatch(request, route)
            trace.quota = response.outcome
            return response
        except ApiError as error:
            trace.quota = error.code if error.code in REFUSALS else ""
            return await self._error_response(request, error)
        except MissingCountryError as error:
            return await self._error_response(
                request, ApiError("indisponible", "pays_endommage", iso2=error.iso2)
            )
        except StoreUnavailable as error:
            response = admission.unavailable_response(request, error)
            if route:
                return response
            # At a path of the site, the error is a page.
            refusal = errors.store_unavailable(maybe_done=error.maybe_done)
            return await self._error_response(request, refusal)

    async def _dispatch(self, request: Request, route: Route | None) -> Response:
        """The response of the route, after the checks that need no handler.

        Each refusal by these checks counts in the burst limit of files (`_count_file`), so that nobody can cause many.

        Raises:
            ApiError: 404, 405, 417, 429, and the errors of the handler.
        """
        message, trace, operation = request.message, request.trace, request.operation
        if forwarded := message.headers.getall("X-Forwarded-For", []):
            self._read_forwarded(request, forwarded)
        if not _may_be_known(request):
            await request.context.lanes.enter(trace)
        # The target of CONNECT is a host (RFC 9110 §9.3.6), and this server is not a proxy.
        if request.method == "CONNECT":
            self._count_file(request)
            raise ApiError("methode_non_autorisee", method="CONNECT", allowed=ALLOW)
        if request.header("Expect") and not body_reader.expects_continue(message):
            self._count_file(request)
            raise ApiError("attente_refusee", expected=(request.header("Expect") or "")[:100])
        if request.is_page:
            return await self._site.respond(request)
        trace.route = route.name if route else None
        if request.method == "OPTIONS":  # not counted, because it is as cheap as a refusal
            return Response(204, b"", preflight(route))
        # After the preflight, which is answered so that pages may read this error (G2).
        if route is None:
            self._count_file(request)
            raise request.context.product.unknown_path(request.path)
        if operation is None:
            self._count_file(request)
            raise ApiError("methode_non_autorisee", method=request.method, allowed=route.allow)
        return await HANDLERS[operation.kind](request, operation)

    def _read_forwarded(self, request: Request, forwarded: Sequence[str]) -> None:
        """Read the address of the caller from a trusted proxy; warn once of an untrusted one."""
        sender, trusted = request.message.remote, request.context.config.trusted_proxies
        request.trace.address = client_address.caller(sender, forwarded, trusted)
        if not self._has_warned and not client_address.is_among(sender, trusted):
            self._has_warned = True
            _log.warning(_UNTRUSTED_PROXY, client_address.network_of(sender))

    @staticmethod
    def _count_file(request: Request) -> None:
        """Count a refused request in the burst limit of files, which limits refusals too. Raises ApiError 429."""
        context = request.context
        context.gate.files(request.trace.address, context.now())

    async def _error_response(self, request: Request, error: ApiError) -> Response:
        """An error as JSON, or for a path of the site as a page."""
        if request.is_page:
            return await self._site.error_for_person(request, error)
        return error_response(error, request.lang)


def _read_query(query: str, trace: RequestTrace) -> Pairs:
    """The parameters of a query string; they are also set for the log."""
    trace.pairs = reader.query_pairs(query)
    return trace.pairs


def _may_be_known(request: Request) -> bool:
    """Whether the caller may have an account: the request has a key in a header or in its path, or for a page a cookie.

    If the caller has no account after all, it waits in its lane later (serve/access/loop_guard.py).
    """
    if request.is_page:
        return "Cookie" in request.message.headers
    operation = request.operation
    if operation is None or not operation.key:
        return False
    return bool(request.authorization) or operation.key_in_path
