"""Errors that only pages have: by their code (not in serve/contract/error_codes.py), or by what they say."""

from collections.abc import Mapping

from serve.contract import errors
from serve.contract.errors import ApiError


class PageError(ApiError):
    """An error with a status of its own.

    `told`: what its page says, French and English, where that is more than the message.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        told: tuple[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        Exception.__init__(self, f"{status} {code}: {message}")
        self.status = status
        self.code = code
        self.message = message
        self.told = told
        self.headers = dict(headers or {})
        self.extra = {}


def formulaire_refuse() -> ApiError:
    """A form that this site did not make for this browser, or long ago."""
    message = "Ce formulaire n'est plus valable : rechargez la page, puis envoyez-le de nouveau"
    return PageError(403, "formulaire_refuse", message)


def cle_introuvable() -> ApiError:
    """A key of nobody, or of somebody else: one answer."""
    return PageError(404, "cle_introuvable", "Votre organisation n'a pas cette clé : /compte")


def paiement_ferme() -> ApiError:
    """503 `config` (§7): no payment provider can be configured yet."""
    return _config(
        errors.config("le paiement en ligne"),
        "Le paiement n’est pas encore ouvert sur ce serveur : rien n’a été acheté et rien n’est "
        "dû. Écrivez à l’exploitant, ou réessayez plus tard.",
        "Payment is not open yet on this server: nothing was bought and nothing is due. Please "
        "write to the operator, or try again later.",
    )


def comptes_au_centre() -> ApiError:
    """503 `config`: an edge has no accounts (quota/edge/edge_store.py)."""
    return _config(
        errors.config("les comptes, que seul le centre tient"),
        "Les comptes se tiennent au serveur central, pas ici. Votre clé vaut aussi sur ce "
        "serveur ; demandez l’adresse du centre à l’exploitant.",
        "Accounts are kept by the central server, not here. Your key is good on this server too; "
        "please ask the operator for the address of the centre.",
    )


def _config(error: ApiError, french: str, english: str) -> ApiError:
    return PageError(
        error.status, error.code, error.message, told=(french, english), headers=error.headers
    )
