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
    end = threading.Event()

    def take_calls() -> None:
        """Take calls in December until the compaction has ended."""
        while not end.is_set():
            granted.append(store.take(account, 10**9, DECEMBER).result().granted)

    thread = threading.Thread(target=take_calls)
    thread.start()
    try:
        dropped = store.compact("2026-12")
    finally:
        end.set()
        thread.join()

    usage = store.usage(account, PLANS["free"], DECEMBER).result()
    # Of November, 5 000 charges and three rows: the counters of calls and of the grant, and the list of openings.
    assert dropped == 5_000 + 3
    assert store.compact("2026-12") == 0
    assert usage.credits.packs == 1_000 - 8 * 5  # the grant of December paid two of ten companies
    assert usage.calls.used == 10 + len(granted)
    assert store.identify(text).result()
    repeated_charge = store.take_and_charge(
        Purchase(account, 10**9, "EE/1", 5, 10), DECEMBER
    ).result()[1]
    assert repeated_charge
    assert repeated_charge.outcome == "already"
    store.close()


def test_a_later_compaction_with_an_earlier_month_restores_nothing(tmp_path: Path) -> None:
    store = LmdbStore(tmp_path)
    store.take("a_", 9, NOON).result()
    store.compact("2026-12")

    assert store.compact("2026-01") == 0
    assert store.take("a_", 9, NOON).result().reset.isoformat() == "2026-12-02T00:00:00+00:00"
    store.close()


def test_backups_are_complete_while_others_write(tmp_path: Path) -> None:
    """R19: each copy is a valid file, and each call that it counts has its charge"""
    store = LmdbStore(tmp_path / "state")
    end = threading.Event()

    def charge_companies() -> None:
        """Charge new companies, 100 at a time, until the backups have ended."""
        number = 0
        while not end.is_set():
            futures = [
                store.take_and_charge(
                    Purchase("a_", 10**9, f"EE/{number + offset}", 5, 10**9), NOON
                )
                for offset in range(100)
            ]
            futures[-1].result()
            number += 100

    thread = threading.Thread(target=charge_companies)
    thread.start()
    try:
        for number in range(5):
            store.backup(tmp_path / f"copy-{number}")
    finally:
        end.set()
        thread.join()
    store.close()

    for number in range(5):
        copy = tmp_path / f"copy-{number}"
        verification = subprocess.run(
            [sys.executable, "-m", "lmdb", "verify", str(copy)], capture_output=True, check=False
        )
        assert verification.returncode == 0, verification.stdout
        assert copy.stat().st_mode & 0o077 == 0
        restored = tmp_path / f"restored-{number}"
        restored.mkdir()
        copy.rename(restored / FILE)
        reopened = LmdbStore(restored)
        usage = reopened.usage("a_", PLANS["integral"], NOON).result()
        # Each call in the copy has its charge of 5 credits.
        assert usage.credits.used == 5 * usage.calls.used
        reopened.close()


def test_a_backup_does_not_replace_a_file(tmp_path: Path) -> None:
    store = LmdbStore(tmp_path)
    store.backup(tmp_path / "copy")

    with pytest.raises(NotAllowedError, match="copy exists"):
        store.backup(tmp_path / "copy")
    store.close()


def test_an_incomplete_backup_is_refused_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = LmdbStore(tmp_path)
    copy_complete = lmdb_store.LmdbFile.copy

    def copy_a_part(self: lmdb_store.LmdbFile, target: object) -> None:
        """Copy the file, then cut the copy within its second page."""
        copy_complete(self, target)  # type: ignore[arg-type]
        target.truncate(6_000)  # type: ignore[attr-defined]

    monkeypatch.setattr(lmdb_store.LmdbFile, "copy", copy_a_part)

    with pytest.raises(StoreUnavailable, match="not a complete copy"):
        store.backup(tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    store.close()
