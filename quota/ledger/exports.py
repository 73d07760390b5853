"""Exports of the month (F5): reserved before the work, counted when the file is complete.

A reservation expires, so that the place of a process that dies becomes free by itself. Reserved and
counted exports together never exceed the limit. The last exports that were counted are listed in
the same transaction (extensions X10). As in `calls.py`, each function decides first and
writes afterwards.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, NamedTuple

import orjson

from quota.ledger import row_format
from quota.ledger.calls import Credits, Meter, calls, clamp_to_retained, credits_of, trials
from quota.ledger.row_format import ReadTransaction, WriteTransaction
from quota.periods import Period, day, month, start_of_month
from quota.plans import Plan

# Exports of an account that are listed.
KEPT: Final = 20

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Usage:
    """All counters of an account."""

    calls: Meter
    exports: Meter
    credits: Credits
    trials: Meter

    @property
    def meters(self) -> tuple[Meter, ...]:
        """The counters with a limit of their own."""
        return self.calls, self.exports, self.trials


@dataclass(frozen=True, slots=True)
class Reservation:
    """An export under way: it occupies one of the month's `limit` until `expires`."""

    id: str
    account: str
    month: str
    limit: int
    expires: datetime
    meter: Meter


@dataclass(frozen=True, slots=True)
class CountedExport:
    """An export that was made and counted.

    Attributes:
        made: the moment, ISO 8601, UTC.
        name: of the file; it says the scope.
        rows: companies in the file.
        total: companies that the search found.
        search: the parameters that make it again, as a query string; None if they are too long to keep.
        key: the last four characters of the key that asked for it; "" for a page.
    """

    made: str
    format: str
    name: str
    rows: int
    total: int
    search: str | None
    key: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """No export now: the month's are used up (`quota`), or too many run (`simultanes`)."""

    reason: Literal["quota", "simultanes"]
    meter: Meter


class _Hold(NamedTuple):
    key: bytes
    expires: int
    month: str


def exports(txn: ReadTransaction, account: str, limit: int, now: datetime) -> Meter:
    """The exports of the month so far, including those under way."""
    moment = clamp_to_retained(txn, now)
    period = month(moment)
    used = _lines_counted(txn, account, period) + _lines_held(
        _live_holds(txn, account, moment), period
    )
    return Meter("exports_mois", limit, used, used < limit, period.end)


def usage(txn: ReadTransaction, account: str, plan: Plan, now: datetime) -> Usage:
    """All counters of an account, under the limits of `plan`."""
    this_month = month(now).key
    counters = (row_format.GRANT, row_format.TRIALS)
    txn.expect([
        *_rows(account, this_month),
        row_format.join(row_format.CALLS, day(now).key, account),
        *(row_format.join(table, this_month, account) for table in counters),
        row_format.join(row_format.PACKS, account),
    ])  # fmt: skip
    return Usage(
        calls(txn, account, plan.appels_api_par_jour, now),
        exports(txn, account, plan.exports_par_mois, now),
        credits_of(txn, account, plan, now),
        trials(txn, account, plan.essais_par_mois, now),
    )


def reserve(
    txn: WriteTransaction,
    account: str,
    limit: int,
    at_once: int,
    ttl: timedelta,
    reservation: str,
    now: datetime,
) -> Reservation | Refusal:
    """Reserve one export of the month for `ttl`, if `limit` and `at_once` both allow it.

    `reservation` is a new id. Expired reservations of the account are deleted here.
    """
    txn.expect(_rows(account, month(now).key))
    moment = clamp_to_retained(txn, now)
    period = month(moment)
    live = _live_holds(txn, account, moment)
    used = _lines_counted(txn, account, period) + _lines_held(live, period)
    if used >= limit:
        return Refusal("quota", Meter("exports_mois", limit, used, False, period.end))
    if len(live) >= at_once:
        return Refusal("simultanes", Meter("exports_mois", limit, used, False, period.end))
    for hold in _holds(txn, account):
        if hold not in live:
            txn.delete(hold.key)
    expires = _milliseconds(moment + ttl)
    key = row_format.join(row_format.RESERVED, account, reservation)
    txn.put(key, row_format.pack_hold(expires, period.key))
    meter = Meter("exports_mois", limit, used + 1, True, period.end)
    return Reservation(reservation, account, period.key, limit, moment + ttl, meter)


def commit(
    txn: WriteTransaction,
    reservation: Reservation,
    now: datetime,
    export: CountedExport | None = None,
) -> Meter:
    """Count a finished export, in the month in which it was reserved.

    After its reservation expired, an export is counted only if the limit has room. An export that
    is not `granted` must not be sent; so also if the reservation was released or committed before.

    Args:
        export: what to list among the last exports of the account, if it is counted.
    """
    last_exports = row_format.join(row_format.LAST_EXPORTS, reservation.account)
    txn.expect([*_rows(reservation.account, reservation.month), last_exports])
    period = month(clamp_to_retained(txn, start_of_month(reservation.month)))
    key = row_format.join(row_format.RESERVED, reservation.account, reservation.id)
    moment = clamp_to_retained(txn, now)
    live = {hold.key: hold for hold in _live_holds(txn, reservation.account, moment)}
    own = live.pop(key, None)
    counted = _lines_counted(txn, reservation.account, period)
    used = counted + _lines_held(live.values(), period)
    exists = txn.get(key) is not None
    # A reservation that is in time, in a month that is still kept, has its place beside the other
    # reservations, so only the counter is compared with the limit.
    in_time = own is not None and own.month == period.key
    granted = exists and (counted if in_time else used) < reservation.limit
    if granted:
        exports_key = row_format.join(row_format.EXPORTS, period.key, reservation.account)
        txn.put(exports_key, row_format.pack(counted + 1))
        if export is not None:
            _list(txn, reservation.account, export)
    if exists:
        txn.delete(key)
    return Meter("exports_mois", reservation.limit, used + granted, granted, period.end)


def release(txn: WriteTransaction, account: str, reservation: str) -> None:
    """Delete the reservation of an export that failed or was empty; later calls change nothing."""
    key = row_format.join(row_format.RESERVED, account, reservation)
    if txn.get(key) is not None:
        txn.delete(key)


def counted_exports(txn: ReadTransaction, account: str) -> Sequence[CountedExport]:
    """The last exports of an account that were counted, the newest first."""
    stored = txn.get(row_format.join(row_format.LAST_EXPORTS, account))
    return [CountedExport(**one) for one in orjson.loads(stored)] if stored else []


def forget(txn: WriteTransaction, account: str) -> None:
    """Delete the list of an account that is removed."""
    key = row_format.join(row_format.LAST_EXPORTS, account)
    if txn.get(key) is not None:
        txn.delete(key)


def _list(txn: WriteTransaction, account: str, export: CountedExport) -> None:
    listed = [asdict(one) for one in (export, *counted_exports(txn, account))][:KEPT]
    txn.put(row_format.join(row_format.LAST_EXPORTS, account), orjson.dumps(listed))


def _rows(account: str, of_month: str) -> Sequence[bytes]:
    """The rows that the exports of a month are counted by, unless `compact` dropped the month."""
    return (
        row_format.FLOOR,
        row_format.join(row_format.EXPORTS, of_month, account),
        row_format.join(row_format.RESERVED, account, ""),
    )


def _holds(txn: ReadTransaction, account: str) -> list[_Hold]:
    rows = txn.scan(row_format.join(row_format.RESERVED, account, ""))
    return [_Hold(key, *row_format.hold(stored)) for key, stored in rows]


def _live_holds(txn: ReadTransaction, account: str, moment: datetime) -> list[_Hold]:
    return [hold for hold in _holds(txn, account) if hold.expires > _milliseconds(moment)]


def _lines_held(live: Iterable[_Hold], period: Period) -> int:
    return sum(hold.month == period.key for hold in live)


def _lines_counted(txn: ReadTransaction, account: str, period: Period) -> int:
    return row_format.number(txn.get(row_format.join(row_format.EXPORTS, period.key, account)))


def _milliseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)
