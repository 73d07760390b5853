"""New accounts, keys, people, tickets and lists: values with a random id and the moment, for the ledger to store.

The ledger is pure, so everything random is drawn here. The text of a key, the token of a link and the code of a list
are returned once; the store has only their SHA-256.
"""

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from quota import credentials
from quota.accounts import Account, Key
from quota.ledger import tickets
from quota.ledger.account_rows import ADDRESSES, KEYS, KeyKind
from quota.ledger.lists import LASTS_S, LONGEST_NAME, MatchedList
from quota.ledger.people import ADMINISTRATOR, Person
from quota.ledger.tickets import Ticket
from quota.periods import iso, seconds

# The beginnings of the token of a link and of the code of a list, by which logs leave the rest out
# (serve/contract/secret_mask.py).
LINK_PREFIX: Final = "soc_lien_"
LIST_PREFIX: Final = "soc_liste_"
_TOKEN_BYTES: Final = 32
_CODE_BYTES: Final = 24

# By kind: the beginning of the text of a key, and of its id.
_KEY_PREFIXES: Final[Mapping[KeyKind, tuple[str, str]]] = {
    KEYS: (credentials.PREFIX, credentials.KEY_ID),
    ADDRESSES: (credentials.ADDRESS_PREFIX, credentials.ADDRESS_ID),
}


class NewTicket(NamedTuple):
    """A ticket, the token of its link, and the digest of that token.

    A ticket that is to be mailed has no token yet ("", None): each attempt to send the mail makes one.
    """

    ticket: Ticket
    token: str
    digest: bytes | None


def new_account(
    plan: str,
    now: datetime,
    *,
    nom: str = "",
    api_tool: bool = False,
    modules: Sequence[str] = (),
) -> Account:
    """An account with a new id."""
    name = credentials.make_id(credentials.ACCOUNT_ID, secrets.randbelow)
    return Account(name, nom, plan, api_tool, tuple(modules), iso(now))


def new_key(
    account: str, now: datetime, *, label: str = "", kind: KeyKind = KEYS
) -> tuple[Key, str]:
    """A key or a reconciliation address, and its text."""
    prefix, id_prefix = _KEY_PREFIXES[kind]
    text = credentials.make_key(secrets.randbelow, prefix)
    name = credentials.make_id(id_prefix, secrets.randbelow)
    return Key(name, account, credentials.last4(text), label, iso(now), None), text


def new_person(
    account: str,
    email: str,
    password: str,
    now: datetime,
    role: str = ADMINISTRATOR,
    *,
    confirmed: bool = True,
) -> Person:
    """A person with a new id; `password` is its hash (`credentials.hash_password`)."""
    name = credentials.make_id(credentials.PERSON_ID, secrets.randbelow)
    return Person(name, email.strip(), account, password, iso(now), role, confirmed)


def new_ticket(
    kind: str,
    email: str,
    now: datetime,
    *,
    mail: bool,
    account: str = "",
    role: str = "",
    lang: str = "fr",
) -> NewTicket:
    """A ticket of `kind` (`ledger/tickets.py`), with the token of its link or, with `mail`, without."""
    name = credentials.make_id(credentials.TICKET_ID, secrets.randbelow)
    created = seconds(now)
    ticket = Ticket(
        id=name, kind=kind, account=account, person="", email=email.strip(), role=role, lang=lang,
        created=created, expires=created + tickets.LASTS_S[kind],
        mail=tickets.WAITING if mail else tickets.NO_MAIL,
    )  # fmt: skip
    if mail:
        return NewTicket(ticket, "", None)
    token = new_token()
    return NewTicket(ticket, token, token_digest(token))


def new_token() -> str:
    """A token that cannot be guessed: LINK_PREFIX and 43 characters that are allowed in a path."""
    return LINK_PREFIX + secrets.token_urlsafe(_TOKEN_BYTES)


def token_digest(token: str) -> bytes:
    """The SHA-256 of a token (32 bytes), under which it is stored."""
    return hashlib.sha256(token.encode()).digest()


def new_list(account: str, name: str, now: datetime) -> tuple[MatchedList, str]:
    """The head of a list of an account, or of a visitor (""), and its code."""
    code = LIST_PREFIX + secrets.token_urlsafe(_CODE_BYTES)
    created = seconds(now)
    head = MatchedList(
        id=list_id(code), account=account, code=code if account else "", name=name[:LONGEST_NAME],
        created=created, expires=created + LASTS_S,
    )  # fmt: skip
    return head, code


def list_id(code: str) -> str:
    """The name of the rows of a list, from which its code cannot be derived."""
    return hashlib.sha256(code.encode()).hexdigest()
