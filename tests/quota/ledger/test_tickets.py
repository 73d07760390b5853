"""Invitations, links for a new password, and the outbox of their mails."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from quota import credentials
from quota.credentials import secret_digest
from quota.errors import NotAllowedError
from quota.ledger import people, tickets
from quota.ledger.people import MEMBER, Person
from quota.new_values import new_person
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
    """An empty store over a dict."""
    return DictStore()


@pytest.fixture
def account(store: DictStore) -> str:
    """The id of an account with the plan data."""
    return create_account(store, "data", PLANS, NOW).result().id


def rows(store: DictStore) -> dict[bytes, bytes]:
    """The rows of the store, by their keys."""
    dict_rows: DictRows = store._file  # type: ignore[assignment]
    return dict_rows.rows


def test_an_invitation_is_used_once_within_a_week(store: DictStore, account: str) -> None:
    _, token = invite(store, account, " Zoé@Exemple.fr ", MEMBER, NOW, mail=False).result()

    around_expiry = [NOW + timedelta(days=7, seconds=second) for second in (-1, 0)]
    listed_counts = [
        len(store.read(tickets.valid_tickets, account, seconds(moment)).result())
        for moment in around_expiry
    ]
    # The link is tried late first, then in time, as if the clock had stepped back, then a second time.
    late_person = accept(store, token, "hash", NOW + timedelta(days=7)).result()
    first_person = accept(store, token, "hash", NOW + timedelta(days=6)).result()
    second_person = accept(store, token, "other", NOW).result()

    assert listed_counts == [1, 0]
    assert late_person is None
    assert first_person
    assert (first_person.account, first_person.email, first_person.role) == (
        account,
        "Zoé@Exemple.fr",
        MEMBER,
    )
    assert second_person is None
    assert store.read(people.people_of, account).result() == [first_person]


def test_a_token_is_not_stored_and_a_withdrawn_ticket_leaves_no_row(
    store: DictStore, account: str
) -> None:
    rows_before = dict(rows(store))
    _, token = invite(store, account, "a@exemple.fr", MEMBER, NOW, mail=False).result()

    written = b"".join(key + value for key, value in rows(store).items())
    assert token.encode() not in written
    assert token.removeprefix("soc_lien_").encode() not in written
    (ticket,) = store.read(tickets.valid_tickets, account, seconds(NOW)).result()
    store.submit(tickets.withdraw, "a_other", ticket.id).result()
    assert store.read(tickets.valid_tickets, account, seconds(NOW)).result() == [ticket]
    store.submit(tickets.withdraw, account, ticket.id).result()
    assert {key for key in rows(store) if not key.startswith(b"agenda/")} == set(rows_before)


def test_a_link_of_an_invitation_sets_no_password(store: DictStore, account: str) -> None:
    _, token = invite(store, account, "a@exemple.fr", MEMBER, NOW, mail=False).result()

    assert (
        store.submit(tickets.set_password, secret_digest(token), "hash", seconds(NOW)).result()
        is None
    )
    assert (
        store.read(
            tickets.open_ticket, secret_digest(token), tickets.PASSWORD, seconds(NOW)
        ).result()
        is None
    )
    assert store.read(
        tickets.open_ticket, secret_digest(token), tickets.INVITATION, seconds(NOW)
    ).result()


def test_a_link_for_a_password_ends_sessions_and_works_once(store: DictStore, account: str) -> None:
    person = store.submit(
        people.add_person, new_person(account, "a@exemple.fr", "old", NOW)
    ).result()
    store.submit(
        people.open_session, person.id, b"token", seconds(NOW), seconds(NOW + MINUTE)
    ).result()
    _, token = ask_for_password(store, "A@exemple.fr", NOW, mail=False).result()

    changed_person = store.submit(
        tickets.set_password, secret_digest(token), "new", seconds(NOW + timedelta(hours=23))
    ).result()

    assert changed_person
    assert (changed_person.id, changed_person.password) == (person.id, "new")
    assert store.read(people.person_of_session, person.id, b"token", seconds(NOW)).result() is None
    assert (
        store.submit(tickets.set_password, secret_digest(token), "newer", seconds(NOW)).result()
        is None
    )


def test_an_unknown_address_writes_a_ticket_and_gets_no_mail(store: DictStore) -> None:
    ticket, _ = ask_for_password(store, "nobody@exemple.fr", NOW, mail=True).result()

    rows_after_one = set(rows(store))
    for number in range(50):  # tickets for unknown addresses replace one another
        ask_for_password(store, f"nobody{number}@exemple.fr", NOW, mail=True).result()

    assert len(rows(store)) == len(rows_after_one)
    assert not any(b"nobody" in key + value for key, value in rows(store).items())
    assert ticket.mail == tickets.NO_MAIL
    assert claim(store, NOW).result()[0] is None


def test_a_mail_is_claimed_by_one_process_and_tried_again_later(
    store: DictStore, account: str
) -> None:
    """A claim gives the mail of a ticket to one process to send; if the mail fails, it is due a minute later."""
    invite(store, account, "a@exemple.fr", MEMBER, NOW, mail=True).result()
    assert store.read(tickets.is_due, seconds(NOW)).result()

    first_claim, first_token = claim(store, NOW).result()
    claimed_meanwhile, _ = claim(store, NOW).result()
    assert first_claim
    store.submit(
        tickets.note_mail_outcome, first_claim.id, tickets.WAITING, "connection refused"
    ).result()
    is_due_early = store.read(tickets.is_due, seconds(NOW + MINUTE - timedelta(seconds=1))).result()
    second_claim, second_token = claim(store, NOW + MINUTE).result()

    assert claimed_meanwhile is None
    assert not is_due_early
    assert second_claim
    assert (second_claim.id, second_claim.attempts, second_claim.error) == (
        first_claim.id,
        2,
        "connection refused",
    )
    # The first mail may have arrived although its process died: both links work, and one use ends both.
    assert store.read(
        tickets.open_ticket, secret_digest(first_token), tickets.INVITATION, seconds(NOW)
    ).result()
    assert accept(store, second_token, "hash", NOW).result()
    assert (
        store.read(
            tickets.open_ticket, secret_digest(first_token), tickets.INVITATION, seconds(NOW)
        ).result()
        is None
    )
    store.submit(
        tickets.note_mail_outcome, first_claim.id, tickets.SENT
    ).result()  # the outcome of the first attempt arrives after its ticket was used
    assert not [key for key in rows(store) if key[:2] in (b"j/", b"h/")]


def test_a_mail_that_was_sent_or_has_expired_is_not_tried_again(
    store: DictStore, account: str
) -> None:
    ticket, _ = invite(store, account, "a@exemple.fr", MEMBER, NOW, mail=True).result()

    assert not store.read(tickets.is_due, seconds(NOW - MINUTE)).result()
    claims_after_expiry = [claim(store, NOW + timedelta(days=7)).result()[0] for _ in range(2)]
    # The first claim removes the expired ticket from the agenda; the second advances the first hour of the agenda.
    assert claims_after_expiry == [None, None]
    assert not store.read(tickets.is_due, seconds(NOW + timedelta(days=7))).result()
    store.submit(tickets.note_mail_outcome, ticket.id, tickets.SENT).result()
    assert not store.read(tickets.is_due, seconds(NOW + timedelta(days=6))).result()


def test_mails_wait_until_they_are_accepted_refused_or_expired(
    store: DictStore, account: str
) -> None:
    """Of three mails one is sent, one refused for good, and one tried again until its invitation expires in a week."""
    hours = timedelta(hours=1)
    assert store.read(tickets.waiting_mails, seconds(NOW)).result() == 0
    for letter in "abc":
        invite(store, account, f"{letter}@exemple.fr", MEMBER, NOW, mail=True).result()
    invite(store, account, "handed@exemple.fr", MEMBER, NOW, mail=False).result()
    counts = [store.read(tickets.waiting_mails, seconds(NOW)).result()]

    for state in (tickets.SENT, tickets.REFUSED, tickets.WAITING):
        claimed, _ = claim(store, NOW).result()
        assert claimed
        store.submit(tickets.note_mail_outcome, claimed.id, state).result()
        counts.append(store.read(tickets.waiting_mails, seconds(NOW)).result())
    for attempt in range(8):  # five hours between attempts: more than the longest delay
        claim(store, NOW + (1 + 5 * attempt) * hours).result()
        counts.append(
            store.read(tickets.waiting_mails, seconds(NOW + (1 + 5 * attempt) * hours)).result()
        )
    assert claim(store, NOW + timedelta(days=7)).result()[0] is None

    assert counts == [3, 2, 1, *[1] * 9]
    assert store.read(tickets.waiting_mails, seconds(NOW + timedelta(days=7))).result() == 0


def test_an_address_in_the_account_is_not_invited(store: DictStore, account: str) -> None:
    store.submit(people.add_person, new_person(account, "a@exemple.fr", "hash", NOW)).result()

    with pytest.raises(NotAllowedError, match=r"a@exemple\.fr is a member"):
        invite(store, account, "A@exemple.fr", MEMBER, NOW, mail=True).result()


def test_the_operator_invites_resets_and_gives_roles(
    quota: Command, account_of_command: str
) -> None:
    added = quota.json("person", "add", account_of_command, "zoé@exemple.fr")
    invited = quota.json("person", "invite", account_of_command, "bob@exemple.fr")
    mailed = quota.json(
        "person", "invite", account_of_command, "eve@exemple.fr", "--mail", "--lang", "en"
    )
    reset = quota.json("person", "reset", "zoé@exemple.fr")
    listed = quota.json("person", "invitations", account_of_command)

    assert added["role"] == "administrateur"
    assert (invited["role"], invited["courriel"]) == ("membre", "")
    assert "lien" not in mailed
    assert mailed["courriel"] == "en_attente"
    assert {ticket["ticket"] for ticket in listed} == {
        ticket["ticket"] for ticket in (invited, mailed, reset)
    }
    store = LmdbStore(quota.state)
    for printed, path in ((invited, "/invitation/"), (reset, "/mot-de-passe/")):
        token = printed["lien"].removeprefix(path)
        kind = printed["nature"]
        assert store.read(
            tickets.open_ticket, secret_digest(token), kind, seconds(datetime.now(UTC))
        ).result()
    token = reset["lien"].removeprefix("/mot-de-passe/")
    hashed = credentials.hash_password("correct cheval")
    assert store.submit(
        tickets.set_password, secret_digest(token), hashed, seconds(datetime.now(UTC))
    ).result()
    store.close()
    error = quota.fails("person", "role", "zoé@exemple.fr", "membre", code=1)
    assert "zoé@exemple.fr is the last administrator" in error
    assert "last administrator" in quota.fails("person", "remove", "zoé@exemple.fr", code=1)
    assert "'chef'" in quota.fails("person", "role", "zoé@exemple.fr", "chef", code=2)


@pytest.fixture
def account_of_command(quota: Command) -> str:
    """The id of a free account in the store of the command line."""
    name: str = quota.json("account", "create", "--plan", "free")["account"]
    return name


# -- confirmed addresses -------------------------------------------------------------


def unconfirmed_person(store: DictStore) -> Person:
    """Somebody who signed up with the address of another person."""
    sign_up(store, "Żabka", "zoé@exemple.fr", "hash", PLANS, NOW, confirmed=False).result()
    person = store.read(people.find_by_email, "zoé@exemple.fr").result()
    assert person
    return person


def mailed_token(store: DictStore) -> str:
    """Claim the mail that is due, and note it as sent; returns the token of its link."""
    ticket, token = claim(store, NOW).result()
    assert ticket
    store.submit(tickets.note_mail_outcome, ticket.id, tickets.SENT).result()
    return token


def test_a_link_confirms_an_address_once_and_only_for_its_person(store: DictStore) -> None:
    """Another person, a link that is a day old, and a second use of the link confirm nothing."""
    person = unconfirmed_person(store)
    ask_for_confirmation(store, "ZOÉ@exemple.fr", NOW).result()
    token = mailed_token(store)

    assert (
        store.submit(tickets.confirm, secret_digest(token), "p_other", seconds(NOW)).result()
        is None
    )
    assert (
        store.submit(
            tickets.confirm, secret_digest(token), person.id, seconds(NOW + timedelta(days=1))
        ).result()
        is None
    )
    confirmed = store.submit(
        tickets.confirm, secret_digest(token), person.id, seconds(NOW + timedelta(hours=23))
    ).result()

    assert confirmed == replace(person, confirmed=True)
    assert (
        store.submit(tickets.confirm, secret_digest(token), person.id, seconds(NOW)).result()
        is None
    )
    assert store.read(tickets.valid_tickets, person.account, seconds(NOW)).result() == []


def test_a_password_and_an_address_have_a_ticket_each(store: DictStore) -> None:
    person = unconfirmed_person(store)
    ask_for_confirmation(store, person.email, NOW).result()
    ask_for_password(store, person.email, NOW, mail=True).result()

    assert {mailed_token(store) for _ in range(2)}
    store.submit(tickets.replace_password, person.id, "new").result()
    assert not [key for key in rows(store) if key.startswith((b"j/", b"T/", b"h/"))]


def test_a_link_shown_to_an_administrator_ends_when_a_mail_is_requested(store: DictStore) -> None:
    """Otherwise an administrator could use the shown link to confirm the address of somebody else"""
    person = unconfirmed_person(store)
    _, shown_token = ask_for_password(store, person.email, NOW, mail=False).result()
    ask_for_password(store, person.email, NOW, mail=True).result()

    assert (
        store.submit(tickets.set_password, secret_digest(shown_token), "new", seconds(NOW)).result()
        is None
    )
    changed = store.submit(
        tickets.set_password, secret_digest(mailed_token(store)), "new", seconds(NOW)
    ).result()

    assert changed
    assert changed.confirmed


def test_the_row_of_a_confirmed_person_can_be_read_by_older_versions(store: DictStore) -> None:
    """Servers of older versions, which have no field `confirmed`, may still read the store"""
    person = unconfirmed_person(store)
    assert b"confirmed" in rows(store)[f"u/{person.id}".encode()]

    store.submit(people.confirm, person.id).result()

    assert b"confirmed" not in rows(store)[f"u/{person.id}".encode()]
