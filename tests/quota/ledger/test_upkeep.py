"""The audit: every sum that is not that of its charges is named, and nothing else."""

from collections.abc import Iterable

import pytest

from quota.ledger import calls, row_format
from quota.ledger.calls import Purchase
from quota.ledger.row_format import WriteTransaction
from quota.ledger.upkeep import AuditError, audit
from tests.quota.dict_store import DictStore
from tests.quota.filling import create_account
from tests.quota.small import NOON, SMALL

GRANT = 12  # of `SMALL["data"]`; a record costs 5
DECEMBER = NOON.replace(month=12)


def _store() -> tuple[DictStore, str]:
    """Four charges in November and one in December; the third is paid from grant and packs."""
    store = DictStore()
    account = create_account(store, "data", SMALL, NOON).result().id
    store.submit(calls.add_credits, account, 100).result()
    for company in ("EE/1", "FR/Société Générale", "PL/Żabka", "UK/00944111"):
        store.take_and_charge(Purchase(account, 99, company, 5, GRANT), NOON).result()
    store.take_and_charge(Purchase(account, 99, "EE/1", 5, GRANT), DECEMBER).result()
    return store, account


def test_charges_of_grants_and_packs_are_counted() -> None:
    store, _ = _store()

    report = store.audit()
    report.require()

    assert (report.accounts, report.months, report.charges, report.credits) == (1, 2, 5, 25)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        (b"g/2026-11/%s", row_format.pack(11), "in 2026-11 took 12 credits of the grant, its sum is 11"),
        (b"g/2026-11/%s", None, "in 2026-11 took 12 credits of the grant, its sum is 0"),
        (b"g/2026-10/%s", row_format.pack(5), "in 2026-10 took 0 credits of the grant, its sum is 5"),
        (b"c/2026-11/%s/EE/1", None, "took 7 credits of the grant, its sum is 12"),
        (b"c/2026-12/%s/EE/2", row_format.pack_pair(5, 0), "took 10 credits of the grant, its sum is 5"),
        (b"p/%s", row_format.pack_pair(100, 3), "took 8 credits of packs, 3 is their sum"),
        (b"p/%s", row_format.pack_pair(100, 9), "took 8 credits of packs, 9 is their sum"),
        (b"p/%s", row_format.pack_pair(7, 8), "spent 8 credits of packs and bought 7"),
        (b"p/%s", None, "took 8 credits of packs, 0 is their sum"),
    ],
)  # fmt: skip
def test_a_row_that_is_changed_or_lost_is_named(key: bytes, value: bytes | None, said: str) -> None:
    store, account = _store()
    row = key % account.encode()

    store.submit(lambda txn: txn.delete(row) if value is None else txn.put(row, value)).result()

    report = store.audit()
    with pytest.raises(AuditError, match=said) as error:
        report.require()
    assert account in str(error.value)
    assert len(report.differences) == 1


def test_months_that_compact_drops_are_no_difference() -> None:
    """In pieces: the floor is raised first, the rows go afterwards"""
    store, account = _store()
    first = row_format.join(row_format.CHARGE, "2026-11", account, "EE/1")

    def begin(txn: WriteTransaction) -> None:
        txn.put(row_format.FLOOR, b"2026-12")
        txn.delete(first)

    store.submit(begin).result()
    begun = store.audit()
    store.compact("2026-12")
    done = store.audit()

    assert begun.differences == done.differences == []
    assert (done.charges, done.credits) == (1, 5)


def test_charges_made_while_a_server_is_read_are_no_difference() -> None:
    """Between two pieces another host charges, from the grant and then from packs"""
    store, account = _store()
    read: list[bytes] = []

    def rows(table: bytes) -> Iterable[tuple[bytes, bytes]]:
        number = len(read)
        read.append(table)
        for company in range(number, number + 2):
            purchase = Purchase(account, 99, f"BE/{company}", 5, GRANT)
            store.take_and_charge(purchase, DECEMBER).result()
        return [(key, value) for key, value in store.rows() if key.startswith(table)]

    report = audit(rows)

    assert report.differences == []
    assert len(read) == 7
    assert report.charges > 5
