"""A full disk, a failed write, a full table of readers.

Reads go on, writes fail with StoreUnavailable, nothing is acknowledged that is not stored, and the
store recovers by itself.
"""

import random
import resource
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lmdb
import pytest

from quota.errors import StoreUnavailable
from quota.ledger.calls import Purchase
from quota.store.lmdb_store import LmdbFile, LmdbStore
from tests.quota.filling import create_account, create_key
from tests.quota.small import NOON, PLANS

SMALL_MAP = 128 << 10


@pytest.fixture
def small(tmp_path: Path) -> Iterator[LmdbStore]:
    store = LmdbStore(tmp_path, map_size=SMALL_MAP)
    yield store
    store.close()


def test_a_full_store_refuses_reads_on_and_goes_on_after_compact(small: LmdbStore) -> None:
    """R4"""
    account = create_account(small, "free", PLANS, NOON).result()
    _, text = create_key(small, account.id, PLANS, NOON).result()
    charged = 0
    with pytest.raises(StoreUnavailable, match="compact"):
        while True:
            company = "EE/" + "".join(random.choices(string.ascii_letters, k=60))
            small.take_and_charge(Purchase("a_", 10**9, company, 5, 10**9), NOON).result()
            charged += 1

    assert small.usage("a_", PLANS["free"], NOON).result().credits.used == 5 * charged
    assert small.identify(text).result() == account
    small.compact("2026-12")
    assert small.take("a_", 10, NOON.replace(month=12)).result().granted
    assert small.identify(text).result() == account


class Breaking:
    """An LMDB environment whose next write transactions fail as a disk makes them fail."""

    def __init__(self, env: lmdb.Environment, errors: list[lmdb.Error]) -> None:
        self._env = env
        self._errors = errors

    def begin(self, write: bool = False) -> Any:
        if write and self._errors:
            raise self._errors.pop()
        return self._env.begin(write=write)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._env, name)


def broken(environment: LmdbFile, *errors: lmdb.Error) -> None:
    environment._env = Breaking(environment._open_environment(), list(errors))  # type: ignore[assignment]


def test_a_panic_fails_its_group_and_the_next_is_written_to_the_file_opened_anew(
    tmp_path: Path,
) -> None:
    """R3: after a failed write of a meta page LMDB refuses every write until it is opened again"""
    store = LmdbStore(tmp_path)
    store.take("a_", 9, NOON).result()
    broken(store._file, lmdb.PanicError("mdb_txn_begin"))

    failed = store.take("a_", 9, NOON).exception()
    after = store.take("a_", 9, NOON).result()

    assert isinstance(failed, StoreUnavailable)
    assert "give it space" in str(failed)
    assert after.used == 2
    assert type(store._file._env) is lmdb.Environment
    store.close()


def test_a_store_that_cannot_be_opened_anew_is_tried_again_at_each_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = LmdbStore(tmp_path)
    store.take("a_", 9, NOON).result()
    broken(store._file, lmdb.PanicError("mdb_txn_begin"))
    with monkeypatch.context() as patch:
        patch.setattr("lmdb.open", _refuse)
        failed = [store.take("a_", 9, NOON).exception() for _ in range(2)]
        with pytest.raises(StoreUnavailable, match="not open"):
            store.usage("a_", PLANS["free"], NOON).result()

    # The group that finds it closed opens it for the next one.
    failed.append(store.take("a_", 9, NOON).exception())
    after = store.take("a_", 9, NOON).result()

    assert all(isinstance(one, StoreUnavailable) for one in failed)
    assert after.used == 2
    store.close()


def _refuse(*_: object, **__: object) -> lmdb.Environment:
    raise lmdb.DiskError("mdb_env_open")


def test_a_full_table_of_readers_is_cleared_of_the_dead(tmp_path: Path) -> None:
    environment = LmdbFile(tmp_path, 1 << 20)
    real = environment._open_environment()

    class Crowded:
        cleared = False

        def begin(self) -> Any:
            if not self.cleared:
                raise lmdb.ReadersFullError("mdb_txn_begin")
            return real.begin()

        def reader_check(self) -> int:
            self.cleared = True
            return 1

        def close(self) -> None:
            real.close()

    environment._env = Crowded()  # type: ignore[assignment]

    assert environment.read(lambda txn: txn.get(b"format")) == b"2"
    environment.close()


def test_a_read_that_fails_says_so(tmp_path: Path) -> None:
    environment = LmdbFile(tmp_path, 1 << 20)
    real = environment._open_environment()

    class Broken:
        def begin(self) -> Any:
            raise lmdb.CorruptedError("mdb_txn_begin")

        def close(self) -> None:
            real.close()

    environment._env = Broken()  # type: ignore[assignment]

    with pytest.raises(StoreUnavailable, match=r"quota\.lmdb"):
        environment.read(lambda txn: txn.get(b"format"))
    environment.close()


def test_a_state_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "état").write_text("not a folder", encoding="utf-8")

    with pytest.raises(StoreUnavailable, match="état"):
        LmdbStore(tmp_path / "état")


def test_a_limit_of_address_space_is_no_lack_of_disk_space(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (16 << 30, hard))
    try:
        with pytest.raises(StoreUnavailable, match=r"quota\.lmdb: .*64 GiB .*ulimit -v") as said:
            LmdbStore(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))

    assert "give it space" not in str(said.value)
