"""Invitations, links for another password, and the outbox of their mails."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from quota import credentials
from quota.errors import NotAllowedError
from quota.ledger import tickets
from quota.ledger.people import MEMBER, Person
from quota.store.lmdb_store import LmdbStore
from tests.quota.command import Command
from tests.quota.dict_store import DictRows, DictStore
from tests.quota.small import PLANS

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def store() -> DictStore:
    return DictStore()


@pytest.fixture
def account(store: DictStore) -> str:
    return store.accounts.create("data", PLANS, NOW).result().id


def rows(store: DictStore) -> dict[bytes, bytes]:
    kept: DictRows = store._file  # type: ignore[assignment]
    return kept.rows


def test_an_invitation_is_used_once_within_a_week(store: DictStore, account: str) -> None:
    book = store.accounts.tickets
    _, token = book.invite(account, " Zoé@Exemple.fr ", MEMBER, NOW, mail=False).result()

    week = [NOW + timedelta(days=7, seconds=seconds) for seconds in (-1, 0)]
    listed = [len(book.of_account(account, moment).result()) for moment in week]
    late = book.accept(token, "hash", NOW + timedelta(days=7)).result()
    person = book.accept(token, "hash", NOW + timedelta(days=6)).result()
    again = book.accept(token, "other", NOW).result()

    assert listed == [1, 0]
    assert late is None
    assert person
    assert (person.account, person.email, person.role) == (account, "Zoé@Exemple.fr", MEMBER)
    assert again is None
    assert store.accounts.people_of(account).result() == [person]


def test_a_token_is_not_in_the_store_and_nothing_of_it_stays(
    store: DictStore, account: str
) -> None:
    book = store.accounts.tickets
    before = dict(rows(store))
    _, token = book.invite(account, "a@exemple.fr", MEMBER, NOW, mail=False).result()

    written = b"".join(key + value for key, value in rows(store).items())
    assert token.encode() not in written
    assert token.removeprefix("soc_lien_").encode() not in written
    (ticket,) = book.of_account(account, NOW).result()
    book.withdraw("a_other", ticket.id).result()
    assert book.of_account(account, NOW).result() == [ticket]
    book.withdraw(account, ticket.id).result()
    assert {key for key in rows(store) if not key.startswith(b"agenda/")} == set(before)


def test_a_link_of_one_kind_does_not_do_the_other(store: DictStore, account: str) -> None:
    book = store.accounts.tickets
    _, token = book.invite(account, "a@exemple.fr", MEMBER, NOW, mail=False).result()

    assert book.set_password(token, "hash", NOW).result() is None
    assert book.find(token, tickets.PASSWORD, NOW).result() is None
    assert book.find(token, tickets.INVITATION, NOW).result()


def test_another_password_ends_sessions_and_its_link(store: DictStore, account: str) -> None:
    person = store.accounts.add_person(account, "a@exemple.fr", "old", NOW).result()
    store.accounts.open_session(person.id, b"token", NOW, NOW + MINUTE).result()
    book = store.accounts.tickets
    _, token = book.ask_for_password("A@exemple.fr", NOW, mail=False).result()

    changed = book.set_password(token, "new", NOW + timedelta(hours=23)).result()

    assert changed
    assert (changed.id, changed.password) == (person.id, "new")
    assert store.accounts.in_session(person.id, b"token", NOW).result() is None
    assert book.set_password(token, "newer", NOW).result() is None


def test_an_unknown_address_writes_as_much_and_is_mailed_nothing(store: DictStore) -> None:
    book = store.accounts.tickets
    ticket, _ = book.ask_for_password("nobody@exemple.fr", NOW, mail=True).result()

    once = set(rows(store))
    for number in range(50):
        book.ask_for_password(f"nobody{number}@exemple.fr", NOW, mail=True).result()

    assert len(rows(store)) == len(once)
    assert not any(b"nobody" in key + value for key, value in rows(store).items())
    assert ticket.mail == tickets.NO_MAIL
    assert book.claim(NOW).result()[0] is None


def test_a_mail_is_claimed_by_one_process_and_tried_again_later(
    store: DictStore, account: str
) -> None:
    book = store.accounts.tickets
    book.invite(account, "a@exemple.fr", MEMBER, NOW, mail=True).result()
    assert book.is_due(NOW).result()

    first, token = book.claim(NOW).result()
    beside, _ = book.claim(NOW).result()
    assert first
    book.settle(first.id, tickets.WAITING, "connection refused").result()
    early = book.is_due(NOW + MINUTE - timedelta(seconds=1)).result()
    second, other = book.claim(NOW + MINUTE).result()

    assert beside is None
    assert not early
    assert second
    assert (second.id, second.attempts, second.error) == (first.id, 2, "connection refused")
    # The first mail may have arrived although its process died: both links work, one time.
    assert book.find(token, tickets.INVITATION, NOW).result()
    assert book.accept(other, "hash", NOW).result()
    assert book.find(token, tickets.INVITATION, NOW).result() is None
    book.settle(first.id, tickets.SENT).result()  # of an attempt that came to an end since
    assert not [key for key in rows(store) if key[:2] in (b"j/", b"h/")]


def test_a_mail_that_was_sent_or_has_expired_is_not_tried_again(
    store: DictStore, account: str
) -> None:
    book = store.accounts.tickets
    ticket, _ = book.invite(account, "a@exemple.fr", MEMBER, NOW, mail=True).result()

    assert not book.is_due(NOW - MINUTE).result()
    late = [book.claim(NOW + timedelta(days=7)).result()[0] for _ in range(2)]
    assert late == [
        None,
        None,
    ]  # the first forgets the mail, the second passes over the hours without one
    assert not book.is_due(NOW + timedelta(days=7)).result()
    book.settle(ticket.id, tickets.SENT).result()
    assert not book.is_due(NOW + timedelta(days=6)).result()


def test_mails_wait_until_they_are_accepted_refused_or_expired(
    store: DictStore, account: str
) -> None:
    book = store.accounts.tickets
    hours = timedelta(hours=1)
    assert book.waiting_mails(NOW).result() == 0
    for letter in "abc":
        book.invite(account, f"{letter}@exemple.fr", MEMBER, NOW, mail=True).result()
    book.invite(account, "handed@exemple.fr", MEMBER, NOW, mail=False).result()
    counts = [book.waiting_mails(NOW).result()]

    for state in (tickets.SENT, tickets.REFUSED, tickets.WAITING):
        claimed, _ = book.claim(NOW).result()
        assert claimed
        book.settle(claimed.id, state).result()
        counts.append(book.waiting_mails(NOW).result())
    for attempt in range(8):  # each later than the one before, the last ones by four hours
        book.claim(NOW + (1 + 5 * attempt) * hours).result()
        counts.append(book.waiting_mails(NOW + (1 + 5 * attempt) * hours).result())
    assert book.claim(NOW + timedelta(days=7)).result()[0] is None

    assert counts == [3, 2, 1, *[1] * 9]
    assert book.waiting_mails(NOW + timedelta(days=7)).result() == 0


def test_whoever_is_a_member_is_not_invited(store: DictStore, account: str) -> None:
    store.accounts.add_person(account, "a@exemple.fr", "hash", NOW).result()

    with pytest.raises(NotAllowedError, match=r"a@exemple\.fr is a member"):
        store.accounts.tickets.invite(account, "A@exemple.fr", MEMBER, NOW, mail=True).result()


def test_the_operator_invites_resets_and_gives_roles(quota: Command, account_: str) -> None:
    added = quota.json("person", "add", account_, "zoé@exemple.fr")
    invited = quota.json("person", "invite", account_, "bob@exemple.fr")
    mailed = quota.json("person", "invite", account_, "eve@exemple.fr", "--mail", "--lang", "en")
    reset = quota.json("person", "reset", "zoé@exemple.fr")
    listed = quota.json("person", "invitations", account_)

    assert added["role"] == "administrateur"
    assert (invited["role"], invited["courriel"]) == ("membre", "")
    assert "lien" not in mailed
    assert mailed["courriel"] == "en_attente"
    assert {one["ticket"] for one in listed} == {one["ticket"] for one in (invited, mailed, reset)}
    store = LmdbStore(quota.state)
    for made, path in ((invited, "/invitation/"), (reset, "/mot-de-passe/")):
        token = made["lien"].removeprefix(path)
        kind = made["nature"]
        assert store.accounts.tickets.find(token, kind, datetime.now(UTC)).result()
    token = reset["lien"].removeprefix("/mot-de-passe/")
    hashed = credentials.hash_password("correct cheval")
    assert store.accounts.tickets.set_password(token, hashed, datetime.now(UTC)).result()
    store.close()
    told = quota.fails("person", "role", "zoé@exemple.fr", "membre", code=1)
    assert "zoé@exemple.fr is the last administrator" in told
    assert "last administrator" in quota.fails("person", "remove", "zoé@exemple.fr", code=1)
    assert "'chef'" in quota.fails("person", "role", "zoé@exemple.fr", "chef", code=2)


@pytest.fixture
def account_(quota: Command) -> str:
    name: str = quota.json("account", "create", "--plan", "free")["account"]
    return name


# -- confirmed addresses -------------------------------------------------------------


def squatted(store: DictStore) -> Person:
    """Somebody who signed up with the address of another person."""
    store.accounts.sign_up("Żabka", "zoé@exemple.fr", "hash", PLANS, NOW, confirmed=False).result()
    person = store.accounts.person_by_email("zoé@exemple.fr").result()
    assert person
    return person


def mailed(store: DictStore) -> str:
    """The token of the mail that is due."""
    ticket, token = store.accounts.tickets.claim(NOW).result()
    assert ticket
    store.accounts.tickets.settle(ticket.id, tickets.SENT).result()
    return token


def test_an_address_is_confirmed_once_by_the_person_it_was_mailed_for(store: DictStore) -> None:
    person, book = squatted(store), store.accounts.tickets
    book.ask_for_confirmation("ZOÉ@exemple.fr", NOW).result()
    token = mailed(store)

    assert book.confirm(token, "p_other", NOW).result() is None
    assert book.confirm(token, person.id, NOW + timedelta(days=1)).result() is None
    confirmed = book.confirm(token, person.id, NOW + timedelta(hours=23)).result()

    assert confirmed == replace(person, confirmed=True)
    assert book.confirm(token, person.id, NOW).result() is None
    assert book.of_account(person.account, NOW).result() == []


def test_a_password_and_an_address_have_a_ticket_each(store: DictStore) -> None:
    person, book = squatted(store), store.accounts.tickets
    book.ask_for_confirmation(person.email, NOW).result()
    book.ask_for_password(person.email, NOW, mail=True).result()

    assert {mailed(store) for _ in range(2)}
    store.accounts.set_password(person.id, "new").result()
    assert not [key for key in rows(store) if key.startswith((b"j/", b"T/", b"h/"))]


def test_a_link_that_was_shown_ends_with_the_mail_that_replaces_it(store: DictStore) -> None:
    """A ticket has links of one sort: an administrator would confirm the address of somebody else"""
    person, book = squatted(store), store.accounts.tickets
    _, shown = book.ask_for_password(person.email, NOW, mail=False).result()
    book.ask_for_password(person.email, NOW, mail=True).result()

    assert book.set_password(shown, "new", NOW).result() is None
    changed = book.set_password(mailed(store), "new", NOW).result()

    assert changed
    assert changed.confirmed


def test_the_row_of_a_confirmed_person_is_that_of_older_versions(store: DictStore) -> None:
    """A server of an older version may read it until it is restarted"""
    person = squatted(store)
    assert b"confirmed" in rows(store)[f"u/{person.id}".encode()]

    store.accounts.confirm_person(person.id).result()

    assert b"confirmed" not in rows(store)[f"u/{person.id}".encode()]
