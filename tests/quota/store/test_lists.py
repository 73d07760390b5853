"""Matched lists over each store: bounds, expiry, other accounts, and what is left of a list that is deleted."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from quota.command import drop_lists
from quota.errors import NotAllowedError, UnknownError
from quota.ledger import lists, row_format, upkeep
from quota.ledger.lists import CHUNK_LINES, NO_CHOICE, ListPart, ListSize
from quota.new_values import LIST_PREFIX, list_id
from quota.periods import day, iso, seconds
from quota.redis.store import RedisStore
from quota.store.lmdb_store import LmdbStore
from tests.quota.dict_store import DictStore
from tests.quota.filling import create_account, create_list
from tests.quota.servers import running
from tests.quota.small import PLANS

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
SECOND = int(NOW.timestamp())
MONTH = timedelta(days=30)
TABLES = (
    row_format.LIST, row_format.LIST_OF, row_format.LIST_LINES, row_format.LIST_MARKS,
    row_format.AGENDA,
)  # fmt: skip

Store = LmdbStore | RedisStore


@pytest.fixture(params=["dict", "lmdb", "valkey"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "valkey":
        with running("valkey") as server:
            opened = RedisStore(server.url, create=True)
            yield opened
            opened.close()
        return
    made = DictStore() if request.param == "dict" else LmdbStore(tmp_path)
    yield made
    made.close()


def part(lines: int, verdict: str = "s", choice: int = 0) -> ListPart:
    chunks = [f"chunk {n}".encode() for n in range(-(-lines // CHUNK_LINES))]
    return ListPart(chunks, bytes([ord(verdict), choice]) * lines)


def account_in(store: Store) -> str:
    return create_account(store, "data", PLANS, NOW).result().id


def rows(store: Store) -> list[tuple[bytes, bytes]]:
    """The rows of all lists."""
    return [row for table in TABLES for row in store.table_rows(table)]


def test_a_list_is_as_it_was_made_and_as_it_was_changed(store: Store) -> None:
    account = account_in(store)
    code = create_list(store, account, "Clients", b"table", part(150), NOW).result()
    kept = store.read(lists.rows_of, list_id(code), seconds(NOW)).result()
    assert kept

    store.submit(
        lists.choose, kept.head.id, kept.head.account, {0: NO_CHOICE, 149: 2}, seconds(NOW)
    ).result()
    store.submit(
        lists.rename, kept.head.id, kept.head.account, "Żabka " * 50, seconds(NOW)
    ).result()

    changed = store.read(
        lists.rows_of, list_id(code), seconds(NOW + MONTH - timedelta(seconds=1))
    ).result()
    assert changed
    assert (kept.head.name, kept.table, kept.marks) == ("Clients", b"table", b"s\0" * 150)
    assert changed.head.name == ("Żabka " * 50)[: lists.LONGEST_NAME]
    assert changed.marks == b"s\xff" + b"s\0" * 148 + b"s\2"
    assert changed.head.verdicts == {"s": 150}
    assert store.read(lists.chunks_of, kept.head.id, [0, 1, 2]).result() == {
        0: b"chunk 0",
        1: b"chunk 1",
    }
    assert [one.code for one in store.read(lists.of_account, account, seconds(NOW)).result()] == [
        code
    ]
    assert code.startswith(LIST_PREFIX)


def test_lines_are_added_in_their_order_to_a_list_whose_chunks_are_full(store: Store) -> None:
    account = account_in(store)
    code = create_list(store, account, "a", b"t", part(CHUNK_LINES), NOW).result()

    head = store.submit(
        lists.append, list_id(code), account, CHUNK_LINES, part(7, "a", NO_CHOICE), seconds(NOW)
    ).result()

    assert (head.lines, head.verdicts) == (CHUNK_LINES + 7, {"s": CHUNK_LINES, "a": 7})
    for first in (0, CHUNK_LINES, CHUNK_LINES + 7):
        again = store.submit(lists.append, list_id(code), account, first, part(1), seconds(NOW))
        assert isinstance(again.exception(), NotAllowedError)
    assert isinstance(
        store.submit(
            lists.append, list_id(code), "a_other", head.lines, part(1), seconds(NOW)
        ).exception(),
        UnknownError,
    )


def test_nobody_else_changes_a_list_and_a_line_beyond_it_is_none(store: Store) -> None:
    account = account_in(store)
    code = create_list(store, account, "a", b"t", part(3), NOW).result()
    kept = store.read(lists.rows_of, list_id(code), seconds(NOW)).result()
    assert kept

    beyond = store.submit(
        lists.choose, kept.head.id, kept.head.account, {3: 0}, seconds(NOW)
    ).exception()
    with pytest.raises(UnknownError):
        store.read(lists.own, list_id(code), "a_other", SECOND).result()

    assert isinstance(beyond, UnknownError)
    assert store.read(lists.rows_of, list_id(code), seconds(NOW)).result() == kept


def test_a_list_ends_after_thirty_days_or_when_it_is_deleted_and_leaves_nothing(
    store: Store,
) -> None:
    account = account_in(store)
    first = create_list(store, account, "a", b"t", part(250), NOW).result()
    create_list(store, "", "b", b"t", part(2), NOW).result()
    kept = store.read(lists.rows_of, list_id(first), seconds(NOW)).result()
    assert kept

    assert store.read(lists.rows_of, list_id(first), seconds(NOW + MONTH)).result() is None
    assert store.read(lists.of_account, account, seconds(NOW + MONTH)).result() == []
    store.submit(lists.delete, kept.head.id, kept.head.account, seconds(NOW)).result()
    gone = store.submit(lists.delete, kept.head.id, kept.head.account, seconds(NOW))
    assert isinstance(gone.exception(), UnknownError)
    assert asyncio.run(drop_lists(store, NOW)) == 0
    assert asyncio.run(drop_lists(store, NOW + MONTH)) == 1
    assert rows(store) == []


def test_a_list_is_there_for_thirty_days_to_the_second(store: Store) -> None:
    code = create_list(store, account_in(store), "a", b"t", part(2), NOW).result()

    assert store.read(
        lists.rows_of, list_id(code), seconds(NOW + MONTH - timedelta(seconds=1))
    ).result()
    assert store.read(lists.rows_of, list_id(code), seconds(NOW + MONTH)).result() is None


def test_new_lists_drop_those_that_have_expired(store: Store) -> None:
    account = account_in(store)
    codes = [create_list(store, "", "b", b"t", part(2), NOW).result() for _ in range(3)]

    for _ in range(2):
        create_list(store, account, "a", b"t", part(2), NOW + MONTH).result()

    assert len(list(store.table_rows(row_format.LIST))) == 2
    assert all(
        store.read(lists.rows_of, list_id(code), seconds(NOW)).result() is None for code in codes
    )


def test_the_last_list_of_an_account_may_be_continued(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = account_in(store)
    monkeypatch.setattr(lists, "LISTS_MOST", 1)
    code = create_list(store, account, "a", b"t", part(CHUNK_LINES), NOW).result()

    store.read(lists.check_room, account, ListSize(0, 5, 50), seconds(NOW)).result()
    head = store.submit(
        lists.append, list_id(code), account, CHUNK_LINES, part(5), seconds(NOW)
    ).result()

    assert head.lines == CHUNK_LINES + 5


def test_an_account_has_a_bound_for_lists_lines_and_bytes(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = account_in(store)
    monkeypatch.setattr(lists, "LISTS_MOST", 2)
    monkeypatch.setattr(lists, "LINES_MOST", 10)
    monkeypatch.setattr(lists, "BYTES_MOST", 100)
    create = partial(create_list, store)

    assert isinstance(create(account, "a", b"t", part(11), NOW).exception(), NotAllowedError)
    assert isinstance(create(account, "a", b"x" * 90, part(2), NOW).exception(), NotAllowedError)
    create(account, "a", b"t", part(5), NOW).result()
    create(account, "a", b"t", part(5), NOW).result()
    third = create(account, "a", b"t", part(0), NOW).exception()
    room = store.submit(lists.check_room, account, ListSize(0, 1, 0), SECOND).exception()

    assert isinstance(third, NotAllowedError) and "2 lists, 2 at most" in str(third)
    assert isinstance(room, NotAllowedError)
    assert create(account, "a", b"t", part(5), NOW + MONTH).result()  # the others have expired


def test_lists_of_visitors_have_a_bound_and_the_one_that_ends_first_goes(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "VISITOR_LISTS", 3)
    create = partial(create_list, store)

    codes = [
        create("", "a", b"t", part(2), NOW + timedelta(hours=number)).result()
        for number in range(5)
    ]

    there = [
        store.read(lists.rows_of, list_id(code), seconds(NOW + timedelta(hours=5))).result()
        for code in codes
    ]
    assert [bool(one) for one in there] == [False, False, True, True, True]
    assert all(one.head.code == "" for one in there if one)
    long = create("", "a", b"x" * lists.VISITOR_BYTES, part(2), NOW)
    assert isinstance(long.exception(), NotAllowedError)
    assert codes[4].encode() not in b"".join(b"".join(row) for row in rows(store))


def test_an_account_that_is_removed_takes_its_lists_along(store: Store) -> None:
    account = create_account(store, "free", PLANS, NOW - timedelta(days=900)).result().id
    create_list(store, account, "a", b"t", part(120), NOW).result()

    assert store.submit(upkeep.remove, account, iso(NOW), day(NOW).key).result()

    assert rows(store) == []
