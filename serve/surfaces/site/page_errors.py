"""The errors that only the website has: a code of its own, or a text for people instead of programs.

Their texts stand in page_errors.csv.
"""

from pathlib import Path
from typing import Final

from quota.ledger import lists
from serve.contract import errors
from serve.contract.errors import ApiError
from serve.contract.secret_mask import mask_keys
from serve.contract.text import Text, ending, read_texts

_TEXTS: Final = read_texts(Path(__file__).with_name("page_errors.csv"))


class PageError(ApiError):
    """An error of the website, whose code may be absent from serve/contract/errors.py.

    Attributes:
        page: the message of the page in French and English, where `texts` are for programs.
    """

    def __init__(self, status: int, code: str, texts: Text, page: Text | None = None) -> None:
        self.status = status
        self.code = code
        self.texts = Text(*map(mask_keys, texts))
        self.page = Text(*map(mask_keys, page)) if page else self.texts
        Exception.__init__(self, f"{status} {code}: {self.texts.fr}")
        self.headers = {}
        self.extra = {}


def formulaire_refuse() -> ApiError:
    """A form that this server did not make for this browser, or made too long ago."""
    return _page_error(403, "formulaire_refuse")


def cle_introuvable(key: str) -> ApiError:
    """A key that does not exist, or belongs to another organisation: the error is the same."""
    return _page_error(404, "cle_introuvable", key=repr(key[:40]))


def administrateurs_seulement() -> ApiError:
    """A form that only administrators of an organisation may send."""
    return _page_error(403, "administrateurs_seulement")


def adresse_non_confirmee(email: str) -> ApiError:
    """403: a decision that needs an address which its owner has confirmed."""
    return _page_error(403, "adresse_non_confirmee", email=email)


def geste_inconnu(act: str) -> ApiError:
    """A form with an act that its page does not have."""
    return _page_error(400, "geste_inconnu", act=repr(act[:40]))


def personne_introuvable(person: str) -> ApiError:
    """A person who does not exist, or belongs to another organisation: the error is the same."""
    return _page_error(404, "personne_introuvable", person=repr(person[:40]))


def lien_perime() -> ApiError:
    """A link that was used, has expired, was withdrawn, or never existed."""
    return _page_error(404, "lien_perime")


def liste_introuvable() -> ApiError:
    """A list that was deleted, has expired, belongs to another account, or never existed: the error is the same."""
    return _page_error(404, "liste_introuvable")


def listes_pleines() -> ApiError:
    """409: an account has as many lists as it may keep."""
    size = lists.BYTES_MOST >> 20
    return _page_error(
        409, "listes_pleines", lists=lists.LISTS_MOST, lines=lists.LINES_MOST, size=size
    )


def liste_trop_grande() -> ApiError:
    """413: a list that is sent without an account is longer than may be kept of it."""
    return _page_error(413, "liste_trop_grande", size=lists.VISITOR_BYTES >> 10)


def liste_suite(line: int, lines: int) -> ApiError:
    """409: a piece that does not continue its list, because it was sent twice, say."""
    return _page_error(409, "liste_suite", line=line, lines=lines)


def sans_facture() -> ApiError:
    """404: an organisation that has paid nothing has no invoices."""
    return _page_error(404, "sans_facture")


def signature_refusee() -> ApiError:
    """400: a message that Stripe did not sign with our secret, or signed too long ago."""
    return _page_error(400, "signature_refusee")


def paiement_ferme(contact: str | None = None) -> ApiError:
    """503 `config` (§7): no payment provider is set; `contact` is the address of the operator."""
    return _config("paiement", "paiement_ferme", contact)


def sur_devis(contact: str | None) -> ApiError:
    """503 `config`: a plan without a price, which no page can sell."""
    return _config("devis", "sur_devis", contact)


def comptes_au_centre() -> ApiError:
    """503 `config`: an edge has no accounts (quota/edge/edge_store.py)."""
    return _config("comptes", "comptes_au_centre")


def paiement_indisponible() -> ApiError:
    """503 `indisponible`: Stripe cannot be reached, or refused."""
    return errors.indisponible(_TEXTS["paiement_indisponible"])


def paiement_sans_effet() -> ApiError:
    """503 `indisponible`: what was paid cannot be applied; the operator has been told."""
    return errors.indisponible(_TEXTS["paiement_sans_effet"])


def _page_error(status: int, code: str, **values: object) -> ApiError:
    return PageError(status, code, _TEXTS[code].fill(**values))


def _config(what: str, page: str, contact: str | None = None) -> ApiError:
    """What is not set up, with another message on a page than for programs."""
    error = errors.config(_TEXTS[what], contact)
    text = _TEXTS[page].fill(at=ending(contact))
    return PageError(error.status, error.code, error.texts, text)
