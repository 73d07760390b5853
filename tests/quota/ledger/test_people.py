"""People of an organisation, their sessions, the last use of keys."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from quota import credentials
from quota.accounts import Account
from quota.credentials import secret_digest
from quota.errors import NotAllowedError, UnknownError
from quota.ledger import account_rows, activity, payments, people, tickets, upkeep
from quota.ledger.calls import Purchase
from quota.ledger.payments import Payment
from quota.ledger.people import Person
from quota.new_values import new_person
from quota.periods import day, iso, seconds
from quota.plans import load
from quota.redis.store import RedisStore
from quota.store.lmdb_store import LmdbStore
from tests.quota.command import Command
from tests.quota.dict_store import DictRows, DictStore
from tests.quota.filling import (
    ask_for_password,
    claim,
    create_account,
    create_key,
    seal_key,
    sign_up,
    unseal_key,
)
from tests.quota.servers import KINDS, running

PLANS = load()
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
SOON = NOW + timedelta(days=1)


@pytest.fixture
def store() -> DictStore:
    """An empty store over a dict."""
    return DictStore()


def sign_up_person(store: DictStore, email: str = "zoé@exemple.fr") -> Person:
    """Sign up a person with a free account; returns the person."""
    assert sign_up(store, "Żabka", email, "hash", PLANS, NOW).result()
    person = store.read(people.find_by_email, email).result()
    assert person
    return person


def test_a_sign_up_makes_a_free_organisation_and_its_person(store: DictStore) -> None:
    person = sign_up_person(store, "  Zoé@Exemple.FR ")

    account = store.read(account_rows.account_of, person.account).result()
    assert (account.nom, account.plan, account.outil_api) == ("Żabka", "free", False)
    assert (person.email, person.password) == ("Zoé@Exemple.FR", "hash")
    assert store.read(account_rows.keys_of, account.id).result() == []


@pytest.mark.parametrize("spelling", ["ZOÉ@exemple.fr", "zoe\u0301@exemple.fr", " zoé@exemple.fr"])
def test_an_address_is_the_same_in_any_spelling(store: DictStore, spelling: str) -> None:
    person = sign_up_person(store)

    assert sign_up(store, "Autre", spelling, "other", PLANS, NOW).result() is False
    assert store.read(people.find_by_email, spelling).result() == person
    assert [account.nom for account in store.read(account_rows.accounts).result()] == ["Żabka"]


def test_a_sign_up_with_an_address_in_use_also_writes_a_row() -> None:
    """So the time of the commit does not show whether an address is in use"""

    class CountingRows(DictRows):
        """Rows that count their writes."""

        written = 0

        def put(self, key: bytes, value: bytes, /) -> None:
            self.written += 1
            super().put(key, value)

    rows = CountingRows()
    account = Account("a_1", "", "free", False, (), "2026-11-21")
    person = Person("p_1", "a@b.fr", "a_1", "hash", "2026-11-21")
    assert people.sign_up(rows, account, person, PLANS)
    writes_before, rows_before = rows.written, dict(rows.rows)

    assert not people.sign_up(rows, account, person, PLANS)

    assert rows.written > writes_before
    assert rows.rows == rows_before


def test_a_session_lasts_until_it_expires_or_is_closed(store: DictStore) -> None:
    person = sign_up_person(store)
    store.submit(people.open_session, person.id, b"token", seconds(NOW), seconds(SOON)).result()

    def is_open(token: bytes, now: datetime, person_id: str = person.id) -> bool:
        """Whether this token opens the session of this person at a moment."""
        return (
            store.read(people.person_of_session, person_id, token, seconds(now)).result() == person
        )

    assert is_open(b"token", SOON - timedelta(seconds=1))
    assert not is_open(b"token", SOON)
    assert not is_open(b"other", NOW)
    assert not is_open(b"token", NOW, "p_other")
    store.submit(people.close_session, person.id, b"token").result()
    store.submit(people.close_session, person.id, b"token").result()
    assert not is_open(b"token", NOW)


def test_a_new_password_ends_the_sessions_of_its_person_only(
    store: DictStore,
) -> None:
    person, other_person = sign_up_person(store), sign_up_person(store, "autre@exemple.fr")
    for session_owner in (person, other_person):
        store.submit(
            people.open_session, session_owner.id, b"token", seconds(NOW), seconds(SOON)
        ).result()

    changed_person = store.submit(tickets.replace_password, person.id, "new hash").result()

    assert changed_person.password == "new hash"
    assert store.read(people.person_of_session, person.id, b"token", seconds(NOW)).result() is None
    assert (
        store.read(people.person_of_session, other_person.id, b"token", seconds(NOW)).result()
        == other_person
    )


def test_a_session_is_over_at_the_second_of_its_end(store: DictStore) -> None:
    person = sign_up_person(store)
    store.submit(people.open_session, person.id, b"token", seconds(NOW), seconds(SOON)).result()

    a_second_before = store.read(
        people.person_of_session, person.id, b"token", seconds(SOON - timedelta(seconds=1))
    ).result()

    assert a_second_before == person
    assert store.read(people.person_of_session, person.id, b"token", seconds(SOON)).result() is None


def test_a_new_session_deletes_expired_sessions(store: DictStore) -> None:
    person = sign_up_person(store)
    for number in range(3):
        store.submit(
            people.open_session, person.id, b"%d" % number, seconds(NOW), seconds(SOON)
        ).result()
    rows: DictRows = store._file  # type: ignore[assignment]

    store.submit(
        people.open_session, person.id, b"x", seconds(SOON), seconds(SOON + timedelta(days=1))
    ).result()

    assert sum(key.startswith(b"s/") for key in rows.rows) == 1


def test_neither_a_token_nor_an_address_is_a_key_of_the_store(store: DictStore) -> None:
    person = sign_up_person(store)
    store.submit(
        people.open_session, person.id, b"token-of-a-cookie", seconds(NOW), seconds(SOON)
    ).result()
    rows: DictRows = store._file  # type: ignore[assignment]

    assert not [key for key in rows.rows if b"token-of" in key or b"exemple" in key]


def test_a_person_is_added_once_and_to_an_account_that_exists(store: DictStore) -> None:
    person = sign_up_person(store)

    store.submit(
        people.add_person, new_person(person.account, "bob@exemple.fr", "hash", NOW)
    ).result()

    emails = [member.email for member in store.read(people.people_of, person.account).result()]
    assert emails == ["bob@exemple.fr", "zoé@exemple.fr"]
    with pytest.raises(NotAllowedError, match=r"BOB@exemple\.fr is in use"):
        store.submit(
            people.add_person, new_person(person.account, "BOB@exemple.fr", "hash", NOW)
        ).result()
    with pytest.raises(UnknownError, match="a_0"):
        store.submit(people.add_person, new_person("a_0", "new@exemple.fr", "hash", NOW)).result()
    with pytest.raises(UnknownError, match="p_0"):
        store.submit(tickets.replace_password, "p_0", "hash").result()


def test_the_last_day_on_which_a_key_was_used_never_moves_back(store: DictStore) -> None:
    person = sign_up_person(store)
    key, text = create_key(store, person.account, PLANS, NOW).result()

    assert store.read(people.last_used, [key.id]).result() == {}
    for moment in (NOW, NOW + timedelta(days=2), NOW + timedelta(days=1)):
        store.add_key_calls({secret_digest(text): 2}, moment.date()).result()
    store.add_key_calls({secret_digest("soc_live_nobody"): 1}, NOW.date()).result()

    assert store.read(people.last_used, [key.id, "k_0"]).result() == {key.id: "2026-11-23"}


def test_calls_are_listed_by_day_and_by_key_while_they_are_kept(store: DictStore) -> None:
    """The calls by key of the first day are deleted 70 days later, the calls of the account by day are kept longer."""
    account = sign_up_person(store).account
    key, text = create_key(store, account, PLANS, NOW).result()
    day_70 = NOW + timedelta(days=70)
    for moment, count in ((NOW, 1), (day_70, 2), (day_70, 3)):
        store.add_key_calls({secret_digest(text): count}, moment.date()).result()
        for _ in range(count):
            store.take(account, 50, moment).result()

    assert store.read(activity.key_calls, account, 99, day_70).result() == {
        key.id: {day_70.date(): 5}
    }
    by_day = store.read(activity.calls_by_day, account, 71, day_70).result()
    assert (by_day[0], by_day[1][1], by_day[-1]) == (
        (NOW.date(), 1), 0, (day_70.date(), 5)
    )  # fmt: skip


def test_a_sealed_key_is_shown_once_to_its_session_in_time(store: DictStore) -> None:
    """A sealed key is an encrypted new key that only the session of its maker can open, within five minutes."""
    account = sign_up_person(store).account
    _, text = create_key(store, account, PLANS, NOW).result()
    rows: DictRows = store._file  # type: ignore[assignment]
    rows_before = dict(rows.rows)
    tokens = [seal_key(store, text, b"mine", NOW).result() for _ in range(3)]
    when_expired = NOW + timedelta(minutes=5)

    assert text.encode() not in b"".join(rows.rows.values())
    assert unseal_key(store, tokens[0], b"other", NOW).result() is None
    assert unseal_key(store, tokens[0], b"mine", NOW).result() == text
    assert unseal_key(store, tokens[0], b"mine", NOW).result() is None
    assert unseal_key(store, tokens[1], b"mine", when_expired).result() is None
    seal_key(store, text, b"mine", when_expired).result()  # deletes the sealed key that nobody took
    # The last sealed key (f/), its entry in the agenda of deletions (J/), and the first hour of that agenda (agenda/).
    tables_of_new_rows = {row[:2] for row in set(rows.rows) - set(rows_before)}
    assert tables_of_new_rows == {b"f/", b"J/", b"ag"}
    assert len(rows.rows) == len(rows_before) + 3


def test_a_charge_counts_for_its_company_and_month_only(store: DictStore) -> None:
    """D9: one company is charged in November; a second company, and December, are not"""
    account = sign_up_person(store).account
    store.take_and_charge(Purchase(account, 5, "EE/1", 5, 250), NOW).result()

    assert store.is_charged(account, "EE/1", NOW).result()
    assert not store.is_charged(account, "EE/2", NOW).result()
    assert not store.is_charged(account, "EE/1", NOW + timedelta(days=31)).result()


def test_the_operator_adds_people_and_replaces_a_lost_password(
    quota: Command, account: str
) -> None:
    added = quota.json("person", "add", account, "zoé@exemple.fr")
    replaced = quota.json("person", "password", "ZOÉ@exemple.fr")
    listed = quota.json("person", "list", account)

    assert list(replaced) == [
        "account",
        "person",
        "email",
        "created",
        "role",
        "confirmed",
        "password",
    ]
    assert [member["person"] for member in listed] == [added["person"]]
    assert "password" not in listed[0]
    store = LmdbStore(quota.state)
    person = store.read(people.find_by_email, "zoé@exemple.fr").result()
    store.close()
    assert person
    assert credentials.is_right_password(replaced["password"], person.password)
    assert not credentials.is_right_password(added["password"], person.password)


def test_a_command_with_an_unknown_address_names_the_remedy(quota: Command, account: str) -> None:
    error = quota.fails("person", "password", "absent@exemple.fr", code=1)

    assert "nobody has the address 'absent@exemple.fr'; `person list ACCOUNT`" in error
    quota.json("person", "add", account, "a@exemple.fr")
    assert "A@exemple.fr is in use" in quota.fails("person", "add", account, "A@exemple.fr", code=1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_store_on_a_server_has_people_sessions_payments_and_links(kind: str) -> None:
    """Each operation of the tests above runs on a real server too, one after the other"""
    with running(kind) as server:
        store = RedisStore(server.url, create=True)
        signed_up = sign_up(store, "Żabka", "zoé@exemple.fr", "hash", PLANS, NOW)
        assert signed_up.result()
        assert not sign_up(store, "Autre", "ZOÉ@exemple.fr", "hash", PLANS, NOW).result()
        person = store.read(people.find_by_email, "zoé@exemple.fr").result()
        assert person
        unused = create_account(store, "free", PLANS, NOW).result()
        key, text = create_key(store, person.account, PLANS, NOW).result()
        store.add_key_calls({secret_digest(text): 3}, NOW.date()).result()
        store.submit(people.open_session, person.id, b"token", seconds(NOW), seconds(SOON)).result(
            10
        )

        assert store.read(activity.key_calls, person.account, 30, NOW).result() == {
            key.id: {NOW.date(): 3}
        }
        assert store.read(activity.calls_by_day, person.account, 2, NOW).result()[-1] == (
            NOW.date(),
            0,
        )
        pack = Payment("cs_1", "pack", person.account, "", False, "paid", "cus_1", 1, credits=9)
        assert [store.submit(payments.add_pack, pack).result() for _ in range(2)] == [True, False]
        subscription = Payment(
            "sub_1", "abonnement", person.account, "data", True, "active", "cus_1", 2
        )
        assert store.submit(payments.apply_subscription, subscription, 0, PLANS).result()
        assert not store.submit(payments.apply_subscription, subscription, 0, PLANS).result()
        assert store.read(account_rows.account_of, person.account).result().plan == "data"
        assert store.read(payments.payments_of, person.account).result() == [subscription, pack]
        token = seal_key(store, text, b"session", NOW).result()
        assert unseal_key(store, token, b"session", NOW).result() == text
        assert unseal_key(store, token, b"session", NOW).result() is None
        later = NOW + timedelta(days=400)
        assert [account.id for account in upkeep.unused_accounts(store.table_rows, iso(later))] == [
            unused.id
        ]
        assert store.submit(upkeep.remove_unused, unused.id, iso(later), day(later).key).result()
        assert store.read(account_rows.accounts).result() == [
            store.read(account_rows.account_of, person.account).result()
        ]
        assert store.read(people.last_used, [key.id]).result() == {key.id: "2026-11-21"}
        assert (
            store.read(people.person_of_session, person.id, b"token", seconds(NOW)).result()
            == person
        )
        assert not store.is_charged(person.account, "EE/1", NOW).result()
        store.submit(tickets.replace_password, person.id, "new").result()
        assert (
            store.read(people.person_of_session, person.id, b"token", seconds(NOW)).result() is None
        )
        assert [
            member.password for member in store.read(people.people_of, person.account).result()
        ] == ["new"]
        other_sign_up = sign_up(store, "Squat", "o@exemple.fr", "hash", PLANS, NOW, confirmed=False)
        assert other_sign_up.result()
        owner = store.read(people.find_by_email, "o@exemple.fr").result()
        assert owner
        store.submit(
            people.add_person, new_person(owner.account, "b@exemple.fr", "hash", NOW, "membre")
        ).result()
        _, text = create_key(store, owner.account, PLANS, NOW).result()
        ask_for_password(store, "o@exemple.fr", NOW, mail=True).result()
        _, link = claim(store, NOW).result()
        confirmed = store.submit(
            tickets.set_password, secret_digest(link), "new", seconds(NOW)
        ).result()
        assert confirmed == replace(owner, password="new", confirmed=True)
        assert store.read(people.people_of, owner.account).result() == [confirmed]
        assert all(key.revoked for key in store.read(account_rows.keys_of, owner.account).result())
        store.close()
