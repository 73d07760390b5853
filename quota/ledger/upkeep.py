"""Upkeep of a whole store: rows of an older version, the audit, and accounts that were never used.

`migrate` brings a store of version 1 to version 2: people and tickets by account, and agendas. It runs when a process
opens the store first, as a command before the server is restarted. A server of version 1 that still runs then goes on:
a person whom it adds is listed with the next log-in.

The audit counts the charges again and compares them with the sums that every request relies on. For each account and
month, the credits that its charges took from the grant are its row `g/`; those of all months that they took from packs
are the spent credits of its row `p/`, or fewer where `compact` has dropped old months. A store of one host is read at
one moment. A server of several hosts is read in pieces while others write, so the sums are read before and after the
charges: they only grow, and the charges must lie between them.

An account was used if it counted a call or an export, took a credit, bought anything, has another plan than `free`, or
if a key of it was used or somebody of it has an open session. `compact` drops counters of old months: an account
without a trace since then counts as never used.
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

Rows = Callable[[bytes], Iterable[tuple[bytes, bytes]]]

# Tables whose keys begin with a period and then the account.
_COUNTED: Final = (row_format.CALLS, row_format.EXPORTS, row_format.GRANT)
_SHOWN: Final = 5  # differences that an error names


# -- an older version ----------------------------------------------------------------


def migrate(txn: WriteTransaction) -> None:
    """Add the rows to a store of version 1, and leave any other alone."""
    if txn.get(row_format.FORMAT) != row_format.UNINDEXED:
        return
    for _, stored in list(txn.scan(row_format.PERSON)):
        people.index(txn, Person(**orjson.loads(stored)))
    _index_tickets(txn)
    for key, stored in list(txn.scan(row_format.SEALED)):
        name = key.removeprefix(row_format.SEALED).hex()
        agenda.enter(txn, agenda.SEALED, row_format.read_last_used(stored)[0], name)
    txn.put(row_format.FORMAT, row_format.VERSION)


def _index_tickets(txn: WriteTransaction) -> None:
    """Give each ticket its links; one for an address that nobody has is dropped, since it leads nowhere."""
    links: dict[str, list[bytes]] = {}
    for key, name in list(txn.scan(row_format.TOKEN)):
        links.setdefault(name.decode(), []).append(key)
    for key, stored in list(txn.scan(row_format.TICKET)):
        ticket = tickets.load(stored)
        rows = links.pop(ticket.id, [])
        if ticket.account:
            tickets.adopt(txn, ticket, [row[len(row_format.TOKEN) :] for row in rows])
        else:
            links[ticket.id] = rows
            txn.delete(key)
    for rows in links.values():
        for row in rows:
            txn.delete(row)


# -- the audit -----------------------------------------------------------------------


class AuditError(QuotaError):
    """Sums differ from the charges, or charges from each other."""


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What an audit has read.

    Attributes:
        credits: of all charges, those of the grant and those of packs.
        differences: a sentence for each sum that is not that of its charges.
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
        more = len(self.differences) - _SHOWN
        raise AuditError(
            f"{'; '.join(self.differences[:_SHOWN])}{f'; and {more} more' if more > 0 else ''}. "
            "Restore a backup, or keep the file and report it: no command writes such rows"
        )


@dataclass(frozen=True, slots=True)
class _Sums:
    """The sums that are stored: of grants by (month, account), of packs by account (bought, spent)."""

    floor: str
    grants: Mapping[tuple[str, str], int]
    packs: Mapping[str, tuple[int, int]]


def audit(rows: Rows) -> AuditReport:
    """Compare all charges of a store with its sums.

    Args:
        rows: returns the rows of a table, by its prefix. If other writers go on meanwhile, each call may see
            a later state.
    """
    before = _sums(rows)
    charges = 0
    grants: dict[tuple[str, str], int] = defaultdict(int)
    packs: dict[str, int] = defaultdict(int)
    for key, value in rows(row_format.CHARGE):
        month, account, _ = key[2:].decode().split("/", 2)
        if month < before.floor:  # `compact` is dropping them
            continue
        from_grant, from_packs = row_format.pair(value)
        charges += 1
        grants[month, account] += from_grant
        packs[account] += from_packs
    after = _sums(rows)
    return AuditReport(
        accounts=len({account for _, account in grants}),
        months=len({month for month, _ in grants}),
        charges=charges,
        credits=sum(grants.values()) + sum(packs.values()),
        differences=[
            *_grant_differences(before, grants, after),
            *_pack_differences(before, packs, after),
        ],
    )


def _sums(rows: Rows) -> _Sums:
    floor = next((value.decode() for _, value in rows(row_format.FLOOR)), "")
    grants = {}
    for key, value in rows(row_format.GRANT):
        month, account = key[2:].decode().split("/", 1)
        if month >= floor:
            grants[month, account] = row_format.number(value)
    packs = {key[2:].decode(): row_format.pair(value) for key, value in rows(row_format.PACKS)}
    return _Sums(floor, grants, packs)


def _grant_differences(
    before: _Sums, charged: Mapping[tuple[str, str], int], after: _Sums
) -> Iterable[str]:
    for month, account in sorted({*before.grants, *charged}):
        if month < after.floor:
            continue
        least = before.grants.get((month, account), 0)
        most = after.grants.get((month, account), 0)
        found = charged.get((month, account), 0)
        if not least <= found <= most:
            yield f"charges of {account} in {month} took {found} credits of the grant, its sum is {most}"


def _pack_differences(before: _Sums, charged: Mapping[str, int], after: _Sums) -> Iterable[str]:
    for account in sorted({*before.packs, *charged}):
        found = charged.get(account, 0)
        _, least = before.packs.get(account, (0, 0))
        bought, most = after.packs.get(account, (0, 0))
        if found > most or (found < least and not after.floor):
            yield f"charges of {account} took {found} credits of packs, {most} is their sum"
        if most > bought:
            yield f"{account} spent {most} credits of packs and bought {bought}"


# -- accounts that were never used ---------------------------------------------------


def unused_accounts(rows: Rows, before: str) -> Sequence[Account]:
    """The accounts created before a moment (ISO 8601, UTC) that were never used, the oldest first.

    Args:
        rows: returns the rows of a table, by its prefix.
    """
    counted = (key for table in _COUNTED for key, _ in rows(table))
    used = {key.split(b"/")[2].decode() for key in counted}
    used |= {key[2:].decode() for key, _ in rows(row_format.PACKS)}
    used |= {key[2:].decode().split("/")[0] for key, _ in rows(row_format.PAYMENT)}
    accounts = (load_account(stored) for _, stored in rows(row_format.ACCOUNT))
    found = [one for one in accounts if one.id not in used and _may_go(one, before)]
    return sorted(found, key=lambda account: (account.created, account.id))


def remove(txn: WriteTransaction, account: str, before: str, today: str) -> bool:
    """Remove an account that `unused_accounts` found; False, without a change, if it was used since.

    Args:
        today: the day whose calls would be a use ("2026-11-21").
    """
    try:
        known = account_rows.account_of(txn, account)
    except UnknownError:
        return False
    keys, links = account_rows.keys_of(txn, account), account_rows.keys_of(txn, account, ADDRESSES)
    persons = people.people_of(txn, account)
    called = txn.get(row_format.join(row_format.CALLS, today, account)) is not None
    bought = next(iter(txn.scan(row_format.join(row_format.PAYMENT, account, ""))), None)
    created = [*(key.created for key in (*keys, *links)), *(person.created for person in persons)]
    newer = any(moment >= before for moment in created)
    last = people.last_used(txn, [key.id for key in keys])
    inside = any(_sessions(txn, person.id) for person in persons)
    if called or bought or newer or last or inside or not _may_go(known, before):
        return False
    for kind in (KEYS, ADDRESSES):
        account_rows.delete_keys(txn, account, kind)
    for person in persons:
        people.delete(txn, person)
    exports.forget(txn, account)
    activity.forget_matches(txn, account)
    lists.delete_all(txn, account)
    tickets.end_all(txn, account)
    txn.delete(row_format.join(row_format.ACCOUNT, account))
    return True


def _may_go(account: Account, before: str) -> bool:
    return account.plan == FREE and account.created < before


def _sessions(txn: ReadTransaction, person: str) -> bool:
    return next(iter(txn.scan(row_format.join(row_format.SESSION, person, ""))), None) is not None
