"""The store over a real LMDB file: the state machine, and the faults of files."""

import asyncio
import os
import tempfile
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import lmdb
import pytest

from quota import credentials
from quota.errors import NotAllowedError, StoreUnavailable, UnknownError, WrongStoreError
from quota.ledger import account_rows, calls
from quota.ledger.calls import Purchase
from quota.ledger.exports import Reservation
from quota.periods import iso
from quota.store.lmdb_store import FILE, LmdbStore
from quota.store.write_lock import WriteLock
from tests.quota.filling import create_account, create_key, sign_up
from tests.quota.machine import StoreAgainstModel
from tests.quota.small import NOON, PLANS


class LmdbStoreAgainstModel(StoreAgainstModel):
    """The state machine of stores, on a store in a temporary folder."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.lmdb = self.store = LmdbStore(Path(self.folder.name))

    def rows(self) -> list[tuple[bytes, bytes]]:
        return self.lmdb._file.read(lambda txn: list(txn.scan(b"")))

    def teardown(self) -> None:
        super().teardown()
        self.folder.cleanup()


TestLmdbStore = LmdbStoreAgainstModel.TestCase


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LmdbStore]:
    """An empty store on LMDB."""
    opened = LmdbStore(tmp_path)
    yield opened
    opened.close()


def test_acknowledged_writes_can_be_read_after_reopening(tmp_path: Path) -> None:
    store = LmdbStore(tmp_path)
    account = create_account(store, "data", PLANS, NOON, nom="Société Générale", api_tool=True)
    _, text = create_key(store, account.result().id, PLANS, NOON).result()
    store.take(account.result().id, 9, NOON).result()
    store.close()

    reopened = LmdbStore(tmp_path)

    assert reopened.identify(text).result() == account.result()
    assert reopened.usage(account.result().id, PLANS["data"], NOON).result().calls.used == 1
    reopened.close()


def test_a_call_that_could_not_be_written_in_time_is_not_counted_later(
    store: LmdbStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process holds the lock, as if it had been stopped in the middle of a write"""
    monkeypatch.setattr("quota.store.future.PATIENCE_S", 0.05)

    async def take_call() -> None:
        """Wait for a call as a request does, for 50 ms."""
        await store.take("a_", 9, NOON)

    with closing(WriteLock(tmp_path / FILE)) as foreign_lock:
        with foreign_lock.hold(), pytest.raises(StoreUnavailable, match="nothing was counted"):
            asyncio.run(take_call())
        next_meter = store.take("a_", 9, NOON).result()

    assert next_meter.used == 1


def test_operations_queued_before_close_are_done(store: LmdbStore) -> None:
    futures = [store.take("a_", 1_000, NOON) for _ in range(1_000)]
    store.close()

    assert [future.result().used for future in futures] == list(range(1, 1_001))


def test_a_closed_store_refuses(store: LmdbStore) -> None:
    store.close()

    assert isinstance(store.take("a_", 1, NOON).exception(), StoreUnavailable)
    with pytest.raises(StoreUnavailable):
        store.identify(credentials.make_key(lambda below: 0)).result()


def test_only_the_digest_and_the_last_four_characters_of_a_key_are_on_disk(tmp_path: Path) -> None:
    """A11"""
    store = LmdbStore(tmp_path)
    account = create_account(store, "free", PLANS, NOON).result().id
    _, text = create_key(store, account, PLANS, NOON).result()
    store.identify(text).result()
    store.close()
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())

    assert credentials.secret_digest(text) in stored
    assert f'"last4":"{text[-4:]}"'.encode() in stored
    for start in range(len(text) - 8):  # no nine successive characters of the key are stored
        assert text[start : start + 9].encode() not in stored.replace(b"soc_live_", b"")


def test_only_its_owner_can_read_the_store(tmp_path: Path) -> None:
    LmdbStore(tmp_path / "state").close()

    assert (tmp_path / "state").stat().st_mode & 0o077 == 0
    assert (tmp_path / "state" / FILE).stat().st_mode & 0o077 == 0


def test_a_revoked_key_is_refused_and_other_keys_still_work(store: LmdbStore) -> None:
    """§5 rule 6, A4"""
    account = create_account(store, "data", PLANS, NOON).result()
    (revoked_key, revoked_text), (_, valid_text) = (
        create_key(store, account.id, PLANS, NOON).result() for _ in "ab"
    )

    revoked_once = store.submit(
        account_rows.revoke_key, revoked_key.id, iso(NOON + timedelta(days=1))
    ).result()
    revoked_twice = store.submit(
        account_rows.revoke_key, revoked_key.id, iso(NOON + timedelta(days=2))
    ).result()

    assert store.identify(revoked_text).result() is None
    assert store.identify(valid_text).result() == account
    assert revoked_once.revoked == revoked_twice.revoked == "2026-11-22T12:00:00+00:00"
    assert [
        key.revoked is None for key in store.read(account_rows.keys_of, account.id).result()
    ] in (
        [True, False],
        [False, True],
    )


@pytest.mark.parametrize(
    ("plan", "keys_most"), [("free", 1), ("data", 3), ("corporate", 10), ("integral", 20)]
)
def test_a_plan_limits_the_active_keys(store: LmdbStore, plan: str, keys_most: int) -> None:
    """§8.1, A9: with `keys_most` active keys a further one is refused; after a revocation it is made"""
    account = create_account(store, plan, PLANS, NOON).result().id
    keys = [create_key(store, account, PLANS, NOON).result()[0] for _ in range(keys_most)]

    error = create_key(store, account, PLANS, NOON).exception()
    store.submit(account_rows.revoke_key, keys[0].id, iso(NOON)).result()

    assert isinstance(error, NotAllowedError)
    assert f"key revoke {min(keys, key=lambda key: key.id).id}" in str(error)
    assert create_key(store, account, PLANS, NOON, label="après").result()[0].label == "après"


def test_keys_still_work_when_the_plan_is_lowered(store: LmdbStore) -> None:
    """A9: an account with more keys than its new plan allows keeps them, but gets no further key"""
    account = create_account(store, "data", PLANS, NOON, api_tool=True).result().id
    texts = [create_key(store, account, PLANS, NOON).result()[1] for _ in range(3)]

    lowered = store.submit(account_rows.set_plan, account, "free", PLANS).result()

    assert [store.identify(text).result() for text in texts] == [lowered] * 3
    assert isinstance(create_key(store, account, PLANS, NOON).exception(), NotAllowedError)


def test_a_plan_that_no_account_can_have_is_refused(store: LmdbStore) -> None:
    account = create_account(store, "free", PLANS, NOON).result().id

    for plan in ("visiteur", "platine"):
        assert isinstance(create_account(store, plan, PLANS, NOON).exception(), UnknownError)
        assert isinstance(
            store.submit(account_rows.set_plan, account, plan, PLANS).exception(), UnknownError
        )
    error = store.submit(account_rows.set_plan, account, "free", PLANS, api_tool=True).exception()
    assert isinstance(error, NotAllowedError)
    assert "--api-tool" in str(error)


def test_an_unknown_account_or_key_is_named(store: LmdbStore) -> None:
    with pytest.raises(UnknownError, match="a_nobody"):
        store.read(account_rows.account_of, "a_nobody").result()
    assert "a_nobody" in str(create_key(store, "a_nobody", PLANS, NOON).exception())
    assert "a_nobody" in str(
        store.submit(account_rows.set_plan, "a_nobody", "free", PLANS).exception()
    )
    assert "k_none" in str(store.submit(account_rows.revoke_key, "k_none", iso(NOON)).exception())


def test_accounts_are_listed_the_oldest_first(store: LmdbStore) -> None:
    created = [
        create_account(
            store, "carte", PLANS, NOON - timedelta(days=days), modules=("bourse",)
        ).result()
        for days in range(5)
    ]

    assert store.read(account_rows.accounts).result() == created[::-1]
    assert created[0].modules == ("bourse",)
    changed_account = store.submit(
        account_rows.set_plan, created[0].id, "carte", PLANS, modules=("bilans", "bourse")
    ).result()
    assert changed_account.modules == ("bilans", "bourse")


def test_a_time_without_a_zone_is_refused_where_it_is_given(store: LmdbStore) -> None:
    with pytest.raises(ValueError, match="no time zone"):
        store.take("a_", 1, NOON.replace(tzinfo=None))


def test_a_store_of_another_format_is_refused(tmp_path: Path) -> None:
    with lmdb.open(str(tmp_path / FILE), subdir=False) as env, env.begin(write=True) as txn:
        txn.put(b"format", b"3")

    with pytest.raises(WrongStoreError, match="format 3, this code reads 2"):
        LmdbStore(tmp_path)


def test_a_file_that_is_no_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"Orl\xc3\xa9ans" * 10_000)

    with pytest.raises(StoreUnavailable, match=FILE):
        LmdbStore(tmp_path)


def test_the_rows_of_a_store_have_the_documented_bytes(store: LmdbStore) -> None:
    """quota/README.md, Rows"""
    options = {"nom": "Żabka", "api_tool": True, "modules": ["bourse"]}
    account = create_account(store, "carte", PLANS, NOON, **options).result().id
    key, text = create_key(store, account, PLANS, NOON, label="é").result()
    store.submit(calls.add_credits, account, 1_000).result()
    store.take_and_charge(Purchase(account, 9, "UK/00944111", 5, 3), NOON).result()
    counted, reserved = (
        store.reserve(account, 9, 2, timedelta(hours=1), NOON).result() for _ in range(2)
    )
    assert isinstance(counted, Reservation)
    assert isinstance(reserved, Reservation)
    store.commit(counted, NOON).result()
    store.compact("2026-01")
    account_id, digest = account.encode(), credentials.secret_digest(text)

    rows = store._file.read(lambda txn: list(txn.scan(b"")))

    assert dict(rows) == {
        b"format": b"2",
        b"floor": b"2026-01",
        b"a/" + account_id: '{"id":"%s","nom":"Żabka","plan":"carte","outil_api":true,"modules":["bourse"],'
        '"created":"2026-11-21T12:00:00+00:00"}'.replace("%s", account).encode(),
        b"k/" + digest: (
            f'{{"id":"{key.id}","account":"{account}","last4":"{text[-4:]}","label":"é",'
            '"created":"2026-11-21T12:00:00+00:00","revoked":null}'
        ).encode(),
        b"i/" + key.id.encode(): digest,
        b"o/" + account_id + b"/" + key.id.encode(): digest,
        b"p/" + account_id: bytes.fromhex("00000000000003e8" "0000000000000002"),
        b"r/" + account_id + b"/" + reserved.id.encode(): bytes.fromhex("000001a1fe313480") + b"2026-11",
        b"d/2026-11-21/" + account_id: bytes.fromhex("0000000000000001"),
        b"e/2026-11/" + account_id: bytes.fromhex("0000000000000001"),
        b"g/2026-11/" + account_id: bytes.fromhex("0000000000000003"),
        b"C/2026-11/" + account_id: b"1795262400 5 UK/00944111\n",
        b"c/2026-11/" + account_id + b"/UK/00944111": bytes.fromhex("0000000000000003" "0000000000000002"),
    }  # fmt: skip


@pytest.mark.parametrize("open_already", [True, False])
def test_a_file_that_was_cut_is_refused_instead_of_read(tmp_path: Path, open_already: bool) -> None:
    """Its pages are mapped: reading a page beyond the end kills the process by SIGBUS"""
    store = LmdbStore(tmp_path)
    for number in range(50):
        email = f"{number}@exemple.fr"
        sign_up(store, "Orléans", email, "hash", PLANS, NOON).result()
    rows = store.read(lambda txn: len(list(txn.scan(b"")))).result()
    path = tmp_path / FILE
    complete_file = path.read_bytes()
    if not open_already:
        store.close()
    os.truncate(path, 4 * 4_096)  # only four pages of the file are left

    with pytest.raises(StoreUnavailable, match=r"quota\.lmdb: .*cut.*; replace it by a copy"):
        store.read(lambda txn: list(txn.scan(b""))) if open_already else LmdbStore(tmp_path)

    store.close()
    path.write_bytes(complete_file)
    with closing(LmdbStore(tmp_path)) as repaired:
        assert repaired.read(lambda txn: len(list(txn.scan(b"")))).result() == rows
