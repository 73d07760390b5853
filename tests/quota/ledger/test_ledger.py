"""The ledger over a dict: counting, charging, reserving and refusing, in any order."""

from datetime import timedelta

import pytest
from hypothesis import settings

from quota.errors import NotAllowedError, UnknownError
from quota.ledger import account_rows, activity, calls, exports
from quota.ledger.activity import MATCHES_KEPT
from quota.ledger.calls import Opening, Purchase
from quota.ledger.exports import EXPORTS_LISTED, CountedExport, Refusal, Reservation
from quota.store.interface import LedgerStore
from tests.quota.dict_store import DictStore
from tests.quota.filling import create_account
from tests.quota.machine import StoreAgainstModel
from tests.quota.small import NOON, PLANS


class LedgerAgainstModel(StoreAgainstModel):
    """The state machine of stores, on the store over a dict."""

    def __init__(self) -> None:
        super().__init__()
        self.dict = self.store = DictStore()

    def rows(self) -> list[tuple[bytes, bytes]]:
        return self.dict.rows()


TestLedger = LedgerAgainstModel.TestCase
# A dict is fast, so this store runs five times as many examples as the stores on LMDB and on servers.
TestLedger.settings = settings(max_examples=5 * settings().max_examples)

HOUR = timedelta(hours=1)
ACCOUNT = "a_0000000000aA"


def test_the_last_call_of_the_day_is_granted_and_the_next_is_not_counted() -> None:
    """D6: the limit is 2 calls a day, so the second call is granted and the third is refused"""
    store = DictStore()
    store.take(ACCOUNT, 2, NOON)

    last_call, call_beyond = (
        store.take(ACCOUNT, 2, NOON).result(),
        store.take(ACCOUNT, 2, NOON).result(),
    )

    assert (last_call.used, last_call.granted) == (2, True)
    assert (call_beyond.used, call_beyond.granted) == (2, False)


def test_a_company_is_charged_once_a_month_and_then_read_without_credits() -> None:
    """D9: a company costs 5 credits, and the grant of a month is 5"""
    store = DictStore()

    charges = [
        store.take_and_charge(Purchase(ACCOUNT, 9, "EE/1", 5, 5), NOON).result()[1]
        for _ in range(2)
    ]
    other_company = store.take_and_charge(Purchase(ACCOUNT, 9, "EE/2", 5, 5), NOON).result()[1]
    december = store.take_and_charge(
        Purchase(ACCOUNT, 9, "EE/1", 5, 5), NOON + 10 * 24 * HOUR
    ).result()[1]

    assert [(charge.outcome, charge.cost, charge.left) for charge in charges if charge] == [
        ("charged", 5, 0),
        ("already", 0, 0),
    ]
    assert other_company
    assert (other_company.outcome, other_company.cost, other_company.left) == ("refused", 0, 0)
    assert december
    assert december.outcome == "charged"


def check_the_last_openings(store: LedgerStore) -> None:
    """Check the list of the last 20 openings: the records and analyses that an account opened in the month.

    Before that, 22 companies are charged, one of them twice, with credits for 21, and an analysis is opened.
    """
    for number in range(22):
        purchase = Purchase(ACCOUNT, 99, f"EE/n° {number} Żabka", 5, 109)
        store.take_and_charge(purchase, NOON + number * HOUR / 60).result()
    store.take_and_charge(
        Purchase(ACCOUNT, 99, "EE/n° 7 Żabka", 5, 109), NOON
    ).result()  # charged before, so it is not listed again
    store.take_and_charge(Purchase(ACCOUNT, 99, "marche/x", 0, 109, 3), NOON + HOUR).result()

    openings = store.read(calls.recent_charges, ACCOUNT, NOON).result()

    assert [opening.subject for opening in openings] == [  # company 21 was refused: 105 of 109 credits were spent
        "marche/x", *(f"EE/n° {number} Żabka" for number in range(20, 1, -1)),
    ]  # fmt: skip
    assert [opening.credits for opening in openings] == [0] + [5] * 19
    assert openings[:2] == [
        Opening(NOON + HOUR, 0, "marche/x"), Opening(NOON + HOUR / 3, 5, "EE/n° 20 Żabka"),
    ]  # fmt: skip
    assert not store.read(calls.recent_charges, ACCOUNT, NOON + 31 * 24 * HOUR).result()
    assert not store.read(calls.recent_charges, "a_0000000000bB", NOON).result()


def test_the_last_openings_of_a_month_are_listed_the_newest_first() -> None:
    """An opening is a record or an analysis that the account opened, with its time and its credits."""
    check_the_last_openings(DictStore())


def test_the_newest_matched_companies_are_kept_as_digests() -> None:
    """X19: the row keeps 8 bytes for each of the newest MATCHES_KEPT companies; one more pushes out the oldest"""
    store = DictStore()
    companies = [f"EE/{number}" for number in range(MATCHES_KEPT + 1)]

    for first in (0, 500, 1_000):  # the slices overlap, so many companies are noted twice
        store.submit(activity.note_matches, ACCOUNT, companies[first : first + 1_000]).result()
    rows_before = store.rows()
    store.submit(activity.note_matches, ACCOUNT, companies[:900]).result()
    is_unchanged = store.rows() == rows_before
    store.submit(activity.note_matches, ACCOUNT, [*companies[2_000:], companies[1]]).result()

    ((key, digests),) = store.rows()
    assert is_unchanged
    assert (key, len(digests)) == (b"M/" + ACCOUNT.encode(), 8 * MATCHES_KEPT)
    assert not store.read(activity.are_matched, ACCOUNT, companies[:1]).result()
    assert store.read(activity.are_matched, ACCOUNT, companies[1:]).result()
    assert store.read(activity.are_matched, "a_0000000000bB", ()).result()
    assert not store.read(activity.are_matched, "a_0000000000bB", companies[1:2]).result()
    store.submit(activity.note_matches, "a_0000000000bB", companies[1:2]).result()
    assert dict(store.rows())[b"M/a_0000000000bB"] not in digests  # digests depend on the account


def test_packs_pay_the_credits_that_the_grant_lacks() -> None:
    """D8: a company costs 5 credits; 3 are of the grant, 2 of the pack of 100"""
    store = DictStore()
    account = create_account(store, "data", PLANS, NOON).result().id
    store.submit(calls.add_credits, account, 100)

    charge = store.take_and_charge(Purchase(account, 9, "UK/00944111", 5, 3), NOON).result()[1]

    assert charge
    assert charge.left == 98
    assert store.usage(account, PLANS["data"], NOON).result().credits.packs == 98


def test_no_company_is_charged_when_the_call_is_refused() -> None:
    """D5: the daily limit, here 0 calls, comes before the charge"""
    meter, charge = DictStore().take_and_charge(Purchase(ACCOUNT, 0, "EE/1", 5, 250), NOON).result()

    assert not meter.granted
    assert charge is None


def test_exactly_fifty_records_fit_the_credits_of_a_free_plan() -> None:
    """D8, §8.2 rule 5: a record costs 5 of the 250 credits"""
    store = DictStore()

    charges = [
        store.take_and_charge(Purchase(ACCOUNT, 999, f"EE/{number}", 5, 250), NOON).result()[1]
        for number in range(60)
    ]

    assert [charge.outcome for charge in charges if charge] == ["charged"] * 50 + ["refused"] * 10


def test_a_call_given_back_twice_can_be_taken_again_once() -> None:
    """The limit is one call a day"""
    store = DictStore()
    store.take(ACCOUNT, 1, NOON)
    store.give_back(ACCOUNT, NOON)
    store.give_back(ACCOUNT, NOON)

    assert store.take(ACCOUNT, 1, NOON).result().granted
    assert not store.take(ACCOUNT, 1, NOON).result().granted


def test_credits_spent_under_a_higher_plan_are_not_taken_from_packs() -> None:
    """60 companies cost 300 of 5 000 credits; the lower plan grants 250, and its pack of 7 stays"""
    store = DictStore()
    account = create_account(store, "data", PLANS, NOON).result().id
    store.submit(calls.add_credits, account, 7)
    for number in range(60):
        store.take_and_charge(Purchase(account, 999, f"EE/{number}", 5, 5_000), NOON)

    credits = store.usage(account, PLANS["free"], NOON).result().credits

    assert (credits.grant, credits.used, credits.packs, credits.left) == (250, 300, 7, 7)
    charge = store.take_and_charge(Purchase(account, 999, "EE/autre", 5, 250), NOON).result()[1]
    assert charge
    assert charge.left == 2
    assert store.usage(account, PLANS["free"], NOON).result().credits.packs == 2


def test_an_export_counts_when_it_is_committed_and_not_when_it_is_released() -> None:
    """F5: a reservation that was released can no longer be committed"""
    store = DictStore()
    committed, released = (store.reserve(ACCOUNT, 2, 2, HOUR, NOON).result() for _ in range(2))
    assert isinstance(committed, Reservation)
    assert isinstance(released, Reservation)

    assert store.commit(committed, NOON).result().granted
    store.release(released.account, released.id)
    assert store.usage(ACCOUNT, PLANS["free"], NOON).result().exports.used == 1
    assert not store.commit(released, NOON).result().granted


def test_the_counted_exports_are_listed_and_released_exports_are_not() -> None:
    """X10: an account sees its last EXPORTS_LISTED counted exports, the newest first"""
    store = DictStore()
    all_exports = [
        CountedExport("", "csv", f"Ψ-{number}.csv", number, number, "q=Ψ", "")
        for number in range(EXPORTS_LISTED + 3)
    ]
    for export in all_exports[:-2]:
        reservation = store.reserve(ACCOUNT, 99, 1, HOUR, NOON).result()
        assert isinstance(reservation, Reservation)
        store.commit(reservation, NOON, export)
        store.commit(reservation, NOON, all_exports[-2])  # a second time: not counted
    released = store.reserve(ACCOUNT, 99, 1, HOUR, NOON).result()
    assert isinstance(released, Reservation)
    store.release(ACCOUNT, released.id)
    store.commit(released, NOON, all_exports[-1])

    listed = store.read(exports.counted_exports, ACCOUNT).result()

    # The newest first; the last two were not counted, and the oldest is beyond the limit of the list.
    assert listed == all_exports[-3:0:-1]
    assert len(listed) == EXPORTS_LISTED
    assert store.read(exports.counted_exports, "another").result() == []


def test_the_number_of_concurrent_exports_is_limited() -> None:
    """D7: two at once; after an hour the two reservations have expired"""
    store = DictStore()
    for _ in range(2):
        store.reserve(ACCOUNT, 9, 2, HOUR, NOON)

    third_at_once = store.reserve(ACCOUNT, 9, 2, HOUR, NOON).result()
    after_expiry = store.reserve(ACCOUNT, 9, 2, HOUR, NOON + HOUR).result()

    assert isinstance(third_at_once, Refusal)
    assert third_at_once.reason == "simultanes"
    assert isinstance(after_expiry, Reservation)


def test_an_export_whose_reservation_has_expired_is_not_counted() -> None:
    """One export a month: the reservation of a dead process becomes free, and a slow process must not send its file"""
    store = DictStore()
    expired = store.reserve(ACCOUNT, 1, 2, HOUR, NOON).result()
    next_reservation = store.reserve(ACCOUNT, 1, 2, HOUR, NOON + HOUR).result()
    assert isinstance(expired, Reservation)
    assert isinstance(next_reservation, Reservation)

    assert not store.commit(expired, NOON + HOUR).result().granted
    assert store.commit(next_reservation, NOON + HOUR).result().granted


def test_a_clock_that_steps_back_grants_no_export_twice() -> None:
    """Of one export a month: the first reservation had expired when the second was granted"""
    store = DictStore()
    expired = store.reserve(ACCOUNT, 1, 2, HOUR, NOON).result()
    next_reservation = store.reserve(ACCOUNT, 1, 2, timedelta(hours=3), NOON + 2 * HOUR).result()
    assert isinstance(expired, Reservation)
    assert isinstance(next_reservation, Reservation)

    granted = [
        store.commit(reservation, NOON).result().granted
        for reservation in (expired, next_reservation)
    ]

    assert granted == [False, True]


def test_an_export_reserved_before_midnight_counts_for_its_month() -> None:
    """Of one export a month: reserved on 30 November, it counts in November also if it ends in December"""
    store = DictStore()
    before_midnight = NOON.replace(day=30, hour=23, minute=59)
    reserved = store.reserve(ACCOUNT, 1, 2, HOUR, before_midnight).result()
    assert isinstance(reserved, Reservation)

    meter = store.commit(reserved, before_midnight + 30 * HOUR / 60).result()

    assert meter.granted
    assert meter.reset.isoformat() == "2026-12-01T00:00:00+00:00"
    assert store.usage(ACCOUNT, PLANS["free"], before_midnight).result().exports.used == 1
    assert store.usage(ACCOUNT, PLANS["free"], before_midnight + HOUR).result().exports.used == 0


def test_an_export_of_a_dropped_month_counts_in_the_oldest_month_kept() -> None:
    """November was dropped by a compaction, so the export counts in December"""
    store = DictStore()
    reserved = store.reserve(ACCOUNT, 1, 2, 40 * 24 * HOUR, NOON).result()
    assert isinstance(reserved, Reservation)
    store.compact("2026-12")

    meter = store.commit(reserved, NOON).result()

    assert meter.granted
    assert meter.reset.isoformat() == "2027-01-01T00:00:00+00:00"
    assert store.usage(ACCOUNT, PLANS["free"], NOON).result().exports.used == 1


def test_an_export_of_a_dropped_month_does_not_use_the_reservation_of_another_export() -> None:
    """One export a month: December's is reserved already, so November's cannot count in December"""
    store = DictStore()
    of_november = store.reserve(ACCOUNT, 1, 2, 40 * 24 * HOUR, NOON).result()
    store.compact("2026-12")
    of_december = store.reserve(ACCOUNT, 1, 2, HOUR, NOON.replace(month=12)).result()
    assert isinstance(of_november, Reservation)
    assert isinstance(of_december, Reservation)

    granted = [
        store.commit(reservation, NOON.replace(month=12)).result().granted
        for reservation in (of_november, of_december)
    ]

    assert granted == [False, True]


def test_all_days_before_the_first_month_kept_share_the_calls_of_one_day() -> None:
    """The limit is two calls; November was dropped, so its calls count on 1 December"""
    store = DictStore()
    for _ in range(2):
        store.take(ACCOUNT, 2, NOON)
    store.compact("2026-12")

    granted = [store.take(ACCOUNT, 2, NOON).result().granted for _ in range(3)]
    december = store.take(ACCOUNT, 2, NOON.replace(month=12, day=1)).result()

    assert granted == [True, True, False]
    assert not december.granted, "all calls before the floor are counted on its first day"


@pytest.mark.parametrize("count", [0, -5, 10**9 + 1, 2**64])
def test_a_pack_holds_from_one_credit_to_a_thousand_million(count: int) -> None:
    store = DictStore()
    account = create_account(store, "free", PLANS, NOON).result().id

    assert isinstance(store.submit(calls.add_credits, account, count).exception(), NotAllowedError)


def test_modules_are_refused_with_a_plan_whose_modules_are_fixed() -> None:
    store = DictStore()
    account = create_account(store, "carte", PLANS, NOON, modules=["bourse"]).result().id

    errors = [
        create_account(store, "data", PLANS, NOON, modules=["bourse"]).exception(),
        store.submit(account_rows.set_plan, account, "free", PLANS, modules=["bourse"]).exception(),
    ]

    assert {type(error) for error in errors} == {NotAllowedError}
    assert (
        store.submit(account_rows.set_plan, account, "free", PLANS, modules=()).result().modules
        == ()
    )


def test_credits_for_an_unknown_account_are_refused() -> None:
    assert isinstance(DictStore().submit(calls.add_credits, "a_", 5).exception(), UnknownError)


def test_an_identifier_too_long_for_a_key_of_the_store_is_refused() -> None:
    """A key of LMDB has 511 bytes at most; 300 letters é are 600 bytes"""
    store = DictStore()

    error = store.take_and_charge(Purchase(ACCOUNT, 1, "FR/" + "é" * 300, 5, 250), NOON).exception()

    assert isinstance(error, NotAllowedError)


def test_the_longest_identifier_fits() -> None:
    """§4.5, E1: 64 characters, at most four bytes each"""
    charge = (
        DictStore()
        .take_and_charge(Purchase(ACCOUNT, 1, "FR/" + "𝔸" * 64, 5, 250), NOON)
        .result()[1]
    )

    assert charge
    assert charge.outcome == "charged"
