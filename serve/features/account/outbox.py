"""Mail to members: an invitation, a link for a new password, or a link that confirms an address; French and English.

The store has the mails to send. Each serving process looks for mails that are due, and `claim_mail`
(quota/ledger/tickets.py) gives each mail to one process. A mail is not lost if the mail server is down or slow: the
outcome is stored, /compte/membres shows it, and the mail is tried again until its link expires. If the mail server
refuses the recipient or the text for good (RFC 5321 §4.2.1, 5yz), there is no further attempt. All other errors count
as temporary.

A mail is plain text with one link. The name of the organisation is only in the body, because its members choose it.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime, parseaddr
from typing import Final, NamedTuple

from quota.credentials import secret_digest
from quota.errors import NotAllowedError, QuotaError
from quota.ledger import account_rows, people, tickets
from quota.ledger.tickets import Ticket
from quota.new_values import new_token
from quota.periods import seconds
from quota.store.interface import LedgerStore
from serve.access.context import ServerContext
from serve.config import STARTTLS, TLS, MailSettings, read_secret

# Seconds between two checks for mails that are due; a new mail does not wait for the next check.
LOOK_SECONDS: Final = 15.0

# The first part of the path of a link, by the kind of its ticket.
PATHS: Final[Mapping[str, str]] = {
    tickets.INVITATION: "invitation",
    tickets.PASSWORD: "mot-de-passe",
    tickets.CONFIRMATION: "confirmation",
}

# The subject and the body of a mail in French and English, by the kind of its ticket.
_SUBJECTS: Final = {
    tickets.INVITATION: ("Invitation sur societes", "Invitation to societes"),
    tickets.PASSWORD: ("Votre nouveau mot de passe", "Your new password"),
    tickets.CONFIRMATION: ("Confirmez votre adresse", "Confirm your address"),
}
_BODIES: Final = {
    tickets.INVITATION: (
        "Bonjour,\n\n« {nom} » vous invite à rejoindre son compte. Choisissez votre mot de passe ici :\n\n"
        "{lien}\n\nCe lien sert une fois, jusqu'au {fin} UTC. Si vous n'attendiez pas cette "
        "invitation, ne faites rien.\n",
        "Hello,\n\n“{nom}” invites you to join its account. Choose your password here:\n\n"
        "{lien}\n\nThis link works once, until {fin} UTC. If you did not expect this invitation, "
        "do nothing.\n",
    ),
    tickets.PASSWORD: (
        "Bonjour,\n\nUn nouveau mot de passe a été demandé pour cette adresse. Choisissez-le ici :"
        "\n\n{lien}\n\nCe lien sert une fois, jusqu'au {fin} UTC. Si vous n'avez rien demandé, ne "
        "faites rien : votre mot de passe reste le même.\n",
        "Hello,\n\nA new password was requested for this address. Choose it here:"
        "\n\n{lien}\n\nThis link works once, until {fin} UTC. If you did not request it, do "
        "nothing: your password does not change.\n",
    ),
    tickets.CONFIRMATION: (
        "Bonjour,\n\nLe compte de « {nom} » utilise cette adresse. Si c'est le vôtre, connectez-vous, puis "
        "confirmez l'adresse ici :\n\n{lien}\n\nCe lien sert une fois, jusqu'au {fin} UTC. Si vous n'avez pas créé "
        "ce compte, ne faites rien, ou utilisez « Mot de passe perdu ? » pour le retirer à la personne qui l'a créé.\n",
        "Hello,\n\nThe account of “{nom}” uses this address. If it is your account, log in, then confirm the address "
        "here:\n\n{lien}\n\nThis link works once, until {fin} UTC. If you did not create this account, do nothing, or "
        "use “Lost your password?” to take it from the person who created it.\n",
    ),
}
# Added to a mail with a link for a new password, if the address was never confirmed.
_TAKES_OVER: Final = (
    "\nCette adresse n'a jamais été confirmée. Un nouveau mot de passe révoquera donc toutes les clés et adresses de "
    "réconciliation de « {nom} », annulera ses invitations et retirera ses autres membres.\n",
    "\nThis address was never confirmed. A new password will therefore revoke all keys and reconciliation "
    "addresses of “{nom}”, withdraw its invitations and remove its other members.\n",
)

_log: Final = logging.getLogger("serve.features.account.outbox")


class _Delivery(NamedTuple):
    """The outcome of an attempt: SENT, REFUSED or WAITING (quota/ledger/tickets.py), and the error."""

    state: str
    error: str = ""


def wake(context: ServerContext) -> None:
    """Send a new mail now instead of at the next check; nothing happens on a server without mail."""
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
        """Check the settings; `run` sends the mails.

        Args:
            ledger: returns the store with the mails, None at an edge; raises StoreUnavailable.
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
        self._waiting: int | None = None  # mails, as of the last check

    def count(self) -> int | None:
        """The number of mails that were not accepted yet, as of the last check; None if the store did not answer."""
        return self._waiting

    def wake(self) -> None:
        """Check for mails that are due now."""
        self._woken.set()

    async def run(self) -> None:
        """Send the mails that are due, until cancelled."""
        while True:
            self._woken.clear()
            try:
                await self._deliver()
            except QuotaError as error:  # tried again at the next check
                self._waiting = None  # unknown
                _log.warning("mails wait for the store, which is tried again: %s", error)
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._woken.wait()
            except TimeoutError:
                continue

    async def _deliver(self) -> None:
        """Send the mails that are due, each claimed first, so that no other process sends it."""
        ledger = self._ledger()
        if ledger is None:
            return
        self._waiting = await ledger.read(tickets.waiting_mails, seconds(self._now()))
        while await ledger.read(tickets.is_due, seconds(self._now())):
            token = new_token()
            ticket = await ledger.submit(
                tickets.claim_mail, secret_digest(token), seconds(self._now())
            )
            if ticket is None:  # another process was faster
                return
            account = await ledger.read(account_rows.account_of, ticket.account)
            person = await ledger.read(people.find_by_email, ticket.email)
            # If no administrator of an account has a confirmed address, the account passes to the owner of the address.
            takes_over = (
                person is not None
                and not person.confirmed
                and await ledger.read(people.is_alone, person)
            )
            delivery = await self._send(
                ticket, account.nom or account.id, token, takes_over=takes_over
            )
            await ledger.submit(
                tickets.note_mail_outcome, ticket.id, delivery.state, delivery.error
            )
            self._waiting = await ledger.read(tickets.waiting_mails, seconds(self._now()))
            if delivery.error:
                _log.warning("mail of %s: %s (%s)", ticket.id, delivery.error, delivery.state)

    async def _send(self, ticket: Ticket, nom: str, token: str, *, takes_over: bool) -> _Delivery:
        """Send the mail of a ticket. If the address is not valid in a mail, the mail counts as refused."""
        link = f"{self._base_url}/{PATHS[ticket.kind]}/{token}"
        try:
            mail = _ticket_mail(
                ticket, nom, link, self._settings.sender, self._now(), takes_over=takes_over
            )
        except ValueError as error:  # no mail can have such an address
            return _Delivery(tickets.REFUSED, str(error))
        return await _pass_to_server(self._settings, mail)


def _ticket_mail(
    ticket: Ticket, nom: str, link: str, sender: str, now: datetime, *, takes_over: bool = False
) -> EmailMessage:
    """The mail that sends the link of a ticket.

    Args:
        nom: the name of the organisation.
        link: the address that uses the ticket.
        takes_over: whether the new password takes the account from other people.

    Raises:
        ValueError: the address is not valid in a mail.
    """
    english = ticket.lang == "en"  # as an index: 0 is the French text, 1 the English text
    end = datetime.fromtimestamp(ticket.expires, UTC)
    mail = EmailMessage()
    mail["From"] = sender
    mail["To"] = _recipient(ticket.email)
    mail["Subject"] = _SUBJECTS[ticket.kind][english]
    mail["Date"] = format_datetime(now)
    # All attempts have the same Message-ID, so that a mail program recognizes a mail that arrives twice.
    mail["Message-ID"] = f"<{ticket.id}@{parseaddr(sender)[1].rpartition('@')[2]}>"
    mail["Auto-Submitted"] = "auto-generated"  # RFC 3834: no automatic replies
    mail["Content-Language"] = "en" if english else "fr"
    text = _BODIES[ticket.kind][english]
    if takes_over and ticket.kind == tickets.PASSWORD:
        text += _TAKES_OVER[english]
    mail.set_content(text.format(nom=nom, lien=link, fin=f"{end:%Y-%m-%d %H:%M}"))
    return mail


def _recipient(email: str) -> Address:
    """The address as a header of a mail needs it. Raises ValueError: no mail can have this address."""
    user, _, domain = email.rpartition("@")
    return Address(username=user, domain=domain)


def _check_settings(settings: MailSettings) -> None:
    """Check that mails can be sent with these settings.

    Raises:
        NotAllowedError: aiosmtplib, an extra, is not installed.
        OSError: the password file cannot be read.
    """
    try:
        import aiosmtplib  # noqa: F401
    except ModuleNotFoundError as error:
        raise NotAllowedError(
            f"[courriel] needs aiosmtplib ({error}); pip install 'societes[mail]'"
        ) from error
    if settings.password_file:
        read_secret(settings.password_file)


async def _pass_to_server(settings: MailSettings, mail: EmailMessage) -> _Delivery:
    """Pass a mail to the mail server with aiosmtplib; it counts as sent when the server has accepted it.

    REFUSED: the server refuses the recipient or the mail for ever (a status from 500). WAITING: any other failure,
    after which the mail is tried again. An error is returned as text, not raised.
    """
    import aiosmtplib
    from aiosmtplib import errors

    try:
        password = read_secret(settings.password_file) if settings.password_file else None
        # The limit of the library is for each step, and a slow server has many steps. So the complete mail has a limit.
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
        return _Delivery(tickets.WAITING, f"no reply from {settings.host} in {settings.timeout} s")
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
