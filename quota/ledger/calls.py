"""Calls and credits: what is taken, charged and left, as functions of one transaction.

Each function first decides and then writes, so that one which raises has changed nothing. They are
exact because whoever calls them lets nobody else write meanwhile (D6); they know no clock, no file
and no plan. Exports are in `exports.py`, accounts and keys in `registry.py`.

Nothing extra is to be had by a clock that steps back: the counters of the earlier period are still
there. Where `compact` dropped them, time is taken to be the first moment that is still kept.
"""

from collections.abc import Iterator
from datetime import datetime
from itertools import islice, takewhile
from typing import Final

from quota.errors import NotAllowedError
from quota.ledger import row_format
from quota.ledger.registry import account_of
from quota.ledger.transaction import ReadTransaction, WriteTransaction
from quota.periods import Period, day, month, start_of_month, utc
from quota.plans import Plan
from quota.results import Charge, Credits, Meter

# Credits of a pack, and of all packs of an account that are not spent. A row has 64 bits and a
# script on Redis counts in doubles, exact to 2**53: with these no sum comes near either.
PACK_MOST: Final = 10**9
PACKS_MOST: Final = 10**12

# -- calls -------------------------------------------------------------------------


def take(txn: WriteTransaction, account: str, limit: int, now: datetime) -> Meter:
    """One call of the day, if `limit` allows; a refused call is not counted (D6)."""
    today = day(kept(txn, now))
    key = row_format.join(row_format.CALLS, today.key, account)
    used = row_format.number(txn.get(key))
    granted = used < limit
    if granted:
        txn.put(key, row_format.pack(used + 1))
    return Meter("appels_jour", limit, used + granted, granted, today.end)


def give_back(txn: WriteTransaction, account: str, taken: datetime) -> None:
    """Undo a call that was taken at `taken` and came to nothing (5xx: D1)."""
    key = row_format.join(row_format.CALLS, day(kept(txn, taken)).key, account)
    if used := row_format.number(txn.get(key)):
        txn.put(key, row_format.pack(used - 1))


def calls(txn: ReadTransaction, account: str, limit: int, now: datetime) -> Meter:
    """The calls of the day as they stand."""
    today = day(kept(txn, now))
    used = row_format.number(txn.get(row_format.join(row_format.CALLS, today.key, account)))
    return Meter("appels_jour", limit, used, used < limit, today.end)


# -- credits -----------------------------------------------------------------------


def take_and_charge(
    txn: WriteTransaction,
    account: str,
    limit: int,
    company: str,
    cost: int,
    grant: int,
    now: datetime,
) -> tuple[Meter, Charge | None]:
    """One call, and the full record of `company` (ISO2/id) where the call was granted (D5)."""
    charge_key(month(kept(txn, now)), account, company)  # refused before anything is written
    meter = take(txn, account, limit, now)
    return meter, charge(txn, account, company, cost, grant, now) if meter.granted else None


def charge(
    txn: WriteTransaction, account: str, company: str, cost: int, grant: int, now: datetime
) -> Charge:
    """Debit a company once in a calendar month (D9), from the grant first, then from packs (D8)."""
    period = month(kept(txn, now))
    key = charge_key(period, account, company)
    standing = _credits(txn, account, grant, period)
    if txn.get(key) is not None:
        return Charge("already", 0, standing.left, period.end)
    if standing.left < cost:
        return Charge("refused", 0, standing.left, period.end)
    from_grant = min(cost, max(0, grant - standing.used))
    _debit(txn, account, period, from_grant, cost - from_grant)
    txn.put(key, row_format.pack_pair(from_grant, cost - from_grant))
    return Charge("charged", cost, standing.left - cost, period.end)


def is_charged(txn: ReadTransaction, account: str, company: str, now: datetime) -> bool:
    """Was the company charged in this calendar month, so that its record is free (D9)?"""
    return txn.get(charge_key(month(kept(txn, now)), account, company)) is not None


def add_credits(txn: WriteTransaction, account: str, count: int) -> int:
    """Buy a pack of `count` credits, which do not end with the month; returns what packs have left.

    Raises:
        UnknownError: there is no such account.
        NotAllowedError: `count` is not from 1 to PACK_MOST, or packs would have over PACKS_MOST.
    """
    account_of(txn, account)
    if not 1 <= count <= PACK_MOST:
        raise NotAllowedError(
            f"{count} credits cannot be added; give a number from 1 to {PACK_MOST}"
        )
    key = row_format.join(row_format.PACKS, account)
    bought, spent = row_format.pair(txn.get(key))
    if bought + count - spent > PACKS_MOST:
        raise NotAllowedError(
            f"{count} credits cannot be added to the {bought - spent} that packs of {account} "
            f"have left; {PACKS_MOST} is the most: add at most {PACKS_MOST - bought + spent}"
        )
    txn.put(key, row_format.pack_pair(bought + count, spent))
    return bought + count - spent


def credits_of(txn: ReadTransaction, account: str, plan: Plan, now: datetime) -> Credits:
    """The credits of the month as they stand."""
    return _credits(txn, account, plan.credits_par_mois, month(kept(txn, now)))


def _credits(txn: ReadTransaction, account: str, grant: int, period: Period) -> Credits:
    used = row_format.number(txn.get(row_format.join(row_format.GRANT, period.key, account)))
    bought, spent = row_format.pair(txn.get(row_format.join(row_format.PACKS, account)))
    packs = bought - spent
    # The plan may have been lowered since: more of the grant used than there is leaves packs whole.
    return Credits(grant, used, packs, max(0, grant - used) + packs, period.end)


def _debit(
    txn: WriteTransaction, account: str, period: Period, from_grant: int, from_packs: int
) -> None:
    if from_grant:
        key = row_format.join(row_format.GRANT, period.key, account)
        txn.put(key, row_format.pack(row_format.number(txn.get(key)) + from_grant))
    if from_packs:
        key = row_format.join(row_format.PACKS, account)
        bought, spent = row_format.pair(txn.get(key))
        txn.put(key, row_format.pack_pair(bought, spent + from_packs))


def charge_key(period: Period, account: str, company: str) -> bytes:
    """The row of a charge; NotAllowedError where the identifier is too long for a store."""
    key = row_format.join(row_format.CHARGE, period.key, account, company)
    if len(key) > row_format.MAX_KEY:
        raise NotAllowedError(f"{company[:80]!r}… is too long for the identifier of a company")
    return key


# -- what is kept ------------------------------------------------------------------


def kept(txn: ReadTransaction, now: datetime) -> datetime:
    """`now` in UTC, or the first moment whose counters are still kept."""
    return since(now, txn.get(row_format.FLOOR))


def since(now: datetime, floor: bytes | None) -> datetime:
    """`now` in UTC, or the first moment of the month `floor`, if that is later."""
    moment = utc(now)
    return max(moment, start_of_month(floor.decode())) if floor else moment


def raise_floor(txn: WriteTransaction, before: str) -> None:
    """Keep nothing of the months before `before` ("2026-11") from now on; never keep more again."""
    floor = txn.get(row_format.FLOOR)
    if floor is None or floor.decode() < before:
        txn.put(row_format.FLOOR, before.encode())


def drop(txn: WriteTransaction, at_most: int) -> int:
    """Delete rows of periods that are no longer kept, `at_most` so many; returns how many."""
    floor = txn.get(row_format.FLOOR)
    if floor is None:
        return 0
    dropped = 0
    for table in row_format.PERIODIC:
        old = [key for key, _ in islice(_before(txn, table, floor), at_most - dropped)]
        for key in old:
            txn.delete(key)
        dropped += len(old)
    return dropped


def _before(txn: ReadTransaction, table: bytes, floor: bytes) -> Iterator[tuple[bytes, bytes]]:
    # A day, "2026-11-21", sorts between its own month and the next.
    return takewhile(lambda row: row[0] < table + floor, txn.scan(table))
