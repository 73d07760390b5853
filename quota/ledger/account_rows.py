"""Accounts, their keys and their reconciliation addresses, as functions of one transaction.

As in `calls.py`, each function decides first and writes afterwards. Keys are looked up by their digest.
Revoking a key is one write, which the next `identify` of any process sees.

A reconciliation address (extensions X5) is a key for clients that send no header. It is valid only at the
reconciliation service. Addresses have tables of their own, so that looking up a key never returns an address.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from quota.accounts import Account, Key, check_plan, dump, load_account, load_key, subscribed_plan
from quota.errors import NotAllowedError, UnknownError
from quota.ledger import row_format
from quota.ledger.row_format import ReadTransaction, WriteTransaction
from quota.plans import Plan

# -- accounts ----------------------------------------------------------------------


def account_of(txn: ReadTransaction, account: str) -> Account:
    """The account with this id.

    Raises:
        UnknownError: there is no such account.
    """
    stored = txn.get(row_format.join(row_format.ACCOUNT, account))
    if stored is None:
        raise UnknownError(f"there is no account {account!r}; `account list` shows them")
    return load_account(stored)


def accounts(txn: ReadTransaction) -> list[Account]:
    """All accounts, the oldest first."""
    all_accounts = [load_account(stored) for _, stored in txn.scan(row_format.ACCOUNT)]
    return sorted(all_accounts, key=lambda account: (account.created, account.id))


def create_account(txn: WriteTransaction, account: Account, plans: Mapping[str, Plan]) -> Account:
    """Store a new account.

    Raises:
        UnknownError, NotAllowedError: as `check_plan`.
    """
    check_plan(account.plan, account.outil_api, plans, account.modules)
    return _store_account(txn, account)


def set_plan(
    txn: WriteTransaction,
    account: str,
    plan: str,
    plans: Mapping[str, Plan],
    *,
    api_tool: bool | None = None,
    modules: Sequence[str] | None = None,
) -> Account:
    """Change the plan of an account. None leaves the API tool, or the modules, unchanged.

    The account keeps its keys, even if the new plan allows fewer (A9).

    Raises:
        UnknownError, NotAllowedError: as `account_of` and `check_plan`.
    """
    stored_account = account_of(txn, account)
    check_plan(plan, bool(api_tool), plans, modules)
    return _store_account(
        txn,
        replace(
            stored_account,
            plan=plan,
            outil_api=stored_account.outil_api if api_tool is None else api_tool,
            modules=stored_account.modules if modules is None else tuple(modules),
        ),
    )


def _store_account(txn: WriteTransaction, account: Account) -> Account:
    """Store an account, and return it."""
    txn.put(row_format.join(row_format.ACCOUNT, account.id), dump(account))
    return account


# -- keys --------------------------------------------------------------------------

# The most revoked keys in the list of an account; revoking another key deletes the oldest.
REVOKED_KEPT: Final = 50


class KeyKind(NamedTuple):
    """The tables of keys, or of reconciliation addresses, and the words for them in commands and errors.

    Attributes:
        table: the table of keys by their SHA-256.
        of_account: the table that lists the keys of each account.
    """

    table: bytes
    of_account: bytes
    command: str
    plural: str


KEYS: Final = KeyKind(row_format.KEY, row_format.KEY_OF, "key", "active keys")
ADDRESSES: Final = KeyKind(row_format.ADDRESS, row_format.ADDRESS_OF, "address", "addresses")


def identify(txn: ReadTransaction, digest: bytes, kind: KeyKind = KEYS) -> Account | None:
    """The account of a key; None for a revoked or an unknown key (A4)."""
    stored = txn.get(kind.table + digest)
    if stored is None:
        return None
    key = load_key(stored)
    return None if key.revoked else account_of(txn, key.account)


def keys_of(txn: ReadTransaction, account: str, kind: KeyKind = KEYS) -> list[Key]:
    """The keys of an account, including revoked keys, the oldest first."""
    table = row_format.join(kind.of_account, account, "")
    txn.expect([table, kind.table])
    digests = [digest for _, digest in txn.scan(table)]
    loaded = [load_key(stored) for digest in digests if (stored := txn.get(kind.table + digest))]
    return sorted(loaded, key=lambda key: (key.created, key.id))


def create_key(
    txn: WriteTransaction,
    key: Key,
    digest: bytes,
    plans: Mapping[str, Plan],
    kind: KeyKind = KEYS,
) -> Key:
    """Store a new key of an account whose plan allows one more (§5 rule 6).

    The plan that the account pays for limits the number of active keys; the API tool changes only the rights
    of the keys. The same limit applies to the number of addresses.

    Raises:
        UnknownError: there is no such account.
        NotAllowedError: the account has as many active keys as its plan allows.
    """
    plan = subscribed_plan(account_of(txn, key.account), plans)
    active = [other for other in keys_of(txn, key.account, kind) if not other.revoked]
    if len(active) >= plan.cles_actives:
        raise NotAllowedError(
            f"{key.account} has {len(active)} {kind.plural}, the plan {plan.slug!r} allows "
            f"{plan.cles_actives}; revoke one first: "
            f"{kind.command} revoke {active[0].id if active else ''}"
        )
    txn.put(kind.table + digest, dump(key))
    txn.put(row_format.join(row_format.KEY_ID, key.id), digest)
    txn.put(row_format.join(kind.of_account, key.account, key.id), digest)
    return key


def revoke_key(txn: WriteTransaction, key_id: str, now: str, kind: KeyKind = KEYS) -> Key:
    """Revoke a key; a key that is revoked already keeps its date.

    At most REVOKED_KEPT revoked keys of an account are kept; those that were revoked first are deleted.

    Raises:
        UnknownError: there is no such key.
    """
    digest = txn.get(row_format.join(row_format.KEY_ID, key_id))
    stored = None if digest is None else txn.get(kind.table + digest)
    if digest is None or stored is None:
        raise UnknownError(
            f"there is no {kind.command} {key_id!r}; `{kind.command} list ACCOUNT` shows their ids"
        )
    key = load_key(stored)
    if key.revoked is None:
        revoked = [other for other in keys_of(txn, key.account, kind) if other.revoked]
        revoked.sort(key=lambda other: (other.revoked, other.created))
        for old in revoked[: max(0, len(revoked) - REVOKED_KEPT + 1)]:
            _delete_key(txn, old, kind)
        key = replace(key, revoked=now)
        txn.put(kind.table + digest, dump(key))
    return key


def revoke_keys(txn: WriteTransaction, account: str, now: str) -> None:
    """Revoke all keys and reconciliation addresses of an account."""
    for kind in (KEYS, ADDRESSES):
        for key in keys_of(txn, account, kind):
            if key.revoked is None:
                revoke_key(txn, key.id, now, kind)


def delete_keys(txn: WriteTransaction, account: str, kind: KeyKind = KEYS) -> None:
    """Delete all keys, or all reconciliation addresses, of an account."""
    for key in keys_of(txn, account, kind):
        _delete_key(txn, key, kind)


def _delete_key(txn: WriteTransaction, key: Key, kind: KeyKind) -> None:
    """Delete all rows of a key: the key, the row that finds it by its id, its entry in its account, its last use."""
    id_row = row_format.join(row_format.KEY_ID, key.id)
    digest = txn.get(id_row) or b""
    last_use = row_format.join(row_format.LAST, key.id)
    for row in (
        kind.table + digest, id_row, row_format.join(kind.of_account, key.account, key.id),
        *([last_use] if txn.get(last_use) is not None else []),
    ):  # fmt: skip
        txn.delete(row)
