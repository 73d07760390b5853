"""Errors that only pages have, beside those of the API (serve/errors.py)."""

from serve.errors import ApiError


def formulaire_refuse() -> ApiError:
    """A form that this site did not make for this browser, or long ago."""
    message = "Ce formulaire n'est plus valable : rechargez la page, puis envoyez-le de nouveau"
    return ApiError(403, "formulaire_refuse", message)


def cle_introuvable() -> ApiError:
    """A key of nobody, or of somebody else: one answer."""
    return ApiError(404, "cle_introuvable", "Votre organisation n'a pas cette clé : /compte")
