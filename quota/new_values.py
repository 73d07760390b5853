"""New accounts, keys, people, tickets and lists: values with a random id and their time, for the ledger to store.

The ledger is pure, so random values are drawn here. The text of a key, the token of a link and the code of a list are
returned once; the store contains the SHA-256 of each, and also the code of a list that belongs to an account.
"""

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

# The prefixes of the tokens of links and the codes of lists. Logs show only the prefix, without the rest
# of the token or code (serve/contract/secret_mask.py).
LINK_PREFIX: Final = "soc_lien_"
LIST_PREFIX: Final = "soc_liste_"
_TOKEN_BYTES: Final = 32  # random bytes of the token of a link
_CODE_BYTES: Final = 24  # random bytes of the code of a list

# By kind: the prefixes of the text of a key and of its id.
_KEY_PREFIXES: Final[Mapping[KeyKind, tuple[str, str]]] = {
    KEYS: (credentials.PREFIX, credentials.KEY_ID),
    ADDRESSES: (credentials.ADDRESS_PREFIX, credentials.ADDRESS_ID),
}


class NewTicket(NamedTuple):
    """A ticket, the token of its link, and the digest of that token.

    A ticket that will be mailed has no token yet (`token` is "", `digest` None): each attempt to send the mail makes
    one.
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
    account_id = credentials.make_id(credentials.ACCOUNT_ID, secrets.randbelow)
    return Account(account_id, nom, plan, api_tool, tuple(modules), iso(now))


def new_key(
    account: str, now: datetime, *, label: str = "", kind: KeyKind = KEYS
) -> tuple[Key, str]:
    """A key or a reconciliation address, and its text."""
    prefix, id_prefix = _KEY_PREFIXES[kind]
    text = credentials.make_key(secrets.randbelow, prefix)
    key_id = credentials.make_id(id_prefix, secrets.randbelow)
    return Key(key_id, account, credentials.last4(text), label, iso(now), None), text


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
    person_id = credentials.make_id(credentials.PERSON_ID, secrets.randbelow)
    return Person(person_id, email.strip(), account, password, iso(now), role, confirmed)


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
    """A ticket of `kind` (`ledger/tickets.py`).

    If `mail` is true, the link will be mailed, and each attempt to send the mail makes its own token. Otherwise a page
    shows the link, and its token is returned here.
    """
    ticket_id = credentials.make_id(credentials.TICKET_ID, secrets.randbelow)
    created = seconds(now)
    ticket = Ticket(
        id=ticket_id, kind=kind, account=account, person="", email=email.strip(), role=role, lang=lang,
        created=created, expires=created + tickets.LASTS_S[kind],
        mail=tickets.WAITING if mail else tickets.NO_MAIL,
    )  # fmt: skip
    if mail:
        return NewTicket(ticket, "", None)
    token = new_token()
    return NewTicket(ticket, token, credentials.secret_digest(token))


def new_token() -> str:
    """A token that cannot be guessed: LINK_PREFIX and 43 characters that are allowed in a path."""
    return LINK_PREFIX + secrets.token_urlsafe(_TOKEN_BYTES)


def new_list(account: str, name: str, now: datetime) -> tuple[MatchedList, str]:
    """The head and the code of a new list; `account` is "" for a list of a visitor."""
    code = LIST_PREFIX + secrets.token_urlsafe(_CODE_BYTES)
    created = seconds(now)
    head = MatchedList(
        id=list_id(code), account=account, code=code if account else "", name=name[:LONGEST_NAME],
        created=created, expires=created + LASTS_S,
    )  # fmt: skip
    return head, code


def list_id(code: str) -> str:
    """The id of a list in the store, from which its code cannot be derived."""
    return credentials.secret_digest(code).hex()
