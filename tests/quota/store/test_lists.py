"""Matched lists over each store: bounds, expiry, other accounts, and deletion without a trace."""

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
NOW_S = int(NOW.timestamp())
MONTH = timedelta(days=30)  # after which a list expires
# The tables that have rows of lists.
TABLES = (
    row_format.LIST, row_format.LIST_OF, row_format.LIST_LINES, row_format.LIST_MARKS,
    row_format.AGENDA,
)  # fmt: skip

Store = LmdbStore | RedisStore


@pytest.fixture(params=["dict", "lmdb", "valkey"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """An empty store of each kind: over a dict, LMDB, and a Valkey server."""
    if request.param == "valkey":
        with running("valkey") as server:
            opened = RedisStore(server.url, create=True)
            yield opened
            opened.close()
        return
    local_store = DictStore() if request.param == "dict" else LmdbStore(tmp_path)
    yield local_store
    local_store.close()


def list_part(lines: int, verdict: str = "s", choice: int = 0) -> ListPart:
    """A part of a list with the chunks for these lines, which all have the same verdict ("s": sure) and choice."""
    chunks = [f"chunk {number}".encode() for number in range(-(-lines // CHUNK_LINES))]
    return ListPart(chunks, bytes([ord(verdict), choice]) * lines)


def new_account(store: Store) -> str:
    """The id of a new account with the plan data."""
    return create_account(store, "data", PLANS, NOW).result().id


def rows(store: Store) -> list[tuple[bytes, bytes]]:
    """The rows of all lists."""
    return [row for table in TABLES for row in store.table_rows(table)]


def test_a_list_is_stored_and_changed(store: Store) -> None:
    """Of 150 lines the first loses its company, and the last gets the third candidate; the list gets another name"""
    account = new_account(store)
    code = create_list(store, account, "Clients", b"table", list_part(150), NOW).result()
    stored_rows = store.read(lists.rows_of, list_id(code), seconds(NOW)).result()
    assert stored_rows

    store.submit(
        lists.choose,
        stored_rows.head.id,
        stored_rows.head.account,
        {0: NO_CHOICE, 149: 2},
        seconds(NOW),
    ).result()
    store.submit(
        lists.rename, stored_rows.head.id, stored_rows.head.account, "Żabka " * 50, seconds(NOW)
    ).result()

    changed_rows = store.read(
        lists.rows_of, list_id(code), seconds(NOW + MONTH - timedelta(seconds=1))
    ).result()
    assert changed_rows
    assert (stored_rows.head.name, stored_rows.table, stored_rows.marks) == (
        "Clients",
        b"table",
        b"s\0" * 150,
    )
    assert changed_rows.head.name == ("Żabka " * 50)[: lists.LONGEST_NAME]
    assert changed_rows.marks == b"s\xff" + b"s\0" * 148 + b"s\2"
    assert changed_rows.head.verdicts == {"s": 150}
    assert store.read(lists.chunks_of, stored_rows.head.id, [0, 1, 2]).result() == {
        0: b"chunk 0",
        1: b"chunk 1",
    }
    assert [head.code for head in store.read(lists.lists_of, account, seconds(NOW)).result()] == [
        code
    ]
    assert code.startswith(LIST_PREFIX)


def test_lines_are_added_only_at_the_end_of_a_list(store: Store) -> None:
    """The chunks of a list are full before lines are added; another account cannot add any"""
    account = new_account(store)
    code = create_list(store, account, "a", b"t", list_part(CHUNK_LINES), NOW).result()

    header = store.submit(
        lists.append,
        list_id(code),
        account,
        CHUNK_LINES,
        list_part(7, "a", NO_CHOICE),
        seconds(NOW),
    ).result()

    assert (header.lines, header.verdicts) == (CHUNK_LINES + 7, {"s": CHUNK_LINES, "a": 7})
    for first_line in (0, CHUNK_LINES, CHUNK_LINES + 7):
        late_part = store.submit(
            lists.append, list_id(code), account, first_line, list_part(1), seconds(NOW)
        )
        assert isinstance(late_part.exception(), NotAllowedError)
    assert isinstance(
        store.submit(
            lists.append, list_id(code), "a_other", header.lines, list_part(1), seconds(NOW)
        ).exception(),
        UnknownError,
    )


def test_a_choice_beyond_the_last_line_and_a_read_by_another_account_are_refused(
    store: Store,
) -> None:
    """The three lines are numbers 0 to 2; a choice is the company that a customer accepts for a line, here line 3."""
    account = new_account(store)
    code = create_list(store, account, "a", b"t", list_part(3), NOW).result()
    stored_rows = store.read(lists.rows_of, list_id(code), seconds(NOW)).result()
    assert stored_rows

    error = store.submit(
        lists.choose, stored_rows.head.id, stored_rows.head.account, {3: 0}, seconds(NOW)
    ).exception()
    with pytest.raises(UnknownError):
        store.read(lists.list_of_account, list_id(code), "a_other", NOW_S).result()

    assert isinstance(error, UnknownError)
    assert store.read(lists.rows_of, list_id(code), seconds(NOW)).result() == stored_rows


def test_a_list_ends_after_thirty_days_or_when_it_is_deleted_and_leaves_nothing(
    store: Store,
) -> None:
    """The list of the account is deleted; the list of a visitor (no account) is dropped when it has expired."""
    account = new_account(store)
    code = create_list(store, account, "a", b"t", list_part(250), NOW).result()
    create_list(store, "", "b", b"t", list_part(2), NOW).result()
    stored_rows = store.read(lists.rows_of, list_id(code), seconds(NOW)).result()
    assert stored_rows

    assert store.read(lists.rows_of, list_id(code), seconds(NOW + MONTH)).result() is None
    assert store.read(lists.lists_of, account, seconds(NOW + MONTH)).result() == []
    store.submit(lists.delete, stored_rows.head.id, stored_rows.head.account, seconds(NOW)).result()
    second_deletion = store.submit(
        lists.delete, stored_rows.head.id, stored_rows.head.account, seconds(NOW)
    )
    assert isinstance(second_deletion.exception(), UnknownError)
    assert asyncio.run(drop_lists(store, NOW)) == 0
    assert asyncio.run(drop_lists(store, NOW + MONTH)) == 1
    assert rows(store) == []


def test_a_list_can_be_read_for_thirty_days_to_the_second(store: Store) -> None:
    code = create_list(store, new_account(store), "a", b"t", list_part(2), NOW).result()

    assert store.read(
        lists.rows_of, list_id(code), seconds(NOW + MONTH - timedelta(seconds=1))
    ).result()
    assert store.read(lists.rows_of, list_id(code), seconds(NOW + MONTH)).result() is None


def test_new_lists_delete_expired_lists(store: Store) -> None:
    """Three lists of visitors have expired; two new lists of an account delete all of them"""
    account = new_account(store)
    codes = [create_list(store, "", "b", b"t", list_part(2), NOW).result() for _ in range(3)]

    for _ in range(2):
        create_list(store, account, "a", b"t", list_part(2), NOW + MONTH).result()

    assert len(list(store.table_rows(row_format.LIST))) == 2
    assert all(
        store.read(lists.rows_of, list_id(code), seconds(NOW)).result() is None for code in codes
    )


def test_lines_can_be_added_to_the_last_list_that_an_account_may_have(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One list is allowed, and it exists: more lines need room, but no further list"""
    account = new_account(store)
    monkeypatch.setattr(lists, "LISTS_MOST", 1)
    code = create_list(store, account, "a", b"t", list_part(CHUNK_LINES), NOW).result()

    store.read(lists.check_room, account, ListSize(0, 5, 50), seconds(NOW)).result()
    header = store.submit(
        lists.append, list_id(code), account, CHUNK_LINES, list_part(5), seconds(NOW)
    ).result()

    assert header.lines == CHUNK_LINES + 5


def test_the_lists_lines_and_bytes_of_an_account_are_limited(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = new_account(store)
    monkeypatch.setattr(lists, "LISTS_MOST", 2)
    monkeypatch.setattr(lists, "LINES_MOST", 10)
    monkeypatch.setattr(lists, "BYTES_MOST", 100)
    create = partial(create_list, store)

    assert isinstance(create(account, "a", b"t", list_part(11), NOW).exception(), NotAllowedError)
    assert isinstance(
        create(account, "a", b"x" * 90, list_part(2), NOW).exception(), NotAllowedError
    )
    create(account, "a", b"t", list_part(5), NOW).result()
    create(account, "a", b"t", list_part(5), NOW).result()
    error_of_third_list = create(account, "a", b"t", list_part(0), NOW).exception()
    error_of_check = store.submit(lists.check_room, account, ListSize(0, 1, 0), NOW_S).exception()

    assert isinstance(error_of_third_list, NotAllowedError) and "2 lists, 2 at most" in str(
        error_of_third_list
    )
    assert isinstance(error_of_check, NotAllowedError)
    assert create(
        account, "a", b"t", list_part(5), NOW + MONTH
    ).result()  # the two lists have expired


def test_beyond_their_limit_the_visitors_list_that_expires_first_is_deleted(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three lists are allowed, five are created; codes of visitors are not stored"""
    monkeypatch.setattr(lists, "VISITOR_LISTS", 3)
    create = partial(create_list, store)

    codes = [
        create("", "a", b"t", list_part(2), NOW + timedelta(hours=number)).result()
        for number in range(5)
    ]

    rows_by_list = [
        store.read(lists.rows_of, list_id(code), seconds(NOW + timedelta(hours=5))).result()
        for code in codes
    ]
    assert [bool(list_rows) for list_rows in rows_by_list] == [False, False, True, True, True]
    assert all(list_rows.head.code == "" for list_rows in rows_by_list if list_rows)
    too_long = create("", "a", b"x" * lists.VISITOR_BYTES, list_part(2), NOW)
    assert isinstance(too_long.exception(), NotAllowedError)
    assert codes[4].encode() not in b"".join(b"".join(row) for row in rows(store))


def test_removing_an_account_deletes_its_lists(store: Store) -> None:
    account = create_account(store, "free", PLANS, NOW - timedelta(days=900)).result().id
    create_list(store, account, "a", b"t", list_part(120), NOW).result()

    assert store.submit(upkeep.remove_unused, account, iso(NOW), day(NOW).key).result()

    assert rows(store) == []
