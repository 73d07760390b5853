"""Calls and credits: counting, charging and balances, as functions of one transaction.

Each function decides first and writes afterwards, so a function that raises has changed nothing.
The counts are exact because transactions are serializable (D6). `redis/lua/` has a second implementation, in
Lua, of the functions that every request uses. Exports are in `exports.py`, accounts and keys in
`account_rows.py`.

A clock that steps back gives nobody extra calls or credits: the counters of the earlier period
still exist. If `compact` has deleted these counters, the call counts at the first moment that is kept instead.

The row of a charge has no time, because there are many charges and their rows must be small. An additional row per
account and month has the last *openings* (companies and analyses that were charged), for the page that shows people
how their credits were spent. This row affects no bill.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice, takewhile
from typing import Final, Literal, NamedTuple

from quota.errors import NotAllowedError
from quota.ledger import row_format
from quota.ledger.account_rows import account_of
from quota.ledger.row_format import ReadTransaction, WriteTransaction
from quota.periods import Period, day, month, start_of_month, utc
from quota.plans import Plan

# The most credits in one pack, and the most unspent credits of all packs of an account. Rows store 64 bits, and a Lua
# script counts in doubles, exact up to 2**53: sums stay far below both.
PACK_MOST: Final = 10**9
PACKS_MOST: Final = 10**12
# The most openings (charged companies and analyses) that are kept per account and month; also a parameter of the
# script `charge.lua`.
KEPT_OPENINGS: Final = 20


MeterType = Literal["appels_jour", "exports_mois", "essais_mois"]


@dataclass(frozen=True, slots=True)
class Meter:
    """A counter (D3, D4): `used` of `limit`, including this use if it was `granted`.

    In a `Usage`, `granted` says whether one more use would be granted. `used` can exceed `limit` if the
    account changed to a smaller plan within the period. `reset` is the end of the period (UTC).
    """

    type: MeterType
    limit: int
    used: int
    granted: bool
    reset: datetime


@dataclass(frozen=True, slots=True)
class Charge:
    """A charge (D9, D11): `cost` credits debited now, `left` credits remaining.

    An analysis on trial costs 0: its outcome is `tried`, or `no_trial` if the month has no trial left.
    """

    outcome: Literal["charged", "already", "refused", "tried", "no_trial"]
    cost: int
    left: int
    reset: datetime


@dataclass(frozen=True, slots=True)
class Credits:
    """Credits of a month.

    Attributes:
        grant: the credits per month that the plan includes.
        used: the credits of the grant that were used; more than `grant` after a change to a smaller plan.
        packs: the unspent credits of packs.
        left: the credits that can be spent, from the grant and from packs.
    """

    grant: int
    used: int
    packs: int
    left: int
    reset: datetime


@dataclass(frozen=True, slots=True)
class Purchase:
    """One call, and a full record or an analysis, with the limits of the account's plan (D5, D9, X11).

    Attributes:
        account: the account that pays, such as "a_0000000000aA".
        call_limit: calls per day that the plan allows.
        company: the company as "ISO2/id", such as "EE/10000018"; for an analysis "module/subject".
        cost: the credits charged, once per calendar month.
        grant: the credits per month that the plan includes; credits of packs are used after these.
        trials: None, or the number of analyses per month that the plan allows on trial (`cost` is then 0).
    """

    account: str
    call_limit: int
    company: str
    cost: int
    grant: int
    trials: int | None = None


class Opening(NamedTuple):
    """A record or an analysis that was opened: its time, its credits, and its name as in `Purchase.company`."""

    at: datetime
    credits: int
    subject: str


# -- calls -------------------------------------------------------------------------


def take(txn: WriteTransaction, account: str, limit: int, now: datetime) -> Meter:
    """Count one call of the day if `limit` allows; a refused call is not counted (D6)."""
    today = day(clamp_to_retained(txn, now))
    key = row_format.join(row_format.CALLS, today.key, account)
    used = row_format.unpack_number(txn.get(key))
    granted = used < limit
    if granted:
        txn.put(key, row_format.pack_number(used + 1))
    return Meter("appels_jour", limit, used + granted, granted, today.end)


def give_back(txn: WriteTransaction, account: str, counted_at: datetime) -> None:
    """Undo a call that was counted at `counted_at` and whose response failed (5xx, D1)."""
    key = row_format.join(row_format.CALLS, day(clamp_to_retained(txn, counted_at)).key, account)
    if used := row_format.unpack_number(txn.get(key)):
        txn.put(key, row_format.pack_number(used - 1))


def calls(txn: ReadTransaction, account: str, limit: int, now: datetime) -> Meter:
    """The calls of the day so far."""
    today = day(clamp_to_retained(txn, now))
    used = row_format.unpack_number(txn.get(row_format.join(row_format.CALLS, today.key, account)))
    return Meter("appels_jour", limit, used, used < limit, today.end)


# -- credits -----------------------------------------------------------------------


def take_and_charge(
    txn: WriteTransaction, purchase: Purchase, now: datetime
) -> tuple[Meter, Charge | None]:
    """Count one call and, if it is granted, charge the full record (D5).

    An analysis without a trial left is refused and costs no call.

    Raises:
        NotAllowedError: the company's identifier is too long for a store.
    """
    period = month(clamp_to_retained(txn, now))
    # Both calls raise for a key that is too long, or for credits that cannot be read, before anything is written.
    charge_key(period, purchase.account, purchase.company)
    _credits(txn, purchase.account, purchase.grant, period)
    meter = take(txn, purchase.account, purchase.call_limit, now)
    if not meter.granted:
        return meter, None
    charged = charge(txn, purchase, now)
    if charged.outcome == "no_trial":
        give_back(txn, purchase.account, now)
        meter = replace(meter, used=meter.used - 1)
    return meter, charged


def charge(txn: WriteTransaction, purchase: Purchase, now: datetime) -> Charge:
    """Charge a company once per calendar month (D9), from the grant first, then from packs (D8).

    An analysis on trial uses a trial of the month instead of credits. The outcome of the charge says what was done:
    `already` (paid this month), `charged`, `tried`, or nothing (`refused`: too few credits, `no_trial`).
    """
    account, cost, grant = purchase.account, purchase.cost, purchase.grant
    moment = clamp_to_retained(txn, now)
    period = month(moment)
    key = charge_key(period, purchase.account, purchase.company)
    credit = _credits(txn, account, grant, period)
    if txn.get(key) is not None:
        return Charge("already", 0, credit.left, period.end)
    if purchase.trials is not None:
        return _use_trial(txn, purchase, moment, Charge("tried", 0, credit.left, period.end))
    if credit.left < cost:
        return Charge("refused", 0, credit.left, period.end)
    from_grant = min(cost, max(0, grant - credit.used))
    _spend(txn, account, period, from_grant, cost - from_grant)
    txn.put(key, row_format.pack_pair(from_grant, cost - from_grant))
    note_opening(txn, period, account, purchase.company, cost, moment)
    return Charge("charged", cost, credit.left - cost, period.end)


def _use_trial(
    txn: WriteTransaction, purchase: Purchase, moment: datetime, tried: Charge
) -> Charge:
    """Use a trial of the month for a purchase; return `tried`, or if no trial is left, with the outcome `no_trial`.

    A used trial is stored as a charge of 0 credits, so that the analysis is paid for the rest of the month.
    """
    period = month(moment)
    key = row_format.join(row_format.TRIALS, period.key, purchase.account)
    used = row_format.unpack_number(txn.get(key))
    if used >= (purchase.trials or 0):
        return replace(tried, outcome="no_trial")
    txn.put(key, row_format.pack_number(used + 1))
    txn.put(charge_key(period, purchase.account, purchase.company), row_format.pack_pair(0, 0))
    note_opening(txn, period, purchase.account, purchase.company, 0, moment)
    return tried


def trials(txn: ReadTransaction, account: str, limit: int, now: datetime) -> Meter:
    """The trials of the month so far."""
    period = month(clamp_to_retained(txn, now))
    used = row_format.unpack_number(
        txn.get(row_format.join(row_format.TRIALS, period.key, account))
    )
    return Meter("essais_mois", limit, used, used < limit, period.end)


def is_charged(txn: ReadTransaction, account: str, company: str, now: datetime) -> bool:
    """Whether the company was charged in this calendar month, so that its record is free (D9)."""
    txn.expect([row_format.FLOOR, charge_key(month(now), account, company)])
    return txn.get(charge_key(month(clamp_to_retained(txn, now)), account, company)) is not None


def recent_charges(txn: ReadTransaction, account: str, now: datetime) -> Sequence[Opening]:
    """The last records and analyses that were charged in this month, the newest first."""
    txn.expect([row_format.FLOOR, row_format.join(row_format.OPENED, month(now).key, account)])
    return openings_of(txn, month(clamp_to_retained(txn, now)), account)


def add_credits(txn: WriteTransaction, account: str, count: int) -> int:
    """Add a pack of `count` credits, which do not expire; returns the unspent credits of all packs.

    Raises:
        UnknownError: there is no such account.
        NotAllowedError: `count` is not from 1 to PACK_MOST, or the packs would exceed PACKS_MOST.
    """
    account_of(txn, account)
    if not 1 <= count <= PACK_MOST:
        raise NotAllowedError(
            f"{count} credits cannot be added; give a number from 1 to {PACK_MOST}"
        )
    key = row_format.join(row_format.PACKS, account)
    bought, spent = row_format.unpack_pair(txn.get(key))
    if bought + count - spent > PACKS_MOST:
        raise NotAllowedError(
            f"{count} credits cannot be added to the {bought - spent} that packs of {account} "
            f"have left; {PACKS_MOST} is the maximum: add at most {PACKS_MOST - bought + spent}"
        )
    txn.put(key, row_format.pack_pair(bought + count, spent))
    return bought + count - spent


def credits_of(txn: ReadTransaction, account: str, plan: Plan, now: datetime) -> Credits:
    """The credits of the month so far."""
    return _credits(txn, account, plan.credits_par_mois, month(clamp_to_retained(txn, now)))


def _credits(txn: ReadTransaction, account: str, grant: int, period: Period) -> Credits:
    """The credits of an account in a month, if its plan includes `grant` credits."""
    used = row_format.unpack_number(txn.get(row_format.join(row_format.GRANT, period.key, account)))
    bought, spent = row_format.unpack_pair(txn.get(row_format.join(row_format.PACKS, account)))
    packs = bought - spent
    # After a change to a smaller plan more than the grant may be used; the excess is not taken from packs.
    return Credits(grant, used, packs, max(0, grant - used) + packs, period.end)


def _spend(
    txn: WriteTransaction, account: str, period: Period, from_grant: int, from_packs: int
) -> None:
    """Add credits to the used credits of the grant of a month, and to the spent credits of packs."""
    if from_grant:
        key = row_format.join(row_format.GRANT, period.key, account)
        txn.put(key, row_format.pack_number(row_format.unpack_number(txn.get(key)) + from_grant))
    if from_packs:
        key = row_format.join(row_format.PACKS, account)
        bought, spent = row_format.unpack_pair(txn.get(key))
        txn.put(key, row_format.pack_pair(bought, spent + from_packs))


def charge_key(period: Period, account: str, company: str) -> bytes:
    """The key of the row of a charge.

    Raises:
        NotAllowedError: the company's identifier is too long for a store.
    """
    key = row_format.join(row_format.CHARGE, period.key, account, company)
    if len(key) > row_format.MAX_KEY:
        raise NotAllowedError(
            f"{company[:80]!r}… is too long for the identifier of a company; shorten it"
        )
    return key


# -- retention ---------------------------------------------------------------------


def clamp_to_retained(txn: ReadTransaction, now: datetime) -> datetime:
    """`now` in UTC, or the first moment whose counters are kept, if that is later."""
    return clamp_to_floor(now, txn.get(row_format.FLOOR))


def clamp_to_floor(now: datetime, floor: bytes | None) -> datetime:
    """`now` in UTC, or the start of the month `floor` (b"2026-11"), if that is later."""
    moment = utc(now)
    return max(moment, start_of_month(floor.decode())) if floor else moment


def raise_floor(txn: WriteTransaction, first_month: str) -> None:
    """Raise the first month that is kept to `first_month` ("2026-11"); an earlier month changes nothing."""
    floor = txn.get(row_format.FLOOR)
    if floor is None or floor.decode() < first_month:
        txn.put(row_format.FLOOR, first_month.encode())


def lower_floor(txn: WriteTransaction, month: str) -> str | None:
    """Lower the first month that is kept to `month`, after a clock was ahead; returns the previous first month.

    Counters that `compact` has deleted are not restored.
    """
    floor = txn.get(row_format.FLOOR)
    if floor is not None and floor.decode() > month:
        txn.put(row_format.FLOOR, month.encode())
    return None if floor is None else floor.decode()


def delete_old_rows(txn: WriteTransaction, at_most: int) -> int:
    """Delete at most `at_most` rows of periods before the floor, the first month that is kept; return their number.

    0 means that no such row is left.
    """
    floor = txn.get(row_format.FLOOR)
    if floor is None:
        return 0
    dropped = 0
    for table in row_format.PERIODIC:
        old_keys = [key for key, _ in islice(_rows_before(txn, table, floor), at_most - dropped)]
        for key in old_keys:
            txn.delete(key)
        dropped += len(old_keys)
    return dropped


def _rows_before(txn: ReadTransaction, table: bytes, floor: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The rows of a table with periods that are before the month `floor`."""
    # In the order of keys, the day "2026-11-21" is after the month "2026-11" and before the month "2026-12".
    return takewhile(lambda row: row[0] < table + floor, txn.scan(table))


# -- the last openings (charged companies and analyses) ------------------------------


def note_opening(
    txn: WriteTransaction, period: Period, account: str, subject: str, credits: int, now: datetime
) -> None:
    """Add an opening as the newest of the month; if there are more than KEPT_OPENINGS, delete the oldest."""
    row = row_format.join(row_format.OPENED, period.key, account)
    newest = f"{int(now.timestamp())} {credits} {subject}\n".encode()
    older = (txn.get(row) or b"").split(b"\n")[: KEPT_OPENINGS - 1]
    txn.put(row, newest + b"\n".join(older))


def openings_of(txn: ReadTransaction, period: Period, account: str) -> Sequence[Opening]:
    """The last openings of the month, the newest first."""
    stored = txn.get(row_format.join(row_format.OPENED, period.key, account)) or b""
    lines = (line.split(" ", 2) for line in stored.decode().split("\n") if line)
    return [
        Opening(datetime.fromtimestamp(int(at), UTC), int(cost), subject)
        for at, cost, subject in lines
    ]
