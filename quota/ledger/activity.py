"""Calls by day and by key, companies that were matched, and a new key on its way to the page that shows it once.

The calls of an organisation by day are its counters (`calls.py`), exact. Those of a key are statistics:
processes count them in memory and add them here every minute, so a process that is killed loses a
minute of them. They bill nothing, and are kept for KEPT_DAYS.

The last 20 000 companies that lines of an organisation's lists meant are remembered by digests, in one row,
so that it may see them again (extensions X19).

A key that was just made waits as a row for the redirected browser: sealed with a token that only the
browser has, for a few minutes, and taken once.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from hashlib import blake2b
from itertools import takewhile
from typing import Final, NamedTuple

from quota.accounts import load_key
from quota.ledger import agenda, row_format
from quota.ledger.calls import clamp_to_retained
from quota.ledger.row_format import ReadTransaction, WriteTransaction
from quota.periods import utc

KEPT_DAYS: Final = 62
# Companies that an account matched, remembered: 160 kB.
MATCHES_KEPT: Final = 20_000
# How long a new key waits for the page that shows it, in seconds.
SEALED_S: Final = 300
# Sealed keys that were not taken, dropped with each one that is kept: more than are made.
_DROPPED: Final = 8


class KeyUse(NamedTuple):
    """By key id: the calls of each day, and the last day of use ("2026-11-21")."""

    calls: Mapping[str, Mapping[date, int]]
    last: Mapping[str, str]


def calls_by_day(
    txn: ReadTransaction, account: str, days: int, now: datetime
) -> Sequence[tuple[date, int]]:
    """The calls of an organisation on each of the last `days` days, today last."""

    def rows(moment: datetime) -> Mapping[date, bytes]:
        dates = [moment.date() - timedelta(days=back) for back in reversed(range(days))]
        return {one: row_format.join(row_format.CALLS, one.isoformat(), account) for one in dates}

    txn.expect([row_format.FLOOR, *rows(utc(now)).values()])
    kept = rows(clamp_to_retained(txn, now))
    txn.expect([*kept.values()])
    return [(one, row_format.number(txn.get(row))) for one, row in kept.items()]


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
    table = row_format.join(row_format.KEY_CALLS, account, "")
    txn.expect([row_format.FLOOR, table])
    first = clamp_to_retained(txn, now).date() - timedelta(days=days - 1)
    found: dict[str, dict[date, int]] = {}
    for row, stored in txn.scan(table):
        day, key = row.decode().split("/")[2:]
        if (one := date.fromisoformat(day)) >= first:
            found.setdefault(key, {})[one] = row_format.number(stored)
    return found


def key_use(
    txn: ReadTransaction,
    account: str,
    days: int,
    now: datetime,
    unsaved: Mapping[bytes, int],
    day: date,
) -> KeyUse:
    """The use of the keys of an account.

    Args:
        unsaved: calls of `day` that this process has not added yet, by the SHA-256 of their keys.
    """
    table = row_format.join(row_format.KEY_OF, account, "")
    counted = row_format.join(row_format.KEY_CALLS, account, "")
    txn.expect([row_format.FLOOR, counted, table, row_format.LAST])
    calls = {key: dict(found) for key, found in key_calls(txn, account, days, now).items()}
    last: dict[str, str] = {}
    for row, digest in txn.scan(table):
        key = row[len(table) :].decode()
        stored = txn.get(row_format.join(row_format.LAST, key))
        used = [stored.decode()] if stored else []
        if count := unsaved.get(digest, 0):
            of_key = calls.setdefault(key, {})
            of_key[day] = of_key.get(day, 0) + count
            used.append(day.isoformat())
        if used:
            last[key] = max(used)
    return KeyUse(calls, last)


def _drop_before(txn: WriteTransaction, account: str, first: date) -> None:
    table = row_format.join(row_format.KEY_CALLS, account, "")
    limit = table + first.isoformat().encode()
    for row, _ in list(takewhile(lambda found: found[0] < limit, txn.scan(table))):
        txn.delete(row)


# -- companies that were matched -------------------------------------------------------


def note_matches(txn: WriteTransaction, account: str, companies: Sequence[str]) -> None:
    """Enter companies ("EE/10000018") as the last that an account matched; more than MATCHES_KEPT go.

    Nothing is written where all of them are known.
    """
    row = row_format.join(row_format.MATCHED, account)
    known, given = row_format.numbers(txn.get(row)), _digests(account, companies)
    if not given.keys() <= set(known):
        kept = [*(one for one in known if one not in given), *given][-MATCHES_KEPT:]
        txn.put(row, row_format.pack_numbers(kept))


def are_matched(txn: ReadTransaction, account: str, companies: Sequence[str]) -> bool:
    """Whether an account matched all of these companies."""
    known = row_format.numbers(txn.get(row_format.join(row_format.MATCHED, account)))
    return _digests(account, companies).keys() <= set(known)


def forget_matches(txn: WriteTransaction, account: str) -> None:
    """Delete the row of an account that is removed."""
    row = row_format.join(row_format.MATCHED, account)
    if txn.get(row) is not None:
        txn.delete(row)


def _digests(account: str, companies: Sequence[str]) -> dict[int, None]:
    """The digests of companies in their order: other ones for each account, so that rows tell nothing together."""
    texts = (f"{account}/{company}".encode() for company in companies)
    return {int.from_bytes(blake2b(one, digest_size=8).digest(), "big"): None for one in texts}


# -- a key that is shown once --------------------------------------------------------


def keep_sealed(txn: WriteTransaction, name: bytes, sealed: bytes, now: int) -> None:
    """Keep a sealed key for SEALED_S; drop some that were not taken in time."""
    expires = now + SEALED_S
    for entry in agenda.due_entries(txn, agenda.SEALED, now, _DROPPED):
        _drop_sealed(txn, bytes.fromhex(entry.name), entry.moment)
    txn.put(row_format.SEALED + name, row_format.pack_known(expires, sealed))
    agenda.enter(txn, agenda.SEALED, expires, name.hex())


def take_sealed(txn: WriteTransaction, name: bytes, now: int) -> bytes | None:
    """The sealed key of this name, which is deleted; None if it was taken, or has expired."""
    stored = txn.get(row_format.SEALED + name)
    if stored is None:
        return None
    expires, sealed = row_format.read_last_used(stored)
    _drop_sealed(txn, name, expires)
    return sealed if expires > now else None


def _drop_sealed(txn: WriteTransaction, name: bytes, expires: int) -> None:
    txn.delete(row_format.SEALED + name)
    agenda.strike(txn, agenda.SEALED, expires, name.hex())
