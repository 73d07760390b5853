"""Compaction and backup while others write."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from quota.errors import NotAllowedError, StoreUnavailable
from quota.ledger import calls
from quota.ledger.calls import Purchase
from quota.store import lmdb_store
from quota.store.lmdb_store import FILE, LmdbStore
from tests.quota.filling import create_account, create_key
from tests.quota.small import NOON, PLANS

DECEMBER = NOON.replace(month=12)


def test_compaction_drops_old_periods_and_nothing_else_while_others_write(tmp_path: Path) -> None:
    store = LmdbStore(tmp_path)
    account = create_account(store, "free", PLANS, NOON).result().id
    _, text = create_key(store, account, PLANS, NOON).result()
    store.submit(calls.add_credits, account, 1_000).result()
    for number in range(5_000):
        store.take_and_charge(Purchase(account, 10**9, f"EE/{number}", 5, 10**9), NOON)
    for number in range(10):
        store.take_and_charge(Purchase(account, 10**9, f"EE/{number}", 5, 10), DECEMBER).result()
    granted: list[bool] = []
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            granted.append(store.take(account, 10**9, DECEMBER).result().granted)

    thread = threading.Thread(target=write)
    thread.start()
    dropped = store.compact("2026-12")
    stop.set()
    thread.join()

    usage = store.usage(account, PLANS["free"], DECEMBER).result()
    # Charges, the counters of calls and of the grant, and the list of what was opened last.
    assert dropped == 5_000 + 3
    assert store.compact("2026-12") == 0
    assert usage.credits.packs == 1_000 - 8 * 5
    assert usage.calls.used == 10 + len(granted)
    assert store.identify(text).result()
    again = store.take_and_charge(Purchase(account, 10**9, "EE/1", 5, 10), DECEMBER).result()[1]
    assert again
    assert again.outcome == "already"
    store.close()


def test_what_is_dropped_stays_dropped(tmp_path: Path) -> None:
    store = LmdbStore(tmp_path)
    store.take("a_", 9, NOON).result()
    store.compact("2026-12")

    assert store.compact("2026-01") == 0
    assert store.take("a_", 9, NOON).result().reset.isoformat() == "2026-12-02T00:00:00+00:00"
    store.close()


def test_backups_are_whole_while_others_write(tmp_path: Path) -> None:
    """R19"""
    store = LmdbStore(tmp_path / "state")
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            futures = [
                store.take_and_charge(Purchase("a_", 10**9, f"EE/{number + n}", 5, 10**9), NOON)
                for n in range(100)
            ]
            futures[-1].result()
            number += 100

    thread = threading.Thread(target=write)
    thread.start()
    for number in range(5):
        store.backup(tmp_path / f"copy-{number}")
    stop.set()
    thread.join()
    store.close()

    for number in range(5):
        copy = tmp_path / f"copy-{number}"
        check = subprocess.run(
            [sys.executable, "-m", "lmdb", "verify", str(copy)], capture_output=True, check=False
        )
        assert check.returncode == 0, check.stdout
        assert copy.stat().st_mode & 0o077 == 0
        restored = tmp_path / f"restored-{number}"
        restored.mkdir()
        copy.rename(restored / FILE)
        again = LmdbStore(restored)
        usage = again.usage("a_", PLANS["integral"], NOON).result()
        assert usage.credits.used == 5 * usage.calls.used
        again.close()


def test_a_backup_replaces_nothing(tmp_path: Path) -> None:
    store = LmdbStore(tmp_path)
    store.backup(tmp_path / "copy")

    with pytest.raises(NotAllowedError, match="copy exists"):
        store.backup(tmp_path / "copy")
    store.close()


def test_a_backup_that_is_not_whole_does_not_appear(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = LmdbStore(tmp_path)
    copy = lmdb_store.LmdbFile.copy

    def torn(self: lmdb_store.LmdbFile, target: object) -> None:
        copy(self, target)  # type: ignore[arg-type]
        target.truncate(6_000)  # type: ignore[attr-defined]

    monkeypatch.setattr(lmdb_store.LmdbFile, "copy", torn)

    with pytest.raises(StoreUnavailable, match="not a whole copy"):
        store.backup(tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    store.close()
