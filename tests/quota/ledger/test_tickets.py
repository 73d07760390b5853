"""Invitations, links for another password, and the outbox of their mails."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from quota import credentials
from quota.errors import NotAllowedError
from quota.ledger import people, tickets
from quota.ledger.people import MEMBER, Person
from quota.new_values import new_person, token_digest
from quota.periods import seconds
from quota.store.lmdb_store import LmdbStore
from tests.quota.command import Command
from tests.quota.dict_store import DictRows, DictStore
from tests.quota.filling import (
    accept,
    ask_for_confirmation,
    ask_for_password,
    claim,
    create_account,
    invite,
    sign_up,
)
from tests.quota.small import PLANS

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def store() -> DictStore:
    return DictStore()


@pytest.fixture
def account(store: DictStore) -> str:
    return create_account(store, "data", PLANS, NOW).result().id


def rows(store: DictStore) -> dict[bytes, bytes]:
    kept: DictRows = store._file  # type: ignore[assignment]
    return kept.rows


def test_an_invitation_is_used_once_within_a_week(store: DictStore, account: str) -> None:
    _, token = invite(store, account, " Zoé@Exemple.fr ", MEMBER, NOW, mail=False).result()

    week = [NOW + timedelta(days=7, seconds=second) for second in (-1, 0)]
    listed = [
        len(store.read(tickets.of_account, account, seconds(moment)).result()) for moment in week
    ]
    late = accept(store, token, "hash", NOW + timedelta(days=7)).result()
    person = accept(store, token, "hash", NOW + timedelta(days=6)).result()
    again = accept(store, token, "other", NOW).result()

    assert listed == [1, 0]
    assert late is None
    assert person
    assert (person.account, person.email, person.role) == (account, "Zoé@Exemple.fr", MEMBER)
    assert again is None
    assert store.read(people.people_of, account).result() == [person]


def test_a_token_is_not_in_the_store_and_nothing_of_it_stays(
    store: DictStore, account: str
) -> None:
    before = dict(rows(store))
    _, token = invite(store, account, "a@exemple.fr", MEMBER, NOW, mail=False).result()

    written = b"".join(key + value for key, value in rows(store).items())
    assert token.encode() not in written
    assert token.removeprefix("soc_lien_").encode() not in written
    (ticket,) = store.read(tickets.of_account, account, seconds(NOW)).result()
    store.submit(tickets.withdraw, "a_other", ticket.id).result()
    assert store.read(tickets.of_account, account, seconds(NOW)).result() == [ticket]
    store.submit(tickets.withdraw, account, ticket.id).result()
    assert {key for key in rows(store) if not key.startswith(b"agenda/")} == set(before)


def test_a_link_of_one_kind_does_not_do_the_other(store: DictStore, account: str) -> None:
    _, token = invite(store, account, "a@exemple.fr", MEMBER, NOW, mail=False).result()

    assert (
        store.submit(tickets.set_password, token_digest(token), "hash", seconds(NOW)).result()
        is None
    )
    assert (
        store.read(
            tickets.open_ticket, token_digest(token), tickets.PASSWORD, seconds(NOW)
        ).result()
        is None
    )
    assert store.read(
        tickets.open_ticket, token_digest(token), tickets.INVITATION, seconds(NOW)
    ).result()


def test_another_password_ends_sessions_and_its_link(store: DictStore, account: str) -> None:
    person = store.submit(
        people.add_person, new_person(account, "a@exemple.fr", "old", NOW)
    ).result()
    store.submit(
        people.open_session, person.id, b"token", seconds(NOW), seconds(NOW + MINUTE)
    ).result()
    _, token = ask_for_password(store, "A@exemple.fr", NOW, mail=False).result()

    changed = store.submit(
        tickets.set_password, token_digest(token), "new", seconds(NOW + timedelta(hours=23))
    ).result()

    assert changed
    assert (changed.id, changed.password) == (person.id, "new")
    assert store.read(people.in_session, person.id, b"token", seconds(NOW)).result() is None
    assert (
        store.submit(tickets.set_password, token_digest(token), "newer", seconds(NOW)).result()
        is None
    )


def test_an_unknown_address_writes_as_much_and_is_mailed_nothing(store: DictStore) -> None:
    ticket, _ = ask_for_password(store, "nobody@exemple.fr", NOW, mail=True).result()

    once = set(rows(store))
    for number in range(50):
        ask_for_password(store, f"nobody{number}@exemple.fr", NOW, mail=True).result()

    assert len(rows(store)) == len(once)
    assert not any(b"nobody" in key + value for key, value in rows(store).items())
    assert ticket.mail == tickets.NO_MAIL
    assert claim(store, NOW).result()[0] is None


def test_a_mail_is_claimed_by_one_process_and_tried_again_later(
    store: DictStore, account: str
) -> None:
    invite(store, account, "a@exemple.fr", MEMBER, NOW, mail=True).result()
    assert store.read(tickets.is_due, seconds(NOW)).result()

    first, token = claim(store, NOW).result()
    beside, _ = claim(store, NOW).result()
    assert first
    store.submit(tickets.settle, first.id, tickets.WAITING, "connection refused").result()
    early = store.read(tickets.is_due, seconds(NOW + MINUTE - timedelta(seconds=1))).result()
    second, other = claim(store, NOW + MINUTE).result()

    assert beside is None
    assert not early
    assert second
    assert (second.id, second.attempts, second.error) == (first.id, 2, "connection refused")
    # The first mail may have arrived although its process died: both links work, one time.
    assert store.read(
        tickets.open_ticket, token_digest(token), tickets.INVITATION, seconds(NOW)
    ).result()
    assert accept(store, other, "hash", NOW).result()
    assert (
        store.read(
            tickets.open_ticket, token_digest(token), tickets.INVITATION, seconds(NOW)
        ).result()
        is None
    )
    store.submit(
        tickets.settle, first.id, tickets.SENT
    ).result()  # of an attempt that came to an end since
    assert not [key for key in rows(store) if key[:2] in (b"j/", b"h/")]


def test_a_mail_that_was_sent_or_has_expired_is_not_tried_again(
    store: DictStore, account: str
) -> None:
    ticket, _ = invite(store, account, "a@exemple.fr", MEMBER, NOW, mail=True).result()

    assert not store.read(tickets.is_due, seconds(NOW - MINUTE)).result()
    late = [claim(store, NOW + timedelta(days=7)).result()[0] for _ in range(2)]
    assert late == [
        None,
        None,
    ]  # the first forgets the mail, the second passes over the hours without one
    assert not store.read(tickets.is_due, seconds(NOW + timedelta(days=7))).result()
    store.submit(tickets.settle, ticket.id, tickets.SENT).result()
    assert not store.read(tickets.is_due, seconds(NOW + timedelta(days=6))).result()


def test_mails_wait_until_they_are_accepted_refused_or_expired(
    store: DictStore, account: str
) -> None:
    hours = timedelta(hours=1)
    assert store.read(tickets.waiting_mails, seconds(NOW)).result() == 0
    for letter in "abc":
        invite(store, account, f"{letter}@exemple.fr", MEMBER, NOW, mail=True).result()
    invite(store, account, "handed@exemple.fr", MEMBER, NOW, mail=False).result()
    counts = [store.read(tickets.waiting_mails, seconds(NOW)).result()]

    for state in (tickets.SENT, tickets.REFUSED, tickets.WAITING):
        claimed, _ = claim(store, NOW).result()
        assert claimed
        store.submit(tickets.settle, claimed.id, state).result()
        counts.append(store.read(tickets.waiting_mails, seconds(NOW)).result())
    for attempt in range(8):  # each later than the one before, the last ones by four hours
        claim(store, NOW + (1 + 5 * attempt) * hours).result()
        counts.append(
            store.read(tickets.waiting_mails, seconds(NOW + (1 + 5 * attempt) * hours)).result()
        )
    assert claim(store, NOW + timedelta(days=7)).result()[0] is None

    assert counts == [3, 2, 1, *[1] * 9]
    assert store.read(tickets.waiting_mails, seconds(NOW + timedelta(days=7))).result() == 0


def test_whoever_is_a_member_is_not_invited(store: DictStore, account: str) -> None:
    store.submit(people.add_person, new_person(account, "a@exemple.fr", "hash", NOW)).result()

    with pytest.raises(NotAllowedError, match=r"a@exemple\.fr is a member"):
        invite(store, account, "A@exemple.fr", MEMBER, NOW, mail=True).result()


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
        assert store.read(
            tickets.open_ticket, token_digest(token), kind, seconds(datetime.now(UTC))
        ).result()
    token = reset["lien"].removeprefix("/mot-de-passe/")
    hashed = credentials.hash_password("correct cheval")
    assert store.submit(
        tickets.set_password, token_digest(token), hashed, seconds(datetime.now(UTC))
    ).result()
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
    sign_up(store, "Żabka", "zoé@exemple.fr", "hash", PLANS, NOW, confirmed=False).result()
    person = store.read(people.by_email, "zoé@exemple.fr").result()
    assert person
    return person


def mailed(store: DictStore) -> str:
    """The token of the mail that is due."""
    ticket, token = claim(store, NOW).result()
    assert ticket
    store.submit(tickets.settle, ticket.id, tickets.SENT).result()
    return token


def test_an_address_is_confirmed_once_by_the_person_it_was_mailed_for(store: DictStore) -> None:
    person = squatted(store)
    ask_for_confirmation(store, "ZOÉ@exemple.fr", NOW).result()
    token = mailed(store)

    assert (
        store.submit(tickets.confirm, token_digest(token), "p_other", seconds(NOW)).result() is None
    )
    assert (
        store.submit(
            tickets.confirm, token_digest(token), person.id, seconds(NOW + timedelta(days=1))
        ).result()
        is None
    )
    confirmed = store.submit(
        tickets.confirm, token_digest(token), person.id, seconds(NOW + timedelta(hours=23))
    ).result()

    assert confirmed == replace(person, confirmed=True)
    assert (
        store.submit(tickets.confirm, token_digest(token), person.id, seconds(NOW)).result() is None
    )
    assert store.read(tickets.of_account, person.account, seconds(NOW)).result() == []


def test_a_password_and_an_address_have_a_ticket_each(store: DictStore) -> None:
    person = squatted(store)
    ask_for_confirmation(store, person.email, NOW).result()
    ask_for_password(store, person.email, NOW, mail=True).result()

    assert {mailed(store) for _ in range(2)}
    store.submit(tickets.replace_password, person.id, "new").result()
    assert not [key for key in rows(store) if key.startswith((b"j/", b"T/", b"h/"))]


def test_a_link_that_was_shown_ends_with_the_mail_that_replaces_it(store: DictStore) -> None:
    """A ticket has links of one sort: an administrator would confirm the address of somebody else"""
    person = squatted(store)
    _, shown = ask_for_password(store, person.email, NOW, mail=False).result()
    ask_for_password(store, person.email, NOW, mail=True).result()

    assert (
        store.submit(tickets.set_password, token_digest(shown), "new", seconds(NOW)).result()
        is None
    )
    changed = store.submit(
        tickets.set_password, token_digest(mailed(store)), "new", seconds(NOW)
    ).result()

    assert changed
    assert changed.confirmed


def test_the_row_of_a_confirmed_person_is_that_of_older_versions(store: DictStore) -> None:
    """A server of an older version may read it until it is restarted"""
    person = squatted(store)
    assert b"confirmed" in rows(store)[f"u/{person.id}".encode()]

    store.submit(people.confirm, person.id).result()

    assert b"confirmed" not in rows(store)[f"u/{person.id}".encode()]
