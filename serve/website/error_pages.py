"""Errors as pages, in the visitor's language.

The messages of the API are French. For English readers each code has a sentence here, filled with
the same values. A code without one is shown with its French message.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from serve.access.result import Response
from serve.contract.errors import ApiError
from serve.website.page_errors import PageError
from serve.website.page_request import PageRequest
from serve.website.render import page


class ErrorText(NamedTuple):
    """An error as a page shows it."""

    status: int
    code: str
    title: str
    message: str


_TITLES: Final[Mapping[int, tuple[str, str]]] = {
    400: ("Cette recherche n’est pas possible", "This search is not possible"),
    403: ("Envoi refusé", "Not accepted"),
    404: ("Page introuvable", "Page not found"),
    405: ("Méthode non autorisée", "Method not allowed"),
    413: ("Formulaire trop long", "Form too long"),
    415: ("Type non supporté", "Type not supported"),
    429: ("Limite atteinte", "Limit reached"),
    500: ("Erreur interne", "Internal error"),
    503: ("Momentanément indisponible", "Temporarily unavailable"),
}
_ENGLISH: Final[Mapping[str, str]] = {
    "pays_inconnu": "Unknown country: {pays_inconnus}. Choose from the list of countries.",
    "secteur_inconnu": "Unknown sector: {secteurs_inconnus}. Choose from the list of sectors.",
    "parametre_inconnu": "Unknown parameter: {parametres_inconnus}.",
    "parametre_invalide": "The value of “{parametre}” cannot be used. Correct it or leave it out.",
    "identifiant_invalide": "This identifier is not valid: 1 to 64 characters, none a control.",
    "societe_introuvable": "No company has this identifier in this country. Search for its name.",
    "route_inconnue": "There is no page at this address.",
    "methode_non_autorisee": "This address cannot be used in this way.",
    "formulaire_refuse": "This form is no longer valid: reload the page, then send it again.",
    "cle_introuvable": "Your organisation has no such key.",
    "quota_api": "The {quota[limite]} calls of the day are used up; the counter starts again at "
    "midnight UTC. A higher plan allows more.",
    "trop_de_requetes": "More than {quota[limite]} requests: please wait until "
    "{quota[reinitialisation]}.",
    "indisponible": "Nothing was done and nothing was counted. Please try again in a moment.",
    "erreur_interne": "Something went wrong on our side; your counters are untouched.",
}
_FRENCH: Final[Mapping[str, str]] = {
    "route_inconnue": "Il n’y a pas de page à cette adresse.",
}


def text_of(request: PageRequest, error: ApiError) -> ErrorText:
    """The error in the visitor's language."""
    title = request.t(*_TITLES.get(error.status, _TITLES[500]))
    sentences = _ENGLISH if request.lang == "en" else _FRENCH
    if isinstance(error, PageError) and error.text:
        message = request.t(*error.text)
    elif error.code in sentences:
        message = sentences[error.code].format(**_texts(error.extra))
    else:
        message = error.message
    return ErrorText(error.status, error.code, title, message)


def refused(request: PageRequest, error: ApiError) -> Response:
    """The page of an error."""
    headers = {"Cache-Control": "no-store"} | error.headers
    return page(
        request, "error.html",
        status=error.status, headers=headers, error=text_of(request, error),
        request_id=request.trace.request_id,
    )  # fmt: skip


def _texts(extra: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else value
        for name, value in extra.items()
    }
