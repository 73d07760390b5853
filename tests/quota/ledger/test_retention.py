"""Accounts that were never used: they are removed whole, and used accounts are not."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from quota.credentials import secret_digest
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
# An account created NOW is then older than a year.
YEAR_LATER = NOW + YEAR + timedelta(days=1)

# A use of an account, after which it is not removed.
Use = Callable[[DictStore, str, str], object]  # arguments: a store, an account, the text of its key


def rows(store: DictStore) -> dict[bytes, bytes]:
    """The rows of the store, by their keys."""
    dict_rows: DictRows = store._file  # type: ignore[assignment]
    return dict_rows.rows


def sign_up_with_key(store: DictStore, email: str) -> tuple[str, str]:
    """Sign up a person; returns the id of the account, and the text of a new key."""
    sign_up(store, "Żabka", email, "hash", PLANS, NOW).result()
    person = store.read(people.find_by_email, email).result()
    assert person
    return person.account, create_key(store, person.account, PLANS, NOW).result()[1]


def test_an_unused_account_is_removed_with_all_its_rows() -> None:
    store = DictStore()
    account, key = sign_up_with_key(store, "zoé@exemple.fr")
    create_key(store, account, PLANS, NOW, kind=ADDRESSES).result()
    store.submit(activity.note_matches, account, ["EE/10000018"]).result()

    assert [
        unused.id for unused in upkeep.unused_accounts(store.table_rows, iso(YEAR_LATER - YEAR))
    ] == [account]
    assert store.submit(
        upkeep.remove_unused, account, iso(YEAR_LATER - YEAR), day(YEAR_LATER).key
    ).result()
    assert not store.submit(
        upkeep.remove_unused, account, iso(YEAR_LATER - YEAR), day(YEAR_LATER).key
    ).result()

    assert rows(store) == {}
    assert store.identify(key).result() is None
    # The e-mail address can be used again.
    assert sign_up_with_key(store, "zoé@exemple.fr")[0] != account


@pytest.mark.parametrize(
    "use",
    [
        lambda store, account, key: store.take(account, 9, NOW),
        lambda store, account, key: store.take(account, 9, YEAR_LATER),
        lambda store, account, key: store.submit(calls.add_credits, account, 5),
        lambda store, account, key: store.submit(account_rows.set_plan, account, "data", PLANS),
        lambda store, account, key: store.add_key_calls({secret_digest(key): 1}, NOW.date()),
        lambda store, account, key: create_key(
            store, account, PLANS, YEAR_LATER - timedelta(days=2)
        ),
        lambda store, account, key: store.submit(
            people.add_person, new_person(account, "b@c.fr", "h", YEAR_LATER)
        ),
        lambda store, account, key: store.submit(
            people.open_session,
            store.read(people.people_of, account).result()[0].id,
            b"t",
            seconds(NOW),
            seconds(YEAR_LATER),
        ),
        lambda store, account, key: store.submit(
            payments.add_pack, Payment("cs_1", "pack", account, "", False, "paid", "", 1, credits=5)
        ),
    ],
    ids=["call", "call now", "credits", "plan", "key", "new key", "person", "session", "payment"],
)
def test_an_account_that_was_used_stays(use: Use) -> None:
    """Each use alone keeps the account. Its only key is revoked before, since one of the uses is a new key"""
    store = DictStore()
    account, key = sign_up_with_key(store, "zoé@exemple.fr")
    store.submit(
        account_rows.revoke_key, store.read(account_rows.keys_of, account).result()[0].id, iso(NOW)
    ).result()
    use(store, account, key)
    rows_before = dict(rows(store))

    unused = [
        candidate.id
        for candidate in upkeep.unused_accounts(store.table_rows, iso(YEAR_LATER - YEAR))
    ]
    removed = [
        store.submit(
            upkeep.remove_unused, candidate, iso(YEAR_LATER - YEAR), day(YEAR_LATER).key
        ).result()
        for candidate in unused
    ]

    assert not any(removed)
    assert rows(store) == rows_before


def test_an_account_created_now_is_not_listed_as_unused() -> None:
    store = DictStore()
    sign_up_with_key(store, "zoé@exemple.fr")

    assert not upkeep.unused_accounts(store.table_rows, iso(NOW))


def test_the_command_purge_lists_and_removes_no_new_account(quota: Command) -> None:
    account = quota.json("account", "create", "--plan", "free")["account"]

    assert quota.json("purge", "--unused-days", "30") == []
    assert [listing["account"] for listing in quota.json("account", "list")] == [account]
