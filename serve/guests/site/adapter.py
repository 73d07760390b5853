"""The HTTP side of the website: a request becomes a `PageRequest`, an error becomes a page.

The checks are made here, in this order: path 404 → method 405 → session → origin of a form 403 → body 413, 415 →
token of a form 403 → log-in for personal pages. The pages themselves are in serve/guests/site.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Final
from urllib.parse import quote, urlsplit

from quota.accounts import subscribed_plan
from quota.errors import StoreUnavailable
from serve.access.call import Response, of_error
from serve.access.caller import Caller
from serve.access.context import ServerContext
from serve.access.rights import VISITOR
from serve.contract import errors
from serve.contract.errors import ApiError
from serve.guests import static_pages
from serve.guests.site import (
    cookies,
    error_pages,
    languages,
    page_request,
    render,
    routes,
    sessions,
)
from serve.guests.site.errors import page_errors
from serve.guests.site.page_request import PageContext, PageRequest, Session
from serve.guests.site.routes import WebRoute
from serve.http.body_reader import body, form_error, form_fields, form_parts
from serve.http.http_request import HttpRequest
from serve.request import query_string

_FORM: Final = "application/x-www-form-urlencoded"
_FORM_WITH_FILE: Final = "multipart/form-data"
_LOG_IN: Final = "/connexion"

_NO_FORM: Final[Mapping[str, str]] = MappingProxyType({})


class Website:
    """The pages of a process, as `serve.http.guests.Site`."""

    def __init__(self, pages: PageContext) -> None:
        self._pages = pages

    async def respond(self, request: HttpRequest) -> Response:
        """The page that a request asks for.

        Raises:
            ApiError: 404, 405, 400, 413, 415, 403, and those of the page.
            StoreUnavailable: a session cannot be looked up, or it is not counted, or `maybe_done`.
        """
        message, target, trace = request.message, request.target, request.trace
        resolution = routes.resolve(target.path)
        if resolution is None:
            raise errors.route_inconnue(target.path)
        route, segments = resolution
        trace.route = route.name
        if message.method not in route.methods:
            raise errors.methode_non_autorisee(message.method, ", ".join(route.methods))
        trace.pairs = query_string.pairs(target.query)
        session = await self._session(request)
        form, file = _NO_FORM, b""
        if message.method == "POST":
            if route.guarded and not _is_same_origin(request):
                raise page_errors.formulaire_refuse()
            form, file = await _form(request, route)
        page = self._page_request(
            request, segments=segments, form=form, session=session, remembers=route.remembers
        )
        page = replace(page, file=file, is_gone=request.is_gone)
        if message.method == "POST" and route.guarded and not render.is_token_valid(page):
            raise page_errors.formulaire_refuse()
        if route.personal and session is None:
            suite = target.path if route.get else ""
            return render.see_other(f"{_LOG_IN}?suite={quote(suite, safe='/')}")
        if route.personal and session:
            self._pages.throttle.page(session.person.id, page.now)
        handler = route.post if message.method == "POST" else route.get
        assert handler  # the method is one of the route's
        return await handler(page)

    async def error_for_person(self, request: HttpRequest, error: ApiError) -> Response:
        """`error_response`, whose page shows a person who is logged in as such."""
        session, is_known = None, False
        try:
            session = await self._session(request)
        except (ApiError, StoreUnavailable):  # the error may be that there is no store
            is_known = sessions.is_signed(self._pages, self._cookie(request))
        return self.error_response(request, error, session, is_known=is_known)

    def error_response(
        self,
        request: HttpRequest,
        error: ApiError,
        session: Session | None = None,
        *,
        is_known: bool = False,
    ) -> Response:
        """An error as a page, or as JSON for a client that does not prefer HTML."""
        with suppress(ApiError):  # the query string itself may be the error
            request.trace.pairs = query_string.pairs(request.target.query)
        page = replace(self._page_request(request, session=session), is_known=is_known)
        return error_pages.error_page(page, error) if page.html else of_error(error, request.lang)

    async def _session(self, request: HttpRequest) -> Session | None:
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

    def _cookie(self, request: HttpRequest) -> str | None:
        """The cookie of a session."""
        kept = cookies.read(request.message.headers.get("Cookie"))
        return kept.get(cookies.name(cookies.SESSION, secure=self._pages.is_secure))

    def _page_request(
        self,
        request: HttpRequest,
        *,
        segments: tuple[str, ...] = (),
        form: Mapping[str, str] = _NO_FORM,
        session: Session | None = None,
        remembers: bool = False,
    ) -> PageRequest:
        message, target, trace, context = request
        pages = self._pages
        headers = message.headers
        kept = cookies.read(headers.get("Cookie"))
        known_lang, known_nonce = page_request.read_visit(kept, secure=pages.is_secure)
        wanted = page_request.last_value(trace.pairs, "lang")
        lang = languages.choose_language(wanted, known_lang, headers.get("Accept-Language"))
        nonce = known_nonce or page_request.new_nonce()
        is_new = (remembers and known_nonce is None) or (wanted == lang and wanted != known_lang)
        caller = _caller(context, session)
        trace.plan = caller.plan.slug
        trace.account = session.account.id if session else None
        return PageRequest(
            context=pages,
            path=target.path,
            segments=segments,
            pairs=page_request.pairs_without(trace.pairs, ["lang"]),
            form=form,
            lang=lang,
            caller=caller,
            session=session,
            origin=_origin(request),
            nonce=nonce,
            keep=f"{lang}.{nonce}" if is_new else None,
            html=languages.prefers_html(headers.get("Accept")),
            markdown=static_pages.wants_markdown(headers.get("Accept", "")),
            head=message.method == "HEAD",
            trace=trace,
            now=context.now(),
            device=kept.get(cookies.name(cookies.DEVICE, secure=pages.is_secure), ""),
        )


def _caller(context: ServerContext, session: Session | None) -> Caller:
    """The caller of a page: the rights and meters are those of the plan paid for (decision 044)."""
    if session is None:
        return Caller(context.plans[VISITOR])
    return Caller(subscribed_plan(session.account, context.plans), account=session.account)


def _origin(request: HttpRequest) -> str:
    """The address of this server, as the visitor calls it; only the visitor knows without `base_url`."""
    host = request.message.headers.get("Host", "")
    return request.context.config.base_url or f"http://{host}"


def _is_same_origin(request: HttpRequest) -> bool:
    """Was the form sent by a page of this server, as far as the browser tells?

    Without `base_url` a proxy may have removed https, so only the hosts are compared.
    """
    headers = request.message.headers
    origin = headers.get("Origin")
    if origin is None:
        return headers.get("Sec-Fetch-Site", "same-origin") in ("same-origin", "none")
    if base := request.context.config.base_url:
        return origin == "{0.scheme}://{0.netloc}".format(urlsplit(base))
    return urlsplit(origin).netloc == headers.get("Host")


async def _form(request: HttpRequest, route: WebRoute) -> tuple[dict[str, str], bytes]:
    """The fields of a form and its file; of two fields with one name the last counts.

    Raises:
        ApiError: 400, 413, 415.
    """
    message = request.message
    if route.signature:  # a message of another service: the page checks who signed it
        return {"signature": message.headers.get(route.signature, "")}, await body(message)
    kind = message.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if route.file and kind == _FORM_WITH_FILE:
        return await _form_with_file(request, route)
    if kind != _FORM:
        raise errors.type_non_supporte(kind[:100], _FORM)
    return dict(await form_fields(await body(message), route.fields)), b""


async def _form_with_file(request: HttpRequest, route: WebRoute) -> tuple[dict[str, str], bytes]:
    parts = await form_parts(request.message, route.file, route.fields)
    try:
        fields = {part.name: part.content.decode() for part in parts if part.filename is None}
    except ValueError as error:
        raise form_error(error) from error
    return fields, b"".join(part.content for part in parts if part.filename is not None)
