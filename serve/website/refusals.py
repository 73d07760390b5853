"""Errors that only pages have: no route of the API answers with these codes (serve/codes.py)."""

from serve.errors import ApiError


class PageError(ApiError):
    """An error with a status of its own."""

    def __init__(self, status: int, code: str, message: str) -> None:
        Exception.__init__(self, f"{status} {code}: {message}")
        self.status = status
        self.code = code
        self.message = message
        self.headers = {}
        self.extra = {}


def formulaire_refuse() -> ApiError:
    """A form that this site did not make for this browser, or long ago."""
    message = "Ce formulaire n'est plus valable : rechargez la page, puis envoyez-le de nouveau"
    return PageError(403, "formulaire_refuse", message)


def cle_introuvable() -> ApiError:
    """A key of nobody, or of somebody else: one answer."""
    return PageError(404, "cle_introuvable", "Votre organisation n'a pas cette clé : /compte")
