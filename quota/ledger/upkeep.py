"""Upkeep of a store: rows of an older version, the audit, and accounts that were never used.

`migrate` upgrades a store from version 1 to version 2: it adds the rows that list people and tickets by account, and
the agendas. It runs when the first process of this version opens the store. A server of version 1 can still be running
then; a person whom that server adds enters the list of people with the next log-in.

The audit adds up all charges and compares the totals with the sums that requests rely on. For each account and month,
the credits charged to the grant must equal the row `g/`. For each account, the credits of all months charged to packs
must equal the spent credits of the row `p/`, or be fewer if `compact` has deleted old months. A store of one host is
read at one moment. A Redis server is read in pieces while others write, so the sums are read before and after the
charges: sums only grow, so the totals must be between the first and the second reading.

An account counts as used if it counted a call or an export, spent a credit, bought anything, or has another plan than
`free`, or if one of its keys was used or the store has a session of one of its people. `compact` deletes counters of
old months, so an account whose last use left only such counters counts as never used.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from quota.accounts import FREE, Account, load_account
from quota.errors import QuotaError, UnknownError
from quota.ledger import account_rows, activity, agenda, exports, lists, people, row_format, tickets
from quota.ledger.account_rows import ADDRESSES, KEYS
from quota.ledger.people import Person
from quota.ledger.row_format import ReadTransaction, WriteTransaction

# Returns the rows (key, value) of a table, by its prefix.
TableReader = Callable[[bytes], Iterable[tuple[bytes, bytes]]]

# Tables with a row per period and account in use: `<table>/<period>/<account>`.
_USE_TABLES: Final = (row_format.CALLS, row_format.EXPORTS, row_format.GRANT)
# The most differences that the message of an AuditError describes; it only counts the others.
_DIFFERENCES_NAMED: Final = 5


# -- an older version ----------------------------------------------------------------


def migrate(txn: WriteTransaction) -> None:
    """Add the rows of version 2 to a store of version 1; change no other store."""
    if txn.get(row_format.FORMAT) != row_format.UNINDEXED:
        return
    for _, stored in list(txn.scan(row_format.PERSON)):
        people.update_people_list(txn, Person(**orjson.loads(stored)))
    _index_tickets(txn)
    for key, stored in list(txn.scan(row_format.SEALED)):
        name = key.removeprefix(row_format.SEALED).hex()
        agenda.add_entry(txn, agenda.SEALED, row_format.unpack_number_and_rest(stored)[0], name)
    txn.put(row_format.FORMAT, row_format.VERSION)


def _index_tickets(txn: WriteTransaction) -> None:
    """Migrate the tickets of an older version: store with each ticket the digests of its links.

    Tickets without an account (for unknown addresses) and links without a ticket are deleted.
    """
    links: dict[str, list[bytes]] = {}
    for key, name in list(txn.scan(row_format.TOKEN)):
        links.setdefault(name.decode(), []).append(key)
    for key, stored in list(txn.scan(row_format.TICKET)):
        ticket = tickets.load_ticket(stored)
        rows = links.pop(ticket.id, [])
        if ticket.account:
            tickets.store_old_ticket(txn, ticket, [row[len(row_format.TOKEN) :] for row in rows])
        else:
            links[ticket.id] = rows  # deleted below
            txn.delete(key)
    for rows in links.values():
        for row in rows:
            txn.delete(row)


# -- the audit -----------------------------------------------------------------------


class AuditError(QuotaError):
    """A stored sum differs from its charges, or an account has spent more credits of packs than it bought."""


@dataclass(frozen=True, slots=True)
class AuditReport:
    """The result of an audit.

    Attributes:
        credits: the sum of all charges, from grants and packs.
        differences: a sentence for each sum that differs from its charges.
    """

    accounts: int
    months: int
    charges: int
    credits: int
    differences: Sequence[str]

    def require(self) -> None:
        """Raise AuditError if there is a difference."""
        if not self.differences:
            return
        not_named = len(self.differences) - _DIFFERENCES_NAMED
        raise AuditError(
            f"{'; '.join(self.differences[:_DIFFERENCES_NAMED])}{f'; and {not_named} more' if not_named > 0 else ''}. "
            "Restore a backup, or keep the file and report it: no command writes such rows"
        )


@dataclass(frozen=True, slots=True)
class _Sums:
    """The stored sums, and the first month whose counters are kept.

    Attributes:
        grants: the used credits of the grant, by (month, account).
        packs: the credits of packs (bought, spent), by account.
    """

    floor: str
    grants: Mapping[tuple[str, str], int]
    packs: Mapping[str, tuple[int, int]]


def audit(rows: TableReader) -> AuditReport:
    """Recompute the sums of credits from all charges of a store, and report the stored sums that differ.

    Args:
        rows: each call can see a later state, if others write meanwhile.
    """
    # The sums are read before and after the charges, because others can write meanwhile.
    sums_before = _read_sums(rows)
    charges = 0
    grants: dict[tuple[str, str], int] = defaultdict(int)
    packs: dict[str, int] = defaultdict(int)
    for key, value in rows(row_format.CHARGE):
        # key[2:] is the key without its table, such as `c/`.
        month, account, _ = key[2:].decode().split("/", 2)
        if month < sums_before.floor:  # `compact` is deleting the charges of this month
            continue
        from_grant, from_packs = row_format.unpack_pair(value)
        charges += 1
        grants[month, account] += from_grant
        packs[account] += from_packs
    sums_after = _read_sums(rows)
    return AuditReport(
        accounts=len({account for _, account in grants}),
        months=len({month for month, _ in grants}),
        charges=charges,
        credits=sum(grants.values()) + sum(packs.values()),
        differences=[
            *_grant_differences(sums_before, grants, sums_after),
            *_pack_differences(sums_before, packs, sums_after),
        ],
    )


def _read_sums(rows: TableReader) -> _Sums:
    """Read the stored sums: the spent credits per month and account, and the packs per account.

    Months before the floor, which `compact` is deleting, are left out.
    """
    floor = next((value.decode() for _, value in rows(row_format.FLOOR)), "")
    grants = {}
    for key, value in rows(row_format.GRANT):  # key[2:] is the key without its table, such as `g/`
        month, account = key[2:].decode().split("/", 1)
        if month >= floor:
            grants[month, account] = row_format.unpack_number(value)
    packs = {
        key[2:].decode(): row_format.unpack_pair(value) for key, value in rows(row_format.PACKS)
    }
    return _Sums(floor, grants, packs)


def _grant_differences(
    sums_before: _Sums, charged: Mapping[tuple[str, str], int], sums_after: _Sums
) -> Iterable[str]:
    """A sentence for each account and month whose charges to the grant differ from their stored sum."""
    for month, account in sorted({*sums_before.grants, *charged}):
        if month < sums_after.floor:
            continue
        # Others can have written while the charges were read: the total is between the sums before and after.
        least_total = sums_before.grants.get((month, account), 0)
        most_total = sums_after.grants.get((month, account), 0)
        total = charged.get((month, account), 0)
        if not least_total <= total <= most_total:
            yield f"charges of {account} in {month} took {total} credits of the grant, its sum is {most_total}"


def _pack_differences(
    sums_before: _Sums, charged: Mapping[str, int], sums_after: _Sums
) -> Iterable[str]:
    """A sentence for each account whose charges to packs differ from their stored sum, or exceed its packs."""
    for account in sorted({*sums_before.packs, *charged}):
        total = charged.get(account, 0)
        _, least_total = sums_before.packs.get(account, (0, 0))
        bought, most_total = sums_after.packs.get(account, (0, 0))
        # With a floor, `compact` can have deleted charges, so the total can be less than the sum.
        if total > most_total or (total < least_total and not sums_after.floor):
            yield f"charges of {account} took {total} credits of packs, {most_total} is their sum"
        if most_total > bought:
            yield f"{account} spent {most_total} credits of packs and bought {bought}"


# -- accounts that were never used ---------------------------------------------------


def unused_accounts(rows: TableReader, created_before: str) -> Sequence[Account]:
    """The free accounts created before a moment (ISO 8601, UTC) without a counter, pack or payment, the oldest first.

    `remove_unused` also checks the keys and people of an account, before it removes the account.
    """
    # A key is `<table>/<period>/<account>` for counters, `<table>/<account>` for packs, and
    # `<table>/<account>/<payment>` for payments; `key[2:]` is a key without its table.
    counter_keys = (key for table in _USE_TABLES for key, _ in rows(table))
    used = {key.split(b"/")[2].decode() for key in counter_keys}
    used |= {key[2:].decode() for key, _ in rows(row_format.PACKS)}
    used |= {key[2:].decode().split("/")[0] for key, _ in rows(row_format.PAYMENT)}
    accounts = (load_account(stored) for _, stored in rows(row_format.ACCOUNT))
    unused = [
        candidate
        for candidate in accounts
        if candidate.id not in used and _is_free_and_older(candidate, created_before)
    ]
    return sorted(unused, key=lambda account: (account.created, account.id))


def remove_unused(txn: WriteTransaction, account: str, created_before: str, today: str) -> bool:
    """Remove an account of `unused_accounts`; False, without a change, if the account counts as used.

    Args:
        created_before: an account, key or person created at this moment (ISO 8601, UTC) or later counts as a use.
        today: the day whose calls would be a use ("2026-11-21").
    """
    try:
        stored = account_rows.account_of(txn, account)
    except UnknownError:
        return False
    keys, addresses = (
        account_rows.keys_of(txn, account),
        account_rows.keys_of(txn, account, ADDRESSES),
    )
    persons = people.people_of(txn, account)
    called_today = txn.get(row_format.join(row_format.CALLS, today, account)) is not None
    any_payment = next(iter(txn.scan(row_format.join(row_format.PAYMENT, account, ""))), None)
    creations = [
        *(key.created for key in (*keys, *addresses)),
        *(person.created for person in persons),
    ]
    has_new_rows = any(moment >= created_before for moment in creations)
    last_use = people.last_used(txn, [key.id for key in keys])
    has_session = any(_has_session(txn, person.id) for person in persons)
    if (
        called_today
        or any_payment
        or has_new_rows
        or last_use
        or has_session
        or not _is_free_and_older(stored, created_before)
    ):
        return False
    for kind in (KEYS, ADDRESSES):
        account_rows.delete_keys(txn, account, kind)
    for person in persons:
        people.delete_person(txn, person)
    exports.delete_last_exports(txn, account)
    activity.forget_matches(txn, account)
    lists.delete_all(txn, account)
    tickets.end_all_tickets(txn, account)
    txn.delete(row_format.join(row_format.ACCOUNT, account))
    return True


def _is_free_and_older(account: Account, created_before: str) -> bool:
    """Whether the account is free and was created before the moment `created_before`."""
    return account.plan == FREE and account.created < created_before


def _has_session(txn: ReadTransaction, person: str) -> bool:
    """Whether the store has a session of the person, open or expired."""
    return next(iter(txn.scan(row_format.join(row_format.SESSION, person, ""))), None) is not None
