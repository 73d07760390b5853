"""Mail to members: an invitation, a link for another password or to confirm an address, in French and English.

The store keeps mails that are to be sent. Every process that serves looks for those that are due; `claim`
(quota/ledger/tickets.py) gives each to one of them. A mail server that is down or slow loses nothing: the outcome is
noted, /compte/membres shows it, and the mail is tried again until its link expires. A mail server that refuses the
recipient or the text for good (RFC 5321 §4.2.1, 5yz) ends the attempts; everything else may pass.

A mail is plain text with one link. The name of the organisation stands in its body alone, because its members chose it.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime, parseaddr
from typing import Final, NamedTuple

from quota.errors import NotAllowedError, QuotaError
from quota.ledger import account_rows, people, tickets
from quota.ledger.tickets import Ticket
from quota.new_values import new_token, token_digest
from quota.periods import seconds
from quota.store.interface import LedgerStore
from serve.access.context import ServerContext
from serve.config import STARTTLS, TLS, MailSettings, secret

# Between two looks for mails that are due; a mail that was just entered is sent at once.
LOOK_SECONDS: Final = 15.0

# The first part of the path of a link, by the kind of its ticket.
PATHS: Final[Mapping[str, str]] = {
    tickets.INVITATION: "invitation",
    tickets.PASSWORD: "mot-de-passe",
    tickets.CONFIRMATION: "confirmation",
}

_SUBJECTS: Final = {
    tickets.INVITATION: ("Invitation sur societes", "Invitation to societes"),
    tickets.PASSWORD: ("Votre nouveau mot de passe", "Your new password"),
    tickets.CONFIRMATION: ("Confirmez votre adresse", "Confirm your address"),
}
_BODIES: Final = {
    tickets.INVITATION: (
        "Bonjour,\n\n« {nom} » vous invite à la rejoindre. Choisissez votre mot de passe ici :\n\n"
        "{lien}\n\nCe lien sert une fois, jusqu'au {fin} UTC. Si vous n'attendiez pas cette "
        "invitation, ne faites rien.\n",
        "Hello,\n\n“{nom}” invites you to join. Choose your password here:\n\n"
        "{lien}\n\nThis link works once, until {fin} UTC. If you did not expect this invitation, "
        "do nothing.\n",
    ),
    tickets.PASSWORD: (
        "Bonjour,\n\nUn nouveau mot de passe a été demandé pour cette adresse. Choisissez-le ici :"
        "\n\n{lien}\n\nCe lien sert une fois, jusqu'au {fin} UTC. Si vous n'avez rien demandé, ne "
        "faites rien : votre mot de passe reste le même.\n",
        "Hello,\n\nA new password was asked for at this address. Choose it here:"
        "\n\n{lien}\n\nThis link works once, until {fin} UTC. If you did not ask, do nothing: "
        "your password stays as it is.\n",
    ),
    tickets.CONFIRMATION: (
        "Bonjour,\n\nLe compte de « {nom} » utilise cette adresse. Si c'est le vôtre, connectez-vous, puis "
        "confirmez-la ici :\n\n{lien}\n\nCe lien sert une fois, jusqu'au {fin} UTC. Si vous n'avez pas de compte, "
        "ne faites rien : « mot de passe oublié » vous donne le compte, et le retire à qui s'en est servi.\n",
        "Hello,\n\nThe account of “{nom}” uses this address. If it is yours, log in, then confirm it here:"
        "\n\n{lien}\n\nThis link works once, until {fin} UTC. If you have no account, do nothing: “lost password” "
        "gives you the account, and takes it from whoever used it.\n",
    ),
}
# Below a link for another password, where the address was never confirmed.
_TAKES_OVER: Final = (
    "\nCette adresse n'a jamais été confirmée. Ce mot de passe révoquera donc toutes les clés et adresses de "
    "réconciliation de « {nom} », annulera ses invitations et retirera ses autres membres.\n",
    "\nThis address was never confirmed. This password will therefore revoke all keys and reconciliation "
    "addresses of “{nom}”, withdraw its invitations and remove its other members.\n",
)

_log: Final = logging.getLogger("serve.features.account.outbox")


class _Delivery(NamedTuple):
    """The outcome of an attempt: SENT, REFUSED or WAITING (quota/ledger/tickets.py), and the error."""

    state: str
    error: str = ""


def wake(context: ServerContext) -> None:
    """Send the mail that was just entered, without waiting for the next look; nothing where no mail is sent."""
    if outbox := context.service(Outbox):
        outbox.wake()


class Outbox:
    """Sends the mails of a store, one after the other."""

    def __init__(
        self,
        settings: MailSettings,
        ledger: Callable[[], LedgerStore | None],
        base_url: str,
        now: Callable[[], datetime],
    ) -> None:
        """Check the settings.

        Args:
            ledger: the store with the mails, None at an edge; raises StoreUnavailable.
            base_url: the beginning of the links.

        Raises:
            NotAllowedError, OSError: as `_check_settings`.
        """
        _check_settings(settings)
        self._settings = settings
        self._ledger = ledger
        self._base_url = base_url
        self._now = now
        self._woken = asyncio.Event()
        self._waiting: int | None = None

    def count(self) -> int | None:
        """How many mails were not accepted yet, as of the last look; None if the store does not tell."""
        return self._waiting

    def wake(self) -> None:
        """Look for mails now."""
        self._woken.set()

    async def run(self) -> None:
        """Send what is due until cancelled."""
        while True:
            self._woken.clear()
            try:
                await self._deliver()
            except QuotaError as error:  # tried again at the next look
                self._waiting = None
                _log.warning("mails wait for the store, which is tried again: %s", error)
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._woken.wait()
            except TimeoutError:
                continue

    async def _deliver(self) -> None:
        ledger = self._ledger()
        if ledger is None:
            return
        self._waiting = await ledger.read(tickets.waiting_mails, seconds(self._now()))
        while await ledger.read(tickets.is_due, seconds(self._now())):
            token = new_token()
            ticket = await ledger.submit(tickets.claim, token_digest(token), seconds(self._now()))
            if ticket is None:  # another process was faster
                return
            account = await ledger.read(account_rows.account_of, ticket.account)
            person = await ledger.read(people.by_email, ticket.email)
            takes_over = (
                person is not None
                and not person.confirmed
                and await ledger.read(people.is_alone, person)
            )
            delivery = await self._send(
                ticket, account.nom or account.id, token, takes_over=takes_over
            )
            await ledger.submit(tickets.settle, ticket.id, delivery.state, delivery.error)
            self._waiting = await ledger.read(tickets.waiting_mails, seconds(self._now()))
            if delivery.error:
                _log.warning("mail of %s: %s (%s)", ticket.id, delivery.error, delivery.state)

    async def _send(self, ticket: Ticket, nom: str, token: str, *, takes_over: bool) -> _Delivery:
        link = f"{self._base_url}/{PATHS[ticket.kind]}/{token}"
        try:
            mail = _message(
                ticket, nom, link, self._settings.sender, self._now(), takes_over=takes_over
            )
        except ValueError as error:  # no mail can have such an address
            return _Delivery(tickets.REFUSED, str(error))
        return await _hand_over(self._settings, mail)


def _message(
    ticket: Ticket, nom: str, link: str, sender: str, now: datetime, *, takes_over: bool = False
) -> EmailMessage:
    """The mail of a ticket.

    Args:
        nom: the name of the organisation.
        link: the address that uses the ticket.
        takes_over: whether another password takes the account from others.

    Raises:
        ValueError: the address cannot stand in a mail.
    """
    english = ticket.lang == "en"
    end = datetime.fromtimestamp(ticket.expires, UTC)
    mail = EmailMessage()
    mail["From"] = sender
    mail["To"] = _address(ticket.email)
    mail["Subject"] = _SUBJECTS[ticket.kind][english]
    mail["Date"] = format_datetime(now)
    # The same for every attempt, so that a mail that comes twice can be recognized.
    mail["Message-ID"] = f"<{ticket.id}@{parseaddr(sender)[1].rpartition('@')[2]}>"
    mail["Auto-Submitted"] = "auto-generated"  # RFC 3834: no replies of absent people
    mail["Content-Language"] = "en" if english else "fr"
    text = _BODIES[ticket.kind][english]
    if takes_over and ticket.kind == tickets.PASSWORD:
        text += _TAKES_OVER[english]
    mail.set_content(text.format(nom=nom, lien=link, fin=f"{end:%Y-%m-%d %H:%M}"))
    return mail


def _address(email: str) -> Address:
    user, _, domain = email.rpartition("@")
    return Address(username=user, domain=domain)


def _check_settings(settings: MailSettings) -> None:
    """Check that mails can be tried with these settings.

    Raises:
        NotAllowedError: aiosmtplib, an extra, is not installed.
        OSError: the file of the password cannot be read.
    """
    try:
        import aiosmtplib  # noqa: F401
    except ModuleNotFoundError as error:
        raise NotAllowedError(
            f"[courriel] needs aiosmtplib ({error}); pip install 'societes[mail]'"
        ) from error
    if settings.password_file:
        secret(settings.password_file)


async def _hand_over(settings: MailSettings, mail: EmailMessage) -> _Delivery:
    """Hand a mail to the server by aiosmtplib; it is sent once the server has accepted all of it."""
    import aiosmtplib
    from aiosmtplib import errors

    try:
        password = secret(settings.password_file) if settings.password_file else None
        # A limit of our own: that of the library is for each step, and a slow server has many.
        async with asyncio.timeout(settings.timeout):
            await aiosmtplib.send(
                mail,
                hostname=settings.host,
                port=settings.port,
                username=settings.user or None,
                password=password,
                use_tls=settings.tls == TLS,
                start_tls=settings.tls == STARTTLS,
            )
    except TimeoutError:
        return _Delivery(tickets.WAITING, f"no reply of {settings.host} in {settings.timeout} s")
    except errors.SMTPRecipientsRefused as error:
        refusal = error.recipients[0]
        state = tickets.REFUSED if refusal.code >= 500 else tickets.WAITING
        return _Delivery(state, f"{refusal.code} {refusal.message}")
    except errors.SMTPDataError as error:
        state = tickets.REFUSED if error.code >= 500 else tickets.WAITING
        return _Delivery(state, f"{error.code} {error.message}")
    except errors.SMTPResponseException as error:
        return _Delivery(tickets.WAITING, f"{error.code} {error.message}")
    except (errors.SMTPException, OSError, ValueError) as error:
        return _Delivery(tickets.WAITING, str(error) or type(error).__name__)
    return _Delivery(tickets.SENT)
