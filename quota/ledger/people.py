"""People of an organisation, their sessions, and the last use of keys.

A person has an e-mail address and a password, and opens pages in a session (contract A12); keys and
counters belong to the organisation (A8). As in `calls.py`, each function decides first and writes
afterwards. The store has only the hash of a password (`credentials.py`) and the SHA-256 of a session
token.

Nobody can find out from outside whether an address is in use: `sign_up` writes as much if it is.

An address counts once it is confirmed by a link that was mailed to it: anybody may sign up with that of somebody else.
Where no mail is sent, addresses count as they are given. `disown` takes back from whoever was faster.
"""

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final

import orjson

from quota.accounts import Account
from quota.errors import NotAllowedError, UnknownError
from quota.ledger import row_format
from quota.ledger.account_rows import account_of, create_account
from quota.ledger.row_format import ReadTransaction, WriteTransaction
from quota.plans import Plan

# The roles (extension X10). An administrator also decides about people, the plan and payments.
ADMINISTRATOR: Final = "administrateur"
MEMBER: Final = "membre"
ROLES: Final = (ADMINISTRATOR, MEMBER)

_LONGEST_EMAIL: Final = 254  # RFC 5321 §4.5.3.1.3, without the brackets
_LONGEST_LOCAL: Final = 64  # RFC 5321 §4.5.3.1.1
# RFC 5321 §4.1.2 with the letters of RFC 6531: words of ASCII or letters with points between them. Of what
# it allows besides, quoted words and addresses of hosts are refused.
_WORD: Final = r"(?:[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]|[^\W\x00-\x7f])+"
_LABEL: Final = r"[^\W_](?:(?:[^\W_]|-){0,61}[^\W_])?"
_EMAIL: Final = re.compile(rf"({_WORD}(?:\.{_WORD})*)@(?:{_LABEL}\.)+{_LABEL}")
# The beginning of an encoded word (RFC 2047), which a mail program reads as other characters.
_ENCODED: Final = "=?"

# The most people of an account, and open sessions of a person; a log-in ends the oldest one over that.
PEOPLE_MOST: Final = 1_000
SESSIONS_MOST: Final = 100


@dataclass(frozen=True, slots=True)
class Person:
    """A person who may open the pages of an account.

    Attributes:
        password: the argon2id hash.
        created: ISO 8601, UTC.
        role: one of ROLES; rows of older versions have none, and were all of administrators.
        confirmed: whether the address counts; rows of older versions have none, and count.
    """

    id: str
    email: str
    account: str
    password: str
    created: str
    role: str = ADMINISTRATOR
    confirmed: bool = True


def is_email(text: str) -> bool:
    """Whether the text has the form of an e-mail address, which no check can prove to exist.

    >>> is_email("zoé@exemple.fr"), is_email("zoé"), is_email("=?utf-8?q?x?=@b.fr")
    (True, False, False)
    """
    if len(text) > _LONGEST_EMAIL or _ENCODED in text:
        return False
    found = _EMAIL.fullmatch(unicodedata.normalize("NFC", text))
    return found is not None and len(found[1]) <= _LONGEST_LOCAL


def fold_email(email: str) -> str:
    """The form in which addresses are compared: NFC, without case or outer blanks.

    >>> fold_email(" Zoé@Exemple.FR ")
    'zoé@exemple.fr'
    """
    return unicodedata.normalize("NFC", email.strip()).casefold()


# -- people ------------------------------------------------------------------------


def person_of(txn: ReadTransaction, person: str) -> Person:
    """The person of this id.

    Raises:
        UnknownError: there is no such person.
    """
    stored = txn.get(row_format.join(row_format.PERSON, person))
    if stored is None:
        raise UnknownError(f"there is no person {person!r}; `person list ACCOUNT` shows all")
    return _load(stored)


def by_email(txn: ReadTransaction, email: str) -> Person | None:
    """The person with this address, or None."""
    known = txn.get(_email_key(email))
    return None if known is None else person_of(txn, known.decode())


def people_of(txn: ReadTransaction, account: str) -> Sequence[Person]:
    """The people of an account, by address."""
    txn.expect([row_format.join(row_format.MEMBER_OF, account, ""), row_format.PERSON])
    everybody = (_load_if_any(txn, person) for person in _ids_of(txn, account))
    return sorted((person for person in everybody if person), key=lambda person: person.email)


def count_of(txn: ReadTransaction, account: str) -> int:
    """How many people an account has."""
    return len(_ids_of(txn, account))


def _ids_of(txn: ReadTransaction, account: str) -> Sequence[str]:
    table = row_format.join(row_format.MEMBER_OF, account, "")
    return [key[len(table) :].decode() for key, _ in txn.scan(table)]


def _load_if_any(txn: ReadTransaction, person: str) -> Person | None:
    stored = txn.get(row_format.join(row_format.PERSON, person))
    return None if stored is None else _load(stored)


def sign_up(
    txn: WriteTransaction, account: Account, person: Person, plans: Mapping[str, Plan]
) -> bool:
    """Create an organisation and its first person; False, without a change, if the address is in use.

    In that case a row is written all the same, so that the commit takes as long.
    """
    known = txn.get(_email_key(person.email))
    if known is not None:
        txn.put(_email_key(person.email), known)
        return False
    create_account(txn, account, plans)
    _put(txn, person)
    return True


def add_person(txn: WriteTransaction, person: Person) -> Person:
    """Add a person to an account.

    Raises:
        UnknownError: there is no such account.
        NotAllowedError: the address is in use.
    """
    account_of(txn, person.account)
    if txn.get(_email_key(person.email)) is not None:
        raise NotAllowedError(
            f"{person.email} is in use; `person password {person.email}` gives it a new password"
        )
    return _put(txn, person)


def confirm(txn: WriteTransaction, person: str) -> Person:
    """Let the address of a person count.

    Raises:
        UnknownError: there is no such person.
    """
    return _put(txn, replace(person_of(txn, person), confirmed=True))


def is_alone(txn: ReadTransaction, person: Person) -> bool:
    """Whether no other administrator of the account has confirmed an address: it is this person's."""
    return not any(
        other.confirmed and other.role == ADMINISTRATOR and other.id != person.id
        for other in people_of(txn, person.account)
    )


def set_password(txn: WriteTransaction, person: str, password: str) -> Person:
    """Replace the password and end every session of the person.

    Raises:
        UnknownError: there is no such person.
    """
    changed = replace(person_of(txn, person), password=password)
    _end_sessions(txn, person)
    return _put(txn, changed)


def set_role(txn: WriteTransaction, account: str, person: str, role: str) -> Person:
    """Give a person of an account another role.

    Raises:
        UnknownError: the account has no such person.
        NotAllowedError: `role` is unknown, or the account would be left without an administrator.
    """
    if role not in ROLES:
        raise NotAllowedError(f"{role!r} is no role; use one of {', '.join(ROLES)}")
    known = member_of(txn, account, person)
    if role != ADMINISTRATOR:
        _keep_an_administrator(txn, known)
    return _put(txn, replace(known, role=role))


def remove_person(txn: WriteTransaction, account: str, person: str) -> Person:
    """Remove a person from an account, with every session; the address is free again.

    Raises:
        UnknownError: the account has no such person.
        NotAllowedError: the person is its last administrator.
    """
    known = member_of(txn, account, person)
    _keep_an_administrator(txn, known)
    delete(txn, known)
    return known


def delete(txn: WriteTransaction, person: Person) -> None:
    """Delete a person and every session, whoever else there is."""
    _end_sessions(txn, person.id)
    index(txn, person, leaves=True)
    txn.delete(row_format.join(row_format.PERSON, person.id))
    txn.delete(_email_key(person.email))


def member_of(txn: ReadTransaction, account: str, person: str) -> Person:
    """The person of this id, if of this account.

    Raises:
        UnknownError: the account has no such person.
    """
    known = person_of(txn, person)
    if known.account != account:
        raise UnknownError(f"{account} has no person {person!r}; `person list {account}` shows all")
    return known


def _keep_an_administrator(txn: ReadTransaction, leaving: Person) -> None:
    others = (other for other in people_of(txn, leaving.account) if other.id != leaving.id)
    if leaving.role == ADMINISTRATOR and all(other.role != ADMINISTRATOR for other in others):
        raise NotAllowedError(
            f"{leaving.email} is the last administrator of {leaving.account}; give somebody else "
            "that role first"
        )


def _end_sessions(txn: WriteTransaction, person: str) -> None:
    for key, _ in list(txn.scan(row_format.join(row_format.SESSION, person, ""))):
        txn.delete(key)


def _put(txn: WriteTransaction, person: Person) -> Person:
    row = asdict(person)
    # As in rows of older versions, which a server may still run while a command of this version writes.
    if person.confirmed:
        del row["confirmed"]
    txn.put(row_format.join(row_format.PERSON, person.id), orjson.dumps(row))
    index(txn, person)
    txn.put(_email_key(person.email), person.id.encode())
    return person


def index(txn: WriteTransaction, person: Person, *, leaves: bool = False) -> None:
    """List a person among those of the account, or no more."""
    key = row_format.join(row_format.MEMBER_OF, person.account, person.id)
    listed = txn.get(key) is not None
    if leaves and listed:
        txn.delete(key)
    elif not leaves and not listed:
        txn.put(key, b"1")


def _email_key(email: str) -> bytes:
    # A digest, because an address may be longer than an LMDB key.
    return row_format.EMAIL + hashlib.sha256(fold_email(email).encode()).digest()


def _load(stored: bytes) -> Person:
    return Person(**orjson.loads(stored))


# -- sessions ----------------------------------------------------------------------


def open_session(txn: WriteTransaction, person: str, token: bytes, now: int, expires: int) -> None:
    """Open a session until `expires` (s since 1970); drop the expired ones of this person, and those over
    SESSIONS_MOST that end first.

    Raises:
        UnknownError: there is no such person.
    """
    # Listed anew, because a server of an older version may have added the person after the store was migrated.
    index(txn, person_of(txn, person))
    kept = txn.scan(row_format.join(row_format.SESSION, person, ""))
    ends = sorted((row_format.number(stored), key) for key, stored in kept)
    for place, (end, key) in enumerate(ends):
        if end <= now or place <= len(ends) - SESSIONS_MOST:
            txn.delete(key)
    txn.put(session_key(person, token), row_format.pack(expires))


def in_session(txn: ReadTransaction, person: str, token: bytes, now: int) -> Person | None:
    """The person, if this session of theirs is open at `now` (s since 1970)."""
    txn.expect([session_key(person, token), row_format.join(row_format.PERSON, person)])
    if row_format.number(txn.get(session_key(person, token))) <= now:
        return None
    return person_of(txn, person)


def session(
    txn: ReadTransaction, person: str, token: bytes, now: int
) -> tuple[Person, Account] | None:
    """The person as `in_session`, and their account."""
    known = in_session(txn, person, token, now)
    return None if known is None else (known, account_of(txn, known.account))


def close_session(txn: WriteTransaction, person: str, token: bytes) -> None:
    """End a session; ending it again changes nothing."""
    key = session_key(person, token)
    if txn.get(key) is not None:
        txn.delete(key)


def session_key(person: str, token: bytes) -> bytes:
    """The key of the row of a session."""
    return row_format.join(row_format.SESSION, person, hashlib.sha256(token).hexdigest())


# -- keys --------------------------------------------------------------------------


def last_used(txn: ReadTransaction, key_ids: Sequence[str]) -> Mapping[str, str]:
    """The day of the last use of each key that was used ("2026-11-21"), by its id."""
    rows = [row_format.join(row_format.LAST, key_id) for key_id in key_ids]
    txn.expect(rows)
    stored = zip(key_ids, map(txn.get, rows), strict=True)
    return {key_id: day.decode() for key_id, day in stored if day is not None}
