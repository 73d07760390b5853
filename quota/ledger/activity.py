"""Calls by day and by key, matched companies, and new keys that wait for the page that shows each key once.

The calls of an organisation by day are its counters (`calls.py`), and exact. The calls of a key are
statistics: a process counts the calls in memory and adds the counts here every minute, so a killed process loses
the calls of up to a minute. These statistics affect no bill, and are kept for KEPT_DAYS.

One row of an organisation has digests of the last 20 000 companies that its lists matched, so that the organisation
may see these companies again (extensions X19).

A new key waits in a row for the redirected browser. It is sealed with a token that only the browser has,
expires after a few minutes, and can be taken once.
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

# Days for which the calls of each key are kept.
KEPT_DAYS: Final = 62
# The most matched companies that are stored per account (160 kB).
MATCHES_KEPT: Final = 20_000
# How long a new key waits for the page that shows it, in seconds.
SEALED_S: Final = 300
# The most expired sealed keys that each new sealed key deletes, so that expired ones do not accumulate.
_EXPIRED_DELETED: Final = 8


class KeyUse(NamedTuple):
    """The calls of each key by day, and the last day of use of each key ("2026-11-21"); both mappings are by key id."""

    calls: Mapping[str, Mapping[date, int]]
    last: Mapping[str, str]


def calls_by_day(
    txn: ReadTransaction, account: str, days: int, now: datetime
) -> Sequence[tuple[date, int]]:
    """The calls of an organisation on each of the last `days` days, with each day; today comes last."""

    def rows_of_days(moment: datetime) -> Mapping[date, bytes]:
        """The keys of the counters of `days` days, of which the day of `moment` is the last, by day."""
        dates = [moment.date() - timedelta(days=back) for back in reversed(range(days))]
        return {day: row_format.join(row_format.CALLS, day.isoformat(), account) for day in dates}

    # If the floor is later than `now`, the days end at the floor. The rows for `now` are announced together with the
    # floor, to save a round trip in the usual case.
    txn.expect([row_format.FLOOR, *rows_of_days(utc(now)).values()])
    retained = rows_of_days(clamp_to_retained(txn, now))
    txn.expect([*retained.values()])
    return [(day, row_format.unpack_number(txn.get(row))) for day, row in retained.items()]


def add_key_calls(txn: WriteTransaction, calls: Mapping[bytes, int], day: date) -> None:
    """Add the calls of keys on a day, and store the day as their last use; delete days older than KEPT_DAYS.

    Args:
        calls: the number of calls, by the SHA-256 of each key.
    """
    for digest, count in calls.items():
        stored = txn.get(row_format.KEY + digest)
        if stored is None:
            continue
        key = load_key(stored)
        last_use_row = row_format.join(row_format.LAST, key.id)
        last_day = txn.get(last_use_row)
        if last_day is None or last_day.decode() < day.isoformat():
            txn.put(last_use_row, day.isoformat().encode())
        row = row_format.join(row_format.KEY_CALLS, key.account, day.isoformat(), key.id)
        stored_calls = txn.get(row)
        if stored_calls is None:
            _delete_calls_before(txn, key.account, day - timedelta(days=KEPT_DAYS))
        txn.put(row, row_format.pack_number(row_format.unpack_number(stored_calls) + count))


def key_calls(
    txn: ReadTransaction, account: str, days: int, now: datetime
) -> Mapping[str, Mapping[date, int]]:
    """By key id: the calls of each key on each of the last `days` days; days without calls are left out."""
    table = row_format.join(row_format.KEY_CALLS, account, "")
    txn.expect([row_format.FLOOR, table])
    first_day = clamp_to_retained(txn, now).date() - timedelta(days=days - 1)
    by_key: dict[str, dict[date, int]] = {}
    for row, stored in txn.scan(table):
        # The key of a row is D/<account>/<day>/<key id>.
        day, key = row.decode().split("/")[2:]
        if (called_on := date.fromisoformat(day)) >= first_day:
            by_key.setdefault(key, {})[called_on] = row_format.unpack_number(stored)
    return by_key


def key_use(
    txn: ReadTransaction,
    account: str,
    days: int,
    now: datetime,
    unsaved: Mapping[bytes, int],
    day: date,
) -> KeyUse:
    """The calls of each key of an account on the last `days` days, and the last day of use of each key.

    Args:
        unsaved: calls of `day` that this process has not added yet, by the SHA-256 of their keys.
    """
    table = row_format.join(row_format.KEY_OF, account, "")
    calls_table = row_format.join(row_format.KEY_CALLS, account, "")
    txn.expect([row_format.FLOOR, calls_table, table, row_format.LAST])
    calls = {key: dict(by_day) for key, by_day in key_calls(txn, account, days, now).items()}
    last_days: dict[str, str] = {}
    for row, digest in txn.scan(table):
        key = row[len(table) :].decode()
        stored = txn.get(row_format.join(row_format.LAST, key))
        days_of_use = [stored.decode()] if stored else []
        if count := unsaved.get(digest, 0):
            calls_of_key = calls.setdefault(key, {})
            calls_of_key[day] = calls_of_key.get(day, 0) + count
            days_of_use.append(day.isoformat())
        if days_of_use:
            last_days[key] = max(days_of_use)
    return KeyUse(calls, last_days)


def _delete_calls_before(txn: WriteTransaction, account: str, first: date) -> None:
    """Delete the calls of the keys of an account on days before `first`."""
    table = row_format.join(row_format.KEY_CALLS, account, "")
    end_key = table + first.isoformat().encode()
    for row, _ in list(takewhile(lambda entry: entry[0] < end_key, txn.scan(table))):
        txn.delete(row)


# -- companies that were matched -------------------------------------------------------


def note_matches(txn: WriteTransaction, account: str, companies: Sequence[str]) -> None:
    """Add companies ("EE/10000018") as the last matches of an account; the oldest beyond MATCHES_KEPT are deleted.

    If all of these companies are stored already, nothing is written.
    """
    row = row_format.join(row_format.MATCHED, account)
    stored_digests, new_digests = (
        row_format.unpack_numbers(txn.get(row)),
        _digests(account, companies),
    )
    if not new_digests.keys() <= set(stored_digests):
        latest = [
            *(digest for digest in stored_digests if digest not in new_digests),
            *new_digests,
        ][-MATCHES_KEPT:]
        txn.put(row, row_format.pack_numbers(latest))


def are_matched(txn: ReadTransaction, account: str, companies: Sequence[str]) -> bool:
    """Whether all of these companies are among the last matches of an account."""
    stored_digests = row_format.unpack_numbers(
        txn.get(row_format.join(row_format.MATCHED, account))
    )
    return _digests(account, companies).keys() <= set(stored_digests)


def forget_matches(txn: WriteTransaction, account: str) -> None:
    """Delete the last matches of an account that is removed."""
    row = row_format.join(row_format.MATCHED, account)
    if txn.get(row) is not None:
        txn.delete(row)


def _digests(account: str, companies: Sequence[str]) -> dict[int, None]:
    """The digests of companies, as the keys of a dict in the same order (an ordered set).

    The digest of a company differs from account to account.
    """
    texts = (f"{account}/{company}".encode() for company in companies)
    return {int.from_bytes(blake2b(text, digest_size=8).digest(), "big"): None for text in texts}


# -- a key that is shown once --------------------------------------------------------


def keep_sealed(txn: WriteTransaction, name: bytes, sealed: bytes, now: int) -> None:
    """Store a new key, sealed (encrypted) until a page shows it, for SEALED_S seconds.

    At most _EXPIRED_DELETED sealed keys that have expired are deleted as well.
    """
    expires = now + SEALED_S
    for entry in agenda.due_entries(txn, agenda.SEALED, now, _EXPIRED_DELETED):
        _delete_sealed(txn, bytes.fromhex(entry.name), entry.moment)
    txn.put(row_format.SEALED + name, row_format.pack_number_and_rest(expires, sealed))
    agenda.add_entry(txn, agenda.SEALED, expires, name.hex())


def take_sealed(txn: WriteTransaction, name: bytes, now: int) -> bytes | None:
    """Take the sealed key with this name, and delete it; None if it was taken before, or has expired."""
    stored = txn.get(row_format.SEALED + name)
    if stored is None:
        return None
    expires, sealed = row_format.unpack_number_and_rest(stored)
    _delete_sealed(txn, name, expires)
    return sealed if expires > now else None


def _delete_sealed(txn: WriteTransaction, name: bytes, expires: int) -> None:
    """Delete a sealed key, and its entry in the agenda."""
    txn.delete(row_format.SEALED + name)
    agenda.delete_entry(txn, agenda.SEALED, expires, name.hex())
