"""Tickets: invitations to an organisation, and the right to choose another password (extension X10).

Whoever has the token of a ticket may use it once, before it expires. The store has only the SHA-256 of
a token. Each link that is shown, and each attempt to send a mail, gets a token of its own; they all
end with their ticket.

A ticket that is to be mailed is its own place in the outbox: `claim` gives the next attempt to one
process, and moves the one after it into the future, so that a process that dies delays it only.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final

import orjson

from quota.errors import NotAllowedError, UnknownError
from quota.ledger import people, row_format
from quota.ledger.people import Person
from quota.ledger.registry import account_of
from quota.ledger.transaction import ReadTransaction, WriteTransaction

INVITATION: Final = "invitation"
PASSWORD: Final = "mot_de_passe"

# How long a ticket can be used, in seconds.
LASTS_S: Final = {INVITATION: 7 * 86_400, PASSWORD: 86_400}

# Seconds from one attempt to send a mail to the next; the last one repeats until the ticket expires.
BACK_OFF_S: Final = (60, 300, 900, 3_600, 4 * 3_600)

# Mail: none, to be sent, accepted by the mail server, refused by it for good.
NO_MAIL: Final = ""
WAITING: Final = "en_attente"
SENT: Final = "envoye"
REFUSED: Final = "refuse"

_LONGEST_ERROR: Final = 200


@dataclass(frozen=True, slots=True)
class Ticket:
    """One use of a right.

    Attributes:
        kind: INVITATION or PASSWORD.
        person: of another password; "" if nobody has the address, and the ticket leads nowhere.
        role: of an invitation.
        lang: `fr` or `en`, of the mail.
        created, expires, next_attempt: seconds since 1970.
        mail: NO_MAIL, WAITING, SENT or REFUSED; `attempts` and `error` are of its last attempts.
    """

    id: str
    kind: str
    account: str
    person: str
    email: str
    role: str
    lang: str
    created: int
    expires: int
    mail: str = NO_MAIL
    attempts: int = 0
    next_attempt: int = 0
    error: str = ""


def issue(txn: WriteTransaction, ticket: Ticket, token: bytes | None) -> Ticket:
    """Store a ticket, with the SHA-256 of its first token if it has one; drop those that expired.

    An earlier ticket of the same kind, organisation and address is replaced.

    Raises:
        UnknownError: there is no such account.
        NotAllowedError: the invited person is a member already, or the role is unknown.
    """
    if ticket.kind == INVITATION:
        account_of(txn, ticket.account)
        _check_invitation(txn, ticket)
    address = people.folded(ticket.email)
    for other in _all(txn):
        same = (other.kind, other.account) == (ticket.kind, ticket.account)
        if other.expires <= ticket.created or (same and people.folded(other.email) == address):
            _drop(txn, other.id)
    if token is not None:
        txn.put(row_format.TOKEN + token, ticket.id.encode())
    return _put(txn, ticket)


def _check_invitation(txn: ReadTransaction, ticket: Ticket) -> None:
    if ticket.role not in people.ROLES:
        raise NotAllowedError(f"{ticket.role!r} is no role; use one of {', '.join(people.ROLES)}")
    known = people.by_email(txn, ticket.email)
    if known and known.account == ticket.account:
        raise NotAllowedError(f"{known.email} is a member of {ticket.account} already")


def ask_for_password(txn: WriteTransaction, ticket: Ticket, token: bytes | None) -> Ticket:
    """Store a ticket for another password; an unknown address gets one that leads nowhere.

    So both cases write as much, and nobody can find out from outside whether an address is in use.
    """
    known = people.by_email(txn, ticket.email)
    if known is None:
        return issue(txn, replace(ticket, mail=NO_MAIL), token)
    named = replace(ticket, account=known.account, person=known.id, email=known.email)
    return issue(txn, named, token)


def open_ticket(txn: ReadTransaction, token: bytes, kind: str, now: int) -> Ticket | None:
    """The ticket of this kind with a token of this SHA-256, if it can still be used."""
    name = txn.get(row_format.TOKEN + token)
    stored = None if name is None else txn.get(_key(name.decode()))
    ticket = None if stored is None else _load(stored)
    if ticket is None or ticket.kind != kind or ticket.expires <= now:
        return None
    return ticket


def accept(txn: WriteTransaction, token: bytes, person: Person, now: int) -> Person | None:
    """Use an invitation: add `person` with the address, organisation and role of the invitation.

    None if it cannot be used.

    Raises:
        NotAllowedError: the address is in use; the invitation stays.
    """
    ticket = open_ticket(txn, token, INVITATION, now)
    if ticket is None:
        return None
    member = replace(person, account=ticket.account, email=ticket.email, role=ticket.role)
    people.add_person(txn, member)
    _drop(txn, ticket.id)
    return member


def set_password(txn: WriteTransaction, token: bytes, password: str, now: int) -> Person | None:
    """Use a ticket for another password, which ends all sessions; None if it cannot be used."""
    ticket = open_ticket(txn, token, PASSWORD, now)
    if ticket is None:
        return None
    _drop(txn, ticket.id)
    try:
        return people.set_password(txn, ticket.person, password)
    except UnknownError:  # removed since
        return None


def of_account(txn: ReadTransaction, account: str, now: int) -> Sequence[Ticket]:
    """The tickets of an organisation that can be used, the newest first."""
    found = (one for one in _all(txn) if one.account == account and one.expires > now)
    return sorted(found, key=lambda ticket: (-ticket.created, ticket.id))


def withdraw(txn: WriteTransaction, account: str, ticket: str) -> None:
    """End a ticket of an organisation; ending it again changes nothing."""
    stored = txn.get(_key(ticket))
    if stored is not None and _load(stored).account == account:
        _drop(txn, ticket)


# -- the outbox --------------------------------------------------------------------


def is_due(txn: ReadTransaction, now: int) -> bool:
    """Whether a mail is to be sent now."""
    return any(_due(ticket, now) for ticket in _all(txn))


def claim(txn: WriteTransaction, token: bytes, now: int) -> Ticket | None:
    """The next ticket to be mailed now, with one more token for its link; None if there is none.

    Its next attempt is in the future then, so no other process mails it too.
    """
    due = [ticket for ticket in _all(txn) if _due(ticket, now)]
    if not due:
        return None
    ticket = min(due, key=lambda one: (one.next_attempt, one.created, one.id))
    pause = BACK_OFF_S[min(ticket.attempts, len(BACK_OFF_S) - 1)]
    txn.put(row_format.TOKEN + token, ticket.id.encode())
    return _put(txn, replace(ticket, attempts=ticket.attempts + 1, next_attempt=now + pause))


def settle(txn: WriteTransaction, ticket: str, mail: str, error: str = "") -> None:
    """Note the outcome of an attempt: SENT, REFUSED, or WAITING for the next one."""
    stored = txn.get(_key(ticket))
    if stored is not None:  # it may have been used or withdrawn meanwhile
        _put(txn, replace(_load(stored), mail=mail, error=error[:_LONGEST_ERROR]))


def _due(ticket: Ticket, now: int) -> bool:
    return ticket.mail == WAITING and ticket.next_attempt <= now < ticket.expires


# -- rows --------------------------------------------------------------------------


def _all(txn: ReadTransaction) -> list[Ticket]:
    # They are few: a ticket is dropped when it was used, and when it has expired.
    return [_load(stored) for _, stored in txn.scan(row_format.TICKET)]


def _put(txn: WriteTransaction, ticket: Ticket) -> Ticket:
    txn.put(_key(ticket.id), orjson.dumps(asdict(ticket)))
    return ticket


def _drop(txn: WriteTransaction, ticket: str) -> None:
    txn.delete(_key(ticket))
    name = ticket.encode()
    for key in [key for key, stored in txn.scan(row_format.TOKEN) if stored == name]:
        txn.delete(key)


def _key(ticket: str) -> bytes:
    return row_format.join(row_format.TICKET, ticket)


def _load(stored: bytes) -> Ticket:
    return Ticket(**orjson.loads(stored))
