"""Rendering: a response from a template of `templates/`, for a page or an error.

All values in a template are escaped (Jinja2's autoescape), and an undefined name is an error. The text of a page is in
its template, in French and English: `t('Sociétés', 'Companies')`.

An error is a page too, with the message of the API (serve/contract/errors.py) or its separate message for people.
"""

import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined
from jinja2.bccache import Bucket

from serve.access.call import Response
from serve.contract import parameters, seed_tables
from serve.contract.errors import ApiError
from serve.contract.feature import Product
from serve.contract.secret_mask import mask_keys
from serve.generation import country_sources
from serve.surfaces.site import cookies, formatting
from serve.surfaces.site.page_request import PageRequest, pages_of
from serve.surfaces.site.pages import asset_paths

HTML: Final = "text/html; charset=utf-8"

# A page may load only files of this server, and nothing inline: no script or style in an attribute or an
# element takes effect, whatever a name in the data contains.
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "
    "connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

_TEMPLATES: Final = "templates"  # the folder of templates in a feature or surface

# The form field with the token: proof that a page of this server made the form for this browser.
TOKEN: Final = "jeton"
_FORM_PURPOSE: Final = "form"  # of the signature (`Signer`)

# The titles of error pages, by status.
_TITLES: Final[Mapping[int, tuple[str, str]]] = {
    400: ("Cette recherche n’est pas possible", "This search is not possible"),
    402: ("Crédits épuisés", "Credits used up"),
    403: ("Envoi refusé", "Not accepted"),
    404: ("Page introuvable", "Page not found"),
    405: ("Méthode non autorisée", "Method not allowed"),
    406: ("Format impossible", "Format not possible"),
    413: ("Formulaire trop long", "Form too long"),
    415: ("Type non supporté", "Type not supported"),
    417: ("Attente refusée", "Expectation failed"),
    429: ("Limite atteinte", "Limit reached"),
    500: ("Erreur interne", "Internal error"),
    503: ("Momentanément indisponible", "Temporarily unavailable"),
}
# The titles of error pages for codes that need another title than their status.
_TITLES_OF_CODES: Final[Mapping[str, tuple[str, str]]] = {
    "module_non_inclus": ("Analyse non comprise", "Analysis not included"),
    "societe_introuvable": ("Société introuvable", "Company not found"),
    "essai_epuise": ("Essais du mois épuisés", "Trials of the month used up"),
}
# The labels of the fields of the search form that a person types into (templates/explorer.html), by parameter.
_FIELD_LABELS: Final = {
    parameter.name: parameter.label for parameter in parameters.SEARCH if parameter.label.fr
}
# The message of the error `route_inconnue` for people, who look for a page and not for a route.
_NO_PAGE: Final = ("Il n’y a pas de page à cette adresse.", "There is no page at this address.")


class TemplateCache(FileSystemBytecodeCache):
    """Compiled templates in files. If the files cannot be written, templates are compiled at each start."""

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Write a compiled template."""
        with suppress(OSError):
            super().dump_bytecode(bucket)


def page(
    request: PageRequest,
    template: str,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    outcome: str = "",
    **values: Any,
) -> Response:
    """The response with a template filled with `values`; `outcome` is the change of the counters, for the log."""
    sources = request.server.published.sources.values()
    form_token = token(request)
    public = status == 200 and not _has_secret(request)
    product, pages = request.server.product, request.context.pages
    text = _environment(product).get_template(template).render(
        request=request,
        menu=pages.menu,
        exists=lambda path: path in pages or product.has(path),
        record_path=pages.company_path,
        t=request.t,
        shown=formatting.formats_of(request.lang),
        token=form_token,
        other_language=_other_language(request),
        asset=asset_paths(),
        credited=country_sources.attributions(sources),
        period=country_sources.date_range(sources),
        heaviest=country_sources.two_largest(sources),
        canonical=_canonical_address(request),
        printed=public,
        indexed=public and request.session is None,
        linked=partial(
            formatting.link_routes, lang=request.lang, plans=request.server.plans, leads=pages.leads
        ),
        **values,
    )  # fmt: skip
    page_headers = _headers(request, has_form=form_token in text) | dict(headers or {})
    return Response(status, text.encode(), page_headers, outcome)


def prepare(product: Product) -> None:
    """Compile every template at the start, because no visitor should wait the half second that this takes."""
    environment = _environment(product)
    for name in environment.list_templates():
        environment.get_template(name)


def see_other(path: str, cookie: str | None = None) -> Response:
    """A redirect to `path`, whatever the method was (RFC 9110 §15.4.4)."""
    set_cookie = {"Set-Cookie": cookie} if cookie else {}
    return Response(303, b"", {"Location": path, "Cache-Control": "no-store", **set_cookie})


def token(request: PageRequest) -> str:
    """The token for the forms of this page, which binds them to the session or to the browser."""
    return request.context.signer.signature(_FORM_PURPOSE, request.token_owner)


def is_token_valid(request: PageRequest) -> bool:
    """Whether a page of this server made the form for this browser."""
    sent = request.form.get(TOKEN, "")
    return request.context.signer.is_valid(sent, _FORM_PURPOSE, request.token_owner)


def _headers(request: PageRequest, *, has_form: bool) -> dict[str, str]:
    """The headers of a page; `has_form` if the page contains the token of a form."""
    # A page depends on its visitor, so shared caches must not store it. A page of an account, or with the token
    # of a form, must not be stored at all; it is not compressed either (serve/http/compression.py).
    headers = {
        "Content-Type": HTML,
        "Content-Security-Policy": POLICY,
        "Content-Language": request.lang,
        "Cache-Control": "no-store" if request.session or has_form else "private, no-cache",
        "Vary": "Accept-Language, Cookie",
    }
    return headers | _visit_cookie(request)


def add_visit(request: PageRequest, response: Response) -> Response:
    """A cached page with the cookie `visite` of this visitor, if the cookie changes."""
    cookie = _visit_cookie(request)
    return response._replace(headers={**response.headers, **cookie}) if cookie else response


def _visit_cookie(request: PageRequest) -> dict[str, str]:
    """The Set-Cookie header of `visite`; empty if the cookie does not change."""
    if request.keep is None:
        return {}
    seconds, secure = cookies.VISIT_SECONDS, request.context.is_secure
    return {"Set-Cookie": cookies.set_cookie(cookies.VISIT, request.keep, seconds, secure=secure)}


def _has_secret(request: PageRequest) -> bool:
    """Whether the address of the page contains a token or key."""
    path = request.path
    return path.startswith(request.context.pages.secret) or mask_keys(path) != path


def _other_language(request: PageRequest) -> str:
    """The address of the same page in the other language."""
    language = request.t("en", "fr")
    return f"?{urlencode([*request.linked, ('lang', language)])}"


def _canonical_address(request: PageRequest) -> str:
    """The address of the page without its language, for search engines and shared links."""
    query = urlencode(request.linked, quote_via=quote, safe=",")
    return f"{request.origin}{request.path}{'?' if query else ''}{query}"


@cache
def _environment(product: Product) -> Environment:
    """The templates of the site and of each feature, in their folders `templates`."""
    environment = Environment(
        loader=FileSystemLoader([folder / _TEMPLATES for folder in product.folders()]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        bytecode_cache=_bytecode_cache(),
    )
    environment.globals |= {
        "label": seed_tables.label,
        "activity": seed_tables.activity_label,
    }
    environment.filters |= {
        "plain": formatting.plain_text, "web": formatting.web, "credit": formatting.credit,
        "coded": partial(formatting.code_and_links, leads=pages_of(product).leads),
    }  # fmt: skip
    return environment


def _bytecode_cache() -> TemplateCache | None:
    """The cache of compiled templates, in the folder of Python's compiled modules; None if Python writes no modules.

    Without the cache, compiling takes half of the time of a start.
    """
    folder = Path(__file__).with_name("__pycache__")
    if sys.dont_write_bytecode or not os.access(folder, os.W_OK):
        return None
    return TemplateCache(str(folder), f"jinja2-{version('jinja2')}-%s.cache")


class ErrorText(NamedTuple):
    """An error for a page; `field` is the field of the search form with the error, or ""."""

    status: int
    code: str
    title: str
    message: str
    field: str = ""


def error_text(request: PageRequest, error: ApiError) -> ErrorText:
    """The title and the message of an error in the visitor's language."""
    titles = _TITLES_OF_CODES.get(error.code) or _TITLES.get(error.status, _TITLES[500])
    title = request.t(*titles)
    texts = _NO_PAGE if error.code == "route_inconnue" else error.page or error.texts
    message = request.t(*texts)
    field = error.extra.get("parametre", "")
    if field not in _FIELD_LABELS:
        return ErrorText(error.status, error.code, title, message)
    # People see the label of the field in front of the message, and not the name of the parameter.
    text = re.sub(
        rf"^{field} ?: ",
        request.t("{} : ", "{}: ").format(request.t(*_FIELD_LABELS[field])),
        message,
    )
    return ErrorText(error.status, error.code, title, text, field)


def error_page(request: PageRequest, error: ApiError) -> Response:
    """The page of an error."""
    headers = {"Cache-Control": "no-store"} | error.headers
    return page(
        request, "error.html",
        status=error.status, headers=headers, error=error_text(request, error),
        request_id=request.trace.request_id,
    )  # fmt: skip
