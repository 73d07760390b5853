"""A page as bytes: a template of `templates/`, and what every page says of its visit.

Everything that is written into a template is escaped (Jinja2's autoescape), and a name that a
template knows and nobody gave is an error. The text of a page stands in its template, French and
English side by side: `t('Sociétés', 'Companies')`.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from serve.access.result import Response
from serve.website import assets, cookies, formatting
from serve.website.formatting import Formatting
from serve.website.page_request import PageContext, PageRequest

HTML: Final = "text/html; charset=utf-8"

# A page may use what this server sends, and nothing that stands in the page itself: no script or
# style of an attribute or an element runs, whatever a name of the data holds.
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

TEMPLATES: Final = Path(__file__).parent / "templates"

# What a form sends back to show that this page made it for this browser.
TOKEN: Final = "jeton"
_PURPOSE: Final = "form"


def page(
    desk: PageContext,
    visit: PageRequest,
    name: str,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    outcome: str = "",
    **values: Any,
) -> Response:
    """The answer that shows the template of that name; `outcome` as in `Answer`."""
    text = _environment().get_template(name).render(
        visit=visit,
        t=visit.t,
        shown=_shown(visit.lang),
        token=token(desk, visit),
        other_language=_other_language(visit),
        asset=assets.names(),
        **values,
    )  # fmt: skip
    return Response(status, text.encode(), _headers(desk, visit) | dict(headers or {}), outcome)


def prepare() -> None:
    """Compile every template: a tenth of a second, which no visitor should wait for."""
    for name in _environment().list_templates():
        _environment().get_template(name)


def see_other(
    desk: PageContext, visit: PageRequest, path: str, cookie: str | None = None
) -> Response:
    """Go there, whatever the method was (RFC 9110 §15.4.4)."""
    set_cookie = {"Set-Cookie": cookie} if cookie else {}
    return Response(303, b"", {"Location": path, "Cache-Control": "no-store", **set_cookie})


def token(desk: PageContext, visit: PageRequest) -> str:
    return desk.seals.of(_PURPOSE, visit.bound)


def is_ours(desk: PageContext, visit: PageRequest) -> bool:
    """Did a page of this site make the form that was sent, for this browser?"""
    return desk.seals.is_of(visit.form.get(TOKEN, ""), _PURPOSE, visit.bound)


def _headers(desk: PageContext, visit: PageRequest) -> dict[str, str]:
    # What one visitor sees no other may; what an account sees no disk keeps.
    kept = "no-store" if visit.session else "private, no-cache"
    headers = {
        "Content-Type": HTML,
        "Content-Security-Policy": POLICY,
        "Content-Language": visit.lang,
        "Cache-Control": kept,
        "Vary": "Accept-Language, Cookie",
    }
    if visit.keep is not None:
        headers["Set-Cookie"] = cookies.written(
            cookies.VISIT, visit.keep, cookies.VISIT_SECONDS, secure=desk.secure
        )
    return headers


def _other_language(visit: PageRequest) -> str:
    """The same page in the other language."""
    other = visit.t("en", "fr")
    return f"?{urlencode([*visit.pairs, ('lang', other)])}"


@cache
def _shown(lang: str) -> Formatting:
    return Formatting(lang)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {"plain": formatting.plain, "web": formatting.web}
    return environment
