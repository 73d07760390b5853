"""Accounts that were never used: found, and removed with their keys and people.

An account was used if it counted a call or an export, took a credit, bought anything, has another plan
than `free`, or if a key of it was used or somebody of it has an open session. `compact` drops counters of
old months, so nothing older than those is told apart: an account without a trace since then is one that was
never used.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from quota.accounts import FREE, Account, load_account
from quota.errors import UnknownError
from quota.ledger import account_rows, activity, exports, lists, people, row_format, tickets
from quota.ledger.account_rows import ADDRESSES, KEYS
from quota.ledger.transaction import ReadTransaction, WriteTransaction

Rows = Callable[[bytes], Iterable[tuple[bytes, bytes]]]

# Tables whose keys begin with a period and then the account.
_COUNTED: Final = (row_format.CALLS, row_format.EXPORTS, row_format.GRANT)


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
