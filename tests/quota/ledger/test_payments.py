"""Subscriptions and packs: the plan that follows from them, in whatever order they were learnt."""

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
    return DictStore()


@pytest.fixture
def account(store: DictStore) -> str:
    return create_account(store, "free", PLANS, NOW).result().id


def subscription(account: str, name: str, plan: str, status: str, created: int) -> Payment:
    return Payment(name, "abonnement", account, plan, plan == "data", status, "cus_1", created)


def told(store: DictStore, state: Payment) -> tuple[str, bool]:
    """The plan and the API tool of the account after Stripe has told this state."""
    known = store.read(payments.version, state.id).result()
    assert store.submit(payments.apply, state, known, PLANS).result()
    account = store.read(account_rows.account_of, state.account).result()
    return account.plan, account.outil_api


@pytest.mark.parametrize("status", ["active", "trialing", "past_due"])
def test_a_live_subscription_is_its_plan_until_it_ends(
    store: DictStore, account: str, status: str
) -> None:
    live = subscription(account, "sub_1", "data", status, 1)

    assert told(store, replace(live, status="incomplete")) == ("free", False)
    assert told(store, live) == ("data", True)
    assert told(store, replace(live, status="canceled")) == ("free", False)


def test_of_two_subscriptions_the_one_that_lives_and_began_last_counts(account: str) -> None:
    states = [
        subscription(account, "sub_1", "data", "canceled", 1),
        subscription(account, "sub_2", "corporate", "active", 2),
        subscription(account, "sub_3", "integral", "unpaid", 3),
    ]
    for order in permutations(states):
        store = DictStore()
        name = create_account(store, "free", PLANS, NOW).result().id
        ends = [told(store, replace(state, account=name)) for state in order]

        assert ends[-1] == ("corporate", False)


def test_a_state_that_was_asked_before_another_was_stored_is_asked_again(
    store: DictStore, account: str
) -> None:
    """Two processes: the slower one holds the older state."""
    live = subscription(account, "sub_1", "data", "active", 1)
    known = store.read(payments.version, "sub_1").result()

    assert told(store, replace(live, status="canceled")) == ("free", False)
    late = store.submit(payments.apply, live, known, PLANS).result()

    assert late is False
    assert store.read(account_rows.account_of, account).result().plan == "free"


def test_a_plan_that_the_operator_gave_stays_until_another_is_bought(
    store: DictStore, account: str
) -> None:
    live = subscription(account, "sub_1", "data", "active", 1)
    told(store, live)
    store.submit(account_rows.set_plan, account, "integral", PLANS, api_tool=False).result()

    assert told(store, replace(live, ends=2))[0] == "integral"  # renewed
    assert told(store, replace(live, status="past_due"))[0] == "integral"
    assert told(store, replace(live, status="canceled"))[0] == "integral"
    assert told(store, subscription(account, "sub_2", "corporate", "active", 2))[0] == "corporate"


def test_a_pack_is_added_once(store: DictStore, account: str) -> None:
    pack = Payment("cs_1", "pack", account, "", False, "paid", "cus_1", 1, credits=1_000)

    added = [store.submit(payments.add_pack, pack).result() for _ in range(3)]

    assert added == [True, False, False]
    assert store.usage(account, PLANS["free"], NOW).result().credits.packs == 1_000
    assert store.read(payments.of_account, account).result() == [pack]


def test_a_payment_of_nobody_changes_nothing(store: DictStore) -> None:
    pack = Payment("cs_1", "pack", "a_nobody", "", False, "paid", "cus_1", 1, credits=1_000)

    with pytest.raises(UnknownError, match="a_nobody"):
        store.submit(payments.add_pack, pack).result()
    with pytest.raises(UnknownError, match="a_nobody"):
        told(store, subscription("a_nobody", "sub_1", "data", "active", 1))
