"""Invitations, passwords that are replaced, and the mails about them, in a store.

As in `account_book.py`, each method is a function of the ledger (`tickets.py`) in one transaction. A
token is 32 random bytes as text behind a fixed prefix; it is returned once, and only its SHA-256 is stored.
"""

import hashlib
import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from quota import credentials
from quota.ledger import people, tickets
from quota.ledger.people import Person
from quota.ledger.tickets import Ticket
from quota.periods import iso
from quota.store.future import StoreFuture, StoreResult
from quota.store.transactions import Transactions

# A fixed beginning, so that logs can leave the rest out.
PREFIX: Final = "soc_lien_"
_TOKEN_BYTES: Final = 32


class TicketBook:
    """The tickets of a store. A password is a hash here (`passwords.hash_password`)."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def invite(
        self, account: str, email: str, role: str, now: datetime, *, mail: bool, lang: str = "fr"
    ) -> StoreFuture[tuple[Ticket, str]]:
        """Invite an address into an organisation; returns the ticket and the token of its link.

        With `mail` it is entered in the outbox, and the token is "".
        """
        ticket = _ticket(tickets.INVITATION, account, email, role, lang, now, mail=mail)
        token = "" if mail else new_token()
        return self._transactions.submit(
            lambda txn: (tickets.issue(txn, ticket, _digest(token)), token)
        )

    def ask_for_password(
        self, email: str, now: datetime, *, mail: bool, lang: str = "fr"
    ) -> StoreFuture[tuple[Ticket, str]]:
        """Let the person with this address choose another password; an unknown one looks the same."""
        ticket = _ticket(tickets.PASSWORD, "", email, "", lang, now, mail=mail)
        token = "" if mail else new_token()
        return self._transactions.submit(
            lambda txn: (tickets.ask_for_link(txn, ticket, _digest(token)), token)
        )

    def ask_for_confirmation(
        self, email: str, now: datetime, *, lang: str = "fr"
    ) -> StoreFuture[Ticket]:
        """Enter a mail with the link that confirms this address in the outbox."""
        ticket = _ticket(tickets.CONFIRMATION, "", email, "", lang, now, mail=True)
        return self._transactions.submit(tickets.ask_for_link, ticket, None)

    def confirm(self, token: str, person: str, now: datetime) -> StoreFuture[Person | None]:
        """Let the address of a person who has a session count; None if the link cannot be used."""
        digest, moment = _sha256(token), int(now.timestamp())
        return self._transactions.submit(tickets.confirm, digest, person, moment)

    def find(self, token: str, kind: str, now: datetime) -> StoreResult[Ticket | None]:
        """The ticket of a token, if it can still be used."""
        digest, moment = _sha256(token), int(now.timestamp())
        return self._transactions.read(tickets.open_ticket, digest, kind, moment)

    def accept(
        self, token: str, password: str, now: datetime, *, mails: bool = False
    ) -> StoreFuture[Person | None]:
        """Use an invitation; None if it cannot be used, NotAllowedError if the address is in use.

        Where the server `mails`, only a link that was mailed confirms the address.
        """
        name = credentials.make_id(credentials.PERSON_ID, secrets.randbelow)
        person = Person(name, "", "", password, iso(now), people.MEMBER)
        digest, moment = _sha256(token), int(now.timestamp())
        return self._transactions.submit(
            lambda txn: tickets.accept(txn, digest, person, moment, mails=mails)
        )

    def set_password(self, token: str, password: str, now: datetime) -> StoreFuture[Person | None]:
        """Use a ticket for another password; None if it cannot be used."""
        digest, moment = _sha256(token), int(now.timestamp())
        return self._transactions.submit(tickets.set_password, digest, password, moment)

    def of_account(self, account: str, now: datetime) -> StoreResult[Sequence[Ticket]]:
        """The tickets of an organisation that can be used, the newest first."""
        moment = int(now.timestamp())
        return self._transactions.read(tickets.of_account, account, moment)

    def withdraw(self, account: str, ticket: str) -> StoreFuture[None]:
        """End a ticket of an organisation."""
        return self._transactions.submit(tickets.withdraw, account, ticket)

    # -- the outbox ----------------------------------------------------------------

    def is_due(self, now: datetime) -> StoreResult[bool]:
        """Whether `claim` has something to do."""
        moment = int(now.timestamp())
        return self._transactions.read(tickets.is_due, moment)

    def waiting_mails(self, now: datetime) -> StoreResult[int]:
        """The mails that were not accepted by the mail server yet."""
        return self._transactions.read(tickets.waiting_mails, int(now.timestamp()))

    def claim(self, now: datetime) -> StoreFuture[tuple[Ticket | None, str]]:
        """The next ticket to be mailed, for this process alone, and a new token for its link."""
        token, moment = new_token(), int(now.timestamp())
        digest = _sha256(token)
        return self._transactions.submit(lambda txn: (tickets.claim(txn, digest, moment), token))

    def settle(self, ticket: str, mail: str, error: str = "") -> StoreFuture[None]:
        """Note the outcome of an attempt to send a mail."""
        return self._transactions.submit(tickets.settle, ticket, mail, error)


def new_token() -> str:
    """A token that cannot be guessed: PREFIX and 43 characters that are allowed in a path."""
    return PREFIX + secrets.token_urlsafe(_TOKEN_BYTES)


def _ticket(
    kind: str, account: str, email: str, role: str, lang: str, now: datetime, *, mail: bool
) -> Ticket:
    name = credentials.make_id(credentials.TICKET_ID, secrets.randbelow)
    created = int(now.timestamp())
    state = tickets.WAITING if mail else tickets.NO_MAIL
    expires = created + tickets.LASTS_S[kind]
    return Ticket(name, kind, account, "", email.strip(), role, lang, created, expires, state)


def _digest(token: str) -> bytes | None:
    return _sha256(token) if token else None


def _sha256(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
