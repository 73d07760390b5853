"""The sections of the settings that name services of others. Secrets are in files, never in settings.

A value is checked when its section is made; serve/config.py adds where it was read.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

STARTTLS: Final = "starttls"
TLS: Final = "tls"
PLAIN: Final = "none"

PACK_CREDITS: Final = 1_000


@dataclass(frozen=True, slots=True)
class MailSettings:
    """`[courriel]`: the mail server that sends invitations and links for passwords.

    Attributes:
        tls: `starttls`, `tls` from the first byte, or `none`, for a server on this host.
        password_file: holds the password of `user`, read for each mail.
        sender: the address in From.
        timeout: seconds for one mail.
    """

    host: str
    sender: str
    port: int = 587
    tls: str = STARTTLS
    user: str = ""
    password_file: Path | None = None
    timeout: int = 20

    def __post_init__(self) -> None:
        if self.tls not in (STARTTLS, TLS, PLAIN):
            raise ValueError(f"tls = {self.tls!r}: give {STARTTLS}, {TLS} or {PLAIN}")
        if "@" not in self.sender:
            raise ValueError(f"sender = {self.sender!r}: give an e-mail address")
        if bool(self.user) != bool(self.password_file):
            raise ValueError("user and password_file belong together: give both or neither")
        if self.user and self.tls == PLAIN:
            raise ValueError(f"a password is not sent without TLS: give tls = {STARTTLS}")


@dataclass(frozen=True, slots=True)
class PaymentSettings:
    """`[paiement]`: the account at Stripe by which plans and packs are bought.

    Attributes:
        key_file: holds the secret key of the account (`sk_…`).
        webhook_file: holds the secret that signs its events (`whsec_…`).
        pack_eur: price of PACK_CREDITS credits in euros, excl. VAT; without it no pack is sold.
        api: the address of Stripe's API.
        automatic_tax: whether Stripe Tax adds VAT; it must be set up at Stripe.
    """

    key_file: Path | None = None
    webhook_file: Path | None = None
    pack_eur: int = 0
    api: str = "https://api.stripe.com"
    automatic_tax: bool = False

    def __post_init__(self) -> None:
        if self.key_file is None or self.webhook_file is None:
            raise ValueError("key_file or webhook_file is missing: give both")


def secret(path: Path) -> str:
    """The secret in a file, without the line end.

    Raises:
        OSError: it cannot be read.
    """
    return path.read_text(encoding="utf-8").strip()


@dataclass(frozen=True, slots=True)
class EditorSettings:
    """`[editeur]`: who operates the service, as /mentions-legales names it.

    Attributes:
        courriel: where people write to.
        hebergeur: name, address and telephone of the host of the service.
        directeur, immatriculation: who answers for what is published; the number in a register.
        confidentialite: what is done with personal data; blank lines part its paragraphs.
    """

    nom: str
    adresse: str
    courriel: str
    hebergeur: str
    directeur: str = ""
    immatriculation: str = ""
    confidentialite: str = ""

    def __post_init__(self) -> None:
        if "@" not in self.courriel:
            raise ValueError(f"courriel = {self.courriel!r}: give an e-mail address")
