"""A page below HTTP: a request becomes a Visit, forms are read and guarded, errors become pages.

What may come in is decided here, in this order: path 404 → method 405 → body 413, 415 → whose
session → a form that is ours 403 → log-in for what is personal. What a page is: serve/website.
"""

from contextlib import suppress
from typing import Final
from urllib.parse import parse_qsl, quote, urlsplit

from aiohttp import web

from quota.accounts import subscribed_plan
from serve.access.caller import Caller
from serve.access.result import Response, of_error
from serve.access.rights import VISITOR
from serve.api.routes import RequestTarget
from serve.contract import errors
from serve.contract.errors import ApiError
from serve.http.body_reader import body
from serve.observe.request_trace import RequestTrace
from serve.request import params
from serve.request.params import Pairs
from serve.website import (
    cookies,
    error_pages,
    languages,
    page_errors,
    page_request,
    render,
    routes,
    sessions,
)
from serve.website.page_request import PageContext, PageRequest, Session

_FORM: Final = "application/x-www-form-urlencoded"
_FIELDS: Final = 32
_LOG_IN: Final = "/connexion"


async def answer(
    desk: PageContext, request: web.BaseRequest, asked: RequestTarget, trace: RequestTrace
) -> Response:
    """The page that a request asks for.

    Raises:
        ApiError: there is none, or not so.
        StoreUnavailable: a session cannot be looked up, or nothing was counted.
    """
    found = routes.resolve(asked.path)
    if found is None:
        raise errors.route_inconnue()
    page, segments = found
    trace.route = page.name
    allowed = ", ".join(page.methods)
    if request.method not in page.methods:
        raise errors.methode_non_autorisee(request.method, allowed)
    trace.pairs = params.pairs(asked.query)
    form = await _form(request) if request.method == "POST" else {}
    kept = cookies.read(request.headers.get("Cookie"))
    cookie = kept.get(cookies.name(cookies.SESSION, secure=desk.secure))
    session = await sessions.current(desk, cookie, desk.site.now()) if cookie else None
    come = _visit(desk, request, asked, segments, form, session, trace, remembers=page.remembers)
    if request.method == "POST":
        if page.guarded and not (_is_from_here(desk, request, come) and render.is_ours(desk, come)):
            raise page_errors.formulaire_refuse()
        show = page.send
    else:
        show = page.show
    if page.personal and session is None:
        suite = asked.path if page.show else ""
        return render.see_other(desk, come, f"{_LOG_IN}?suite={quote(suite, safe='/')}")
    assert show
    return await show(desk, come)


def error_answer(
    desk: PageContext,
    request: web.BaseRequest,
    asked: RequestTarget,
    error: ApiError,
    trace: RequestTrace,
) -> Response:
    """An error as a page, for who would rather read one, or else as JSON."""
    with suppress(ApiError):  # the query string itself may be what is wrong
        trace.pairs = params.pairs(asked.query)
    come = _visit(desk, request, asked, (), {}, None, trace, remembers=False)
    return error_pages.refused(desk, come, error) if come.html else of_error(error)


def _visit(
    desk: PageContext,
    request: web.BaseRequest,
    asked: RequestTarget,
    segments: tuple[str, ...],
    form: dict[str, str],
    session: Session | None,
    trace: RequestTrace,
    *,
    remembers: bool,
) -> PageRequest:
    headers = request.headers
    kept = cookies.read(headers.get("Cookie"))
    known_lang, known_nonce = page_request.remembered(kept, secure=desk.secure)
    wanted = page_request.last(trace.pairs, "lang")
    lang = languages.chosen(wanted, known_lang, headers.get("Accept-Language"))
    nonce = known_nonce or page_request.new_nonce()
    is_new = (remembers and known_nonce is None) or (wanted == lang and wanted != known_lang)
    pairs: Pairs = page_request.without(trace.pairs, ["lang"])
    caller = _caller(desk, session)
    trace.plan = caller.plan.slug
    trace.account = session.account.id if session else None
    return PageRequest(
        path=asked.path,
        segments=segments,
        pairs=pairs,
        form=form,
        lang=lang,
        caller=caller,
        session=session,
        origin=_origin(desk, request),
        nonce=nonce,
        keep=f"{lang}.{nonce}" if is_new else None,
        html=languages.prefers_html(headers.get("Accept")),
        head=request.method == "HEAD",
        trace=trace,
        now=desk.site.now(),
    )


def _caller(desk: PageContext, session: Session | None) -> Caller:
    """Whose rights and meters a page has: those that the organisation pays for (decision 044)."""
    plans = desk.site.plans
    if session is None:
        return Caller(plans[VISITOR])
    return Caller(subscribed_plan(session.account, plans), account=session.account)


def _origin(desk: PageContext, request: web.BaseRequest) -> str:
    """What the visitor calls this server; without `base_url` only the visitor can say."""
    return desk.site.base_url or f"http://{request.headers.get('Host', '')}"


def _is_from_here(desk: PageContext, request: web.BaseRequest, come: PageRequest) -> bool:
    """Was the form sent by a page of this site, as far as the browser tells?

    Without `base_url` a proxy may have taken https away: then only the hosts are compared.
    """
    origin = request.headers.get("Origin")
    if origin is None:
        return request.headers.get("Sec-Fetch-Site", "same-origin") in ("same-origin", "none")
    if desk.site.base_url:
        return origin == "{0.scheme}://{0.netloc}".format(urlsplit(come.origin))
    return urlsplit(origin).netloc == request.headers.get("Host")


async def _form(request: web.BaseRequest) -> dict[str, str]:
    """The fields of a form; of two with one name the last counts.

    Raises:
        ApiError: 400, 413, 415.
    """
    kind = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind != _FORM:
        raise errors.type_non_supporte(kind[:100], _FORM)
    raw = await body(request)
    try:
        pairs = parse_qsl(
            raw.decode(), keep_blank_values=True, errors="strict", max_num_fields=_FIELDS
        )
    except ValueError as error:
        raise errors.corps_invalide("ce n'est pas un formulaire en UTF-8") from error
    return dict(pairs)
