"""The delivery of mails that the store keeps, in each process that serves.

Every process looks for mails that are due; `claim` (quota/ledger/tickets.py) gives each to one of them.
A mail server that is down or slow loses nothing: the outcome is noted, /compte/membres shows it, and
the mail is tried again until its link expires.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

from quota.errors import QuotaError
from quota.ledger import tickets
from quota.ledger.tickets import Ticket
from quota.store.account_book import AccountBook
from serve.access.context import ServerContext
from serve.features.account import messages, smtp
from serve.guest_settings import MailSettings

# Between two looks for mails that are due; a mail that was just entered is sent at once.
LOOK_SECONDS: Final = 15.0

# The first part of the path of a link, by the kind of its ticket.
PATHS: Final[Mapping[str, str]] = {
    tickets.INVITATION: "invitation",
    tickets.PASSWORD: "mot-de-passe",
    tickets.CONFIRMATION: "confirmation",
}

_log: Final = logging.getLogger("serve.features.account.outbox")


def wake(context: ServerContext) -> None:
    """Send the mail that was just entered, without waiting for the next look; nothing where no mail is sent."""
    if outbox := context.service(Outbox):
        outbox.wake()


class Outbox:
    """Sends the mails of a store, one after the other."""

    def __init__(
        self,
        settings: MailSettings,
        accounts: Callable[[], AccountBook | None],
        base_url: str,
        now: Callable[[], datetime],
    ) -> None:
        """Check the settings.

        Args:
            accounts: the accounts of the store, None at an edge; raises StoreUnavailable.
            base_url: the beginning of the links.

        Raises:
            NotAllowedError, OSError: as `smtp.check`.
        """
        smtp.check(settings)
        self._settings = settings
        self._accounts = accounts
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
        accounts = self._accounts()
        if accounts is None:
            return
        self._waiting = await accounts.tickets.waiting_mails(self._now())
        while await accounts.tickets.is_due(self._now()):
            ticket, token = await accounts.tickets.claim(self._now())
            if ticket is None:  # another process was faster
                return
            account = await accounts.get(ticket.account)
            person = await accounts.person_by_email(ticket.email)
            takes_over = (
                person is not None and not person.confirmed and await accounts.is_alone(person)
            )
            delivery = await self._send(
                ticket, account.nom or account.id, token, takes_over=takes_over
            )
            await accounts.tickets.settle(ticket.id, delivery.state, delivery.error)
            self._waiting = await accounts.tickets.waiting_mails(self._now())
            if delivery.error:
                _log.warning("mail of %s: %s (%s)", ticket.id, delivery.error, delivery.state)

    async def _send(
        self, ticket: Ticket, nom: str, token: str, *, takes_over: bool
    ) -> smtp.Delivery:
        link = f"{self._base_url}/{PATHS[ticket.kind]}/{token}"
        try:
            mail = messages.message(
                ticket, nom, link, self._settings.sender, self._now(), takes_over=takes_over
            )
        except ValueError as error:  # no mail can have such an address
            return smtp.Delivery(tickets.REFUSED, str(error))
        return await smtp.send(self._settings, mail)
