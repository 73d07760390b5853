"""Calls and credits: counting, charging and balances, as functions of one transaction.

Each function decides first and writes afterwards, so a function that raises has changed nothing.
The counts are exact because no other transaction writes at the same time (D6). `redis/lua/` has the
functions of every request a second time, in Lua. Exports are in `exports.py`, accounts and keys in
`account_rows.py`.

A clock that steps back gives nobody extra calls or credits: the counters of the earlier period
still exist. Where `compact` dropped them, the first kept moment replaces the time.

The rows of charges have no time, so that they are small, and there are many of them. The last openings of a month are
one row more, for a page that shows people what their credits were spent for; nothing is billed by it.
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

# Limits of the credits in one pack, and of the unspent credits of all packs of an account. A row has
# 64 bits and a Lua script counts in doubles, exact to 2**53: no sum comes near either.
PACK_MOST: Final = 10**9
PACKS_MOST: Final = 10**12
# Openings that a month keeps of an account, as the script `charge.lua` does.
KEPT_OPENINGS: Final = 20


MeterType = Literal["appels_jour", "exports_mois", "essais_mois"]


@dataclass(frozen=True, slots=True)
class Meter:
    """A counter (D3, D4): `used` of `limit`, including this use if it was `granted`.

    In a `Usage`, `granted` says whether one more use would be granted. `used` exceeds `limit` if the
    plan was lowered within the period. `reset` is the end of the period (UTC).
    """

    type: MeterType
    limit: int
    used: int
    granted: bool
    reset: datetime


@dataclass(frozen=True, slots=True)
class Charge:
    """A charge (D9, D11): `cost` credits debited now, `left` credits remaining.

    An analysis on trial costs none: it is `tried`, or `no_trial` where the month has no trial left.
    """

    outcome: Literal["charged", "already", "refused", "tried", "no_trial"]
    cost: int
    left: int
    reset: datetime


@dataclass(frozen=True, slots=True)
class Credits:
    """Credits of a month: the grant, how much of it is used, credits of packs, and the sum left."""

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
        company: the company as "ISO2/id", such as "EE/10000018"; of an analysis, its module and subject.
        cost: credits, due once per calendar month.
        grant: credits per month that the plan includes; packs are used after them.
        trials: None, or how many analyses a month the plan lets try at no credits (`cost` is 0).
    """

    account: str
    call_limit: int
    company: str
    cost: int
    grant: int
    trials: int | None = None


class Opening(NamedTuple):
    """A record or an analysis that was opened, as `Purchase.company` names it, and its credits."""

    at: datetime
    credits: int
    subject: str


# -- calls -------------------------------------------------------------------------


def take(txn: WriteTransaction, account: str, limit: int, now: datetime) -> Meter:
    """Count one call of the day if `limit` allows; a refused call is not counted (D6)."""
    today = day(clamp_to_retained(txn, now))
    key = row_format.join(row_format.CALLS, today.key, account)
    used = row_format.number(txn.get(key))
    granted = used < limit
    if granted:
        txn.put(key, row_format.pack(used + 1))
    return Meter("appels_jour", limit, used + granted, granted, today.end)


def give_back(txn: WriteTransaction, account: str, taken: datetime) -> None:
    """Undo a call that was counted at `taken` and whose response failed (5xx: D1)."""
    key = row_format.join(row_format.CALLS, day(clamp_to_retained(txn, taken)).key, account)
    if used := row_format.number(txn.get(key)):
        txn.put(key, row_format.pack(used - 1))


def calls(txn: ReadTransaction, account: str, limit: int, now: datetime) -> Meter:
    """The calls of the day so far."""
    today = day(clamp_to_retained(txn, now))
    used = row_format.number(txn.get(row_format.join(row_format.CALLS, today.key, account)))
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
    charge_key(
        period, purchase.account, purchase.company
    )  # raises before anything is written, as does a row of credits
    _credits(txn, purchase.account, purchase.grant, period)
    meter = take(txn, purchase.account, purchase.call_limit, now)
    if not meter.granted:
        return meter, None
    made = charge(txn, purchase, now)
    if made.outcome == "no_trial":
        give_back(txn, purchase.account, now)
        meter = replace(meter, used=meter.used - 1)
    return meter, made


def charge(txn: WriteTransaction, purchase: Purchase, now: datetime) -> Charge:
    """Charge a company once per calendar month (D9), from the grant first, then from packs (D8)."""
    account, cost, grant = purchase.account, purchase.cost, purchase.grant
    moment = clamp_to_retained(txn, now)
    period = month(moment)
    key = charge_key(period, purchase.account, purchase.company)
    credit = _credits(txn, account, grant, period)
    if txn.get(key) is not None:
        return Charge("already", 0, credit.left, period.end)
    if purchase.trials is not None:
        return _try(txn, purchase, moment, Charge("tried", 0, credit.left, period.end))
    if credit.left < cost:
        return Charge("refused", 0, credit.left, period.end)
    from_grant = min(cost, max(0, grant - credit.used))
    _spend(txn, account, period, from_grant, cost - from_grant)
    txn.put(key, row_format.pack_pair(from_grant, cost - from_grant))
    note_opening(txn, period, account, purchase.company, cost, moment)
    return Charge("charged", cost, credit.left - cost, period.end)


def _try(txn: WriteTransaction, purchase: Purchase, moment: datetime, tried: Charge) -> Charge:
    """Count a trial of the month if the plan allows another one."""
    period = month(moment)
    key = row_format.join(row_format.TRIALS, period.key, purchase.account)
    used = row_format.number(txn.get(key))
    if used >= (purchase.trials or 0):
        return replace(tried, outcome="no_trial")
    txn.put(key, row_format.pack(used + 1))
    txn.put(charge_key(period, purchase.account, purchase.company), row_format.pack_pair(0, 0))
    note_opening(txn, period, purchase.account, purchase.company, 0, moment)
    return tried


def trials(txn: ReadTransaction, account: str, limit: int, now: datetime) -> Meter:
    """The trials of the month so far."""
    period = month(clamp_to_retained(txn, now))
    used = row_format.number(txn.get(row_format.join(row_format.TRIALS, period.key, account)))
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
    """Add a pack of `count` credits, which do not expire; returns the credits that packs have left.

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
    bought, spent = row_format.pair(txn.get(key))
    if bought + count - spent > PACKS_MOST:
        raise NotAllowedError(
            f"{count} credits cannot be added to the {bought - spent} that packs of {account} "
            f"have left; {PACKS_MOST} is the most: add at most {PACKS_MOST - bought + spent}"
        )
    txn.put(key, row_format.pack_pair(bought + count, spent))
    return bought + count - spent


def credits_of(txn: ReadTransaction, account: str, plan: Plan, now: datetime) -> Credits:
    """The credits of the month so far."""
    return _credits(txn, account, plan.credits_par_mois, month(clamp_to_retained(txn, now)))


def _credits(txn: ReadTransaction, account: str, grant: int, period: Period) -> Credits:
    used = row_format.number(txn.get(row_format.join(row_format.GRANT, period.key, account)))
    bought, spent = row_format.pair(txn.get(row_format.join(row_format.PACKS, account)))
    packs = bought - spent
    # A plan that was lowered may grant less than was used; the excess is not taken from packs.
    return Credits(grant, used, packs, max(0, grant - used) + packs, period.end)


def _spend(
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


def raise_floor(txn: WriteTransaction, before: str) -> None:
    """Set the first month that is kept ("2026-11"); only `lower_floor` sets an earlier one."""
    floor = txn.get(row_format.FLOOR)
    if floor is None or floor.decode() < before:
        txn.put(row_format.FLOOR, before.encode())


def lower_floor(txn: WriteTransaction, month: str) -> str | None:
    """Set an earlier first month that is kept, after a clock that was ahead; returns the one before.

    Months that were dropped meanwhile have no counters.
    """
    floor = txn.get(row_format.FLOOR)
    if floor is not None and floor.decode() > month:
        txn.put(row_format.FLOOR, month.encode())
    return None if floor is None else floor.decode()


def drop(txn: WriteTransaction, at_most: int) -> int:
    """Delete at most `at_most` rows of periods before the floor; returns how many."""
    floor = txn.get(row_format.FLOOR)
    if floor is None:
        return 0
    dropped = 0
    for table in row_format.PERIODIC:
        old = [key for key, _ in islice(_rows_before(txn, table, floor), at_most - dropped)]
        for key in old:
            txn.delete(key)
        dropped += len(old)
    return dropped


def _rows_before(txn: ReadTransaction, table: bytes, floor: bytes) -> Iterator[tuple[bytes, bytes]]:
    # A day, "2026-11-21", sorts between its own month and the next.
    return takewhile(lambda row: row[0] < table + floor, txn.scan(table))


# -- the last openings ---------------------------------------------------------------


def note_opening(
    txn: WriteTransaction, period: Period, account: str, subject: str, credits: int, now: datetime
) -> None:
    """Enter an opening as the last one of the month, and drop the oldest of more than KEPT."""
    row = row_format.join(row_format.OPENED, period.key, account)
    newest = f"{int(now.timestamp())} {credits} {subject}\n".encode()
    older = (txn.get(row) or b"").split(b"\n")[: KEPT_OPENINGS - 1]
    txn.put(row, newest + b"\n".join(older))


def openings_of(txn: ReadTransaction, period: Period, account: str) -> Sequence[Opening]:
    """The last openings of the month, the newest first."""
    stored = txn.get(row_format.join(row_format.OPENED, period.key, account)) or b""
    lines = (line.split(" ", 2) for line in stored.decode().split("\n") if line)
    return [Opening(datetime.fromtimestamp(int(at), UTC), int(n), what) for at, n, what in lines]
