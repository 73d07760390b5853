"""The website as a surface over HTTP: a request becomes a `PageRequest`, an error becomes a page.

The checks are made here, in this order: session → burst 429 → path 404 → method 405 → origin of a form 403 → body 413,
415 → token of a form 403 → log-in for personal pages. The pages themselves are in serve/surfaces/site.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from html import escape
from http import HTTPStatus
from types import MappingProxyType
from typing import Final
from urllib.parse import quote, urlsplit

from quota.accounts import subscribed_plan
from quota.errors import StoreUnavailable
from serve.access.burst_gate import Limiter
from serve.access.call import Request, Response, error_response
from serve.access.context import ServerContext
from serve.access.rights import VISITOR, Caller
from serve.contract.errors import ApiError
from serve.contract.feature import Feature, OpenFeature
from serve.contract.secret_mask import mask_keys
from serve.http.body_reader import body, form_error, form_fields, form_parts
from serve.request import accept, json_body, reader
from serve.surfaces.site import cookies, page_request, render, sessions
from serve.surfaces.site.page_request import (
    PageContext,
    PageHandler,
    PageRequest,
    Session,
    WebRoute,
    pages_of,
)

_FORM: Final = "application/x-www-form-urlencoded"
_FORM_WITH_FILE: Final = "multipart/form-data"
_LOG_IN: Final = "/connexion"

# Errors whose pages show nothing of the request, but for its id.
_PLAIN_ERRORS: Final = ("route_inconnue", "trop_de_requetes", "formulaire_refuse")
_REQUEST_ID: Final = "{request-id}"

_NO_FORM: Final[Mapping[str, str]] = MappingProxyType({})


class Website:
    """The pages of a process, as `serve.http.app.Site`."""

    def __init__(self, pages: PageContext) -> None:
        self._pages = pages

    async def respond(self, request: Request) -> Response:
        """The page that a request asks for.

        Raises:
            ApiError: 404, 405, 400, 413, 415, 403, and those of the page.
            StoreUnavailable: a session cannot be looked up, or it is not counted, or `maybe_done`.
        """
        trace, is_form = request.trace, request.method == "POST"
        resolution = self._pages.pages.resolve(request.path)
        session = await self._session(request)
        if session is None:
            await request.context.lanes.enter(trace)
        self._count(request, resolution and resolution[0])
        if resolution is None:
            raise request.context.product.unknown_path(request.path)
        route, segments = resolution
        trace.route = route.name
        if request.method not in route.methods:
            raise ApiError(
                "methode_non_autorisee", method=request.method, allowed=", ".join(route.methods)
            )
        trace.pairs = reader.query_pairs(request.query, route.pairs)
        form, file = _NO_FORM, b""
        if is_form:
            if route.guarded and not _is_same_origin(request):
                raise ApiError("formulaire_refuse")
            form, file = await _form(request, route)
        page = self._page_request(
            request, segments=segments, form=form, session=session, remembers=route.remembers
        )
        linked = tuple(pair for pair in page.pairs if pair[0] in route.parameters)
        page = replace(page, file=file, linked=linked)
        if is_form and route.guarded and not render.is_token_valid(page):
            raise ApiError("formulaire_refuse")
        if route.personal and session is None:
            if _LOG_IN not in self._pages.pages:
                raise request.context.product.unknown_path(request.path)
            suite = request.path if route.get else ""
            return render.see_other(f"{_LOG_IN}?suite={quote(suite, safe='/')}")
        if route.personal and session:
            request.context.gate.account_page(session.person.id, page.now)
        handler = route.post if is_form else route.get
        assert handler  # the method is one of the route's
        if route.kept and handler is route.get and session is None and not page.pairs:
            return await self._kept_page(page, handler)
        return await handler(page)

    def _count(self, request: Request, route: WebRoute | None) -> None:
        """Count a page, or a file of pages, in the limit of its address, before its body is read."""
        trace, context = request.trace, request.context
        if route and route.is_file:
            context.gate.files(trace.address, context.now())
            return
        sent = 0
        if request.method == "POST":  # a body of unknown length may be as large as there may be
            largest = route.file or json_body.LARGEST if route else 0
            length = request.message.content_length
            sent = largest if length is None else min(length, largest)
        context.gate.pages(trace.address, context.now(), sent)

    async def _kept_page(self, page: PageRequest, handler: PageHandler) -> Response:
        """A page that is the same for all who are not logged in; its address without `base_url` is that of the host."""
        generation = page.server.published.generation
        key = (page.path, page.segments, page.lang, page.origin, page.markdown)
        kept = self._pages.kept.find(generation, key)
        if kept is None:
            kept = await handler(replace(page, keep=None))
            if kept.status == HTTPStatus.OK:
                self._pages.kept.keep(generation, key, kept)
        return render.with_visit(page, kept)

    async def error_for_person(self, request: Request, error: ApiError) -> Response:
        """An error as a page, for a person who is logged in, too; as JSON for a client that does not prefer HTML."""
        session, is_known = None, False
        try:
            session = await self._session(request)
        except (ApiError, StoreUnavailable):  # the error may be that there is no store
            is_known = sessions.is_signed(self._pages, self._cookie(request))
        with suppress(ApiError):  # the query string itself may be the error
            request.trace.pairs = reader.query_pairs(request.query, page_request.PAIRS)
        page = replace(self._page_request(request, session=session), is_known=is_known)
        if not page.html:
            return error_response(error, request.lang)
        if session or is_known or error.code not in _PLAIN_ERRORS:
            return render.error_page(page, error)
        return self._kept_error_page(page, error)

    def _kept_error_page(self, page: PageRequest, error: ApiError) -> Response:
        """The page of an error that anybody can cause at will, made once: each has a request id of its own."""
        context = page.context
        generation = page.server.published.generation
        key = (render.error_text(page, error), page.lang)
        kept = context.kept.find(generation, key)
        if kept is None:
            trace = replace(page.trace, request_id=_REQUEST_ID)
            plain = replace(page, trace=trace, path="", pairs=(), keep=None)
            kept = render.error_page(plain, error)
            context.kept.keep(generation, key, kept)
        body = kept.body.replace(_REQUEST_ID.encode(), escape(page.trace.request_id).encode())
        headers = {**kept.headers, **error.headers}
        return render.with_visit(page, kept._replace(body=body, headers=headers))

    async def _session(self, request: Request) -> Session | None:
        """The session of the request's cookie.

        Raises:
            ApiError: 503: this server has no accounts.
            StoreUnavailable
        """
        cookie = self._cookie(request)
        return (
            await sessions.find_session(self._pages, cookie, request.context.now())
            if cookie
            else None
        )

    def _cookie(self, request: Request) -> str | None:
        """The cookie of a session."""
        kept = cookies.read(request.message.headers.get("Cookie"))
        return kept.get(cookies.name(cookies.SESSION, secure=self._pages.is_secure))

    def _page_request(
        self,
        request: Request,
        *,
        segments: tuple[str, ...] = (),
        form: Mapping[str, str] = _NO_FORM,
        session: Session | None = None,
        remembers: bool = False,
    ) -> PageRequest:
        pages, context, trace = self._pages, request.context, request.trace
        headers = request.message.headers
        kept = cookies.read(headers.get("Cookie"))
        known_lang, known_nonce = cookies.read_visit(kept, secure=pages.is_secure)
        wanted = page_request.last_value(trace.pairs, "lang")
        lang = accept.choose_language(wanted, known_lang, headers.get("Accept-Language"))
        nonce = known_nonce or cookies.new_nonce()
        is_new = (remembers and known_nonce is None) or (wanted == lang and wanted != known_lang)
        caller = _caller(context, session)
        trace.plan = caller.plan.slug
        trace.account = session.account.id if session else None
        return PageRequest(
            context=pages,
            path=request.path,
            segments=segments,
            # A search form repeats what was sent.
            pairs=tuple(
                (mask_keys(name), mask_keys(value)) for name, value in trace.pairs if name != "lang"
            ),
            form=form,
            lang=lang,
            caller=caller,
            session=session,
            origin=_origin(request),
            nonce=nonce,
            keep=f"{lang}.{nonce}" if is_new else None,
            html=accept.prefers_html(headers.get("Accept")),
            markdown=accept.wants_markdown(headers.get("Accept", "")),
            sent=request,
            trace=trace,
            now=context.now(),
            device=kept.get(cookies.name(cookies.DEVICE, secure=pages.is_secure), ""),
        )


def _caller(context: ServerContext, session: Session | None) -> Caller:
    """The caller of a page: the rights and meters are those of the plan paid for (decision 044)."""
    if session is None:
        return Caller(context.plans[VISITOR])
    return Caller(subscribed_plan(session.account, context.plans), account=session.account)


def _origin(request: Request) -> str:
    """The address of this server, as the visitor calls it; only the visitor knows without `base_url`."""
    host = request.message.headers.get("Host", "")
    return request.context.config.base_url or f"http://{host}"


def _is_same_origin(request: Request) -> bool:
    """Was the form sent by a page of this server, as far as the browser tells?

    Without `base_url` a proxy may have removed https, so only the hosts are compared.
    """
    headers = request.message.headers
    origin = headers.get("Origin")
    if origin is None:
        return headers.get("Sec-Fetch-Site", "same-origin") in ("same-origin", "none")
    if base := request.context.config.base_url:
        return bool(origin == "{0.scheme}://{0.netloc}".format(urlsplit(base)))
    return bool(urlsplit(origin).netloc == headers.get("Host"))


async def _form(request: Request, route: WebRoute) -> tuple[dict[str, str], bytes]:
    """The fields of a form and its file; of two fields with one name the last counts.

    Raises:
        ApiError: 400, 413, 415.
    """
    message = request.message
    if route.signature:  # a message of another service: the page checks who signed it
        return {"signature": message.headers.get(route.signature, "")}, await body(request)
    kind = message.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if route.file and kind == _FORM_WITH_FILE:
        return await _form_with_file(request, route)
    if kind != _FORM:
        raise ApiError("type_non_supporte", media_type=kind[:100], wanted=_FORM)
    return dict(await form_fields(await body(request), route.fields)), b""


async def _form_with_file(request: Request, route: WebRoute) -> tuple[dict[str, str], bytes]:
    parts = await form_parts(request, route.file, route.fields)
    try:
        # A file stands in the form by its name, as in those of browsers without multipart.
        fields = {
            part.name: part.content.decode() if part.filename is None else part.filename
            for part in parts
        }
    except ValueError as error:
        raise form_error(error) from error
    return fields, b"".join(part.content for part in parts if part.filename is not None)


def open_site(context: ServerContext, _limiter: Limiter) -> OpenFeature:
    """Open the pages: templates are compiled, and the key that signs cookies is read."""
    assert context.config.state
    product, signer = context.product, cookies.load_signer(context.config.state)
    render.prepare(product)
    pages = PageContext(context, pages_of(product), signer, context.now())
    return OpenFeature(site=Website(pages))


SURFACE: Final = Feature(__package__, open=open_site)
