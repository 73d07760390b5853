"""Subscriptions and packs that were paid for at Stripe, and the plan that follows from them (X10).

Stripe announces by events that something has changed; they come late, twice, and out of order. So the
state of a subscription is never taken from an event: `serve` asks Stripe for the state of now, between
`version` and `apply`, and begins again if another process was faster. The plan of an account follows
from its subscriptions alone, in whatever order they were learnt. A pack is added once per payment.
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

SUBSCRIPTION: Final = "abonnement"
PACK: Final = "pack"

# States of a subscription in which its plan is served. Stripe tries a payment that failed again for
# days (`past_due`), and then ends the subscription.
LIVE: Final = frozenset({"active", "trialing", "past_due"})


@dataclass(frozen=True, slots=True)
class Payment:
    """A subscription as Stripe last described it, or a pack that was paid.

    Attributes:
        id: of the subscription, or of the checkout of a pack.
        status: of a subscription (Stripe's words), or `paid`.
        customer: the account at Stripe, for its portal of invoices.
        created: seconds since 1970.
        ends: the end of the paid period, in seconds since 1970; 0 if unknown.
        cancelled: it ends then and is not renewed.
        credits: of a pack.
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
    """A payment that could not be applied, as the operator sees it until it is.

    Attributes:
        since: of the first attempt, in seconds since 1970.
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
    """How many states of this payment were stored."""
    return row_format.number(txn.get(row_format.join(row_format.PAID, payment)))


def apply(
    txn: WriteTransaction, subscription: Payment, known: int, plans: Mapping[str, Plan]
) -> bool:
    """Store the state of a subscription, and give the account the plan that follows if that changes.

    A plan that the operator has given meanwhile stays until then. False, without a change, if another
    state was stored since the version `known` was read: the state in hand may then be the older one.

    Raises:
        UnknownError: there is no such account, or no such plan.
        NotAllowedError: the plan has no API tool.
    """
    if version(txn, subscription.id) != known:
        return False
    account = account_of(txn, subscription.account)
    before = {one.id: one for one in of_account(txn, account.id)}
    after = before | {subscription.id: subscription}
    wanted, sold = served_subscription(after.values()), served_subscription(before.values())
    if wanted and (sold is None or _offer(wanted) != _offer(sold)):
        set_plan(txn, account.id, wanted.plan, plans, api_tool=wanted.outil_api)
    elif sold and not wanted and account.plan == sold.plan:
        set_plan(txn, account.id, FREE, plans, api_tool=False)
    _put(txn, subscription, known + 1)
    settle_unapplied(txn, subscription.id)
    return True


def add_pack(txn: WriteTransaction, pack: Payment) -> bool:
    """Add the credits of a pack that was paid, once; False if they were added before.

    Raises:
        UnknownError, NotAllowedError: as `add_credits`.
    """
    account_of(txn, pack.account)
    if version(txn, pack.id):
        return False
    add_credits(txn, pack.account, pack.credits)
    _put(txn, pack, 1)
    settle_unapplied(txn, pack.id)
    return True


def note_unapplied(txn: WriteTransaction, payment: Payment, error: str, now: int) -> None:
    """Note a payment that has no effect, for the operator; the moment of the first time stays."""
    key = row_format.join(row_format.UNAPPLIED, payment.id)
    stored = txn.get(key)
    since = now if stored is None else UnappliedPayment(**orjson.loads(stored)).since
    note = UnappliedPayment(
        payment.id, payment.kind, payment.account, payment.plan, payment.credits,
        payment.customer, error, since,
    )  # fmt: skip
    txn.put(key, orjson.dumps(asdict(note)))


def unapplied_payments(txn: ReadTransaction) -> Sequence[UnappliedPayment]:
    """The payments that have no effect, the oldest first; each is one that Stripe signed."""
    found = [
        UnappliedPayment(**orjson.loads(stored)) for _, stored in txn.scan(row_format.UNAPPLIED)
    ]
    return sorted(found, key=lambda note: (note.since, note.id))


def settle_unapplied(txn: WriteTransaction, payment: str) -> bool:
    """Delete the note of a payment that has an effect now, or that the operator settled; False without a note."""
    key = row_format.join(row_format.UNAPPLIED, payment)
    if txn.get(key) is None:
        return False
    txn.delete(key)
    return True


def of_account(txn: ReadTransaction, account: str) -> Sequence[Payment]:
    """The subscriptions and packs of an account, the newest first."""
    rows = txn.scan(row_format.join(row_format.PAYMENT, account, ""))
    found = (Payment(**orjson.loads(stored)) for _, stored in rows)
    return sorted(found, key=lambda payment: (-payment.created, payment.id))


def served_subscription(payments: Iterable[Payment]) -> Payment | None:
    """The subscription whose plan is served: of those that live the one that began last."""
    live = [one for one in payments if one.kind == SUBSCRIPTION and one.status in LIVE]
    return max(live, key=lambda one: (one.created, one.id), default=None)


def _offer(subscription: Payment) -> tuple[str, bool]:
    return subscription.plan, subscription.outil_api


def _put(txn: WriteTransaction, payment: Payment, number: int) -> None:
    key = row_format.join(row_format.PAYMENT, payment.account, payment.id)
    txn.put(key, orjson.dumps(asdict(payment)))
    txn.put(row_format.join(row_format.PAID, payment.id), row_format.pack(number))
