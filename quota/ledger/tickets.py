"""Tickets: invitations, the right to choose another password, and confirmed addresses (extension X10).

Whoever has the token of a ticket may use it once, before it expires. The store has only the SHA-256 of
a token. Each link that is shown, and each attempt to send a mail, gets a token of its own, with an end
of its own; they all end with their ticket. Who asks for another password a second time gets a second
mail of the same ticket, so the link of the first one goes on working.

A ticket that is to be mailed is its own place in the outbox: `claim` gives the next attempt to one
process, and moves the one after it into the future, so that a process that dies delays it only. What is
due is found by its moment (`agenda.py`), and a ticket by whom it is for: nothing here reads all tickets.

A link that was mailed proves the address; a link that was shown does not, so a ticket has links of one sort. The first
who proves an address that somebody else has used unproved takes it over: `_disown`.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Final

import orjson

from quota.errors import NotAllowedError, UnknownError
from quota.ledger import account_rows, agenda, people, row_format
from quota.ledger.account_rows import account_of
from quota.ledger.people import Person
from quota.ledger.row_format import ReadTransaction, WriteTransaction
from quota.periods import iso

INVITATION: Final = "invitation"
PASSWORD: Final = "mot_de_passe"
CONFIRMATION: Final = "confirmation"

# How long a ticket can be used, in seconds.
LASTS_S: Final = {INVITATION: 7 * 86_400, PASSWORD: 86_400, CONFIRMATION: 86_400}

# Seconds from one attempt to send a mail to the next; the last one repeats until the ticket expires.
BACK_OFF_S: Final = (60, 300, 900, 3_600, 4 * 3_600)

# Mail: none, to be sent, accepted by the mail server, refused by it for good.
NO_MAIL: Final = ""
WAITING: Final = "en_attente"
SENT: Final = "envoye"
REFUSED: Final = "refuse"

# Mails with a link for another password that somebody may ask for at one address: seconds, and how many.
ASKED_MOST: Final = ((3_600, 3), (86_400, 6))

_LONGEST_ERROR: Final = 200
# Links of a ticket that work at once; a mail that is tried again for a week has fewer.
_LINKS: Final = 60
# Tickets that have expired, dropped with each one that is issued: more than are issued.
_DROPPED: Final = 16
# Entries of the agenda that a claim looks at; all but those of an older version are due.
_LOOKED_AT: Final = 100


@dataclass(frozen=True, slots=True)
class Ticket:
    """One use of a right.

    Attributes:
        kind: INVITATION, PASSWORD or CONFIRMATION.
        person: of another password, or of the address to confirm; "" if nobody has the address, and the ticket
            leads nowhere. There is one such ticket at most, and nothing of the address is in it.
        role: of an invitation.
        lang: `fr` or `en`, of the mail.
        created, expires, next_attempt: seconds since 1970.
        mail: NO_MAIL, WAITING, SENT or REFUSED; `attempts` and `error` are of its last attempts.
        asked: when a mail for another password was asked for, in the longest time of ASKED_MOST.
        links: the SHA-256 of each token in hex, `/`, and its end in seconds since 1970; the oldest first.
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
    asked: tuple[int, ...] = ()
    links: tuple[str, ...] = ()


def issue(txn: WriteTransaction, ticket: Ticket, token: bytes | None) -> Ticket:
    """Store a ticket, with the SHA-256 of its first token if it has one; drop some that expired.

    An earlier ticket of the same kind, organisation and address is replaced.

    Raises:
        UnknownError: there is no such account.
        NotAllowedError: the invited person is a member already, the role is unknown, or the organisation
            has PEOPLE_MOST people.
    """
    if ticket.kind == INVITATION:
        account_of(txn, ticket.account)
        _check_invitation(txn, ticket)
    if before := _same_ticket(txn, ticket):
        _drop(txn, before)
    for entry in agenda.due_entries(txn, agenda.TICKETS, ticket.created, _DROPPED):
        expired = _get(txn, entry.name)
        agenda.strike(txn, agenda.TICKETS, entry.moment, entry.name)
        if expired is not None:
            _drop(txn, expired)
    return _enter(txn, None, ticket, token)


def _check_invitation(txn: ReadTransaction, ticket: Ticket) -> None:
    if ticket.role not in people.ROLES:
        raise NotAllowedError(f"{ticket.role!r} is no role; use one of {', '.join(people.ROLES)}")
    known = people.by_email(txn, ticket.email)
    if known and known.account == ticket.account:
        raise NotAllowedError(
            f"{known.email} is a member of {ticket.account} already; invite another address"
        )
    if people.count_of(txn, ticket.account) >= people.PEOPLE_MOST:
        raise NotAllowedError(
            f"{ticket.account} has {people.PEOPLE_MOST} people, the most there can be; remove one first"
        )


def ask_for_link(txn: WriteTransaction, ticket: Ticket, token: bytes | None) -> Ticket:
    """Store a ticket for another password, or to confirm an address, or mail the one there is once more, as
    ASKED_MOST allows.

    For an unknown address one row that leads nowhere is written again, without the address. So all cases
    write as much, and nobody can find out from outside whether an address is in use.
    """
    known = people.by_email(txn, ticket.email)
    if known is None:
        issue(txn, replace(ticket, mail=NO_MAIL, email=""), token)
        return replace(ticket, mail=NO_MAIL)
    named = replace(ticket, account=known.account, person=known.id, email=known.email)
    before = _same_ticket(txn, named)
    if before is None or before.expires <= ticket.created:
        first = (ticket.created,) if ticket.mail == WAITING else ()
        return issue(txn, replace(named, asked=first), token)
    was_shown = before.mail == NO_MAIL and ticket.mail == WAITING
    before = _without_old_links(txn, before, ticket.expires if was_shown else ticket.created)
    if ticket.mail != WAITING:
        return _enter(txn, before, replace(before, mail=NO_MAIL, expires=ticket.expires), token)
    longest = max(seconds for seconds, _ in ASKED_MOST)
    asked = tuple(moment for moment in before.asked if moment > ticket.created - longest)
    if any(
        sum(moment > ticket.created - seconds for moment in asked) >= most
        for seconds, most in ASKED_MOST
    ):
        return _enter(txn, before, before, None)
    again = replace(
        before, mail=WAITING, attempts=0, next_attempt=0, error="", lang=ticket.lang,
        expires=ticket.expires, asked=(*asked, ticket.created),
    )  # fmt: skip
    return _enter(txn, before, again, token)


def _without_old_links(txn: WriteTransaction, ticket: Ticket, now: int) -> Ticket:
    old = [link for link in ticket.links if int(link.partition("/")[2]) <= now]
    for link in old:
        _drop_link(txn, link)
    return replace(ticket, links=tuple(link for link in ticket.links if link not in old))


def open_ticket(txn: ReadTransaction, token: bytes, kind: str, now: int) -> Ticket | None:
    """The ticket of this kind with a token of this SHA-256, if it can still be used."""
    name, _, end = (txn.get(row_format.TOKEN + token) or b"").decode().partition("/")
    ticket = _get(txn, name)
    if (
        ticket is None
        or ticket.kind != kind
        or min(ticket.expires, int(end or ticket.expires)) <= now
    ):
        return None
    return ticket


def accept(
    txn: WriteTransaction, token: bytes, person: Person, now: int, *, mails: bool = False
) -> Person | None:
    """Use an invitation: add `person` with the address, organisation and role of the invitation.

    None if it cannot be used. Somebody who has the address without having confirmed it loses it to a mailed link.

    Args:
        mails: whether this server sends mail, so that a link which was shown confirms no address.

    Raises:
        NotAllowedError: the address is in use; the invitation stays.
    """
    ticket = open_ticket(txn, token, INVITATION, now)
    if ticket is None:
        return None
    is_mailed = ticket.mail != NO_MAIL
    holder = people.by_email(txn, ticket.email)
    if holder and is_mailed and not holder.confirmed and holder.account != ticket.account:
        _disown(txn, holder, now)
        end_links(txn, holder)
        people.delete(txn, holder)
    member = replace(
        person, account=ticket.account, email=ticket.email, role=ticket.role, confirmed=is_mailed or not mails,
    )  # fmt: skip
    people.add_person(txn, member)
    _drop(txn, ticket)
    return member


def set_password(txn: WriteTransaction, token: bytes, password: str, now: int) -> Person | None:
    """Use a ticket for another password, which ends all sessions; None if it cannot be used.

    A link that was mailed confirms the address. If it was not confirmed before, others may have used it: `_disown`.
    """
    ticket = open_ticket(txn, token, PASSWORD, now)
    if ticket is None:
        return None
    _drop(txn, ticket)
    try:
        person = people.set_password(txn, ticket.person, password)
    except UnknownError:  # removed since, or never there
        return None
    if person.confirmed or ticket.mail == NO_MAIL:
        return person
    _disown(txn, person, now)
    end_links(txn, person)
    return people.confirm(txn, person.id)


def replace_password(txn: WriteTransaction, person: str, password: str) -> Person:
    """Replace a password without a ticket; all sessions of the person, and links for another password, end.

    Raises:
        UnknownError: there is no such person.
    """
    changed = people.set_password(txn, person, password)
    end_links(txn, changed)
    return changed


def remove_person(txn: WriteTransaction, account: str, person: str) -> Person:
    """Remove a person from an account, with sessions and links.

    Raises:
        UnknownError, NotAllowedError: as `people.remove_person`.
    """
    removed = people.remove_person(txn, account, person)
    end_links(txn, removed)
    return removed


def confirm(txn: WriteTransaction, token: bytes, person: str, now: int) -> Person | None:
    """Use a ticket to confirm the address of `person`, who has a session; None if it cannot be used.

    Not without a session: whoever has the mail may not be the one who chose the password.
    """
    ticket = open_ticket(txn, token, CONFIRMATION, now)
    if ticket is None or ticket.person != person:
        return None
    _drop(txn, ticket)
    return people.confirm(txn, person)


def _disown(txn: WriteTransaction, person: Person, now: int) -> None:
    """Take from others the account of a person whose address they had: keys, addresses, invitations, people.

    If another administrator has confirmed an address, the account is theirs, and stays as it is.
    """
    if not people.is_alone(txn, person):
        return
    account_rows.revoke_keys(txn, person.account, iso(datetime.fromtimestamp(now, UTC)))
    end_all(txn, person.account)
    for other in people.people_of(txn, person.account):
        if other.id != person.id:
            people.delete(txn, other)


def end_links(txn: WriteTransaction, person: Person) -> None:
    """End the links by which a person could choose another password, or confirm an address."""
    for kind in (PASSWORD, CONFIRMATION):
        name = txn.get(_key_of_person(person.account, person.id, kind))
        if ticket := _get(txn, (name or b"").decode()):
            _drop(txn, ticket)


def end_all(txn: WriteTransaction, account: str) -> None:
    """End all tickets of an organisation that is removed."""
    for ticket in _of_account(txn, account):
        _drop(txn, ticket)


def of_account(txn: ReadTransaction, account: str, now: int) -> Sequence[Ticket]:
    """The tickets of an organisation that can be used, the newest first; those that confirm an address are its own."""
    found = (
        one for one in _of_account(txn, account) if one.expires > now and one.kind != CONFIRMATION
    )
    return sorted(found, key=lambda ticket: (-ticket.created, ticket.id))


def withdraw(txn: WriteTransaction, account: str, ticket: str) -> None:
    """End a ticket of an organisation; ending it again changes nothing."""
    known = _get(txn, ticket)
    if known is not None and known.account == account:
        _drop(txn, known)


# -- the outbox --------------------------------------------------------------------


def is_due(txn: ReadTransaction, now: int) -> bool:
    """Whether `claim` has something to do: a mail to send, or one to forget."""
    return agenda.is_due(txn, agenda.MAILS, now)


def waiting_mails(txn: ReadTransaction, now: int) -> int:
    """The mails that the mail server has not accepted yet, due or to be tried again."""
    return agenda.count(txn, agenda.MAILS, now + max(BACK_OFF_S))


def claim(txn: WriteTransaction, token: bytes, now: int) -> Ticket | None:
    """The next ticket to be mailed now, with one more token for its link; None if there is none.

    Its next attempt is in the future then, so no other process mails it too.
    """
    for entry in agenda.due_entries(txn, agenda.MAILS, now, _LOOKED_AT):
        ticket = _get(txn, entry.name)
        if ticket is None or ticket.expires <= now:
            agenda.strike(txn, agenda.MAILS, entry.moment, entry.name)
            continue
        pause = BACK_OFF_S[min(ticket.attempts, len(BACK_OFF_S) - 1)]
        claimed = replace(ticket, attempts=ticket.attempts + 1, next_attempt=now + pause)
        return _enter(txn, ticket, claimed, token)
    return None


def settle(txn: WriteTransaction, ticket: str, mail: str, error: str = "") -> None:
    """Note the outcome of an attempt: SENT, REFUSED, or WAITING for the next one."""
    before = _get(txn, ticket)
    if before is not None:  # it may have been used or withdrawn meanwhile
        _enter(txn, before, replace(before, mail=mail, error=error[:_LONGEST_ERROR]), None)


# -- rows --------------------------------------------------------------------------


def _same_ticket(txn: ReadTransaction, ticket: Ticket) -> Ticket | None:
    """The ticket that there is for the same: an address that is invited, or a person's password."""
    return _get(txn, (txn.get(_owner_key(ticket)) or b"").decode())


def _of_account(txn: ReadTransaction, account: str) -> Sequence[Ticket]:
    table = row_format.join(row_format.TICKET_OF, account, "")
    txn.expect([table, row_format.TICKET])
    names = [name for _, name in txn.scan(table)]
    return [ticket for name in names if (ticket := _get(txn, name.decode()))]


def _enter(
    txn: WriteTransaction, before: Ticket | None, ticket: Ticket, token: bytes | None
) -> Ticket:
    """Store a ticket with all rows by which it is found; `before` is what it was."""
    if token is not None:
        txn.put(row_format.TOKEN + token, f"{ticket.id}/{ticket.expires}".encode())
        links = (*ticket.links, f"{token.hex()}/{ticket.expires}")
        for old in links[:-_LINKS]:
            _drop_link(txn, old)
        ticket = replace(ticket, links=links[-_LINKS:])
    _index(txn, before, ticket)
    txn.put(_key(ticket.id), orjson.dumps(asdict(ticket)))
    return ticket


def adopt(txn: WriteTransaction, ticket: Ticket, tokens: Sequence[bytes]) -> None:
    """Enter a ticket of a store of version 1, with the SHA-256 of its tokens."""
    for token in tokens[-_LINKS:]:
        txn.put(row_format.TOKEN + token, f"{ticket.id}/{ticket.expires}".encode())
    links = tuple(f"{token.hex()}/{ticket.expires}" for token in tokens[-_LINKS:])
    _enter(txn, ticket, replace(ticket, links=links), None)


def _index(txn: WriteTransaction, before: Ticket | None, after: Ticket | None) -> None:
    """Write the rows by which a ticket is found, in place of those that it had before."""
    for kind, moment in _moments(before):
        agenda.strike(txn, kind, moment, before.id if before else "")
    if after is None and before is not None:
        owner = _owner_key(before)
        if txn.get(owner) == before.id.encode():
            txn.delete(owner)
    if after is not None:
        txn.put(_owner_key(after), after.id.encode())
        for kind, moment in _moments(after):
            agenda.enter(txn, kind, moment, after.id)


def _moments(ticket: Ticket | None) -> Sequence[tuple[str, int]]:
    if ticket is None:
        return ()
    found = [(agenda.TICKETS, ticket.expires)]
    if ticket.mail == WAITING:
        found.append((agenda.MAILS, ticket.next_attempt or ticket.created))
    return found


def _drop(txn: WriteTransaction, ticket: Ticket) -> None:
    _index(txn, ticket, None)
    txn.delete(_key(ticket.id))
    for link in ticket.links:
        _drop_link(txn, link)


def _drop_link(txn: WriteTransaction, link: str) -> None:
    key = row_format.TOKEN + bytes.fromhex(link.partition("/")[0])
    if txn.get(key) is not None:
        txn.delete(key)


def _owner_key(ticket: Ticket) -> bytes:
    if ticket.kind == INVITATION:
        owner = hashlib.sha256(people.fold_email(ticket.email).encode()).hexdigest()
        return row_format.join(row_format.TICKET_OF, ticket.account, owner)
    return _key_of_person(ticket.account, ticket.person, ticket.kind)


def _key_of_person(account: str, person: str, kind: str) -> bytes:
    owner = f"{person}.{kind}" if kind == CONFIRMATION else person
    return row_format.join(row_format.TICKET_OF, account, owner)


def _key(ticket: str) -> bytes:
    return row_format.join(row_format.TICKET, ticket)


def _get(txn: ReadTransaction, ticket: str) -> Ticket | None:
    stored = txn.get(_key(ticket)) if ticket else None
    return None if stored is None else load(stored)


def load(stored: bytes) -> Ticket:
    """The ticket of a row; those of older versions have neither `asked` nor `links`."""
    ticket = Ticket(**orjson.loads(stored))
    return replace(ticket, asked=tuple(ticket.asked), links=tuple(ticket.links))
