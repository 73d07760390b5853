"""Errors as pages, in the visitor's language.

A message is that of the API (serve/contract/tables/errors.csv), but for errors that have another for people.
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from serve.access.call import Response
from serve.contract import parameters
from serve.contract.errors import ApiError
from serve.surfaces.site.page_errors import PageError
from serve.surfaces.site.page_request import PageRequest
from serve.surfaces.site.render import page


class ErrorText(NamedTuple):
    """An error as a page shows it; `field` is the field of the search form that it is about, or ""."""

    status: int
    code: str
    title: str
    message: str
    field: str = ""


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
_TITLES_OF_CODES: Final[Mapping[str, tuple[str, str]]] = {
    "module_non_inclus": ("Analyse non comprise", "Analysis not included"),
    "societe_introuvable": ("Société introuvable", "Company not found"),
    "essai_epuise": ("Essais du mois épuisés", "Trials of the month used up"),
}
# The fields of the search form that a person types into (templates/explorer.html).
_FIELDS: Final = {one.name: one.label for one in parameters.SEARCH if one.label.fr}
# People look for a page, not for a route.
_NO_PAGE: Final = ("Il n’y a pas de page à cette adresse.", "There is no page at this address.")


def text_of(request: PageRequest, error: ApiError) -> ErrorText:
    """The error in the visitor's language."""
    known = _TITLES_OF_CODES.get(error.code) or _TITLES.get(error.status, _TITLES[500])
    title = request.t(*known)
    texts = error.page if isinstance(error, PageError) else error.texts
    message = request.t(*(_NO_PAGE if error.code == "route_inconnue" else texts))
    field = error.extra.get("parametre", "")
    if field not in _FIELDS:
        return ErrorText(error.status, error.code, title, message)
    named = re.sub(
        rf"^{field} ?: ", request.t("{} : ", "{}: ").format(request.t(*_FIELDS[field])), message
    )
    return ErrorText(error.status, error.code, title, named, field)


def error_page(request: PageRequest, error: ApiError) -> Response:
    """The page of an error."""
    headers = {"Cache-Control": "no-store"} | error.headers
    return page(
        request, "error.html",
        status=error.status, headers=headers, error=text_of(request, error),
        request_id=request.trace.request_id,
    )  # fmt: skip
