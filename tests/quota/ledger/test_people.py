"""People of an organisation, their sessions, the last use of keys."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from quota import credentials
from quota.accounts import Account
from quota.credentials import key_digest
from quota.errors import NotAllowedError, UnknownError
from quota.ledger import people
from quota.ledger.calls import Purchase
from quota.ledger.payments import Payment
from quota.ledger.people import Person
from quota.plans import load
from quota.redis.store import RedisStore
from quota.store.lmdb_store import LmdbStore
from tests.quota.command import Command
from tests.quota.dict_store import DictRows, DictStore
from tests.quota.servers import KINDS, running

PLANS = load()
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
SOON = NOW + timedelta(days=1)


@pytest.fixture
def store() -> DictStore:
    return DictStore()


def signed_up(store: DictStore, email: str = "zoé@exemple.fr") -> Person:
    assert store.accounts.sign_up("Żabka", email, "hash", PLANS, NOW).result()
    person = store.accounts.person_by_email(email).result()
    assert person
    return person


def test_a_sign_up_makes_a_free_organisation_and_its_person(store: DictStore) -> None:
    person = signed_up(store, "  Zoé@Exemple.FR ")

    account = store.accounts.get(person.account).result()
    assert (account.nom, account.plan, account.outil_api) == ("Żabka", "free", False)
    assert (person.email, person.password) == ("Zoé@Exemple.FR", "hash")
    assert store.keys_of(account.id).result() == []


@pytest.mark.parametrize("again", ["ZOÉ@exemple.fr", "zoe\u0301@exemple.fr", " zoé@exemple.fr"])
def test_an_address_is_one_in_any_spelling(store: DictStore, again: str) -> None:
    person = signed_up(store)

    assert store.accounts.sign_up("Autre", again, "other", PLANS, NOW).result() is False
    assert store.accounts.person_by_email(again).result() == person
    assert [account.nom for account in store.accounts.all().result()] == ["Żabka"]


def test_a_sign_up_of_a_known_address_writes_as_well() -> None:
    """Its commit takes as long as that of a new address"""

    class Counted(DictRows):
        written = 0

        def put(self, key: bytes, value: bytes, /) -> None:
            self.written += 1
            super().put(key, value)

    rows = Counted()
    account = Account("a_1", "", "free", False, (), "2026-11-21")
    person = Person("p_1", "a@b.fr", "a_1", "hash", "2026-11-21")
    assert people.sign_up(rows, account, person, PLANS)
    before, kept = rows.written, dict(rows.rows)

    assert not people.sign_up(rows, account, person, PLANS)

    assert rows.written > before
    assert rows.rows == kept


def test_a_session_lasts_until_it_ends(store: DictStore) -> None:
    person = signed_up(store)
    store.accounts.open_session(person.id, b"token", NOW, SOON).result()

    def inside(token: bytes, now: datetime, who: str = person.id) -> bool:
        return store.accounts.in_session(who, token, now).result() == person

    assert inside(b"token", SOON - timedelta(seconds=1))
    assert not inside(b"token", SOON)
    assert not inside(b"other", NOW)
    assert not inside(b"token", NOW, "p_other")
    store.accounts.close_session(person.id, b"token").result()
    store.accounts.close_session(person.id, b"token").result()
    assert not inside(b"token", NOW)


def test_another_password_ends_every_session_of_that_person_and_of_nobody_else(
    store: DictStore,
) -> None:
    person, other = signed_up(store), signed_up(store, "autre@exemple.fr")
    for who in (person, other):
        store.accounts.open_session(who.id, b"token", NOW, SOON).result()

    changed = store.accounts.set_password(person.id, "new hash").result()

    assert changed.password == "new hash"
    assert store.accounts.in_session(person.id, b"token", NOW).result() is None
    assert store.accounts.in_session(other.id, b"token", NOW).result() == other


def test_a_session_is_over_at_the_second_of_its_end(store: DictStore) -> None:
    person = signed_up(store)
    store.accounts.open_session(person.id, b"token", NOW, SOON).result()

    before = store.accounts.in_session(person.id, b"token", SOON - timedelta(seconds=1)).result()

    assert before == person
    assert store.accounts.in_session(person.id, b"token", SOON).result() is None


def test_sessions_that_are_over_are_dropped_by_the_next_one(store: DictStore) -> None:
    person = signed_up(store)
    for number in range(3):
        store.accounts.open_session(person.id, b"%d" % number, NOW, SOON).result()
    rows: DictRows = store._file  # type: ignore[assignment]

    store.accounts.open_session(person.id, b"x", SOON, SOON + timedelta(days=1)).result()

    assert sum(key.startswith(b"s/") for key in rows.rows) == 1


def test_neither_a_token_nor_an_address_is_a_key_of_the_store(store: DictStore) -> None:
    person = signed_up(store)
    store.accounts.open_session(person.id, b"token-of-a-cookie", NOW, SOON).result()
    rows: DictRows = store._file  # type: ignore[assignment]

    assert not [key for key in rows.rows if b"token-of" in key or b"exemple" in key]


def test_a_person_is_added_once_and_to_an_account_that_exists(store: DictStore) -> None:
    person = signed_up(store)

    store.accounts.add_person(person.account, "bob@exemple.fr", "hash", NOW).result()

    found = [one.email for one in store.accounts.people_of(person.account).result()]
    assert found == ["bob@exemple.fr", "zoé@exemple.fr"]
    with pytest.raises(NotAllowedError, match=r"BOB@exemple\.fr is in use"):
        store.accounts.add_person(person.account, "BOB@exemple.fr", "hash", NOW).result()
    with pytest.raises(UnknownError, match="a_0"):
        store.accounts.add_person("a_0", "new@exemple.fr", "hash", NOW).result()
    with pytest.raises(UnknownError, match="p_0"):
        store.accounts.set_password("p_0", "hash").result()


def test_the_last_day_of_a_key_only_moves_on(store: DictStore) -> None:
    person = signed_up(store)
    key, text = store.accounts.create_key(person.account, PLANS, NOW).result()

    assert store.accounts.last_used([key.id]).result() == {}
    for day in (NOW, NOW + timedelta(days=2), NOW + timedelta(days=1)):
        store.accounts.add_key_calls({key_digest(text): 2}, day.date()).result()
    store.accounts.add_key_calls({key_digest("soc_live_nobody"): 1}, NOW.date()).result()

    assert store.accounts.last_used([key.id, "k_0"]).result() == {key.id: "2026-11-23"}


def test_calls_are_told_by_day_and_by_key_as_long_as_they_are_kept(store: DictStore) -> None:
    account = signed_up(store).account
    key, text = store.accounts.create_key(account, PLANS, NOW).result()
    later = NOW + timedelta(days=70)
    for day, calls in ((NOW, 1), (later, 2), (later, 3)):
        store.accounts.add_key_calls({key_digest(text): calls}, day.date()).result()
        for _ in range(calls):
            store.take(account, 50, day).result()

    assert store.accounts.key_calls(account, 99, later).result() == {key.id: {later.date(): 5}}
    by_day = store.accounts.calls_by_day(account, 71, later).result()
    assert (by_day[0], by_day[1][1], by_day[-1]) == (
        (NOW.date(), 1), 0, (later.date(), 5)
    )  # fmt: skip


def test_a_sealed_key_is_shown_once_to_its_session_in_time(store: DictStore) -> None:
    account = signed_up(store).account
    _, text = store.accounts.create_key(account, PLANS, NOW).result()
    rows: DictRows = store._file  # type: ignore[assignment]
    before = dict(rows.rows)
    tokens = [store.accounts.seal_key(text, b"mine", NOW).result() for _ in range(3)]
    late = NOW + timedelta(minutes=5)

    assert text.encode() not in b"".join(rows.rows.values())
    assert store.accounts.unseal_key(tokens[0], b"other", NOW).result() is None
    assert store.accounts.unseal_key(tokens[0], b"mine", NOW).result() == text
    assert store.accounts.unseal_key(tokens[0], b"mine", NOW).result() is None
    assert store.accounts.unseal_key(tokens[1], b"mine", late).result() is None
    store.accounts.seal_key(text, b"mine", late).result()  # drops the one that nobody took
    added = {row[:2] for row in set(rows.rows) - set(before)}
    assert added == {b"f/", b"J/", b"ag"}
    assert len(rows.rows) == len(before) + 3


def test_a_record_is_charged_in_this_month_or_not(store: DictStore) -> None:
    """D9"""
    account = signed_up(store).account
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
    assert [one["person"] for one in listed] == [added["person"]]
    assert "password" not in listed[0]
    store = LmdbStore(quota.state)
    person = store.accounts.person_by_email("zoé@exemple.fr").result()
    store.close()
    assert person
    assert credentials.is_right_password(replaced["password"], person.password)
    assert not credentials.is_right_password(added["password"], person.password)


def test_a_command_about_nobody_says_what_to_do(quota: Command, account: str) -> None:
    told = quota.fails("person", "password", "absent@exemple.fr", code=1)

    assert "nobody has the address 'absent@exemple.fr'; `person list ACCOUNT`" in told
    quota.json("person", "add", account, "a@exemple.fr")
    assert "A@exemple.fr is in use" in quota.fails("person", "add", account, "A@exemple.fr", code=1)


@pytest.mark.parametrize("kind", KINDS)
def test_people_are_kept_by_a_centre_of_several_hosts_as_well(kind: str) -> None:
    with running(kind) as server:
        store = RedisStore(server.url, create=True)
        kept = store.accounts
        signed_up = kept.sign_up("Żabka", "zoé@exemple.fr", "hash", PLANS, NOW)
        assert signed_up.result(10)
        assert not kept.sign_up("Autre", "ZOÉ@exemple.fr", "hash", PLANS, NOW).result(10)
        person = kept.person_by_email("zoé@exemple.fr").result()
        assert person
        unused = kept.create("free", PLANS, NOW).result(10)
        key, text = store.accounts.create_key(person.account, PLANS, NOW).result(10)
        kept.add_key_calls({key_digest(text): 3}, NOW.date()).result(10)
        kept.open_session(person.id, b"token", NOW, SOON).result(10)

        assert kept.key_calls(person.account, 30, NOW).result() == {key.id: {NOW.date(): 3}}
        assert kept.calls_by_day(person.account, 2, NOW).result()[-1] == (NOW.date(), 0)
        pack = Payment("cs_1", "pack", person.account, "", False, "paid", "cus_1", 1, credits=9)
        assert [kept.add_pack(pack).result(10) for _ in range(2)] == [True, False]
        sold = Payment("sub_1", "abonnement", person.account, "data", True, "active", "cus_1", 2)
        assert kept.apply_subscription(sold, 0, PLANS).result(10)
        assert not kept.apply_subscription(sold, 0, PLANS).result(10)
        assert kept.get(person.account).result().plan == "data"
        assert kept.payments_of(person.account).result() == [sold, pack]
        token = kept.seal_key(text, b"session", NOW).result(10)
        assert kept.unseal_key(token, b"session", NOW).result(10) == text
        assert kept.unseal_key(token, b"session", NOW).result(10) is None
        later = NOW + timedelta(days=400)
        assert [one.id for one in store.unused_accounts(later)] == [unused.id]
        assert store.remove_unused(unused.id, later, later).result(10)
        assert kept.all().result() == [kept.get(person.account).result()]
        assert kept.last_used([key.id]).result() == {key.id: "2026-11-21"}
        assert kept.in_session(person.id, b"token", NOW).result() == person
        assert not store.is_charged(person.account, "EE/1", NOW).result()
        kept.set_password(person.id, "new").result(10)
        assert kept.in_session(person.id, b"token", NOW).result() is None
        assert [one.password for one in kept.people_of(person.account).result()] == ["new"]
        taken = kept.sign_up("Squat", "o@exemple.fr", "hash", PLANS, NOW, confirmed=False)
        assert taken.result(10)
        owner = kept.person_by_email("o@exemple.fr").result()
        assert owner
        kept.add_person(owner.account, "b@exemple.fr", "hash", NOW, "membre").result(10)
        _, text = kept.create_key(owner.account, PLANS, NOW).result(10)
        kept.tickets.ask_for_password("o@exemple.fr", NOW, mail=True).result(10)
        _, link = kept.tickets.claim(NOW).result(10)
        confirmed = kept.tickets.set_password(link, "new", NOW).result(10)
        assert confirmed == replace(owner, password="new", confirmed=True)
        assert kept.people_of(owner.account).result() == [confirmed]
        assert all(key.revoked for key in store.keys_of(owner.account).result())
        store.close()
