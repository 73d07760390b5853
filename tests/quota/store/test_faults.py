"""A full disk, a failed write, a full table of readers.

Reads go on, writes fail with StoreUnavailable, nothing is acknowledged that is not stored, and the
store recovers by itself.
"""

import random
import resource
import string
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lmdb
import pytest

from quota.errors import StoreUnavailable
from quota.ledger.calls import Purchase
from quota.store.lmdb_store import LmdbFile, LmdbStore
from tests.quota.filling import create_account, create_key
from tests.quota.small import NOON, PLANS

SMALL_MAP = 128 << 10  # bytes: a file that a few hundred charges fill


@pytest.fixture
def small_store(tmp_path: Path) -> Iterator[LmdbStore]:
    """A store whose file cannot grow beyond SMALL_MAP."""
    store = LmdbStore(tmp_path, map_size=SMALL_MAP)
    yield store
    store.close()


def test_a_full_store_is_read_but_not_written_until_a_compaction_makes_room(
    small_store: LmdbStore,
) -> None:
    """R4: charges fill the file; reads still work, and in the next month a compaction makes room"""
    account = create_account(small_store, "free", PLANS, NOON).result()
    _, text = create_key(small_store, account.id, PLANS, NOON).result()
    charged = 0
    with pytest.raises(StoreUnavailable, match="compact"):
        while True:
            company = "EE/" + "".join(random.choices(string.ascii_letters, k=60))
            small_store.take_and_charge(Purchase("a_", 10**9, company, 5, 10**9), NOON).result()
            charged += 1

    assert small_store.usage("a_", PLANS["free"], NOON).result().credits.used == 5 * charged
    assert small_store.identify(text).result() == account
    small_store.compact("2026-12")
    assert small_store.take("a_", 10, NOON.replace(month=12)).result().granted
    assert small_store.identify(text).result() == account


class FailingEnvironment:
    """An LMDB environment whose next write transactions raise these errors, one each."""

    def __init__(self, env: lmdb.Environment, errors: list[lmdb.Error]) -> None:
        self._env = env
        self._errors = errors

    def begin(self, write: bool = False) -> Any:
        """Begin a transaction; a write transaction raises the next error instead."""
        if write and self._errors:
            raise self._errors.pop()
        return self._env.begin(write=write)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._env, name)


def make_writes_fail(file: LmdbFile, *errors: lmdb.Error) -> None:
    """Make the next write transactions of an open file raise these errors."""
    file._env = FailingEnvironment(file._open_environment(), list(errors))  # type: ignore[assignment]


def test_after_a_panic_the_file_is_reopened_for_the_next_group(
    tmp_path: Path,
) -> None:
    """R3: after a failed write of a meta page LMDB refuses every write until it is opened again"""
    store = LmdbStore(tmp_path)
    store.take("a_", 9, NOON).result()
    make_writes_fail(store._file, lmdb.PanicError("mdb_txn_begin"))

    error = store.take("a_", 9, NOON).exception()
    next_meter = store.take("a_", 9, NOON).result()

    assert isinstance(error, StoreUnavailable)
    assert "give it space" in str(error)
    assert next_meter.used == 2
    assert type(store._file._env) is lmdb.Environment
    store.close()


def test_reopening_is_tried_again_at_each_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a fault the store closes its file; each later group (operations of one commit) tries to open it again."""
    store = LmdbStore(tmp_path)
    store.take("a_", 9, NOON).result()
    with lost_file(store, monkeypatch):
        errors = [store.take("a_", 9, NOON).exception() for _ in range(2)]
        with pytest.raises(StoreUnavailable, match="mdb_env_open"):
            store.usage("a_", PLANS["free"], NOON).result()

    # A group that meets a closed file opens it for the next group.
    errors.append(store.take("a_", 9, NOON).exception())
    next_meter = store.take("a_", 9, NOON).result()

    assert all(isinstance(outcome, StoreUnavailable) for outcome in errors)
    assert next_meter.used == 2
    store.close()


def test_a_read_opens_a_file_that_could_not_be_reopened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R3: the request of a customer begins with a read of the key, so no write may be necessary before it"""
    store = LmdbStore(tmp_path)
    store.take("a_", 9, NOON).result()
    with lost_file(store, monkeypatch):
        assert isinstance(store.take("a_", 9, NOON).exception(), StoreUnavailable)

    used_calls = store.usage("a_", PLANS["free"], NOON).result().calls.used
    next_meter = store.take("a_", 9, NOON).result()
    store.close()

    assert (used_calls, next_meter.used) == (1, 2)
    with pytest.raises(StoreUnavailable, match="not open"):
        store.usage("a_", PLANS["free"], NOON).result()


@contextmanager
def lost_file(store: LmdbStore, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """During the block, the next write of the store closes its file by a fault, and the file cannot be opened again."""
    make_writes_fail(store._file, lmdb.PanicError("mdb_txn_begin"))
    with monkeypatch.context() as patch:
        patch.setattr("lmdb.open", _fail_to_open)
        yield


def _fail_to_open(*_: object, **__: object) -> lmdb.Environment:
    """Fail as `lmdb.open` does if the disk cannot be read."""
    raise lmdb.DiskError("mdb_env_open")


def test_a_full_table_of_readers_is_freed_of_killed_processes(tmp_path: Path) -> None:
    """A read that meets a full table of readers checks it for killed processes and then succeeds."""
    file = LmdbFile(tmp_path, 1 << 20)
    environment = file._open_environment()

    class FullReaderTable:
        """An environment whose table of readers is full until it is checked for killed processes."""

        cleared = False

        def begin(self) -> Any:
            """Begin a read transaction, unless the table of readers is full."""
            if not self.cleared:
                raise lmdb.ReadersFullError("mdb_txn_begin")
            return environment.begin()

        def reader_check(self) -> int:
            self.cleared = True
            return 1

        def close(self) -> None:
            environment.close()

    file._env = FullReaderTable()  # type: ignore[assignment]

    assert file.read(lambda txn: txn.get(b"format")) == b"2"
    file.close()


def test_a_failed_read_names_the_file(tmp_path: Path) -> None:
    file = LmdbFile(tmp_path, 1 << 20)
    environment = file._open_environment()

    class UnreadableEnvironment:
        """An environment that cannot begin a transaction."""

        def begin(self) -> Any:
            raise lmdb.CorruptedError("mdb_txn_begin")

        def close(self) -> None:
            environment.close()

    file._env = UnreadableEnvironment()  # type: ignore[assignment]

    with pytest.raises(StoreUnavailable, match=r"quota\.lmdb"):
        file.read(lambda txn: txn.get(b"format"))
    file.close()


def test_a_state_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "état").write_text("not a folder", encoding="utf-8")

    with pytest.raises(StoreUnavailable, match="état"):
        LmdbStore(tmp_path / "état")


def test_a_limit_of_address_space_is_not_reported_as_a_full_disk(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (16 << 30, hard))  # bytes; the store maps 64 GiB
    try:
        with pytest.raises(StoreUnavailable, match=r"quota\.lmdb: .*64 GiB .*ulimit -v") as error:
            LmdbStore(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))

    assert "give it space" not in str(error.value)
