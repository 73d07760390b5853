"""Tickets: invitations, links to choose a new password, and confirmations of addresses (extension X10).

Whoever has a token of a ticket can use the ticket once, before the ticket expires. The store contains only the
SHA-256 of a token. Each link that is shown, and each attempt to send a mail, has its own token with its own expiry;
all tokens end with the ticket. A second request for a new password mails the same ticket again, so the
link of the first mail still works.

A mail has no row of its own: the ticket has the state of its mail. `claim_mail` gives an attempt to send the mail to
one process and sets the next attempt in the future, so that a process that dies only delays the mail. Due mails are
looked up by their moment (`agenda.py`), and tickets by their owner: no function reads all tickets.

A mailed link proves that its reader owns the address, and a shown link does not. All links of a ticket count either as
mailed or as shown (`Ticket.mail`). Somebody else may have used an address before its owner proves the ownership:
`_disown` then ends the keys, tickets and other people of the account.
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

# The kinds of tickets.
INVITATION: Final = "invitation"
PASSWORD: Final = "mot_de_passe"
CONFIRMATION: Final = "confirmation"

# How long a ticket can be used, in seconds.
LASTS_S: Final = {INVITATION: 7 * 86_400, PASSWORD: 86_400, CONFIRMATION: 86_400}

# Seconds from one attempt to send a mail to the next; the last pause repeats until the ticket expires.
BACK_OFF_S: Final = (60, 300, 900, 3_600, 4 * 3_600)

# States of the mail of a ticket: no mail, to be sent, accepted by the mail server, refused permanently.
NO_MAIL: Final = ""
WAITING: Final = "en_attente"
SENT: Final = "envoye"
REFUSED: Final = "refuse"

# The most mails with a link that can be requested for one address: (period in seconds, mails in that period).
ASKED_MOST: Final = ((3_600, 3), (86_400, 6))

_LONGEST_ERROR: Final = 200  # characters of an error that are stored
# The most valid links of a ticket; older links end. A mail that is retried for a week has fewer links.
_LINKS_MOST: Final = 60
# The most expired tickets that a new ticket deletes, so that expired tickets do not accumulate.
_EXPIRED_DELETED: Final = 16
# The most entries of the agenda that a claim reads; the claim deletes entries of deleted or expired tickets.
_ENTRIES_READ: Final = 100


@dataclass(frozen=True, slots=True)
class Ticket:
    """A right that can be used once.

    Attributes:
        kind: INVITATION, PASSWORD or CONFIRMATION.
        person: the person whose password is replaced, or whose address is confirmed. "" for an invitation, and if
            nobody has the address: the latter ticket has no effect and no address, and there is at most one of each
            kind.
        role: the role of an invited person.
        lang: `fr` or `en`, the language of the mail.
        created, expires, next_attempt: seconds since 1970.
        mail: NO_MAIL, WAITING, SENT or REFUSED.
        attempts: the number of attempts to send the mail; `error` is the error of the last attempt.
        asked: the moments at which mails were requested, within the longest period of ASKED_MOST.
        links: the SHA-256 of each token in hex, `/`, and its expiry in seconds since 1970; the oldest first.
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
    """Store a new ticket; delete some expired tickets.

    An earlier ticket of the same kind, organisation and address is replaced.

    Args:
        token: the SHA-256 of the token of its first link; None for a ticket that will be mailed.

    Raises:
        UnknownError: there is no such account.
        NotAllowedError: the invited person is a member already, the role is unknown, or the organisation
            has PEOPLE_MOST people.
    """
    if ticket.kind == INVITATION:
        account_of(txn, ticket.account)
        _check_invitation(txn, ticket)
    if replaced := _existing_ticket(txn, ticket):
        _delete_ticket(txn, replaced)
    for entry in agenda.due_entries(txn, agenda.TICKETS, ticket.created, _EXPIRED_DELETED):
        expired = _find_ticket(txn, entry.name)
        agenda.delete_entry(txn, agenda.TICKETS, entry.moment, entry.name)
        if expired is not None:
            _delete_ticket(txn, expired)
    return _store_ticket(txn, None, ticket, token)


def _check_invitation(txn: ReadTransaction, ticket: Ticket) -> None:
    """Raise NotAllowedError if the role is unknown, the person is a member already, or the account is full."""
    if ticket.role not in people.ROLES:
        raise NotAllowedError(
            f"{ticket.role!r} is not a role; use one of {', '.join(people.ROLES)}"
        )
    person = people.find_by_email(txn, ticket.email)
    if person and person.account == ticket.account:
        raise NotAllowedError(
            f"{person.email} is a member of {ticket.account} already; invite another address"
        )
    if people.count_people(txn, ticket.account) >= people.PEOPLE_MOST:
        raise NotAllowedError(
            f"{ticket.account} has {people.PEOPLE_MOST} people, the most there can be; remove one first"
        )


def ask_for_link(txn: WriteTransaction, ticket: Ticket, token: bytes | None) -> Ticket:
    """Store a ticket for a new password or a confirmation, or mail the existing ticket again, within ASKED_MOST.

    For an unknown address a ticket without effect is written, without the address. So a ticket is written in any
    case, and a client cannot find out whether an address is in use.
    """
    person = people.find_by_email(txn, ticket.email)
    if person is None:
        issue(txn, replace(ticket, mail=NO_MAIL, email=""), token)
        return replace(ticket, mail=NO_MAIL)
    ticket_of_person = replace(ticket, account=person.account, person=person.id, email=person.email)
    existing = _existing_ticket(txn, ticket_of_person)
    if existing is None or existing.expires <= ticket.created:
        first_request = (ticket.created,) if ticket.mail == WAITING else ()
        return issue(txn, replace(ticket_of_person, asked=first_request), token)
    # All links of a mailed ticket count as mailed, so all links that were shown before are deleted.
    was_shown = existing.mail == NO_MAIL and ticket.mail == WAITING
    existing = _delete_expired_links(txn, existing, ticket.expires if was_shown else ticket.created)
    if ticket.mail != WAITING:
        return _store_ticket(
            txn, existing, replace(existing, mail=NO_MAIL, expires=ticket.expires), token
        )
    longest_period = max(seconds for seconds, _ in ASKED_MOST)
    recent_requests = tuple(
        moment for moment in existing.asked if moment > ticket.created - longest_period
    )
    if any(
        sum(moment > ticket.created - seconds for moment in recent_requests) >= most
        for seconds, most in ASKED_MOST
    ):
        # Too many requests: no mail is added, but the ticket is written as in any other case.
        return _store_ticket(txn, existing, existing, None)
    ticket_to_mail = replace(
        existing, mail=WAITING, attempts=0, next_attempt=0, error="", lang=ticket.lang,
        expires=ticket.expires, asked=(*recent_requests, ticket.created),
    )  # fmt: skip
    return _store_ticket(txn, existing, ticket_to_mail, token)


def _delete_expired_links(txn: WriteTransaction, ticket: Ticket, now: int) -> Ticket:
    """Delete the links that expire until `now`; returns the ticket without these links, which is not stored yet."""
    expired_links = [link for link in ticket.links if int(link.partition("/")[2]) <= now]
    for link in expired_links:
        _delete_link(txn, link)
    return replace(ticket, links=tuple(link for link in ticket.links if link not in expired_links))


def open_ticket(txn: ReadTransaction, token: bytes, kind: str, now: int) -> Ticket | None:
    """The ticket of this kind that has a token with the SHA-256 `token`; None if it can no longer be used."""
    ticket_id, _, link_end = (txn.get(row_format.TOKEN + token) or b"").decode().partition("/")
    ticket = _find_ticket(txn, ticket_id)
    if (
        ticket is None
        or ticket.kind != kind
        or min(ticket.expires, int(link_end or ticket.expires)) <= now
    ):
        return None
    return ticket


def accept_invitation(
    txn: WriteTransaction, token: bytes, person: Person, now: int, *, mails: bool = False
) -> Person | None:
    """Use an invitation: add `person` with the address, organisation and role of the invitation.

    Returns None if the invitation cannot be used. A mailed link takes the address from a person of another account
    who has not confirmed it.

    Args:
        mails: whether this server sends mail; a shown link then does not confirm the address.

    Raises:
        NotAllowedError: the address is in use; the invitation stays.
    """
    ticket = open_ticket(txn, token, INVITATION, now)
    if ticket is None:
        return None
    is_mailed = ticket.mail != NO_MAIL
    holder = people.find_by_email(txn, ticket.email)
    if holder and is_mailed and not holder.confirmed and holder.account != ticket.account:
        _disown(txn, holder, now)
        end_links(txn, holder)
        people.delete_person(txn, holder)
    member = replace(
        person, account=ticket.account, email=ticket.email, role=ticket.role, confirmed=is_mailed or not mails,
    )  # fmt: skip
    people.add_person(txn, member)
    _delete_ticket(txn, ticket)
    return member


def set_password(txn: WriteTransaction, token: bytes, password: str, now: int) -> Person | None:
    """Use a ticket for a new password, which ends all sessions; None if the ticket cannot be used.

    A mailed link confirms the address. If the address was not confirmed before, somebody else may have used it:
    `_disown` ends that use.
    """
    ticket = open_ticket(txn, token, PASSWORD, now)
    if ticket is None:
        return None
    _delete_ticket(txn, ticket)
    try:
        person = people.set_password(txn, ticket.person, password)
    except UnknownError:  # the person was removed, or never existed
        return None
    if person.confirmed or ticket.mail == NO_MAIL:
        return person
    _disown(txn, person, now)
    end_links(txn, person)
    return people.confirm(txn, person.id)


def replace_password(txn: WriteTransaction, person: str, password: str) -> Person:
    """Replace a password without a ticket; all sessions and links of the person end.

    Raises:
        UnknownError: there is no such person.
    """
    changed = people.set_password(txn, person, password)
    end_links(txn, changed)
    return changed


def remove_person(txn: WriteTransaction, account: str, person: str) -> Person:
    """Remove a person from an account, and end the sessions and links of the person.

    Raises:
        UnknownError, NotAllowedError: as `people.remove_person`.
    """
    removed = people.remove_person(txn, account, person)
    end_links(txn, removed)
    return removed


def confirm(txn: WriteTransaction, token: bytes, person: str, now: int) -> Person | None:
    """Use a ticket to confirm the address of `person`, who has a session; None if the ticket cannot be used.

    A session is required: the reader of the mail may be another person than the one who chose the password.
    """
    ticket = open_ticket(txn, token, CONFIRMATION, now)
    if ticket is None or ticket.person != person:
        return None
    _delete_ticket(txn, ticket)
    return people.confirm(txn, person)


def _disown(txn: WriteTransaction, person: Person, now: int) -> None:
    """End the keys, tickets and other people of an account, because `person` now proved to own the address.

    Somebody else may have created all of these. If another administrator has confirmed an address, the account
    belongs to that administrator, and nothing changes.
    """
    if not people.is_alone(txn, person):
        return
    account_rows.revoke_keys(txn, person.account, iso(datetime.fromtimestamp(now, UTC)))
    end_all_tickets(txn, person.account)
    for other in people.people_of(txn, person.account):
        if other.id != person.id:
            people.delete_person(txn, other)


def end_links(txn: WriteTransaction, person: Person) -> None:
    """End the links by which a person could choose a new password, or confirm an address."""
    for kind in (PASSWORD, CONFIRMATION):
        ticket_id = txn.get(_key_of_person(person.account, person.id, kind))
        if ticket := _find_ticket(txn, (ticket_id or b"").decode()):
            _delete_ticket(txn, ticket)


def end_all_tickets(txn: WriteTransaction, account: str) -> None:
    """End all tickets of an organisation that is removed."""
    for ticket in _tickets_of(txn, account):
        _delete_ticket(txn, ticket)


def valid_tickets(txn: ReadTransaction, account: str, now: int) -> Sequence[Ticket]:
    """The usable tickets of an organisation, the newest first, without confirmations of addresses."""
    valid = (
        candidate
        for candidate in _tickets_of(txn, account)
        if candidate.expires > now and candidate.kind != CONFIRMATION
    )
    return sorted(valid, key=lambda ticket: (-ticket.created, ticket.id))


def withdraw(txn: WriteTransaction, account: str, ticket: str) -> None:
    """End a ticket of an organisation; an unknown ticket, or that of another organisation, changes nothing."""
    stored = _find_ticket(txn, ticket)
    if stored is not None and stored.account == account:
        _delete_ticket(txn, stored)


# -- the outbox --------------------------------------------------------------------


def is_due(txn: ReadTransaction, now: int) -> bool:
    """Whether `claim_mail` has something to do: a mail to send, or an entry of the agenda to delete."""
    return agenda.is_due(txn, agenda.MAILS, now)


def waiting_mails(txn: ReadTransaction, now: int) -> int:
    """The number of mails that wait for their first or next attempt."""
    return agenda.count_entries(txn, agenda.MAILS, now + max(BACK_OFF_S))


def claim_mail(txn: WriteTransaction, token: bytes, now: int) -> Ticket | None:
    """Claim the next ticket that is due to be mailed, and add a link to it; None if no mail is due.

    The next attempt is then in the future, so no other process sends the same mail. Entries of the agenda for deleted
    or expired tickets are deleted on the way.

    Args:
        token: the SHA-256 of the token of the new link.
    """
    for entry in agenda.due_entries(txn, agenda.MAILS, now, _ENTRIES_READ):
        ticket = _find_ticket(txn, entry.name)
        if ticket is None or ticket.expires <= now:
            agenda.delete_entry(txn, agenda.MAILS, entry.moment, entry.name)
            continue
        seconds_to_next = BACK_OFF_S[min(ticket.attempts, len(BACK_OFF_S) - 1)]
        claimed = replace(ticket, attempts=ticket.attempts + 1, next_attempt=now + seconds_to_next)
        return _store_ticket(txn, ticket, claimed, token)
    return None


def note_mail_outcome(txn: WriteTransaction, ticket: str, mail: str, error: str = "") -> None:
    """Store the outcome of an attempt to send a mail: SENT, REFUSED, or WAITING for the next attempt."""
    stored = _find_ticket(txn, ticket)
    if stored is not None:  # None if the ticket was used or withdrawn meanwhile
        _store_ticket(txn, stored, replace(stored, mail=mail, error=error[:_LONGEST_ERROR]), None)


# -- rows --------------------------------------------------------------------------


def _existing_ticket(txn: ReadTransaction, ticket: Ticket) -> Ticket | None:
    """The existing ticket for the same invited address, or for the same person and kind."""
    return _find_ticket(txn, (txn.get(_owner_key(ticket)) or b"").decode())


def _tickets_of(txn: ReadTransaction, account: str) -> Sequence[Ticket]:
    """All tickets of an organisation, including expired tickets."""
    table = row_format.join(row_format.TICKET_OF, account, "")
    txn.expect([table, row_format.TICKET])
    ids = [ticket_id for _, ticket_id in txn.scan(table)]
    return [ticket for ticket_id in ids if (ticket := _find_ticket(txn, ticket_id.decode()))]


def _store_ticket(
    txn: WriteTransaction, previous: Ticket | None, ticket: Ticket, token: bytes | None
) -> Ticket:
    """Store a ticket with its index rows, and add a link if there is a `token`; `previous` is its previous state."""
    if token is not None:
        txn.put(row_format.TOKEN + token, f"{ticket.id}/{ticket.expires}".encode())
        links = (*ticket.links, f"{token.hex()}/{ticket.expires}")
        for old_link in links[:-_LINKS_MOST]:
            _delete_link(txn, old_link)
        ticket = replace(ticket, links=links[-_LINKS_MOST:])
    _replace_index_rows(txn, previous, ticket)
    txn.put(_ticket_key(ticket.id), orjson.dumps(asdict(ticket)))
    return ticket


def store_old_ticket(txn: WriteTransaction, ticket: Ticket, tokens: Sequence[bytes]) -> None:
    """Store a ticket of a version 1 store again, with the SHA-256 of its tokens."""
    for token in tokens[-_LINKS_MOST:]:
        txn.put(row_format.TOKEN + token, f"{ticket.id}/{ticket.expires}".encode())
    links = tuple(f"{token.hex()}/{ticket.expires}" for token in tokens[-_LINKS_MOST:])
    _store_ticket(txn, ticket, replace(ticket, links=links), None)


def _replace_index_rows(
    txn: WriteTransaction, previous: Ticket | None, new_state: Ticket | None
) -> None:
    """Replace the index rows of a ticket: its entries in the agenda, and the row by which its owner's ticket is found.

    Args:
        previous: the ticket as stored before; None for a new ticket.
        new_state: the ticket as it is stored now; None if it is deleted.
    """
    for kind, moment in _agenda_entries(previous):
        agenda.delete_entry(txn, kind, moment, previous.id if previous else "")
    if new_state is None and previous is not None:
        owner = _owner_key(previous)
        if txn.get(owner) == previous.id.encode():
            txn.delete(owner)
    if new_state is not None:
        txn.put(_owner_key(new_state), new_state.id.encode())
        for kind, moment in _agenda_entries(new_state):
            agenda.add_entry(txn, kind, moment, new_state.id)


def _agenda_entries(ticket: Ticket | None) -> Sequence[tuple[str, int]]:
    """The entries of a ticket in the agenda, as (kind, moment): its end, and its next mail."""
    if ticket is None:
        return ()
    moments = [(agenda.TICKETS, ticket.expires)]
    if ticket.mail == WAITING:
        moments.append((agenda.MAILS, ticket.next_attempt or ticket.created))
    return moments


def _delete_ticket(txn: WriteTransaction, ticket: Ticket) -> None:
    """Delete a ticket with its index rows and links."""
    _replace_index_rows(txn, ticket, None)
    txn.delete(_ticket_key(ticket.id))
    for link in ticket.links:
        _delete_link(txn, link)


def _delete_link(txn: WriteTransaction, link: str) -> None:
    """Delete the row of a link (an entry of `Ticket.links`), so that its token no longer opens a ticket."""
    key = row_format.TOKEN + bytes.fromhex(link.partition("/")[0])
    if txn.get(key) is not None:
        txn.delete(key)


def _owner_key(ticket: Ticket) -> bytes:
    """The key of the row that finds a ticket by its account, and by its person or invited address."""
    if ticket.kind == INVITATION:
        owner = hashlib.sha256(people.fold_email(ticket.email).encode()).hexdigest()
        return row_format.join(row_format.TICKET_OF, ticket.account, owner)
    return _key_of_person(ticket.account, ticket.person, ticket.kind)


def _key_of_person(account: str, person: str, kind: str) -> bytes:
    """The key of the row that finds the ticket of a person for a password or a confirmation."""
    owner = f"{person}.{kind}" if kind == CONFIRMATION else person
    return row_format.join(row_format.TICKET_OF, account, owner)


def _ticket_key(ticket: str) -> bytes:
    """The key of the row of the ticket with this id."""
    return row_format.join(row_format.TICKET, ticket)


def _find_ticket(txn: ReadTransaction, ticket: str) -> Ticket | None:
    """The ticket with this id; None if there is none, or for the id ""."""
    stored = txn.get(_ticket_key(ticket)) if ticket else None
    return None if stored is None else load_ticket(stored)


def load_ticket(stored: bytes) -> Ticket:
    """The ticket in a row. Rows of older versions have neither `asked` nor `links`."""
    ticket = Ticket(**orjson.loads(stored))
    return replace(ticket, asked=tuple(ticket.asked), links=tuple(ticket.links))
