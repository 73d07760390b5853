"""Subscriptions and packs paid at Stripe, and the plan that they give an account (X10).

Stripe reports changes by events, which may arrive late, twice and out of order. So the state of a
subscription is not taken from an event: `serve` fetches its current state from Stripe, between `version`
and `apply_subscription`, and starts again if another process has stored a state meanwhile. The served subscription
of an account depends only on the states of its subscriptions, not on the order of events. A pack is added once per
payment.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final, Literal

import orjson

from quota.accounts import FREE
from quota.ledger import row_format
from quota.ledger.account_rows import account_of, set_plan
from quota.ledger.calls import add_credits
from quota.ledger.row_format import ReadTransaction, WriteTransaction
from quota.plans import Plan

# The kinds of payments.
SUBSCRIPTION: Final = "abonnement"
PACK: Final = "pack"

# States of a subscription in which its plan is served. Stripe retries a failed payment for days
# (`past_due`), and then ends the subscription.
LIVE: Final = frozenset({"active", "trialing", "past_due"})


@dataclass(frozen=True, slots=True)
class Payment:
    """The last stored state of a subscription, or a paid pack.

    Attributes:
        id: the id at Stripe of the subscription, or of the checkout of a pack.
        status: the status of a subscription, in Stripe's words, or `paid` for a pack.
        customer: the id of the customer at Stripe, for its portal of invoices.
        created: seconds since 1970.
        ends: the end of the paid period, in seconds since 1970; 0 if unknown.
        cancelled: whether the subscription ends at `ends` and is not renewed.
        credits: the number of credits in a pack; 0 for a subscription.
    """

    id: str
    kind: Literal["abonnement", "pack"]
    account: str
    plan: str
    outil_api: bool
    status: str
    customer: str
    created: int
    ends: int = 0
    cancelled: bool = False
    credits: int = 0


@dataclass(frozen=True, slots=True)
class UnappliedPayment:
    """A payment that could not be applied yet, as the operator sees it.

    Attributes:
        error: why the last attempt failed.
        since: the time of the first attempt, in seconds since 1970.
    """

    id: str
    kind: str
    account: str
    plan: str
    credits: int
    customer: str
    error: str
    since: int


def version(txn: ReadTransaction, payment: str) -> int:
    """The number of states of this payment that were stored."""
    return row_format.unpack_number(txn.get(row_format.join(row_format.PAID, payment)))


def apply_subscription(
    txn: WriteTransaction, subscription: Payment, seen_version: int, plans: Mapping[str, Plan]
) -> bool:
    """Store the state of a subscription, and change the plan of the account if the served subscription changes.

    As long as the served subscription stays the same, a plan that the operator has set is kept.

    Args:
        seen_version: the result of `version`, read before the state was fetched from Stripe.

    Returns:
        False, without a change, if another state was stored since: this state may then be older.

    Raises:
        UnknownError: there is no such account, or no such plan.
        NotAllowedError: the plan has no API tool.
    """
    if version(txn, subscription.id) != seen_version:
        return False
    account = account_of(txn, subscription.account)
    payments_before = {payment.id: payment for payment in payments_of(txn, account.id)}
    payments_after = payments_before | {subscription.id: subscription}
    served, served_before = (
        served_subscription(payments_after.values()),
        served_subscription(payments_before.values()),
    )
    if served and (
        served_before is None or _plan_and_tool(served) != _plan_and_tool(served_before)
    ):
        set_plan(txn, account.id, served.plan, plans, api_tool=served.outil_api)
    elif served_before and not served and account.plan == served_before.plan:
        set_plan(txn, account.id, FREE, plans, api_tool=False)
    _store_state(txn, subscription, seen_version + 1)
    settle_unapplied(txn, subscription.id)
    return True


def add_pack(txn: WriteTransaction, pack: Payment) -> bool:
    """Add the credits of a paid pack, once; False if the pack was added before.

    Raises:
        UnknownError, NotAllowedError: as `add_credits`.
    """
    account_of(txn, pack.account)
    if version(txn, pack.id):
        return False
    add_credits(txn, pack.account, pack.credits)
    _store_state(txn, pack, 1)
    settle_unapplied(txn, pack.id)
    return True


def note_unapplied(txn: WriteTransaction, payment: Payment, error: str, now: int) -> None:
    """Note a payment without effect, for the operator. A later note of the same payment keeps the first time."""
    key = row_format.join(row_format.UNAPPLIED, payment.id)
    stored = txn.get(key)
    since = now if stored is None else UnappliedPayment(**orjson.loads(stored)).since
    note = UnappliedPayment(
        payment.id, payment.kind, payment.account, payment.plan, payment.credits,
        payment.customer, error, since,
    )  # fmt: skip
    txn.put(key, orjson.dumps(asdict(note)))


def unapplied_payments(txn: ReadTransaction) -> Sequence[UnappliedPayment]:
    """The payments without effect, the oldest first. Stripe has signed each payment, so none is forged."""
    notes = [
        UnappliedPayment(**orjson.loads(stored)) for _, stored in txn.scan(row_format.UNAPPLIED)
    ]
    return sorted(notes, key=lambda note: (note.since, note.id))


def settle_unapplied(txn: WriteTransaction, payment: str) -> bool:
    """Delete the note of a payment that now has an effect or was settled by the operator; False without a note."""
    key = row_format.join(row_format.UNAPPLIED, payment)
    if txn.get(key) is None:
        return False
    txn.delete(key)
    return True


def payments_of(txn: ReadTransaction, account: str) -> Sequence[Payment]:
    """The subscriptions and packs of an account, the newest first."""
    rows = txn.scan(row_format.join(row_format.PAYMENT, account, ""))
    payments = (Payment(**orjson.loads(stored)) for _, stored in rows)
    return sorted(payments, key=lambda payment: (-payment.created, payment.id))


def served_subscription(payments: Iterable[Payment]) -> Payment | None:
    """The subscription whose plan is served: the newest with a state of LIVE; None without any."""
    live = [
        payment for payment in payments if payment.kind == SUBSCRIPTION and payment.status in LIVE
    ]
    return max(live, key=lambda payment: (payment.created, payment.id), default=None)


def _plan_and_tool(subscription: Payment) -> tuple[str, bool]:
    """The plan that was bought, and whether the API tool was bought with the plan."""
    return subscription.plan, subscription.outil_api


def _store_state(txn: WriteTransaction, payment: Payment, number: int) -> None:
    """Store a state of a payment, as state number `number` (counted from 1)."""
    key = row_format.join(row_format.PAYMENT, payment.account, payment.id)
    txn.put(key, orjson.dumps(asdict(payment)))
    txn.put(row_format.join(row_format.PAID, payment.id), row_format.pack_number(number))
