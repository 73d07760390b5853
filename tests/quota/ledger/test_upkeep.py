"""The audit: it names every sum that differs from its charges, and nothing else."""

from collections.abc import Iterable

import pytest

from quota.ledger import calls, row_format
from quota.ledger.calls import Purchase
from quota.ledger.row_format import WriteTransaction
from quota.ledger.upkeep import AuditError, audit
from tests.quota.dict_store import DictStore
from tests.quota.filling import create_account
from tests.quota.small import NOON, SMALL

GRANT = 12  # credits a month of the plan `SMALL["data"]`; a record costs 5
DECEMBER = NOON.replace(month=12)


def _store_with_charges() -> tuple[DictStore, str]:
    """Four charges in November and one in December; grant and packs share the third. Returns the account too."""
    store = DictStore()
    account = create_account(store, "data", SMALL, NOON).result().id
    store.submit(calls.add_credits, account, 100).result()
    for company in ("EE/1", "FR/Société Générale", "PL/Żabka", "UK/00944111"):
        store.take_and_charge(Purchase(account, 99, company, 5, GRANT), NOON).result()
    store.take_and_charge(Purchase(account, 99, "EE/1", 5, GRANT), DECEMBER).result()
    return store, account


def test_charges_of_grants_and_packs_are_counted() -> None:
    store, _ = _store_with_charges()

    report = store.audit()
    report.require()

    assert (report.accounts, report.months, report.charges, report.credits) == (1, 2, 5, 25)


@pytest.mark.parametrize(
    ("key", "value", "expected_text"),
    [
        (b"g/2026-11/%s", row_format.pack_number(11), "in 2026-11 took 12 credits of the grant, its sum is 11"),
        (b"g/2026-11/%s", None, "in 2026-11 took 12 credits of the grant, its sum is 0"),
        (b"g/2026-10/%s", row_format.pack_number(5), "in 2026-10 took 0 credits of the grant, its sum is 5"),
        (b"c/2026-11/%s/EE/1", None, "took 7 credits of the grant, its sum is 12"),
        (b"c/2026-12/%s/EE/2", row_format.pack_pair(5, 0), "took 10 credits of the grant, its sum is 5"),
        (b"p/%s", row_format.pack_pair(100, 3), "took 8 credits of packs, 3 is their sum"),
        (b"p/%s", row_format.pack_pair(100, 9), "took 8 credits of packs, 9 is their sum"),
        (b"p/%s", row_format.pack_pair(7, 8), "spent 8 credits of packs and bought 7"),
        (b"p/%s", None, "took 8 credits of packs, 0 is their sum"),
    ],
)  # fmt: skip
def test_a_row_that_is_changed_or_lost_is_named(
    key: bytes, value: bytes | None, expected_text: str
) -> None:
    """A row is overwritten, or deleted if `value` is None; the audit names the account and the sum"""
    store, account = _store_with_charges()
    row = key % account.encode()

    store.submit(lambda txn: txn.delete(row) if value is None else txn.put(row, value)).result()

    report = store.audit()
    with pytest.raises(AuditError, match=expected_text) as error:
        report.require()
    assert account in str(error.value)
    assert len(report.differences) == 1


def test_an_audit_during_or_after_compaction_finds_no_difference() -> None:
    """Compaction raises the floor first and deletes the rows in pieces, so an audit can meet a part of them"""
    store, account = _store_with_charges()
    november_charge = row_format.join(row_format.CHARGE, "2026-11", account, "EE/1")

    def begin_compaction(txn: WriteTransaction) -> None:
        """Raise the floor and delete the first row, as an interrupted compaction leaves a store."""
        txn.put(row_format.FLOOR, b"2026-12")
        txn.delete(november_charge)

    store.submit(begin_compaction).result()
    report_during = store.audit()
    store.compact("2026-12")
    report_after = store.audit()

    assert report_during.differences == report_after.differences == []
    assert (report_after.charges, report_after.credits) == (1, 5)


def test_an_audit_while_another_host_charges_finds_no_difference() -> None:
    """Between two pieces another host charges, from the grant and then from packs"""
    store, account = _store_with_charges()
    tables_read: list[bytes] = []

    def rows_after_charges(table: bytes) -> Iterable[tuple[bytes, bytes]]:
        """The rows of a table, read after two more companies were charged."""
        number = len(tables_read)
        tables_read.append(table)
        for company in range(number, number + 2):
            purchase = Purchase(account, 99, f"BE/{company}", 5, GRANT)
            store.take_and_charge(purchase, DECEMBER).result()
        return [(key, value) for key, value in store.rows() if key.startswith(table)]

    report = audit(rows_after_charges)

    assert report.differences == []
    assert len(tables_read) == 7
    assert report.charges > 5
