"""Subscriptions and packs: the plan that they give an account, in any order of events."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import permutations

import pytest

from quota.errors import UnknownError
from quota.ledger import account_rows, payments
from quota.ledger.payments import Payment
from tests.quota.dict_store import DictStore
from tests.quota.filling import create_account
from tests.quota.small import PLANS

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.fixture
def store() -> DictStore:
    """An empty store over a dict."""
    return DictStore()


@pytest.fixture
def account(store: DictStore) -> str:
    """The id of an account with the plan free."""
    return create_account(store, "free", PLANS, NOW).result().id


def subscription(account: str, name: str, plan: str, status: str, created: int) -> Payment:
    """The state of a subscription; `created` orders the subscriptions of an account."""
    return Payment(name, "abonnement", account, plan, plan == "data", status, "cus_1", created)


def apply_state(store: DictStore, state: Payment) -> tuple[str, bool]:
    """Apply a state of a subscription; returns the plan of its account, and whether it has the API tool."""
    version_read = store.read(payments.version, state.id).result()
    assert store.submit(payments.apply_subscription, state, version_read, PLANS).result()
    account = store.read(account_rows.account_of, state.account).result()
    return account.plan, account.outil_api


@pytest.mark.parametrize("status", ["active", "trialing", "past_due"])
def test_a_live_subscription_gives_its_plan_until_it_ends(
    store: DictStore, account: str, status: str
) -> None:
    live = subscription(account, "sub_1", "data", status, 1)

    assert apply_state(store, replace(live, status="incomplete")) == ("free", False)
    assert apply_state(store, live) == ("data", True)
    assert apply_state(store, replace(live, status="canceled")) == ("free", False)


def test_the_newest_live_subscription_counts(account: str) -> None:
    states = [
        subscription(account, "sub_1", "data", "canceled", 1),
        subscription(account, "sub_2", "corporate", "active", 2),
        subscription(account, "sub_3", "integral", "unpaid", 3),
    ]
    for order in permutations(states):
        store = DictStore()
        account_id = create_account(store, "free", PLANS, NOW).result().id
        plans_after = [apply_state(store, replace(state, account=account_id)) for state in order]

        assert plans_after[-1] == ("corporate", False)


def test_a_state_older_than_the_stored_state_is_refused(store: DictStore, account: str) -> None:
    """Of two processes the slower one still has the older state"""
    live = subscription(account, "sub_1", "data", "active", 1)
    version_read = store.read(payments.version, "sub_1").result()

    assert apply_state(store, replace(live, status="canceled")) == ("free", False)
    is_applied = store.submit(payments.apply_subscription, live, version_read, PLANS).result()

    assert is_applied is False
    assert store.read(account_rows.account_of, account).result().plan == "free"


def test_a_plan_that_the_operator_gave_stays_until_another_is_bought(
    store: DictStore, account: str
) -> None:
    live = subscription(account, "sub_1", "data", "active", 1)
    apply_state(store, live)
    store.submit(account_rows.set_plan, account, "integral", PLANS, api_tool=False).result()

    # After a renewal (the same subscription with a later end), the plan that the operator gave stays.
    assert apply_state(store, replace(live, ends=2))[0] == "integral"
    assert apply_state(store, replace(live, status="past_due"))[0] == "integral"
    assert apply_state(store, replace(live, status="canceled"))[0] == "integral"
    assert (
        apply_state(store, subscription(account, "sub_2", "corporate", "active", 2))[0]
        == "corporate"
    )


def test_a_pack_is_added_once(store: DictStore, account: str) -> None:
    pack = Payment("cs_1", "pack", account, "", False, "paid", "cus_1", 1, credits=1_000)

    added = [store.submit(payments.add_pack, pack).result() for _ in range(3)]

    assert added == [True, False, False]
    assert store.usage(account, PLANS["free"], NOW).result().credits.packs == 1_000
    assert store.read(payments.payments_of, account).result() == [pack]


def test_a_payment_for_an_unknown_account_is_refused(store: DictStore) -> None:
    pack = Payment("cs_1", "pack", "a_nobody", "", False, "paid", "cus_1", 1, credits=1_000)

    with pytest.raises(UnknownError, match="a_nobody"):
        store.submit(payments.add_pack, pack).result()
    with pytest.raises(UnknownError, match="a_nobody"):
        apply_state(store, subscription("a_nobody", "sub_1", "data", "active", 1))
