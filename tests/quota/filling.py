"""Accounts, keys, links and lists for tests: new values, stored as `quota/command.py` and the pages store them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from quota import credentials
from quota.accounts import FREE, Account, Key
from quota.credentials import secret_digest
from quota.ledger import account_rows, activity, lists, people, tickets
from quota.ledger.account_rows import KEYS, KeyKind
from quota.ledger.lists import ListPart
from quota.ledger.people import MEMBER, Person
from quota.ledger.row_format import WriteTransaction
from quota.ledger.tickets import Ticket
from quota.new_values import new_account, new_key, new_list, new_person, new_ticket, new_token
from quota.periods import seconds
from quota.plans import Plan
from quota.store.future import StoreFuture
from quota.store.interface import LedgerStore

Plans = Mapping[str, Plan]


def create_account(
    store: LedgerStore, plan: str, plans: Plans, now: datetime, **options: Any
) -> StoreFuture[Account]:
    """Store an account with a new id; `options` are those of `new_account`."""
    return store.submit(account_rows.create_account, new_account(plan, now, **options), plans)


def create_key(
    store: LedgerStore,
    account: str,
    plans: Plans,
    now: datetime,
    *,
    label: str = "",
    kind: KeyKind = KEYS,
) -> StoreFuture[tuple[Key, str]]:
    """Store a new key or reconciliation address; returns it and its secret text."""
    key, text = new_key(account, now, label=label, kind=kind)

    def create(txn: WriteTransaction) -> tuple[Key, str]:
        """Store the key, of which the store gets only the digest of its text."""
        return account_rows.create_key(txn, key, credentials.secret_digest(text), plans, kind), text

    return store.submit(create)


def sign_up(
    store: LedgerStore,
    nom: str,
    email: str,
    password: str,
    plans: Plans,
    now: datetime,
    **options: Any,
) -> StoreFuture[bool]:
    """Store a free account with its first person; returns False if the address is in use."""
    account = new_account(FREE, now, nom=nom)
    person = new_person(account.id, email, password, now, **options)
    return store.submit(people.sign_up, account, person, plans)


def invite(
    store: LedgerStore,
    account: str,
    email: str,
    role: str,
    now: datetime,
    *,
    mail: bool,
    lang: str = "fr",
) -> StoreFuture[tuple[Ticket, str]]:
    """Store an invitation; returns it and the token of its link, which is "" if the link is to be mailed."""
    drawn = new_ticket(
        tickets.INVITATION, email, now, mail=mail, account=account, role=role, lang=lang
    )
    return store.submit(lambda txn: (tickets.issue(txn, drawn.ticket, drawn.digest), drawn.token))


def ask_for_password(
    store: LedgerStore, email: str, now: datetime, *, mail: bool, lang: str = "fr"
) -> StoreFuture[tuple[Ticket, str]]:
    """Store a ticket for a new password; returns it and the token, which is "" if the link is to be mailed."""
    drawn = new_ticket(tickets.PASSWORD, email, now, mail=mail, lang=lang)
    return store.submit(
        lambda txn: (tickets.ask_for_link(txn, drawn.ticket, drawn.digest), drawn.token)
    )


def ask_for_confirmation(
    store: LedgerStore, email: str, now: datetime, *, lang: str = "fr"
) -> StoreFuture[Ticket]:
    """Store a ticket for the mail that confirms an address."""
    drawn = new_ticket(tickets.CONFIRMATION, email, now, mail=True, lang=lang)
    return store.submit(tickets.ask_for_link, drawn.ticket, drawn.digest)


def accept(
    store: LedgerStore, token: str, password: str, now: datetime, *, mails: bool = False
) -> StoreFuture[Person | None]:
    """Use an invitation; returns the new person, None if the link is not valid."""
    person = new_person("", "", password, now, role=MEMBER)
    return store.submit(
        tickets.accept_invitation, secret_digest(token), person, seconds(now), mails=mails
    )


def claim(store: LedgerStore, now: datetime) -> StoreFuture[tuple[Ticket | None, str]]:
    """Take the next ticket to be mailed (None if no mail is due); returns it and a new token for its link."""
    token = new_token()
    digest, moment = secret_digest(token), seconds(now)
    return store.submit(lambda txn: (tickets.claim_mail(txn, digest, moment), token))


def seal_key(store: LedgerStore, text: str, session: bytes, now: datetime) -> StoreFuture[str]:
    """Encrypt and store a new key for the page that shows it once to this session; returns the token of the page."""
    token = new_token()
    name = credentials.sealed_name(token, session)
    sealed = credentials.seal_or_open(token, session, text.encode())

    def store_sealed_key(txn: WriteTransaction) -> str:
        """Store the sealed key until the page takes it; return the token of the page."""
        activity.keep_sealed(txn, name, sealed, seconds(now))
        return token

    return store.submit(store_sealed_key)


def unseal_key(
    store: LedgerStore, token: str, session: bytes, now: datetime
) -> StoreFuture[str | None]:
    """The key that this session sealed; None the second time, or if it has expired."""
    name = credentials.sealed_name(token, session)

    def take_and_open_key(txn: WriteTransaction) -> str | None:
        """Take the sealed key out of the store, so that it is shown only once, and open it."""
        sealed = activity.take_sealed(txn, name, seconds(now))
        key_text = credentials.seal_or_open(token, session, sealed or b"")
        return None if sealed is None else key_text.decode()

    return store.submit(take_and_open_key)


def create_list(
    store: LedgerStore, account: str, name: str, table: bytes, part: ListPart, now: datetime
) -> StoreFuture[str]:
    """Store a list of an account, or of a visitor if `account` is ""; returns the code of the list."""
    header, code = new_list(account, name, now)

    def create(txn: WriteTransaction) -> str:
        lists.create(txn, header, table, part)
        return code

    return store.submit(create)
