"""Exports of the month (F5): reserved before the work, counted when the file is complete.

A reservation expires, so that a process that dies does not occupy one of the month's exports for ever. Reserved and
counted exports together never exceed the limit. A counted export enters the list of last exports in the same
transaction (extensions X10). As in `calls.py`, each function decides first and writes afterwards.
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

# The most exports in the list of an account; older entries are deleted.
EXPORTS_LISTED: Final = 20

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
        """The counters with a fixed limit: all except the credits, which packs can increase."""
        return self.calls, self.exports, self.trials


@dataclass(frozen=True, slots=True)
class Reservation:
    """An export under way, which occupies one of the month's exports until `expires`.

    Attributes:
        limit: the exports per month that the plan allows.
        meter: the counter of exports, including this reservation.
    """

    id: str
    account: str
    month: str
    limit: int
    expires: datetime
    meter: Meter


@dataclass(frozen=True, slots=True)
class CountedExport:
    """A counted export.

    Attributes:
        made: the time of the export, ISO 8601, UTC.
        name: the name of the file, which contains the scope of the search.
        rows: the number of companies in the file.
        total: the number of companies that match the search.
        search: the query string that repeats the search; None if it is too long to store.
        key: the last four characters of the key of the request; "" for a request of a page.
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
    """The refusal of an export: the month's exports are used up (`quota`), or too many are running (`simultanes`)."""

    reason: Literal["quota", "simultanes"]
    meter: Meter


class _ReservationRow(NamedTuple):
    """The row of a reservation: its key, its expiry (ms since 1970), and the month in which it was made."""

    key: bytes
    expires: int
    month: str


def exports(txn: ReadTransaction, account: str, limit: int, now: datetime) -> Meter:
    """The exports of the month so far, including those under way."""
    moment = clamp_to_retained(txn, now)
    period = month(moment)
    used = _exports_counted(txn, account, period) + _exports_reserved(
        _live_reservations(txn, account, moment), period
    )
    return Meter("exports_mois", limit, used, used < limit, period.end)


def usage(txn: ReadTransaction, account: str, plan: Plan, now: datetime) -> Usage:
    """All counters of an account, under the limits of `plan`."""
    this_month = month(now).key
    counter_tables = (row_format.GRANT, row_format.TRIALS)
    txn.expect([
        *_count_keys(account, this_month),
        row_format.join(row_format.CALLS, day(now).key, account),
        *(row_format.join(table, this_month, account) for table in counter_tables),
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
    """Reserve one export of the month for `ttl`. Expired reservations of the account are deleted.

    Args:
        limit: the exports per month that the plan allows.
        at_once: the most exports of the account that can be under way at the same time.
        reservation: a new id.
    """
    txn.expect(_count_keys(account, month(now).key))
    moment = clamp_to_retained(txn, now)
    period = month(moment)
    live = _live_reservations(txn, account, moment)
    used = _exports_counted(txn, account, period) + _exports_reserved(live, period)
    if used >= limit:
        return Refusal("quota", Meter("exports_mois", limit, used, False, period.end))
    if len(live) >= at_once:
        return Refusal("simultanes", Meter("exports_mois", limit, used, False, period.end))
    for row in _reservations(txn, account):
        if row not in live:
            txn.delete(row.key)
    expires = _milliseconds(moment + ttl)
    key = row_format.join(row_format.RESERVED, account, reservation)
    txn.put(key, row_format.pack_reservation(expires, period.key))
    meter = Meter("exports_mois", limit, used + 1, True, period.end)
    return Reservation(reservation, account, period.key, limit, moment + ttl, meter)


def commit(
    txn: WriteTransaction,
    reservation: Reservation,
    now: datetime,
    export: CountedExport | None = None,
) -> Meter:
    """Count a finished export, in the month in which it was reserved.

    After the reservation has expired, the export is counted only if the limit has room. If the meter is
    not `granted`, the export must not be sent. An export whose reservation was released or committed before is
    not granted.

    Args:
        export: the entry for the list of last exports, if the export is counted.
    """
    last_exports = row_format.join(row_format.LAST_EXPORTS, reservation.account)
    txn.expect([*_count_keys(reservation.account, reservation.month), last_exports])
    period = month(clamp_to_retained(txn, start_of_month(reservation.month)))
    key = row_format.join(row_format.RESERVED, reservation.account, reservation.id)
    moment = clamp_to_retained(txn, now)
    live = {row.key: row for row in _live_reservations(txn, reservation.account, moment)}
    own_row = live.pop(key, None)
    counted_so_far = _exports_counted(txn, reservation.account, period)
    used = counted_so_far + _exports_reserved(live.values(), period)
    exists = txn.get(key) is not None
    # A reservation that has not expired, in a month that is still kept, was made when it was within the limit together
    # with the reservations before it. So the counter alone decides; an expired one competes with those made since.
    in_time = own_row is not None and own_row.month == period.key
    granted = exists and (counted_so_far if in_time else used) < reservation.limit
    if granted:
        exports_key = row_format.join(row_format.EXPORTS, period.key, reservation.account)
        txn.put(exports_key, row_format.pack_number(counted_so_far + 1))
        if export is not None:
            _add_to_last_exports(txn, reservation.account, export)
    if exists:
        txn.delete(key)
    return Meter("exports_mois", reservation.limit, used + granted, granted, period.end)


def release(txn: WriteTransaction, account: str, reservation: str) -> None:
    """Delete the reservation of an export that failed or was empty; if it does not exist, change nothing."""
    key = row_format.join(row_format.RESERVED, account, reservation)
    if txn.get(key) is not None:
        txn.delete(key)


def counted_exports(txn: ReadTransaction, account: str) -> Sequence[CountedExport]:
    """The last exports of an account that were counted, the newest first."""
    stored = txn.get(row_format.join(row_format.LAST_EXPORTS, account))
    return [CountedExport(**members) for members in orjson.loads(stored)] if stored else []


def delete_last_exports(txn: WriteTransaction, account: str) -> None:
    """Delete the list of last exports of an account that is removed."""
    key = row_format.join(row_format.LAST_EXPORTS, account)
    if txn.get(key) is not None:
        txn.delete(key)


def _add_to_last_exports(txn: WriteTransaction, account: str, export: CountedExport) -> None:
    """Add an export to the list of last exports of its account."""
    listed = [asdict(counted) for counted in (export, *counted_exports(txn, account))][
        :EXPORTS_LISTED
    ]
    txn.put(row_format.join(row_format.LAST_EXPORTS, account), orjson.dumps(listed))


def _count_keys(account: str, of_month: str) -> Sequence[bytes]:
    """The keys of the rows that count the exports of a month: the floor, the counter and the reservations."""
    return (
        row_format.FLOOR,
        row_format.join(row_format.EXPORTS, of_month, account),
        row_format.join(row_format.RESERVED, account, ""),
    )


def _reservations(txn: ReadTransaction, account: str) -> list[_ReservationRow]:
    """The reservations of an account, including expired reservations."""
    rows = txn.scan(row_format.join(row_format.RESERVED, account, ""))
    return [_ReservationRow(key, *row_format.unpack_reservation(stored)) for key, stored in rows]


def _live_reservations(
    txn: ReadTransaction, account: str, moment: datetime
) -> list[_ReservationRow]:
    """The reservations of an account that have not expired."""
    return [row for row in _reservations(txn, account) if row.expires > _milliseconds(moment)]


def _exports_reserved(live: Iterable[_ReservationRow], period: Period) -> int:
    """The number of these reservations that were made in this month."""
    return sum(row.month == period.key for row in live)


def _exports_counted(txn: ReadTransaction, account: str, period: Period) -> int:
    """The number of exports of an account that were counted in this month."""
    return row_format.unpack_number(
        txn.get(row_format.join(row_format.EXPORTS, period.key, account))
    )


def _milliseconds(moment: datetime) -> int:
    """A moment as stored in reservations: milliseconds since 1970."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)
