"""Reconciliation addresses of accounts, as functions of one transaction (extensions X5).

An address is a capability for clients that send no header: it names its account as a key does, but at the
reconciliation service alone. It is stored as a key is, in tables of its own, so that no look-up of keys finds one.
"""

from collections.abc import Mapping
from dataclasses import replace

from quota.accounts import Account, Key, dump, load_key, subscribed_plan
from quota.errors import NotAllowedError, UnknownError
from quota.ledger import row_format
from quota.ledger.registry import account_of
from quota.ledger.transaction import ReadTransaction, WriteTransaction
from quota.plans import Plan


def account_by(txn: ReadTransaction, digest: bytes) -> Account | None:
    """The account of an address; None for a revoked one and for one that never existed."""
    stored = txn.get(row_format.ADDRESS + digest)
    if stored is None:
        return None
    address = load_key(stored)
    return None if address.revoked else account_of(txn, address.account)


def of_account(txn: ReadTransaction, account: str) -> list[Key]:
    """The addresses of an account, revoked ones included, the oldest first."""
    rows = txn.scan(row_format.join(row_format.ADDRESS_OF, account, ""))
    digests = [digest for _, digest in rows]
    loaded = [
        load_key(stored) for digest in digests if (stored := txn.get(row_format.ADDRESS + digest))
    ]
    return sorted(loaded, key=lambda address: (address.created, address.id))


def create(txn: WriteTransaction, address: Key, digest: bytes, plans: Mapping[str, Plan]) -> Key:
    """Store a new address; an account may have as many in force as keys.

    Raises:
        UnknownError: there is no such account.
        NotAllowedError: the account has as many addresses as its plan allows.
    """
    plan = subscribed_plan(account_of(txn, address.account), plans)
    active = [other for other in of_account(txn, address.account) if not other.revoked]
    if len(active) >= plan.cles_actives:
        raise NotAllowedError(
            f"{address.account} has {len(active)} addresses, the plan {plan.slug!r} allows "
            f"{plan.cles_actives}; revoke one first: address revoke {active[0].id if active else ''}"
        )
    txn.put(row_format.ADDRESS + digest, dump(address))
    txn.put(row_format.join(row_format.KEY_ID, address.id), digest)
    txn.put(row_format.join(row_format.ADDRESS_OF, address.account, address.id), digest)
    return address


def revoke(txn: WriteTransaction, address_id: str, now: str) -> Key:
    """Revoke an address; one that is revoked already keeps its date.

    Raises:
        UnknownError: there is no such address.
    """
    digest = txn.get(row_format.join(row_format.KEY_ID, address_id))
    stored = None if digest is None else txn.get(row_format.ADDRESS + digest)
    if digest is None or stored is None:
        raise UnknownError(
            f"there is no address {address_id!r}; `address list ACCOUNT` shows their ids"
        )
    address = load_key(stored)
    if address.revoked is None:
        address = replace(address, revoked=now)
        txn.put(row_format.ADDRESS + digest, dump(address))
    return address
