"""The website as a surface over HTTP: a request becomes a `PageRequest`, an error becomes a page.

The checks, in this order: session → burst limit 429 → path 404 → method 405 → origin of a form 403 → body 413, 415 →
token of a form 403 → log-in for personal pages.
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
from serve.access.call import DATA_VERSION, Request, Response, error_response
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

# The media types of a form, without and with a file.
_FORM: Final = "application/x-www-form-urlencoded"
_FORM_WITH_FILE: Final = "multipart/form-data"
_LOG_IN: Final = "/connexion"  # the page on which people log in

# Errors whose pages show nothing of the request except its id, so the pages can be cached.
_PLAIN_ERRORS: Final = ("route_inconnue", "trop_de_requetes", "formulaire_refuse")
_REQUEST_ID: Final = "{request-id}"  # the placeholder in a cached page

# The fields of a request without a form.
_NO_FORM: Final[Mapping[str, str]] = MappingProxyType({})


class Website:
    """The pages of a process, as `serve.http.app.Site`."""

    def __init__(self, pages: PageContext) -> None:
        self._pages = pages

    async def respond(self, request: Request) -> Response:
        """The page for a request, after the checks in the order of this module's docstring.

        Raises:
            ApiError: 404, 405, 400, 413, 415, 403, and those of the page.
            StoreUnavailable: the session cannot be looked up, or the call is not counted, or possibly (`maybe_done`).
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
            if _LOG_IN not in self._pages.pages:  # a product without accounts
                raise request.context.product.unknown_path(request.path)
            # The log-in returns to this page, unless the page can only receive forms.
            suite = request.path if route.get else ""
            return render.see_other(f"{_LOG_IN}?suite={quote(suite, safe='/')}")
        if route.personal and session:
            request.context.gate.account_page(session.person.id, page.now)
        handler = route.post if is_form else route.get
        assert handler  # the method is one of the route's
        if route.cached and handler is route.get and session is None and not page.pairs:
            return await self._cached_page(page, handler)
        return await handler(page)

    def _count(self, request: Request, route: WebRoute | None) -> None:
        """Count a page, a form or a file in the burst limits of the visitor's address, before the body is read."""
        trace, context = request.trace, request.context
        if route and route.is_file:
            context.gate.files(trace.address, context.now())
            return
        form_bytes = 0
        if request.method == "POST":  # a body of unknown length counts as the largest allowed
            largest = route.file or json_body.LARGEST if route else 0
            length = request.message.content_length
            form_bytes = largest if length is None else min(length, largest)
        context.gate.pages(trace.address, context.now(), form_bytes)

    async def _cached_page(self, page: PageRequest, handler: PageHandler) -> Response:
        """A page that is the same for all visitors who are not logged in, from the cache if the page is cached."""
        generation = page.server.published.generation
        key = (page.path, page.segments, page.lang, page.origin, page.markdown)
        response = self._pages.page_cache.find(generation, key)
        if response is None:
            # Without the cookie of this visitor, which `add_visit` adds to the cached page.
            response = await handler(replace(page, keep=None))
            if response.status == HTTPStatus.OK:
                # A later request that gets the cached page opens no generation.
                if page.trace.generation:
                    version = {DATA_VERSION: page.trace.generation}
                    response = response._replace(headers={**version, **response.headers})
                self._pages.page_cache.keep(generation, key, response)
        return render.add_visit(page, response)

    async def error_for_person(self, request: Request, error: ApiError) -> Response:
        """An error as a page, or as JSON for a client that does not prefer HTML.

        The page of an error that many requests cause is cached for visitors who are not logged in.
        """
        session, is_known = None, False
        try:
            session = await self._session(request)
        except (ApiError, StoreUnavailable):  # the store may be the cause of the error
            is_known = sessions.is_signed(self._pages, self._cookie(request))
        with suppress(ApiError):  # the query string may be the cause of the error
            request.trace.pairs = reader.query_pairs(request.query, page_request.PAIRS)
        page = replace(self._page_request(request, session=session), is_known=is_known)
        if not page.html:
            return error_response(error, request.lang)
        if session or is_known or error.code not in _PLAIN_ERRORS:
            return render.error_page(page, error)
        return self._cached_error_page(page, error)

    def _cached_error_page(self, page: PageRequest, error: ApiError) -> Response:
        """The cached page of an error that many requests cause, with the id of this request filled in."""
        context = page.context
        generation = page.server.published.generation
        key = (render.error_text(page, error), page.lang)
        response = context.page_cache.find(generation, key)
        if response is None:
            trace = replace(page.trace, request_id=_REQUEST_ID)
            anonymous_page = replace(page, trace=trace, path="", pairs=(), keep=None)
            response = render.error_page(anonymous_page, error)
            context.page_cache.keep(generation, key, response)
        body = response.body.replace(_REQUEST_ID.encode(), escape(page.trace.request_id).encode())
        headers = {**response.headers, **error.headers}
        return render.add_visit(page, response._replace(body=body, headers=headers))

    async def _session(self, request: Request) -> Session | None:
        """The session of the request's cookie; None without a valid cookie.

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
        """The value of the session cookie; None if the request has none."""
        values = cookies.read(request.message.headers.get("Cookie"))
        return values.get(cookies.name(cookies.SESSION, secure=self._pages.is_secure))

    def _page_request(
        self,
        request: Request,
        *,
        segments: tuple[str, ...] = (),
        form: Mapping[str, str] = _NO_FORM,
        session: Session | None = None,
        remembers: bool = False,
    ) -> PageRequest:
        """The request for a page, with the visitor's language, cookies and rights.

        The trace, for the log, gets the plan and the account. `remembers`: the page has a form for visitors, so the
        browser needs the cookie `visite` with a nonce.
        """
        pages, context, trace = self._pages, request.context, request.trace
        headers = request.message.headers
        cookie_values = cookies.read(headers.get("Cookie"))
        known_lang, known_nonce = cookies.read_visit(cookie_values, secure=pages.is_secure)
        requested = page_request.last_value(trace.pairs, "lang")
        lang = accept.choose_language(requested, known_lang, headers.get("Accept-Language"))
        nonce = known_nonce or cookies.new_nonce()
        # Whether the cookie `visite` is set: for a nonce that a form needs, or for a language that was just chosen.
        is_new = (remembers and known_nonce is None) or (
            requested == lang and requested != known_lang
        )
        caller = _caller(context, session)
        trace.plan = caller.plan.slug
        trace.account = session.account.id if session else None
        return PageRequest(
            context=pages,
            path=request.path,
            segments=segments,
            # Keys are masked, because a search form repeats its parameters.
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
            device=cookie_values.get(cookies.name(cookies.DEVICE, secure=pages.is_secure), ""),
        )


def _caller(context: ServerContext, session: Session | None) -> Caller:
    """The caller of a page, with the rights and meters of the subscribed plan (decision 044)."""
    if session is None:
        return Caller(context.plans[VISITOR])
    return Caller(subscribed_plan(session.account, context.plans), account=session.account)


def _origin(request: Request) -> str:
    """The address of this server: `base_url`, else the Host header of the visitor."""
    host = request.message.headers.get("Host", "")
    return request.context.config.base_url or f"http://{host}"


def _is_same_origin(request: Request) -> bool:
    """Whether a page of this server sent the form, according to the headers of the browser.

    Without `base_url` a proxy may have removed https, so only the hosts are compared.
    """
    headers = request.message.headers
    origin = headers.get("Origin")
    # A browser that sends neither header is accepted here, and the token of the form still protects the visitor.
    if origin is None:
        return headers.get("Sec-Fetch-Site", "same-origin") in ("same-origin", "none")
    if base := request.context.config.base_url:
        return bool(origin == "{0.scheme}://{0.netloc}".format(urlsplit(base)))
    return bool(urlsplit(origin).netloc == headers.get("Host"))


async def _form(request: Request, route: WebRoute) -> tuple[dict[str, str], bytes]:
    """The fields of a form and its file; if a name occurs twice, the last field counts.

    Of a signed message of another service, the signature is a field and the body is the file.

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
    """The fields of a form that can send a file, and the content of the file."""
    parts = await form_parts(request, route.file, route.fields)
    try:
        # In place of the file, its field has the name of the file.
        fields = {
            part.name: part.content.decode() if part.filename is None else part.filename
            for part in parts
        }
    except ValueError as error:
        raise form_error(error) from error
    return fields, b"".join(part.content for part in parts if part.filename is not None)


def open_site(context: ServerContext, _limiter: Limiter) -> OpenFeature:
    """Open the pages: compile the templates, and read the secret that signs cookies."""
    assert context.config.state
    product, signer = context.product, cookies.load_signer(context.config.state)
    render.prepare(product)
    pages = PageContext(context, pages_of(product), signer, context.now())
    return OpenFeature(site=Website(pages))


SURFACE: Final = Feature(__package__, open=open_site)
