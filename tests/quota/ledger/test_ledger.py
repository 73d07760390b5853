"""The ledger over a dict: counting, charging, reserving and refusing, in any order."""

from datetime import timedelta

import pytest
from hypothesis import settings

from quota.errors import NotAllowedError, UnknownError
from quota.ledger import account_rows, activity, calls, exports
from quota.ledger.activity import MATCHES_KEPT
from quota.ledger.calls import Opening, Purchase
from quota.ledger.exports import KEPT, CountedExport, Refusal, Reservation
from quota.store.interface import LedgerStore
from tests.quota.dict_store import DictStore
from tests.quota.filling import create_account
from tests.quota.machine import StoreAgainstModel
from tests.quota.small import NOON, PLANS


class LedgerAgainstModel(StoreAgainstModel):
    def __init__(self) -> None:
        super().__init__()
        self.dict = self.store = DictStore()

    def rows(self) -> list[tuple[bytes, bytes]]:
        return self.dict.rows()


TestLedger = LedgerAgainstModel.TestCase
# A dict is fast, so there are five times as many examples as elsewhere.
TestLedger.settings = settings(max_examples=5 * settings().max_examples)

HOUR = timedelta(hours=1)
A = "a_0000000000aA"


def test_the_last_call_of_the_day_is_granted_and_the_next_is_not_counted() -> None:
    """D6"""
    store = DictStore()
    store.take(A, 2, NOON)

    last, over = store.take(A, 2, NOON).result(), store.take(A, 2, NOON).result()

    assert (last.used, last.granted) == (2, True)
    assert (over.used, over.granted) == (2, False)


def test_a_company_is_charged_once_a_month_and_free_at_zero() -> None:
    """D9"""
    store = DictStore()

    charges = [
        store.take_and_charge(Purchase(A, 9, "EE/1", 5, 5), NOON).result()[1] for _ in range(2)
    ]
    other = store.take_and_charge(Purchase(A, 9, "EE/2", 5, 5), NOON).result()[1]
    december = store.take_and_charge(Purchase(A, 9, "EE/1", 5, 5), NOON + 10 * 24 * HOUR).result()[
        1
    ]

    assert [(c.outcome, c.cost, c.left) for c in charges if c] == [
        ("charged", 5, 0),
        ("already", 0, 0),
    ]
    assert other
    assert (other.outcome, other.cost, other.left) == ("refused", 0, 0)
    assert december
    assert december.outcome == "charged"


def check_the_last_openings(store: LedgerStore) -> None:
    """Charge 22 companies, one of them twice, and look at what is told of them."""
    for number in range(22):
        purchase = Purchase(A, 99, f"EE/n° {number} Żabka", 5, 109)
        store.take_and_charge(purchase, NOON + number * HOUR / 60).result()
    store.take_and_charge(Purchase(A, 99, "EE/n° 7 Żabka", 5, 109), NOON).result()  # a second time
    store.take_and_charge(Purchase(A, 99, "marche/x", 0, 109, 3), NOON + HOUR).result()

    told = store.read(calls.recent_charges, A, NOON).result()

    assert [one.subject for one in told] == [  # the 22nd was refused: 105 of 109 credits are spent
        "marche/x", *(f"EE/n° {number} Żabka" for number in range(20, 1, -1)),
    ]  # fmt: skip
    assert [one.credits for one in told] == [0] + [5] * 19
    assert told[:2] == [
        Opening(NOON + HOUR, 0, "marche/x"), Opening(NOON + HOUR / 3, 5, "EE/n° 20 Żabka"),
    ]  # fmt: skip
    assert not store.read(calls.recent_charges, A, NOON + 31 * 24 * HOUR).result()
    assert not store.read(calls.recent_charges, "a_0000000000bB", NOON).result()


def test_the_last_openings_of_a_month_are_told_the_newest_first() -> None:
    check_the_last_openings(DictStore())


def test_matched_companies_are_digests_of_which_the_newest_are_kept() -> None:
    """X19"""
    store = DictStore()
    companies = [f"EE/{number}" for number in range(MATCHES_KEPT + 1)]

    for first in (0, 500, 1_000):  # some of them twice
        store.submit(activity.note_matches, A, companies[first : first + 1_000]).result()
    before = store.rows()
    store.submit(activity.note_matches, A, companies[:900]).result()
    unchanged = store.rows() == before
    store.submit(activity.note_matches, A, [*companies[2_000:], companies[1]]).result()

    ((key, row),) = store.rows()
    assert unchanged
    assert (key, len(row)) == (b"M/" + A.encode(), 8 * MATCHES_KEPT)
    assert not store.read(activity.are_matched, A, companies[:1]).result()
    assert store.read(activity.are_matched, A, companies[1:]).result()
    assert store.read(activity.are_matched, "a_0000000000bB", ()).result()
    assert not store.read(activity.are_matched, "a_0000000000bB", companies[1:2]).result()
    store.submit(activity.note_matches, "a_0000000000bB", companies[1:2]).result()
    assert dict(store.rows())[b"M/a_0000000000bB"] not in row  # digests are of an account, too


def test_packs_pay_what_the_grant_does_not() -> None:
    """D8"""
    store = DictStore()
    account = create_account(store, "data", PLANS, NOON).result().id
    store.submit(calls.add_credits, account, 100)

    charge = store.take_and_charge(Purchase(account, 9, "UK/00944111", 5, 3), NOON).result()[1]

    assert charge
    assert charge.left == 98
    assert store.usage(account, PLANS["data"], NOON).result().credits.packs == 98


def test_no_company_is_charged_when_the_call_is_refused() -> None:
    """D5: the daily limit comes before the charge"""
    meter, charge = DictStore().take_and_charge(Purchase(A, 0, "EE/1", 5, 250), NOON).result()

    assert not meter.granted
    assert charge is None


def test_exactly_fifty_records_fit_the_credits_of_a_free_plan() -> None:
    """D8, §8.2 rule 5"""
    store = DictStore()

    charges = [
        store.take_and_charge(Purchase(A, 999, f"EE/{n}", 5, 250), NOON).result()[1]
        for n in range(60)
    ]

    assert [c.outcome for c in charges if c] == ["charged"] * 50 + ["refused"] * 10


def test_a_call_given_back_can_be_taken_again_but_never_more() -> None:
    store = DictStore()
    store.take(A, 1, NOON)
    store.give_back(A, NOON)
    store.give_back(A, NOON)

    assert store.take(A, 1, NOON).result().granted
    assert not store.take(A, 1, NOON).result().granted


def test_a_lowered_plan_keeps_packs_whole() -> None:
    store = DictStore()
    account = create_account(store, "data", PLANS, NOON).result().id
    store.submit(calls.add_credits, account, 7)
    for n in range(60):
        store.take_and_charge(Purchase(account, 999, f"EE/{n}", 5, 5_000), NOON)

    left = store.usage(account, PLANS["free"], NOON).result().credits

    assert (left.grant, left.used, left.packs, left.left) == (250, 300, 7, 7)
    charge = store.take_and_charge(Purchase(account, 999, "EE/autre", 5, 250), NOON).result()[1]
    assert charge
    assert charge.left == 2
    assert store.usage(account, PLANS["free"], NOON).result().credits.packs == 2


def test_an_export_counts_when_it_is_committed_and_not_when_it_is_released() -> None:
    """F5"""
    store = DictStore()
    first, second = (store.reserve(A, 2, 2, HOUR, NOON).result() for _ in range(2))
    assert isinstance(first, Reservation)
    assert isinstance(second, Reservation)

    assert store.commit(first, NOON).result().granted
    store.release(second.account, second.id)
    assert store.usage(A, PLANS["free"], NOON).result().exports.used == 1
    assert not store.commit(second, NOON).result().granted


def test_the_last_exports_are_those_that_were_counted() -> None:
    """X10"""
    store = DictStore()
    made = [CountedExport("", "csv", f"Ψ-{n}.csv", n, n, "q=Ψ", "") for n in range(KEPT + 3)]
    for one in made[:-2]:
        held = store.reserve(A, 99, 1, HOUR, NOON).result()
        assert isinstance(held, Reservation)
        store.commit(held, NOON, one)
        store.commit(held, NOON, made[-2])  # counted before
    late = store.reserve(A, 99, 1, HOUR, NOON).result()
    assert isinstance(late, Reservation)
    store.release(A, late.id)
    store.commit(late, NOON, made[-1])

    listed = store.read(exports.counted_exports, A).result()

    assert listed == made[-3:0:-1]
    assert len(listed) == KEPT
    assert store.read(exports.counted_exports, "another").result() == []


def test_only_so_many_exports_run_at_once() -> None:
    """D7"""
    store = DictStore()
    for _ in range(2):
        store.reserve(A, 9, 2, HOUR, NOON)

    third = store.reserve(A, 9, 2, HOUR, NOON).result()
    later = store.reserve(A, 9, 2, HOUR, NOON + HOUR).result()

    assert isinstance(third, Refusal)
    assert third.reason == "simultanes"
    assert isinstance(later, Reservation)


def test_an_export_that_comes_too_late_takes_no_place_that_is_gone() -> None:
    """The place of a dead process becomes free; a slow process must not send its file."""
    store = DictStore()
    slow = store.reserve(A, 1, 2, HOUR, NOON).result()
    other = store.reserve(A, 1, 2, HOUR, NOON + HOUR).result()
    assert isinstance(slow, Reservation)
    assert isinstance(other, Reservation)

    assert not store.commit(slow, NOON + HOUR).result().granted
    assert store.commit(other, NOON + HOUR).result().granted


def test_a_clock_that_steps_back_finds_no_place_twice() -> None:
    store = DictStore()
    slow = store.reserve(A, 1, 2, HOUR, NOON).result()
    other = store.reserve(A, 1, 2, timedelta(hours=3), NOON + 2 * HOUR).result()
    assert isinstance(slow, Reservation)
    assert isinstance(other, Reservation)

    granted = [store.commit(one, NOON).result().granted for one in (slow, other)]

    assert granted == [False, True]


def test_an_export_reserved_before_midnight_counts_for_its_month() -> None:
    store = DictStore()
    late = NOON.replace(day=30, hour=23, minute=59)
    reserved = store.reserve(A, 1, 2, HOUR, late).result()
    assert isinstance(reserved, Reservation)

    meter = store.commit(reserved, late + 30 * HOUR / 60).result()

    assert meter.granted
    assert meter.reset.isoformat() == "2026-12-01T00:00:00+00:00"
    assert store.usage(A, PLANS["free"], late).result().exports.used == 1
    assert store.usage(A, PLANS["free"], late + HOUR).result().exports.used == 0


def test_an_export_of_a_month_that_was_dropped_counts_in_the_oldest_one_kept() -> None:
    store = DictStore()
    reserved = store.reserve(A, 1, 2, 40 * 24 * HOUR, NOON).result()
    assert isinstance(reserved, Reservation)
    store.compact("2026-12")

    meter = store.commit(reserved, NOON).result()

    assert meter.granted
    assert meter.reset.isoformat() == "2027-01-01T00:00:00+00:00"
    assert store.usage(A, PLANS["free"], NOON).result().exports.used == 1


def test_an_export_of_a_dropped_month_takes_no_place_that_another_holds() -> None:
    store = DictStore()
    old = store.reserve(A, 1, 2, 40 * 24 * HOUR, NOON).result()
    store.compact("2026-12")
    new = store.reserve(A, 1, 2, HOUR, NOON.replace(month=12)).result()
    assert isinstance(old, Reservation)
    assert isinstance(new, Reservation)

    granted = [store.commit(one, NOON.replace(month=12)).result().granted for one in (old, new)]

    assert granted == [False, True]


def test_a_clock_set_before_what_was_compacted_gives_nothing_extra() -> None:
    store = DictStore()
    for _ in range(2):
        store.take(A, 2, NOON)
    store.compact("2026-12")

    granted = [store.take(A, 2, NOON).result().granted for _ in range(3)]
    december = store.take(A, 2, NOON.replace(month=12, day=1)).result()

    assert granted == [True, True, False]
    assert not december.granted, "all calls before the floor are counted on its first day"


@pytest.mark.parametrize("count", [0, -5, 10**9 + 1, 2**64])
def test_a_pack_holds_from_one_credit_to_a_thousand_million(count: int) -> None:
    store = DictStore()
    account = create_account(store, "free", PLANS, NOON).result().id

    assert isinstance(store.submit(calls.add_credits, account, count).exception(), NotAllowedError)


def test_modules_are_had_with_a_custom_plan_only() -> None:
    store = DictStore()
    account = create_account(store, "carte", PLANS, NOON, modules=["bourse"]).result().id

    refused = [
        create_account(store, "data", PLANS, NOON, modules=["bourse"]).exception(),
        store.submit(account_rows.set_plan, account, "free", PLANS, modules=["bourse"]).exception(),
    ]

    assert {type(one) for one in refused} == {NotAllowedError}
    assert (
        store.submit(account_rows.set_plan, account, "free", PLANS, modules=()).result().modules
        == ()
    )


def test_credits_of_nobody_are_refused() -> None:
    assert isinstance(DictStore().submit(calls.add_credits, "a_", 5).exception(), UnknownError)


def test_an_identifier_that_no_key_can_hold_is_refused_and_nothing_is_charged() -> None:
    store = DictStore()

    error = store.take_and_charge(Purchase(A, 1, "FR/" + "é" * 300, 5, 250), NOON).exception()

    assert isinstance(error, NotAllowedError)


def test_the_longest_identifier_fits() -> None:
    """§4.5, E1: 64 characters, at most four bytes each"""
    charge = DictStore().take_and_charge(Purchase(A, 1, "FR/" + "𝔸" * 64, 5, 250), NOON).result()[1]

    assert charge
    assert charge.outcome == "charged"
