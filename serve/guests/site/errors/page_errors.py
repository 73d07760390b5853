"""The errors that only the website has: a code of its own, or a text for people instead of programs."""

from serve.contract import errors
from serve.contract.errors import ApiError, Texts


class PageError(ApiError):
    """An error of the website, whose code may be absent from serve/contract/error_codes.py.

    Attributes:
        page: the message of the page in French and English, where `texts` are for programs.
    """

    def __init__(self, status: int, code: str, texts: Texts, page: Texts | None = None) -> None:
        Exception.__init__(self, f"{status} {code}: {texts[0]}")
        self.status = status
        self.code = code
        self.texts = texts
        self.page = page or texts
        self.headers = {}
        self.extra = {}


def formulaire_refuse() -> ApiError:
    """A form that this server did not make for this browser, or made too long ago."""
    texts = (
        "Ce formulaire n'est plus valable : rechargez la page, puis envoyez-le de nouveau",
        "This form is no longer valid: reload the page, then send it again",
    )
    return PageError(403, "formulaire_refuse", texts)


def cle_introuvable() -> ApiError:
    """A key that does not exist, or belongs to another organisation: the error is the same."""
    texts = (
        "Votre organisation n'a pas cette clé : /compte",
        "Your organisation has no such key: /compte",
    )
    return PageError(404, "cle_introuvable", texts)


def administrateurs_seulement() -> ApiError:
    """A form that only administrators of an organisation may send."""
    texts = (
        "Seul un administrateur de votre organisation peut le faire : /compte/membres les nomme",
        "Only an administrator of your organisation may do this: /compte/membres names them",
    )
    return PageError(403, "administrateurs_seulement", texts)


def geste_inconnu(act: str) -> ApiError:
    """A form with an act that its page does not have."""
    texts = (
        f"Geste inconnu : {act[:40]!r} ; rechargez la page",
        f"Unknown act: {act[:40]!r}; reload the page",
    )
    return PageError(400, "geste_inconnu", texts)


def personne_introuvable() -> ApiError:
    """A person who does not exist, or belongs to another organisation: the error is the same."""
    texts = (
        "Votre organisation n'a pas cette personne : /compte/membres",
        "Your organisation has no such person: /compte/membres",
    )
    return PageError(404, "personne_introuvable", texts)


def lien_perime() -> ApiError:
    """A link that was used, has expired, was withdrawn, or never existed."""
    texts = (
        "Ce lien ne sert plus : il a déjà servi, ou il a expiré. Demandez-en un autre",
        "This link no longer works: it was used, or it has expired. Ask for another one",
    )
    return PageError(404, "lien_perime", texts)


def paiement_ferme(contact: str | None = None) -> ApiError:
    """503 `config` (§7): no payment provider is set; `contact` is the address of the operator."""
    return _config(
        errors.config(("le paiement en ligne", "payment online")),
        "Le paiement n’est pas encore ouvert sur ce serveur : rien n’a été acheté et rien n’est "
        f"dû. Écrivez à l’exploitant{_at(contact, ' : ')}, ou réessayez plus tard.",
        "Payment is not open yet on this server: nothing was bought and nothing is due. Please "
        f"write to the operator{_at(contact, ': ')}, or try again later.",
    )


def sur_devis(contact: str | None) -> ApiError:
    """503 `config`: a plan without a price, which no page can sell."""
    return _config(
        errors.config(("cette offre, qui est sur devis", "this plan, which is on request")),
        f"Cette offre est sur devis : écrivez à l’exploitant{_at(contact, ' : ')}.",
        f"This plan is on request: please write to the operator{_at(contact, ': ')}.",
    )


def paiement_indisponible() -> ApiError:
    """503 `indisponible`: Stripe cannot be reached, or refused."""
    return errors.indisponible(
        (
            "Le service de paiement ne répond pas ; rien n'est dû",
            "The payment service does not answer; nothing is due",
        )
    )


def paiement_sans_effet() -> ApiError:
    """503 `indisponible`: what was paid cannot be applied; the operator has been told."""
    return errors.indisponible(
        (
            "Ce paiement n'a pas pu être appliqué ; `quota payment unapplied` le montre",
            "This payment could not be applied; `quota payment unapplied` shows it",
        )
    )


def sans_facture() -> ApiError:
    """404: an organisation that has paid nothing has no invoices."""
    texts = (
        "Votre organisation n'a encore rien acheté : /tarifs",
        "Your organisation has bought nothing yet: /tarifs",
    )
    return PageError(404, "sans_facture", texts)


def signature_refusee() -> ApiError:
    """400: a message that Stripe did not sign with our secret, or signed too long ago."""
    texts = (
        "Ce message n'est pas signé par le service de paiement, ou trop ancien",
        "This message is not signed by the payment service, or too old",
    )
    return PageError(400, "signature_refusee", texts)


def comptes_au_centre() -> ApiError:
    """503 `config`: an edge has no accounts (quota/edge/edge_store.py)."""
    return _config(
        errors.config(
            (
                "les comptes, que seul le centre tient",
                "accounts, which only the central server keeps",
            )
        ),
        "Les comptes se tiennent au serveur central, pas ici. Votre clé vaut aussi sur ce "
        "serveur ; demandez l’adresse du centre à l’exploitant.",
        "Accounts are kept by the central server, not here. Your key is good on this server too; "
        "please ask the operator for the address of the centre.",
    )


def _config(error: ApiError, french: str, english: str) -> ApiError:
    return PageError(error.status, error.code, error.texts, (french, english))


def _at(contact: str | None, separator: str) -> str:
    return f"{separator}{contact}" if contact else ""
