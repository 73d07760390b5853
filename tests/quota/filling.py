"""Accounts, keys, links and lists for tests: new values, stored as `quota/command.py` and the pages store them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from quota import credentials
from quota.accounts import FREE, Account, Key
from quota.ledger import account_rows, activity, lists, people, tickets
from quota.ledger.account_rows import KEYS, KeyKind
from quota.ledger.lists import ListPart
from quota.ledger.people import MEMBER, Person
from quota.ledger.row_format import WriteTransaction
from quota.ledger.tickets import Ticket
from quota.new_values import (
    new_account,
    new_key,
    new_list,
    new_person,
    new_ticket,
    new_token,
    token_digest,
)
from quota.periods import seconds
from quota.plans import Plan
from quota.store.future import StoreFuture
from quota.store.interface import LedgerStore

Plans = Mapping[str, Plan]


def create_account(
    store: LedgerStore, plan: str, plans: Plans, now: datetime, **options: Any
) -> StoreFuture[Account]:
    """An account with a new id; `options` are those of `new_account`."""
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
    """A key or a reconciliation address, and its text."""
    key, text = new_key(account, now, label=label, kind=kind)

    def create(txn: WriteTransaction) -> tuple[Key, str]:
        return account_rows.create_key(txn, key, credentials.key_digest(text), plans, kind), text

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
    """A free account with its first person; False if the address is in use."""
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
    """An invitation, and the token of its link, "" with `mail`."""
    new = new_ticket(
        tickets.INVITATION, email, now, mail=mail, account=account, role=role, lang=lang
    )
    return store.submit(lambda txn: (tickets.issue(txn, new.ticket, new.digest), new.token))


def ask_for_password(
    store: LedgerStore, email: str, now: datetime, *, mail: bool, lang: str = "fr"
) -> StoreFuture[tuple[Ticket, str]]:
    """A ticket for another password, and the token of its link, "" with `mail`."""
    new = new_ticket(tickets.PASSWORD, email, now, mail=mail, lang=lang)
    return store.submit(lambda txn: (tickets.ask_for_link(txn, new.ticket, new.digest), new.token))


def ask_for_confirmation(
    store: LedgerStore, email: str, now: datetime, *, lang: str = "fr"
) -> StoreFuture[Ticket]:
    """A mail with the link that confirms an address."""
    new = new_ticket(tickets.CONFIRMATION, email, now, mail=True, lang=lang)
    return store.submit(tickets.ask_for_link, new.ticket, new.digest)


def accept(
    store: LedgerStore, token: str, password: str, now: datetime, *, mails: bool = False
) -> StoreFuture[Person | None]:
    """Use an invitation."""
    person = new_person("", "", password, now, role=MEMBER)
    return store.submit(tickets.accept, token_digest(token), person, seconds(now), mails=mails)


def claim(store: LedgerStore, now: datetime) -> StoreFuture[tuple[Ticket | None, str]]:
    """The next ticket to be mailed, and a new token for its link."""
    token = new_token()
    digest, moment = token_digest(token), seconds(now)
    return store.submit(lambda txn: (tickets.claim(txn, digest, moment), token))


def seal_key(store: LedgerStore, text: str, session: bytes, now: datetime) -> StoreFuture[str]:
    """Keep a key for the page that shows it; the token that the page has."""
    token = new_token()
    name = credentials.sealed_name(token, session)
    sealed = credentials.seal_or_open(token, session, text.encode())

    def keep(txn: WriteTransaction) -> str:
        activity.keep_sealed(txn, name, sealed, seconds(now))
        return token

    return store.submit(keep)


def unseal_key(
    store: LedgerStore, token: str, session: bytes, now: datetime
) -> StoreFuture[str | None]:
    """The key that this session sealed; None the second time, and too late."""
    name = credentials.sealed_name(token, session)

    def take(txn: WriteTransaction) -> str | None:
        sealed = activity.take_sealed(txn, name, seconds(now))
        opened = credentials.seal_or_open(token, session, sealed or b"")
        return None if sealed is None else opened.decode()

    return store.submit(take)


def create_list(
    store: LedgerStore, account: str, name: str, table: bytes, part: ListPart, now: datetime
) -> StoreFuture[str]:
    """A list of an account, or of a visitor (""); its code."""
    head, code = new_list(account, name, now)

    def create(txn: WriteTransaction) -> str:
        lists.create(txn, head, table, part)
        return code

    return store.submit(create)
