"""Calls by day and by key, and a new key on its way to the page that shows it once.

The calls of an organisation by day are its counters (`calls.py`), exact. Those of a key are statistics:
processes count them in memory and add them here every minute, so a process that is killed loses a
minute of them. They bill nothing, and are kept for KEPT_DAYS.

A key that was just made waits as a row for the redirected browser: sealed with a token that only the
browser has, for a few minutes, and taken once.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Final

from quota.accounts import load_key
from quota.ledger import row_format
from quota.ledger.calls import kept
from quota.ledger.transaction import ReadTransaction, WriteTransaction

KEPT_DAYS: Final = 62


def calls_by_day(
    txn: ReadTransaction, account: str, days: int, now: datetime
) -> Sequence[tuple[date, int]]:
    """The calls of an organisation on each of the last `days` days, today last."""
    today = kept(txn, now).date()
    dates = [today - timedelta(days=back) for back in reversed(range(days))]
    rows = (row_format.join(row_format.CALLS, one.isoformat(), account) for one in dates)
    return [(one, row_format.number(txn.get(row))) for one, row in zip(dates, rows, strict=True)]


def add_key_calls(txn: WriteTransaction, calls: Mapping[bytes, int], day: date) -> None:
    """Add calls of keys, by the SHA-256 of each, and note their day of use; drop the oldest days."""
    for digest, count in calls.items():
        stored = txn.get(row_format.KEY + digest)
        if stored is None:
            continue
        key = load_key(stored)
        last = row_format.join(row_format.LAST, key.id)
        before = txn.get(last)
        if before is None or before.decode() < day.isoformat():
            txn.put(last, day.isoformat().encode())
        row = row_format.join(row_format.KEY_CALLS, key.account, day.isoformat(), key.id)
        counted = txn.get(row)
        if counted is None:
            _drop_before(txn, key.account, day - timedelta(days=KEPT_DAYS))
        txn.put(row, row_format.pack(row_format.number(counted) + count))


def key_calls(
    txn: ReadTransaction, account: str, days: int, now: datetime
) -> Mapping[str, Mapping[date, int]]:
    """The calls of each key on each of the last `days` days, by key id."""
    first = kept(txn, now).date() - timedelta(days=days - 1)
    found: dict[str, dict[date, int]] = {}
    for row, stored in txn.scan(row_format.join(row_format.KEY_CALLS, account, "")):
        day, key = row.decode().split("/")[2:]
        if (one := date.fromisoformat(day)) >= first:
            found.setdefault(key, {})[one] = row_format.number(stored)
    return found


def _drop_before(txn: WriteTransaction, account: str, first: date) -> None:
    table = row_format.join(row_format.KEY_CALLS, account, "")
    limit = table + first.isoformat().encode()
    for row in [row for row, _ in txn.scan(table) if row < limit]:
        txn.delete(row)


# -- a key that is shown once --------------------------------------------------------


def keep_sealed(txn: WriteTransaction, name: bytes, sealed: bytes, now: int, expires: int) -> None:
    """Keep a sealed key until `expires` (s since 1970); drop those that were not taken in time."""
    rows = list(txn.scan(row_format.SEALED))
    for row in [row for row, stored in rows if row_format.known(stored)[0] <= now]:
        txn.delete(row)
    txn.put(row_format.SEALED + name, row_format.pack_known(expires, sealed))


def take_sealed(txn: WriteTransaction, name: bytes, now: int) -> bytes | None:
    """The sealed key of this name, which is deleted; None if it was taken, or has expired."""
    stored = txn.get(row_format.SEALED + name)
    if stored is None:
        return None
    txn.delete(row_format.SEALED + name)
    expires, sealed = row_format.known(stored)
    return sealed if expires > now else None
