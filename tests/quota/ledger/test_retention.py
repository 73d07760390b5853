"""Accounts that were never used: found and removed whole, and no account that was used."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from quota.credentials import key_digest
from quota.ledger import account_rows, activity, calls, payments, people, upkeep
from quota.ledger.account_rows import ADDRESSES
from quota.ledger.payments import Payment
from quota.new_values import new_person
from quota.periods import day, iso, seconds
from tests.quota.command import Command
from tests.quota.dict_store import DictRows, DictStore
from tests.quota.filling import create_key, sign_up
from tests.quota.small import PLANS

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
YEAR = timedelta(days=365)
LATER = NOW + YEAR + timedelta(days=1)

Use = Callable[[DictStore, str, str], object]  # of a store, an account, and the text of its key


def rows(store: DictStore) -> dict[bytes, bytes]:
    kept: DictRows = store._file  # type: ignore[assignment]
    return kept.rows


def signed_up(store: DictStore, email: str) -> tuple[str, str]:
    sign_up(store, "Żabka", email, "hash", PLANS, NOW).result()
    person = store.read(people.by_email, email).result()
    assert person
    return person.account, create_key(store, person.account, PLANS, NOW).result()[1]


def test_an_unused_account_goes_with_all_its_rows() -> None:
    store = DictStore()
    account, key = signed_up(store, "zoé@exemple.fr")
    create_key(store, account, PLANS, NOW, kind=ADDRESSES).result()
    store.submit(activity.note_matches, account, ["EE/10000018"]).result()

    assert [one.id for one in upkeep.unused_accounts(store.table_rows, iso(LATER - YEAR))] == [
        account
    ]
    assert store.submit(upkeep.remove, account, iso(LATER - YEAR), day(LATER).key).result()
    assert not store.submit(upkeep.remove, account, iso(LATER - YEAR), day(LATER).key).result()

    assert rows(store) == {}
    assert store.identify(key).result() is None
    assert signed_up(store, "zoé@exemple.fr")[0] != account  # the address is free


@pytest.mark.parametrize(
    "use",
    [
        lambda store, account, key: store.take(account, 9, NOW),
        lambda store, account, key: store.take(account, 9, LATER),
        lambda store, account, key: store.submit(calls.add_credits, account, 5),
        lambda store, account, key: store.submit(account_rows.set_plan, account, "data", PLANS),
        lambda store, account, key: store.add_key_calls({key_digest(key): 1}, NOW.date()),
        lambda store, account, key: create_key(store, account, PLANS, LATER - timedelta(days=2)),
        lambda store, account, key: store.submit(
            people.add_person, new_person(account, "b@c.fr", "h", LATER)
        ),
        lambda store, account, key: store.submit(
            people.open_session,
            store.read(people.people_of, account).result()[0].id,
            b"t",
            seconds(NOW),
            seconds(LATER),
        ),
        lambda store, account, key: store.submit(
            payments.add_pack, Payment("cs_1", "pack", account, "", False, "paid", "", 1, credits=5)
        ),
    ],
    ids=["call", "call now", "credits", "plan", "key", "new key", "person", "session", "payment"],
)
def test_an_account_that_was_used_stays(use: Use) -> None:
    store = DictStore()
    account, key = signed_up(store, "zoé@exemple.fr")
    store.submit(
        account_rows.revoke_key, store.read(account_rows.keys_of, account).result()[0].id, iso(NOW)
    ).result()
    use(store, account, key)
    before = dict(rows(store))

    found = [one.id for one in upkeep.unused_accounts(store.table_rows, iso(LATER - YEAR))]
    removed = [
        store.submit(upkeep.remove, one, iso(LATER - YEAR), day(LATER).key).result()
        for one in found
    ]

    assert not any(removed)
    assert rows(store) == before


def test_a_young_account_stays() -> None:
    store = DictStore()
    signed_up(store, "zoé@exemple.fr")

    assert not upkeep.unused_accounts(store.table_rows, iso(NOW))


def test_nothing_is_removed_without_yes(quota: Command) -> None:
    account = quota.json("account", "create", "--plan", "free")["account"]

    assert quota.json("purge", "--unused-days", "30") == []
    assert [one["account"] for one in quota.json("account", "list")] == [account]
