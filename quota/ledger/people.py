"""People of an organisation, their sessions, and the last use of keys.

A person has an e-mail address and a password, and opens pages in a session (contract A12); keys and
counters belong to the organisation (A8). As in `calls.py`, each function decides first and writes
afterwards. The store has only the hash of a password (`credentials.py`) and the SHA-256 of a session
token.

A client cannot find out whether an address is in use: `sign_up` writes a row in either case.

Anybody can sign up with the address of somebody else, so the owner of an address must confirm the address with a
mailed link. On a server without mail, addresses are confirmed at once. If somebody else has used an address before its
owner confirms it, `tickets.py` ends that use.
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

_LONGEST_EMAIL: Final = 254  # characters: RFC 5321 §4.5.3.1.3, without the brackets
_LONGEST_LOCAL: Final = 64  # characters before the @: RFC 5321 §4.5.3.1.1
# RFC 5321 §4.1.2 with the letters of RFC 6531: words of ASCII or letters, with points between the words. Quoted words
# and host addresses, which the RFC also allows, are refused.
_WORD: Final = r"(?:[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]|[^\W\x00-\x7f])+"
_LABEL: Final = r"[^\W_](?:(?:[^\W_]|-){0,61}[^\W_])?"
_EMAIL: Final = re.compile(rf"({_WORD}(?:\.{_WORD})*)@(?:{_LABEL}\.)+{_LABEL}")
# The beginning of an encoded word (RFC 2047), which a mail program reads as other characters.
_ENCODED: Final = "=?"

# The most people of an account, and open sessions of a person; one more log-in ends the session that expires first.
PEOPLE_MOST: Final = 1_000
SESSIONS_MOST: Final = 100


@dataclass(frozen=True, slots=True)
class Person:
    """A person who may open the pages of an account.

    Attributes:
        password: the argon2id hash.
        created: ISO 8601, UTC.
        role: one of ROLES; rows of older versions have no role, and are of administrators.
        confirmed: whether the address is confirmed; rows of older versions have no such member, and are confirmed.
    """

    id: str
    email: str
    account: str
    password: str
    created: str
    role: str = ADMINISTRATOR
    confirmed: bool = True


def is_email(text: str) -> bool:
    """Whether the text has the form of an e-mail address; the address need not exist.

    >>> is_email("zoé@exemple.fr"), is_email("zoé"), is_email("=?utf-8?q?x?=@b.fr")
    (True, False, False)
    """
    if len(text) > _LONGEST_EMAIL or _ENCODED in text:
        return False
    match = _EMAIL.fullmatch(unicodedata.normalize("NFC", text))
    return match is not None and len(match[1]) <= _LONGEST_LOCAL


def fold_email(email: str) -> str:
    """The form in which addresses are compared: NFC, without case or outer blanks.

    >>> fold_email(" Zoé@Exemple.FR ")
    'zoé@exemple.fr'
    """
    return unicodedata.normalize("NFC", email.strip()).casefold()


# -- people ------------------------------------------------------------------------


def person_of(txn: ReadTransaction, person: str) -> Person:
    """The person with this id.

    Raises:
        UnknownError: there is no such person.
    """
    stored = txn.get(row_format.join(row_format.PERSON, person))
    if stored is None:
        raise UnknownError(f"there is no person {person!r}; `person list ACCOUNT` shows all")
    return _load_person(stored)


def find_by_email(txn: ReadTransaction, email: str) -> Person | None:
    """The person with this address, or None."""
    person_id = txn.get(_email_key(email))
    return None if person_id is None else person_of(txn, person_id.decode())


def people_of(txn: ReadTransaction, account: str) -> Sequence[Person]:
    """The people of an account, by address."""
    txn.expect([row_format.join(row_format.MEMBER_OF, account, ""), row_format.PERSON])
    everybody = (_find_person(txn, person) for person in _person_ids(txn, account))
    return sorted((person for person in everybody if person), key=lambda person: person.email)


def count_people(txn: ReadTransaction, account: str) -> int:
    """The number of people of an account."""
    return len(_person_ids(txn, account))


def _person_ids(txn: ReadTransaction, account: str) -> Sequence[str]:
    """The ids of the people of an account."""
    table = row_format.join(row_format.MEMBER_OF, account, "")
    return [key[len(table) :].decode() for key, _ in txn.scan(table)]


def _find_person(txn: ReadTransaction, person: str) -> Person | None:
    """The person with this id, or None."""
    stored = txn.get(row_format.join(row_format.PERSON, person))
    return None if stored is None else _load_person(stored)


def sign_up(
    txn: WriteTransaction, account: Account, person: Person, plans: Mapping[str, Plan]
) -> bool:
    """Create an organisation and its first person; False, without a change, if the address is in use.

    If the address is in use, a row is written unchanged, so that the commit takes as long as a sign-up.
    """
    stored = txn.get(_email_key(person.email))
    if stored is not None:
        txn.put(_email_key(person.email), stored)
        return False
    create_account(txn, account, plans)
    _store_person(txn, person)
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
    return _store_person(txn, person)


def confirm(txn: WriteTransaction, person: str) -> Person:
    """Confirm the address of a person.

    Raises:
        UnknownError: there is no such person.
    """
    return _store_person(txn, replace(person_of(txn, person), confirmed=True))


def is_alone(txn: ReadTransaction, person: Person) -> bool:
    """Whether no other administrator of the person's account has a confirmed address.

    The account then belongs to this person alone.
    """
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
    return _store_person(txn, changed)


def set_role(txn: WriteTransaction, account: str, person: str, role: str) -> Person:
    """Give a person of an account another role.

    Raises:
        UnknownError: the account has no such person.
        NotAllowedError: `role` is unknown, or the account would be left without an administrator.
    """
    if role not in ROLES:
        raise NotAllowedError(f"{role!r} is not a role; use one of {', '.join(ROLES)}")
    member = member_of(txn, account, person)
    if role != ADMINISTRATOR:
        _check_administrator_left(txn, member)
    return _store_person(txn, replace(member, role=role))


def remove_person(txn: WriteTransaction, account: str, person: str) -> Person:
    """Delete a person of an account, and every session of the person; the address is free again.

    Raises:
        UnknownError: the account has no such person.
        NotAllowedError: the person is the last administrator of the account.
    """
    member = member_of(txn, account, person)
    _check_administrator_left(txn, member)
    delete_person(txn, member)
    return member


def delete_person(txn: WriteTransaction, person: Person) -> None:
    """Delete a person and every session of the person, without a check for other administrators."""
    _end_sessions(txn, person.id)
    update_people_list(txn, person, leaves=True)
    txn.delete(row_format.join(row_format.PERSON, person.id))
    txn.delete(_email_key(person.email))


def member_of(txn: ReadTransaction, account: str, person: str) -> Person:
    """The person with this id, if a member of this account.

    Raises:
        UnknownError: the account has no such person.
    """
    member = person_of(txn, person)
    if member.account != account:
        raise UnknownError(f"{account} has no person {person!r}; `person list {account}` shows all")
    return member


def _check_administrator_left(txn: ReadTransaction, leaving: Person) -> None:
    """Raise NotAllowedError if this person is the last administrator of the account."""
    others = (other for other in people_of(txn, leaving.account) if other.id != leaving.id)
    if leaving.role == ADMINISTRATOR and all(other.role != ADMINISTRATOR for other in others):
        raise NotAllowedError(
            f"{leaving.email} is the last administrator of {leaving.account}; give somebody else "
            "that role first"
        )


def _end_sessions(txn: WriteTransaction, person: str) -> None:
    """Delete all sessions of a person."""
    for key, _ in list(txn.scan(row_format.join(row_format.SESSION, person, ""))):
        txn.delete(key)


def _store_person(txn: WriteTransaction, person: Person) -> Person:
    """Store a person, in the list of the account's people and by the address; returns the person."""
    row = asdict(person)
    # Rows of confirmed people are as in older versions, because a server of an older version can still be running.
    if person.confirmed:
        del row["confirmed"]
    txn.put(row_format.join(row_format.PERSON, person.id), orjson.dumps(row))
    update_people_list(txn, person)
    txn.put(_email_key(person.email), person.id.encode())
    return person


def update_people_list(txn: WriteTransaction, person: Person, *, leaves: bool = False) -> None:
    """Add a person to the list of the account's people; with `leaves`, remove the person from the list."""
    key = row_format.join(row_format.MEMBER_OF, person.account, person.id)
    listed = txn.get(key) is not None
    if leaves and listed:
        txn.delete(key)
    elif not leaves and not listed:
        txn.put(key, b"1")


def _email_key(email: str) -> bytes:
    """The key of the row that finds a person by an address: a digest, since an address can exceed an LMDB key."""
    return row_format.EMAIL + hashlib.sha256(fold_email(email).encode()).digest()


def _load_person(stored: bytes) -> Person:
    """The person from a row; a field that older versions did not write has its default."""
    return Person(**orjson.loads(stored))


# -- sessions ----------------------------------------------------------------------


def open_session(txn: WriteTransaction, person: str, token: bytes, now: int, expires: int) -> None:
    """Open a session until `expires` (s since 1970).

    Expired sessions of this person are deleted. If there are SESSIONS_MOST other sessions, those that expire first
    are deleted as well.

    Raises:
        UnknownError: there is no such person.
    """
    # The person is listed again, because a server of an older version can have added the person after the migration.
    update_people_list(txn, person_of(txn, person))
    rows = txn.scan(row_format.join(row_format.SESSION, person, ""))
    sessions = sorted((row_format.unpack_number(stored), key) for key, stored in rows)
    for position, (end, key) in enumerate(sessions):
        if end <= now or position <= len(sessions) - SESSIONS_MOST:
            txn.delete(key)
    txn.put(session_key(person, token), row_format.pack_number(expires))


def person_of_session(txn: ReadTransaction, person: str, token: bytes, now: int) -> Person | None:
    """The person, if the session with this token is open at `now` (s since 1970)."""
    txn.expect([session_key(person, token), row_format.join(row_format.PERSON, person)])
    if row_format.unpack_number(txn.get(session_key(person, token))) <= now:
        return None
    return person_of(txn, person)


def session(
    txn: ReadTransaction, person: str, token: bytes, now: int
) -> tuple[Person, Account] | None:
    """The person of an open session, as `person_of_session`, and the account of the person."""
    user = person_of_session(txn, person, token, now)
    return None if user is None else (user, account_of(txn, user.account))


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
