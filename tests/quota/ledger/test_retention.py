"""Accounts that were never used: found and removed whole, and no account that was used."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from quota.credentials import key_digest
from quota.ledger.payments import Payment
from tests.quota.command import Command
from tests.quota.dict_store import DictRows, DictStore
from tests.quota.small import PLANS

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
YEAR = timedelta(days=365)
LATER = NOW + YEAR + timedelta(days=1)

Use = Callable[[DictStore, str, str], object]  # of a store, an account, and the text of its key


def rows(store: DictStore) -> dict[bytes, bytes]:
    kept: DictRows = store._file  # type: ignore[assignment]
    return kept.rows


def signed_up(store: DictStore, email: str) -> tuple[str, str]:
    store.accounts.sign_up("Żabka", email, "hash", PLANS, NOW).result()
    person = store.accounts.person_by_email(email).result()
    assert person
    return person.account, store.accounts.create_key(person.account, PLANS, NOW).result()[1]


def test_an_unused_account_goes_with_all_its_rows() -> None:
    store = DictStore()
    account, key = signed_up(store, "zoé@exemple.fr")
    store.accounts.create_address(account, PLANS, NOW).result()
    store.note_matches(account, ["EE/10000018"]).result()

    assert [one.id for one in store.unused_accounts(LATER - YEAR)] == [account]
    assert store.remove_unused(account, LATER - YEAR, LATER).result()
    assert not store.remove_unused(account, LATER - YEAR, LATER).result()

    assert rows(store) == {}
    assert store.identify(key).result() is None
    assert signed_up(store, "zoé@exemple.fr")[0] != account  # the address is free


@pytest.mark.parametrize(
    "use",
    [
        lambda store, account, key: store.take(account, 9, NOW),
        lambda store, account, key: store.take(account, 9, LATER),
        lambda store, account, key: store.accounts.add_credits(account, 5),
        lambda store, account, key: store.accounts.set_plan(account, "data", PLANS),
        lambda store, account, key: store.accounts.add_key_calls({key_digest(key): 1}, NOW.date()),
        lambda store, account, key: store.accounts.create_key(
            account, PLANS, LATER - timedelta(days=2)
        ),
        lambda store, account, key: store.accounts.add_person(account, "b@c.fr", "h", LATER),
        lambda store, account, key: store.accounts.open_session(
            store.accounts.people_of(account).result()[0].id, b"t", NOW, LATER
        ),
        lambda store, account, key: store.accounts.add_pack(
            Payment("cs_1", "pack", account, "", False, "paid", "", 1, credits=5)
        ),
    ],
    ids=["call", "call now", "credits", "plan", "key", "new key", "person", "session", "payment"],
)
def test_an_account_that_was_used_stays(use: Use) -> None:
    store = DictStore()
    account, key = signed_up(store, "zoé@exemple.fr")
    store.accounts.revoke_key(store.keys_of(account).result()[0].id, NOW).result()
    use(store, account, key)
    before = dict(rows(store))

    found = [one.id for one in store.unused_accounts(LATER - YEAR)]
    removed = [store.remove_unused(one, LATER - YEAR, LATER).result() for one in found]

    assert not any(removed)
    assert rows(store) == before


def test_a_young_account_stays() -> None:
    store = DictStore()
    signed_up(store, "zoé@exemple.fr")

    assert not store.unused_accounts(NOW)


def test_nothing_is_removed_without_yes(quota: Command) -> None:
    account = quota.json("account", "create", "--plan", "free")["account"]

    assert quota.json("purge", "--unused-days", "30") == []
    assert [one["account"] for one in quota.json("account", "list")] == [account]
