"""Accounts, keys, packs and people of a store, and the tickets of their invitations and passwords.

Each method is a function of the ledger (`account_rows.py`, `people.py`, `calls.py`, `tickets.py`) in one transaction
of the store. This module adds what such a function must not have: random ids, keys and tokens, and the
clock's moment in the form in which it is stored. The token of a ticket is 32 random bytes as text behind a fixed
prefix; it is returned once, and only its SHA-256 is stored.
"""

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Final

from quota import credentials
from quota.accounts import FREE, Account, Key
from quota.ledger import account_rows, activity, calls, exports, payments, people, tickets
from quota.ledger.account_rows import ADDRESSES
from quota.ledger.activity import KeyUse
from quota.ledger.calls import Opening
from quota.ledger.exports import CountedExport
from quota.ledger.payments import Payment, UnappliedPayment
from quota.ledger.people import Person
from quota.ledger.row_format import WriteTransaction
from quota.ledger.tickets import Ticket
from quota.periods import iso
from quota.plans import Plan
from quota.store.future import StoreFuture, StoreResult, Transactions

# The beginning of every token, so that logs can leave the rest out.
PREFIX: Final = "soc_lien_"
_TOKEN_BYTES: Final = 32
# How long a new key waits for the page that shows it, in seconds.
SEALED_S: Final = 300


class TicketBook:
    """Invitations, links for another password, and the mails about them.

    A password is a hash here (`credentials.hash_password`).
    """

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


class AccountBook:
    """The accounts of a store.

    A password is a hash here (`credentials.hash_password`), and a session token is 32 random bytes.
    """

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    @property
    def tickets(self) -> TicketBook:
        """The invitations of the store, and its mails."""
        return TicketBook(self._transactions)

    # -- accounts ------------------------------------------------------------------

    def get(self, account: str) -> StoreResult[Account]:
        """The account of this id; UnknownError if there is none."""
        return self._transactions.read(account_rows.account_of, account)

    def all(self) -> StoreResult[Sequence[Account]]:
        """All accounts, the oldest first."""
        return self._transactions.read(account_rows.accounts)

    def create(
        self,
        plan: str,
        plans: Mapping[str, Plan],
        now: datetime,
        *,
        nom: str = "",
        api_tool: bool = False,
        modules: Sequence[str] = (),
    ) -> StoreFuture[Account]:
        """Create an account with a new id."""
        name = credentials.make_id(credentials.ACCOUNT_ID, secrets.randbelow)
        account = Account(name, nom, plan, api_tool, tuple(modules), iso(now))
        return self._transactions.submit(account_rows.create_account, account, plans)

    def set_plan(
        self,
        account: str,
        plan: str,
        plans: Mapping[str, Plan],
        *,
        api_tool: bool | None = None,
        modules: Sequence[str] | None = None,
    ) -> StoreFuture[Account]:
        """Change the plan; None leaves the API tool, or the modules, as they are."""
        return self._transactions.submit(
            account_rows.set_plan, account, plan, api_tool, modules, plans
        )

    def add_credits(self, account: str, count: int) -> StoreFuture[int]:
        """Add a pack of credits; returns the credits that all packs have left."""
        return self._transactions.submit(calls.add_credits, account, count)

    def recent_charges(self, account: str, now: datetime) -> StoreResult[Sequence[Opening]]:
        """The last records and analyses that were charged in this month, the newest first."""
        return self._transactions.read(calls.recent_charges, account, now)

    # -- payments ------------------------------------------------------------------

    def payment_version(self, payment: str) -> StoreResult[int]:
        """How many states of a payment were stored, for `apply_subscription`."""
        return self._transactions.read(payments.version, payment)

    def apply_subscription(
        self, subscription: Payment, known: int, plans: Mapping[str, Plan]
    ) -> StoreFuture[bool]:
        """Store the state of a subscription and the plan that follows; False if `known` is old."""
        return self._transactions.submit(payments.apply, subscription, known, plans)

    def add_pack(self, pack: Payment) -> StoreFuture[bool]:
        """Add the credits of a paid pack; False if they were added before."""
        return self._transactions.submit(payments.add_pack, pack)

    def note_unapplied(self, payment: Payment, error: str, now: datetime) -> StoreFuture[None]:
        """Note a payment that has no effect, until it is applied or settled."""
        moment = int(now.timestamp())
        return self._transactions.submit(payments.note_unapplied, payment, error, moment)

    def unapplied_payments(self) -> StoreResult[Sequence[UnappliedPayment]]:
        """The payments that have no effect, the oldest first."""
        return self._transactions.read(payments.unapplied_payments)

    def settle_unapplied(self, payment: str) -> StoreFuture[bool]:
        """Forget a payment that was settled by hand; False if there is none such."""
        return self._transactions.submit(payments.settle_unapplied, payment)

    def payments_of(self, account: str) -> StoreResult[Sequence[Payment]]:
        """The subscriptions and packs of an account, the newest first."""
        return self._transactions.read(payments.of_account, account)

    def last_exports(self, account: str) -> StoreResult[Sequence[CountedExport]]:
        """The last exports of an account, the newest first."""
        return self._transactions.read(exports.counted_exports, account)

    # -- keys ----------------------------------------------------------------------

    def create_key(
        self, account: str, plans: Mapping[str, Plan], now: datetime, *, label: str = ""
    ) -> StoreFuture[tuple[Key, str]]:
        """Create a key; returns it and its text, which is not stored.

        The future raises NotAllowedError if the account has all the keys that its plan allows (A9).
        """
        text, key = _key(account, label, now, credentials.PREFIX, credentials.KEY_ID)
        digest = credentials.key_digest(text)
        return self._transactions.submit(
            lambda txn: (account_rows.create_key(txn, key, digest, plans), text)
        )

    def revoke_key(self, key_id: str, now: datetime) -> StoreFuture[Key]:
        """End a key; the next call with it is refused."""
        moment = iso(now)
        return self._transactions.submit(account_rows.revoke_key, key_id, moment)

    def add_key_calls(self, calls: Mapping[bytes, int], day: date) -> StoreFuture[None]:
        """Add calls of `day` to the statistics of keys, by the SHA-256 of each (`credentials.key_digest`)."""
        return self._transactions.add_key_calls(calls, day)

    def key_calls(
        self, account: str, days: int, now: datetime
    ) -> StoreResult[Mapping[str, Mapping[date, int]]]:
        """The calls of each key by day, as far as processes have added them; by key id."""
        return self._transactions.read(activity.key_calls, account, days, now)

    def key_use(
        self, account: str, days: int, now: datetime, unsaved: Mapping[bytes, int], day: date
    ) -> StoreResult[KeyUse]:
        """The calls of each key by day, and its last day of use, with calls of `day` that are not added yet."""
        return self._transactions.read(activity.key_use, account, days, now, unsaved, day)

    def calls_by_day(
        self, account: str, days: int, now: datetime
    ) -> StoreResult[Sequence[tuple[date, int]]]:
        """The calls of an account on each of the last `days` days, today last."""
        return self._transactions.read(activity.calls_by_day, account, days, now)

    def seal_key(self, text: str, session: bytes, now: datetime) -> StoreFuture[str]:
        """Keep the text of a new key or address until a page of this session shows it; returns its token.

        The text is XORed with as many bytes of SHAKE-256 of the token, which is random and used once.
        """
        token = secrets.token_urlsafe(32)
        name, sealed = _sealed_name(token, session), _seal_or_open(token, session, text.encode())
        start = int(now.timestamp())

        def keep(txn: WriteTransaction) -> str:
            activity.keep_sealed(txn, name, sealed, start, start + SEALED_S)
            return token

        return self._transactions.submit(keep)

    def unseal_key(self, token: str, session: bytes, now: datetime) -> StoreFuture[str | None]:
        """The text that this session sealed; None the second time, and after SEALED_S."""
        name = _sealed_name(token, session)
        moment = int(now.timestamp())

        def take(txn: WriteTransaction) -> str | None:
            sealed = activity.take_sealed(txn, name, moment)
            return None if sealed is None else _seal_or_open(token, session, sealed).decode()

        return self._transactions.submit(take)

    def create_address(
        self, account: str, plans: Mapping[str, Plan], now: datetime, *, label: str = ""
    ) -> StoreFuture[tuple[Key, str]]:
        """Create a reconciliation address; returns it and its token, which is not stored.

        The future raises NotAllowedError if the account has as many as its plan allows keys.
        """
        text, address = _key(
            account, label, now, credentials.ADDRESS_PREFIX, credentials.ADDRESS_ID
        )
        digest = credentials.key_digest(text)
        return self._transactions.submit(
            lambda txn: (account_rows.create_key(txn, address, digest, plans, ADDRESSES), text)
        )

    def addresses_of(self, account: str) -> StoreResult[Sequence[Key]]:
        """The reconciliation addresses of an account, revoked ones included, the oldest first."""
        return self._transactions.read(account_rows.keys_of, account, ADDRESSES)

    def by_address(self, token: str) -> StoreResult[Account | None]:
        """The account of a reconciliation address; None for any text that is none in force."""
        return self._transactions.identify_by(credentials.key_digest(token), ADDRESSES)

    def revoke_address(self, address_id: str, now: datetime) -> StoreFuture[Key]:
        """End a reconciliation address; the next request at it is refused."""
        moment = iso(now)
        return self._transactions.submit(account_rows.revoke_key, address_id, moment, ADDRESSES)

    def last_used(self, key_ids: Sequence[str]) -> StoreResult[Mapping[str, str]]:
        """The day of the last use of each key that was used, as "2026-11-21", by key id."""
        return self._transactions.read(people.last_used, key_ids)

    # -- people --------------------------------------------------------------------

    def people_of(self, account: str) -> StoreResult[Sequence[Person]]:
        """The people of an account, by address."""
        return self._transactions.read(people.people_of, account)

    def count_of(self, account: str) -> StoreResult[int]:
        """How many people an account has."""
        return self._transactions.read(people.count_of, account)

    def person_by_email(self, email: str) -> StoreResult[Person | None]:
        """The person with this address, or None."""
        return self._transactions.read(people.by_email, email)

    def sign_up(
        self,
        nom: str,
        email: str,
        password: str,
        plans: Mapping[str, Plan],
        now: datetime,
        *,
        confirmed: bool = True,
    ) -> StoreFuture[bool]:
        """Create a free account with its first person; False if the address is in use.

        Where the server sends mail, the address is not `confirmed` yet. Both outcomes take the same time, so that
        nobody can test which addresses are in use.
        """
        name = credentials.make_id(credentials.ACCOUNT_ID, secrets.randbelow)
        account = Account(name, nom, FREE, False, (), iso(now))
        person = replace(_person(name, email, password, now), confirmed=confirmed)
        return self._transactions.submit(people.sign_up, account, person, plans)

    def add_person(
        self,
        account: str,
        email: str,
        password: str,
        now: datetime,
        role: str = people.ADMINISTRATOR,
    ) -> StoreFuture[Person]:
        """Add a person to an account; the future raises NotAllowedError if the address is in use."""
        person = replace(_person(account, email, password, now), role=role)
        return self._transactions.submit(people.add_person, person)

    def confirm_person(self, person: str) -> StoreFuture[Person]:
        """Let the address of a person count without a link, as an operator may decide."""
        return self._transactions.submit(people.confirm, person)

    def is_alone(self, person: Person) -> StoreResult[bool]:
        """Whether no other administrator of the account has confirmed an address."""
        return self._transactions.read(people.is_alone, person)

    def set_password(self, person: str, password: str) -> StoreFuture[Person]:
        """Replace a password; all sessions of the person, and links for another password, end."""

        def change(txn: WriteTransaction) -> Person:
            changed = people.set_password(txn, person, password)
            tickets.end_links(txn, changed)
            return changed

        return self._transactions.submit(change)

    def set_role(self, account: str, person: str, role: str) -> StoreFuture[Person]:
        """Give a person of an account another role; the last administrator keeps theirs."""
        return self._transactions.submit(people.set_role, account, person, role)

    def remove_person(self, account: str, person: str) -> StoreFuture[Person]:
        """Remove a person from an account; the last administrator stays."""

        def remove(txn: WriteTransaction) -> Person:
            removed = people.remove_person(txn, account, person)
            tickets.end_links(txn, removed)
            return removed

        return self._transactions.submit(remove)

    # -- sessions ------------------------------------------------------------------

    def open_session(
        self, person: str, token: bytes, now: datetime, expires: datetime
    ) -> StoreFuture[None]:
        """Open a session of a person until `expires`."""
        start, end = int(now.timestamp()), int(expires.timestamp())
        return self._transactions.submit(people.open_session, person, token, start, end)

    def in_session(self, person: str, token: bytes, now: datetime) -> StoreResult[Person | None]:
        """The person, if this session of theirs is open."""
        seconds = int(now.timestamp())
        return self._transactions.read(people.in_session, person, token, seconds)

    def session(
        self, person: str, token: bytes, now: datetime
    ) -> StoreResult[tuple[Person, Account] | None]:
        """The person and their account, if this session of theirs is open."""
        return self._transactions.session(person, token, int(now.timestamp()))

    def close_session(self, person: str, token: bytes) -> StoreFuture[None]:
        """End a session; ending it again changes nothing."""
        return self._transactions.submit(people.close_session, person, token)


def _sealed_name(token: str, session: bytes) -> bytes:
    """Row name of a sealed text: a hash, from which the key cannot be derived."""
    return hashlib.sha256(b"name" + token.encode() + session).digest()


def _seal_or_open(token: str, session: bytes, text: bytes) -> bytes:
    """A text sealed, or a sealed one opened."""
    pad = hashlib.shake_256(b"seal" + token.encode() + session).digest(len(text))
    return bytes(a ^ b for a, b in zip(text, pad, strict=True))


def _key(account: str, label: str, now: datetime, prefix: str, kind: str) -> tuple[str, Key]:
    """The text of a new key or address, and what is stored of it."""
    text, name = (
        credentials.make_key(secrets.randbelow, prefix),
        credentials.make_id(kind, secrets.randbelow),
    )
    return text, Key(name, account, credentials.last4(text), label, iso(now), None)


def _person(account: str, email: str, password: str, now: datetime) -> Person:
    name = credentials.make_id(credentials.PERSON_ID, secrets.randbelow)
    return Person(name, email.strip(), account, password, iso(now))
